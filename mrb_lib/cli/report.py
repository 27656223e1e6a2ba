"""`mrb report`: every notebook, figure and table, and the static site."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.cli.findings import echo_stale_runs
from mrb_lib.cli.options import Bench, Runs, Seed, is_given
from mrb_lib.report.records import PRINTED
from mrb_lib.tables.errors import InputError


def report(
    context: typer.Context,
    bench: Bench,
    runs: Runs = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder of the site.")] = Path("report"),
    figures: Annotated[Path | None, typer.Option(help="Also keep a copy of the figures here.")] = None,
    dimension: Annotated[str, typer.Option(help="The dimension that single-dimension figures show.")] = "overall",
    policy: Annotated[str, typer.Option(help="official, balanced, strict, net or answered.")] = "balanced",
    seed: Seed = 0,
    judges: Annotated[str, typer.Option(metavar="A,B", help="Show these judges only; group:medical for a group.")] = "",
    parameters: Annotated[
        list[str] | None,
        typer.Option("-p", "--parameter", metavar="NAME=VALUE", help="Another parameter of the notebooks; repeatable."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="NOTEBOOK", help="Run this one, such as 05_subfields; repeatable.")
    ] = None,
    notebooks: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The folder of notebooks; default: those of the library.")
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(
            metavar="OLD",
            help="Also show what moved since OLD: an earlier report, another benchmark with its runs, or other runs.",
        ),
    ] = None,
    preset: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="paper: policy official and the notebook paper alone; what else you set goes before."
        ),
    ] = "",
    jobs: Annotated[int, typer.Option(min=1, help="Notebooks at a time.")] = 2,
    cases: Annotated[int, typer.Option("--cases", min=0, metavar="N", help="Failures to show as pages, at most.")] = 12,
    pdf: Annotated[bool, typer.Option("--pdf", help="Also print it as one PDF; takes a Chromium.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Run every notebook, changed or not.")] = False,
) -> None:
    """Run the notebooks that changed, and write figures, tables and the static site."""

    missing = [name for name in ("ipykernel", "jinja2", "markdown_it", "nbformat", "papermill") if not find_spec(name)]
    if missing:
        raise InputError(
            f"report: {', '.join(missing)} is not installed; pip install 'mrb-workbench[report]' brings it."
        )
    from mrb_lib.report.pipeline import report as run
    from mrb_lib.report.places import locate

    parameter_values = dict(_name_and_value(text) for text in parameters or ())
    if judges:
        parameter_values["judges"] = judges
    if preset:
        from functools import partial

        from mrb_lib.cli.presets import chosen

        own = chosen(preset, "report", {*filter(partial(is_given, context), context.params), *parameter_values})
        policy, only = own.get("policy", policy), own.get("only", only)
    policy, dimension = parameter_values.pop("policy", policy), parameter_values.pop("dimension", dimension)
    seed = _whole_number("seed", parameter_values.pop("seed", str(seed)))
    where = locate(str(bench), "" if runs is None else str(runs))
    echo_stale_runs(where.runs, load(where.benchmark))
    result = run(
        where.benchmark, where.runs, out, figures=figures, policy=policy, dimension=dimension, seed=seed,
        parameters=parameter_values, only=only or (), notebooks=notebooks, compare=compare,
        jobs=jobs, cases=cases, pdf=pdf, force=force, progress=lambda line: typer.echo(line, err=True),
    )  # fmt: skip
    typer.echo(f"{len(result.executed)} notebooks run, {len(result.skipped)} unchanged, {len(result.failed)} failed")
    for failure in result.failed:
        typer.echo(f"{failure}\n{failure.source}", err=True)
    typer.echo(f"Open {out / 'index.html'}" + ("" if figures is None else f"; figures are in {figures}"))
    if pdf:
        typer.echo(f"Printed {out / PRINTED}")
    if result.failed:
        raise typer.Exit(1)


def _name_and_value(text: str) -> tuple[str, str]:

    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise InputError(f"-p {text}: is not a name and a value; write it as name=value.")
    return name, value


def _whole_number(name: str, text: str) -> int:

    if not text.isdecimal():
        raise InputError(f"-p {name}={text}: is not a whole number from 0 on.")
    return int(text)
