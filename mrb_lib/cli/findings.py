"""Printing on stderr: findings, runs that are out of date, groups of judges."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import typer

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.cli.listing import line
from mrb_lib.tables.validation import Finding
from mrb_lib.verdicts.store import runs_on_other_cases

SHOWN_PER_KIND = 5


def echo_findings(findings: Sequence[Finding], *, show_all: bool = False, hint: str = "") -> None:
    """Print findings to stderr, the worst first; of many alike only some, how many more, and `hint`."""
    groups: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[finding.severity, finding.file, finding.cure].append(finding)
    order = ("error", "warning", "info")
    for (severity, _, _), group in sorted(groups.items(), key=lambda item: order.index(item[0][0])):
        shown = group if show_all else group[:SHOWN_PER_KIND]
        for finding in shown:
            typer.echo(line(f"{severity}: {finding}"), err=True)
        if len(group) > len(shown):
            typer.echo(f"{severity}: ... and {len(group) - len(shown)} more like it{hint}", err=True)


def echo_stale_runs(runs: Path | None, benchmark: Benchmark) -> None:
    """Say on stderr which runs judged other cases than the benchmark holds now."""
    for name in [] if runs is None else runs_on_other_cases(runs, benchmark.case_fingerprint()):
        typer.echo(f"warning: run {name} judged other cases or images than {benchmark.path} holds now", err=True)


def echo_groups(groups: pd.DataFrame) -> None:
    """Print on stderr how groups of judges were found, and who is in none."""
    from mrb_lib.judges.roster.groups import group_notes

    for note in group_notes(groups):
        typer.echo(line(f"note: {note}"), err=True)
