"""The groups of the judges of some runs, and their training, on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from mrb_lib.benchmarks.benchmark import Benchmark
    from mrb_lib.stats.panel import Panel
    from mrb_lib.verdicts.manifest import Manifest


def grouped(
    panels: Mapping[str, Panel], manifests: Sequence[Manifest], file: Path | None, rosters: Sequence[Path]
) -> pd.DataFrame:
    """Return the group of every judge with verdicts, see `mrb_lib.judges.roster.groups.judge_groups`.

    Parameters
    ----------
    file : states groups; None for no file
    rosters : files of further judges
    """
    from mrb_lib.judges.roster.groups import judge_groups, read_group_file
    from mrb_lib.judges.roster.roster import entries

    names = [name for panel in panels.values() for name in panel.judges]
    stated = None if file is None else read_group_file(file)
    return judge_groups(names, manifests, roster_entries=entries(tuple(rosters)), override=stated)


def training_of(runs: Path, benchmark: Benchmark) -> tuple[list[Manifest], pd.DataFrame]:
    """Return the manifests of some runs, and the cases that their judges were trained on."""
    from mrb_lib.verdicts.manifest import read_manifest
    from mrb_lib.verdicts.store import run_folders
    from mrb_lib.verdicts.training import training_cases

    manifests = [read_manifest(folder) for folder in run_folders(runs)]
    return manifests, training_cases(manifests, benchmark)


def of_judges(panels: Mapping[str, Panel], text: str, groups: pd.DataFrame) -> dict[str, Panel]:
    """Return the verdicts of the judges that `--judges` names."""
    from mrb_lib.judges.roster.groups import chosen_judges

    names = chosen_judges(text, groups)
    kept = {probe: panel.of_judges(names) for probe, panel in panels.items()}
    return {probe: panel for probe, panel in kept.items() if panel.judges}


def echo_groups(groups: pd.DataFrame) -> None:
    """Print on stderr how groups were found, and who is in none."""
    from mrb_lib.cli.listing import line
    from mrb_lib.judges.roster.groups import group_notes

    for note in group_notes(groups):
        typer.echo(line(f"note: {note}"), err=True)


def named_pairs(bases: Sequence[str], tuned: Sequence[str]) -> list[tuple[str, str]] | None:
    """Return the pairs that `--base` and `--tuned` name, in order; None where they name none."""
    from mrb_lib.tables.errors import InputError

    if len(bases) != len(tuned):
        raise InputError(f"--base is given {len(bases)} times, --tuned {len(tuned)}; name equally many of both.")
    return list(zip(bases, tuned, strict=True)) or None
