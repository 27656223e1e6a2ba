"""`mrb report`: every notebook, figure and table, and the static site."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.cli.findings import echo_stale_runs
from mrb_lib.cli.options import Bench, Runs, declares, options_from
from mrb_lib.cli.presets import chosen
from mrb_lib.report.records import PRINTED
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.options import Names, Option, checked_dataclass


@checked_dataclass
class ReportOptions:
    """Options of a report: its contents and its folder."""

    out: Annotated[Path, Option("Write the site to this folder.", "DIR")] = Path("report")
    figures: Annotated[Path | None, Option("Keep a copy of the figures here.", "DIR")] = None
    dimension: Annotated[str, Option("Show this dimension in single-dimension figures.", "NAME")] = "overall"
    policy: Annotated[str, Option("Score by official, balanced, strict, net or answered.", "POLICY")] = "balanced"
    seed: Annotated[int, Field(ge=0), Option("Set the seed of the resampling.")] = 0
    judges: Annotated[str, Option("Show these judges only; group:medical for a group.", "A,B")] = ""
    only: Annotated[Names, Option("Run this notebook, such as 05_subfields; repeatable.", "NOTEBOOK")] = ()
    notebooks: Annotated[
        Path | None, Option("Run the notebooks of this folder; default: the library's own.", "DIR")
    ] = None
    compare: Annotated[
        str | None,
        Option("Show what changed since OLD: an earlier report, a benchmark with its runs, or other runs.", "OLD"),
    ] = None
    jobs: Annotated[int, Field(ge=1), Option("Run N notebooks at a time.", "N")] = 2
    cases: Annotated[int, Field(ge=0), Option("Show at most N failures as pages.", "N")] = 12
    pdf: Annotated[bool, Option("Print it as one PDF, too; needs a Chromium.")] = False
    force: Annotated[bool, Option("Run every notebook, changed or not.")] = False


COMMAND = declares(ReportOptions())


def report(
    context: typer.Context,
    bench: Bench,
    runs: Runs = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option("-p", "--parameter", metavar="NAME=VALUE", help="Set a parameter of the notebooks; repeatable."),
    ] = None,
    preset: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="paper: policy official and the notebook paper alone; what else you set goes before."
        ),
    ] = "",
) -> None:
    """Run the notebooks that changed, and write figures, tables and the static site."""
    missing = [name for name in ("ipykernel", "jinja2", "markdown_it", "nbformat", "papermill") if not find_spec(name)]
    if missing:
        raise InputError(
            f"report: {', '.join(missing)} is not installed; pip install 'mrb-workbench[report]' brings it."
        )
    from mrb_lib.report.pipeline import report as run
    from mrb_lib.report.places import locate

    values = dict(_name_and_value(text) for text in parameters or ())
    context.obj |= chosen(preset, "report", {*context.obj, *values}) if preset else {}
    options = options_from(ReportOptions(), context)
    shared = {name: value for name, value in vars(options).items() if name not in ("out", "judges")}
    shared |= {name: values.pop(name) for name in ("policy", "dimension") if name in values}
    shared |= {"seed": _whole_number("seed", values.pop("seed", str(options.seed))), "only": [*options.only] or ()}
    values |= {"judges": options.judges} if options.judges else {}
    where = locate(str(bench), "" if runs is None else str(runs))
    echo_stale_runs(where.runs, load(where.benchmark))
    result = run(
        where.benchmark, where.runs, options.out, parameters=values,
        progress=lambda line: typer.echo(line, err=True), **shared,
    )  # fmt: skip
    typer.echo(f"{len(result.executed)} notebooks run, {len(result.skipped)} unchanged, {len(result.failed)} failed")
    for failure in result.failed:
        typer.echo(f"{failure}\n{failure.source}", err=True)
    copied = "" if options.figures is None else f"; figures are in {options.figures}"
    typer.echo(f"Open {options.out / 'index.html'}{copied}")
    if options.pdf:
        typer.echo(f"Printed {options.out / PRINTED}")
    if result.failed:
        raise typer.Exit(1)


def _name_and_value(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise InputError(f"-p {text}: is not a name and a value; write it as name=value.")
    return name, value


def _whole_number(name: str, text: str) -> int:
    if not text.isdecimal():
        raise InputError(f"-p {name}={text}: write a whole number, 0 or more.")
    return int(text)
