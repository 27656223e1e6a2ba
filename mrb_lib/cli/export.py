"""`mrb export`: write a benchmark and its verdicts in another layout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    ctx: typer.Context,
    format_: Annotated[str, typer.Argument(metavar="FORMAT", help="One of the formats below.")],
    bench: Annotated[Path, typer.Argument(metavar="BENCH", help="The benchmark folder.")],
    runs: Annotated[Path, typer.Argument(metavar="RUNS", help="The runs, or - for none.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write.")],
) -> None:
    """Write a benchmark and its verdicts in the published layout, or as plain tables."""
    from mrb_lib.cli.findings import echo_findings
    from mrb_lib.cli.formats import chosen_options
    from mrb_lib.data.benchmark import load
    from mrb_lib.data.formats import WRITERS
    from mrb_lib.files import staged_folder
    from mrb_lib.verdicts.store import empty_verdicts, load_verdicts

    write = WRITERS[format_].convert
    options = chosen_options("export", format_, write, ctx.obj)
    benchmark = load(bench)
    verdicts = empty_verdicts() if str(runs) == "-" else load_verdicts(runs, benchmark.cases, replies=True)
    with staged_folder(out) as folder:
        findings = write(benchmark, verdicts, folder, **options)
    echo_findings(findings)
    typer.echo(f"{out}: {len(benchmark.cases)} cases in format {format_}")
