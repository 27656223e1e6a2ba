"""`mrb merge`: several benchmarks as one."""

from pathlib import Path
from typing import Annotated

import typer

from mrb_lib.benchmarks.benchmark import load, save
from mrb_lib.benchmarks.merge import merge as merge_benchmarks
from mrb_lib.cli.findings import echo_findings
from mrb_lib.cli.listing import count, line
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import slug, staged_folder
from mrb_lib.verdicts.merge import merge_runs, verdicts_in


def merge(
    folders: Annotated[
        list[Path], typer.Argument(metavar="BENCH BENCH... OUT", help="The benchmarks, and the folder to write.")
    ],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if this program wrote it.")] = False,
    no_runs: Annotated[bool, typer.Option("--no-runs", help="Leave out the verdicts in BENCH/runs.")] = False,
) -> None:
    """Write several benchmarks and their runs as one: ids kept apart by the folders' names, the sources listed."""

    *sources, out = folders
    names = [slug(folder.resolve().name) for folder in sources]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"{twice[0]}: two benchmarks have a folder of this name, which keeps ids apart; rename one.")
    loaded = {name: load(folder) for name, folder in zip(names, sources, strict=True)}
    merged = merge_benchmarks(loaded)
    with staged_folder(out, overwrite=overwrite) as stage:
        removed = save(merged, stage)
        made = None if no_runs else merge_runs(loaded, load(stage), stage / "runs")
    echo_findings(removed)
    mark = " SIMULATED" if merged.meta.kind == "simulated" else ""
    typer.echo(f"{out}: {len(merged.cases):,}{mark} cases of {', '.join(names)}")
    if made is not None and made.judges:
        typer.echo(f"{out / 'runs'}: {made.verdicts:,} verdicts of {count(made.judges, 'judge')}")
        for text in made.apart:
            typer.echo(line(text), err=True)
    elif made is not None:
        typer.echo(f"{out}: no verdicts, since no source contains a folder runs", err=True)
    else:
        n = sum(verdicts_in(source) for source in loaded.values())
        typer.echo(f"{n:,} verdicts of the sources are left out", err=True)
    if "split" in merged.cases:
        typer.echo(
            f"{out}: the splits of the sources are kept; `mrb check` finds cases that leak between them", err=True
        )
