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
    from dataclasses import replace

    from mrb_lib.cli.findings import echo_findings
    from mrb_lib.data.audit_images import image_findings
    from mrb_lib.data.benchmark import save
    from mrb_lib.data.formats import reader
    from mrb_lib.errors import InputError
    from mrb_lib.files import staged_folder
    from mrb_lib.runs.store import save_imported
    from mrb_lib.schema import raise_on_error

    options = {"kind": kind, "name": name, "unparsed_as_tie": unparsed_as_tie or None}
    given = {key: value for key, value in options.items() if value is not None}
    accepted = {"table": {"kind", "name"}, "pandalm": {"unparsed_as_tie"}}.get(format_, set())
    read = reader(format_)
    for option in given.keys() - accepted:
        raise InputError(f"--{option.replace('_', '-')}: import {format_} has no such option; leave it out.")
    imported = read(src, **given)
    benchmark, verdicts = imported.benchmark, imported.verdicts
    with staged_folder(out, overwrite=overwrite) as folder:
        save(benchmark, folder)
        found, _ = image_findings(folder / "images", benchmark.cases)
        raise_on_error(replace(finding, file=str(src)) for finding in found)
        if len(verdicts):
            save_imported(
                verdicts, folder / "runs", benchmark=benchmark.meta.name, kind=benchmark.meta.kind, source=format_
            )
    echo_findings(imported.findings)
    mark = " (SIMULATED)" if benchmark.meta.kind == "simulated" else ""
    typer.echo(
        f"{out}{mark}: {len(benchmark.cases)} cases, {len(benchmark.annotations)} annotations, {len(verdicts)} verdicts"
        + (f" of {verdicts['judge'].nunique()} judges, in {out / 'runs'}" if len(verdicts) else "")
    )
