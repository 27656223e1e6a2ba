"""The tables of a step on stdout: as text one below the other, or all in one JSON object."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import typer

from mrb_lib.cli.listing import line
from mrb_lib.cli.render import MARK, as_text, json_rows


def show_tables(step: str, tables: Mapping[str, pd.DataFrame], summary: str, *, simulated: bool, as_json: bool) -> None:
    """Print what a step made.

    Parameters
    ----------
    tables : by name; those without rows are left out of the text
    summary : a sentence for the end of the text
    """
    if as_json:
        import json

        head = {"step": step} | ({"data_kind": MARK} if simulated else {})
        rows = {name: json_rows(table) for name, table in tables.items()}
        typer.echo(json.dumps({**head, **rows}, allow_nan=False))
        return
    for name, table in tables.items():
        if len(table):
            typer.echo(f"{name}{f' {MARK}' if simulated else ''}")
            typer.echo("\n".join(map(line, as_text(table).split("\n"))) + "\n")
    typer.echo(f"{summary}{f' ({MARK})' if simulated else ''}")
