"""Output that the steps of `mrb construct` share."""

import json
from collections.abc import Mapping

import pandas as pd
import typer

from mrb_lib.build.construct.work import Work
from mrb_lib.cli.listing import line
from mrb_lib.cli.render import MARK, as_text, json_rows


def mark(work: Work) -> str:
    """ " (SIMULATED)" for a work folder of simulated items."""
    return " (SIMULATED)" if work.meta.kind == "simulated" else ""


def echo_funnel(work: Work, step: str) -> None:
    """Print how many items entered a step and left it, and why the others did not."""
    rows = work.funnel()
    rows = rows[rows["step"] == step]
    if rows.empty:
        return
    n_in, n_out = rows[["n_in", "n_out"]].iloc[0]
    typer.echo(f"{work.path}{mark(work)}: {step} kept {n_out:,} of {n_in:,} items")
    for row in rows.iloc[1:].itertuples():
        typer.echo(line(f"  {row.n:,} left out: {row.reason}"))
    if not n_out:
        typer.echo(f"warning: no item is left for the next step; correct the input and {step} with --again", err=True)


def show_tables(step: str, tables: Mapping[str, pd.DataFrame], summary: str, *, simulated: bool, as_json: bool) -> None:
    """Print what a step made.

    Parameters
    ----------
    tables : by name; those without rows are left out of the text
    summary : a sentence for the end of the text
    """
    if as_json:
        head = {"step": step} | ({"data_kind": MARK} if simulated else {})
        rows = {name: json_rows(table) for name, table in tables.items()}
        typer.echo(json.dumps({**head, **rows}, allow_nan=False))
        return
    for name, table in tables.items():
        if len(table):
            typer.echo(f"{name}{f' {MARK}' if simulated else ''}")
            typer.echo("\n".join(map(line, as_text(table).split("\n"))) + "\n")
    typer.echo(f"{summary}{f' ({MARK})' if simulated else ''}")
