"""What the steps of `mrb construct` print alike."""

from __future__ import annotations

import typer

from mrb_lib.build.construct.work import Work
from mrb_lib.cli.listing import line


def mark(work: Work) -> str:
    """ " (SIMULATED)" for a work folder of simulated items."""
    return " (SIMULATED)" if work.meta.kind == "simulated" else ""


def echo_funnel(work: Work, step: str) -> None:
    """How many items entered a step and left it, and why the others did not."""
    rows = work.funnel()
    rows = rows[rows["step"] == step]
    if rows.empty:
        return
    n_in, n_out = rows[["n_in", "n_out"]].iloc[0]
    typer.echo(f"{work.path}{mark(work)}: {step} kept {n_out:,} of {n_in:,} items")
    for row in rows.iloc[1:].itertuples():
        typer.echo(line(f"  {row.n:,} left out: {row.reason}"))
