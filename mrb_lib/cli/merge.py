"""`mrb merge`: several benchmarks as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def merge(
    folders: Annotated[
        list[Path], typer.Argument(metavar="BENCH BENCH... OUT", help="The benchmarks, and the folder to write.")
    ],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if this program wrote it.")] = False,
) -> None:
    """Write several benchmarks as one: ids kept apart by the folders' names, `dataset` filled, the sources listed."""
    from mrb_lib.benchmarks.benchmark import load, save
    from mrb_lib.benchmarks.merge import merge as merge_benchmarks
    from mrb_lib.tables.errors import InputError
    from mrb_lib.tables.files import slug, staged_folder

    *sources, out = folders
    names = [slug(folder.resolve().name) for folder in sources]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"{twice[0]}: two benchmarks have a folder of this name, which keeps ids apart; rename one.")
    merged = merge_benchmarks({name: load(folder) for name, folder in zip(names, sources, strict=True)})
    with staged_folder(out, overwrite=overwrite) as stage:
        save(merged, stage)
    mark = " SIMULATED" if merged.meta.kind == "simulated" else ""
    typer.echo(f"{out}: {len(merged.cases):,}{mark} cases of {', '.join(names)}")
    if "split" in merged.cases:
        typer.echo(
            f"{out}: the splits of the sources are kept; `mrb check` finds cases that leak between them", err=True
        )
