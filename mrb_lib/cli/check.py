"""`mrb check`: validate a benchmark."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from mrb_lib.benchmarks.audit.folder import audit
from mrb_lib.benchmarks.audit.labels import alike_names
from mrb_lib.cli.findings import echo_findings
from mrb_lib.cli.listing import count
from mrb_lib.cli.options import AsJson, Bench
from mrb_lib.cli.progress import bars
from mrb_lib.tables.names import spellings
from mrb_lib.verdicts.manifest import read_manifest
from mrb_lib.verdicts.store import run_folders

_WORDS = {"error": "error", "warning": "warning", "info": "remark"}


def check(
    bench: Bench,
    show_all: Annotated[bool, typer.Option("--all", help="Show all findings, not only the first of a kind.")] = False,
    as_json: AsJson = False,
) -> None:
    """Validate a benchmark; every finding names file, row, column and the cure. Exits with 2 on errors."""
    with bars() as step:
        findings = audit(bench, progress=step)
    runs = bench / "runs"
    judges = [read_manifest(folder).judge for folder in run_folders(runs)] if runs.is_dir() else []
    findings += [alike_names("runs", "judge", group) for group in spellings(judges)]
    counts = {name: sum(f.severity == name for f in findings) for name in _WORDS}
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=1))
    else:
        echo_findings(findings, show_all=show_all, hint=" (--all shows them)")
        numbers = [count(counts[name], word) for name, word in _WORDS.items()]
        typer.echo(f"{bench}: {', '.join(numbers)}")
    if counts["error"]:
        raise typer.Exit(2)
