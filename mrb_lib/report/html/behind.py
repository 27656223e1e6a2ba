"""The cases behind the points and cells of a figure: where a page leads from each, and a page that lists them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from mrb_lib.report.clean import Json

FOLDER = "behind"


@dataclass(frozen=True)
class Cell:
    """One point or cell of a figure, and the cases behind it.

    Attributes
    ----------
    row, part : its row, such as a judge, and its subfield or dimension
    anchor : where its list begins on the page of the figure
    stated : how many cases there are, and of what
    n_listed : how many there are
    listed : their ids, or the first of very many, with the page of each, empty where it has none
    command : opens them for review; empty where no filter says which they are
    box : left, top, width and height in the figure, in percent
    """

    row: str
    part: str
    anchor: str
    stated: str
    n_listed: int
    listed: tuple[tuple[str, str], ...]
    command: str
    box: tuple[float, ...]


def cells_of(figure: Json, cases: Mapping[str, str]) -> list[Cell]:
    """The points or cells of a figure that lead somewhere, in the order they are drawn; empty where none does.

    Parameters
    ----------
    figure : its sidecar
    cases : the page of each case that has one
    """
    rows = cast(Sequence[Mapping[str, Any]], cast(Json, figure.get("behind") or {}).get("cells", ()))
    names, parts = (list(dict.fromkeys(values)) for values in (map(_row, rows), map(_part, rows)))
    return [
        Cell(
            _row(row),
            _part(row),
            f"cell-{names.index(_row(row)) + 1}-{parts.index(_part(row)) + 1}",
            row["stated"],
            row["n_listed"],
            tuple((case, cases.get(case, "")) for case in row["listed"]),
            f"mrb review BENCH RUNS --query {shlex.quote(row['query'])}" if row["query"] else "",
            tuple(round(100 * share, 2) for share in row["box"]),
        )
        for row in rows
    ]


def _row(row: Mapping[str, Any]) -> str:
    return str(row["row"])


def _part(row: Mapping[str, Any]) -> str:
    return str(row["dimension"] if row["subfield"] is None else row["subfield"])


def page_name(figure: Json) -> str:
    """The page that lists the cases behind a figure, relative to the report's folder; its id is plain."""
    return f"{FOLDER}/{figure['id']}.html"
