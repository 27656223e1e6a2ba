"""`mrb import`: turn somebody else's files into a benchmark folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_(
    format_: Annotated[
        str, typer.Argument(metavar="FORMAT", help="official, table, pandalm, judgebench, llmbar, llmfao or kqa.")
    ],
    src: Annotated[Path, typer.Argument(metavar="SRC", help="The folder (or file) to read.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The benchmark folder to write.")],
    kind: Annotated[str | None, typer.Option(help="table: clinical, general or simulated.")] = None,
    name: Annotated[str | None, typer.Option(help="table: the benchmark's name.")] = None,
    unparsed_as_tie: Annotated[
        bool, typer.Option("--unparsed-as-tie", help="pandalm: read unparsed verdicts as ties, as its authors did.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if this program wrote it.")] = False,
) -> None:
    """Turn somebody else's files into a benchmark, and their verdicts into runs under OUT/runs."""
    from mrb_lib.cli.findings import echo_findings
    from mrb_lib.cli.writing import summary, write_imported
    from mrb_lib.data.formats import reader
    from mrb_lib.errors import InputError
    from mrb_lib.files import staged_folder

    read = reader(format_)
    options = {"kind": kind, "name": name, "unparsed_as_tie": unparsed_as_tie or None}
    given = {key: value for key, value in options.items() if value is not None}
    accepted = {"table": {"kind", "name"}, "pandalm": {"unparsed_as_tie"}}.get(format_, set())
    for option in given.keys() - accepted:
        raise InputError(f"--{option.replace('_', '-')}: import {format_} has no such option; leave it out.")
    imported = read(src, **given)
    with staged_folder(out, overwrite=overwrite, source=src) as folder:
        write_imported(imported, folder, str(src))
    echo_findings(imported.findings)
    typer.echo(summary(imported, out))
