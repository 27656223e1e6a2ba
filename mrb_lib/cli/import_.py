"""`mrb import`: turn somebody else's files into a benchmark folder."""

from pathlib import Path
from typing import Annotated

import typer

from mrb_lib.benchmarks.audit.labels import identity_findings
from mrb_lib.benchmarks.formats import READERS, read_source
from mrb_lib.cli.findings import echo_findings, echo_groups
from mrb_lib.cli.formats import ImportCommand, chosen_options
from mrb_lib.cli.listing import line, next_after
from mrb_lib.cli.writing import import_summary, preview, write_imported
from mrb_lib.tables.files import staged_folder

COMMAND = ImportCommand


def import_(
    ctx: typer.Context,
    format_: Annotated[str, typer.Argument(metavar="FORMAT", help="One of the formats below.")],
    src: Annotated[Path, typer.Argument(metavar="SRC", help="The folder (or file) to read.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The benchmark folder to write.")],
    map_: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="THEIRS=OURS",
            help="Read their column as ours: --map prompt=question --map body_part=organ; repeatable.",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if this program wrote it.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print how SRC is understood and write nothing.")] = False,
) -> None:
    """Turn somebody else's files into a benchmark, and their verdicts into runs under OUT/runs."""
    options = chosen_options("import", format_, READERS[format_].convert, ctx.obj)
    imported = read_source(format_, src, map_=map_ or (), **options)
    if dry_run:
        typer.echo("\n".join(map(line, preview(imported))))
        echo_findings(imported.findings)
        return
    with staged_folder(out, overwrite=overwrite, source=src) as folder:
        removed = write_imported(imported, folder, str(src))
    typer.echo("\n".join(map(line, preview(imported))))
    identities = identity_findings(imported.benchmark.cases.columns, "cases")
    echo_findings([*imported.findings, *identities, *removed])
    if len(imported.verdicts) and imported.benchmark.meta.kind != "simulated":
        from mrb_lib.judges.roster.groups import judge_groups

        echo_groups(judge_groups(imported.verdicts["judge"].unique()))
    typer.echo(import_summary(imported, out))
    typer.echo(f"next: {next_after(out, len(imported.verdicts) > 0)}")
