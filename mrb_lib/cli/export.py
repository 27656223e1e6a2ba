"""`mrb export`: write a benchmark and its verdicts in another layout."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from mrb_lib.benchmarks.benchmark import ImagesWithoutTexts, load
from mrb_lib.benchmarks.formats import WRITERS
from mrb_lib.cli.findings import echo_findings
from mrb_lib.cli.formats import ExportCommand, chosen_options
from mrb_lib.cli.options import Bench
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import staged_folder
from mrb_lib.verdicts.store import empty_verdicts, load_verdicts

COMMAND = ExportCommand


def export(
    ctx: typer.Context,
    format_: Annotated[str, typer.Argument(metavar="FORMAT", help="One of the formats below.")],
    bench: Bench,
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="[RUNS] OUT", help="The runs (by default BENCH/runs, - for none), and the folder to write."
        ),
    ],
) -> None:
    """Write a benchmark and its verdicts in another layout, or its labels as rows to train on."""
    if len(folders) > _MOST_FOLDERS:
        raise InputError(f"{folders[2]}: is one folder too many; name BENCH, RUNS where there are any, and OUT.")
    *runs, out = folders
    writer = WRITERS[format_]
    options = chosen_options("export", format_, writer.convert, ctx.obj)
    benchmark = load(bench)
    images = ImagesWithoutTexts(benchmark.images)
    benchmark = replace(benchmark, images=images)
    own = bench / "runs"
    read = [folder for folder in runs or ([own] if writer.has_verdicts and own.is_dir() else []) if str(folder) != "-"]
    verdicts = load_verdicts(read[0], benchmark.cases, replies=True) if read else empty_verdicts()
    with staged_folder(out) as folder:
        findings = writer.convert(benchmark, verdicts, folder, **options)
    echo_findings([*findings, *images.findings()])
    if not runs and len(verdicts):
        typer.echo(f"{own}: its {len(verdicts):,} verdicts are exported too; `-` as RUNS leaves them out", err=True)
    mark = " (SIMULATED)" if benchmark.meta.kind == "simulated" else ""
    typer.echo(f"{out}{mark}: {bench} in format {format_}")


_MOST_FOLDERS = 2
