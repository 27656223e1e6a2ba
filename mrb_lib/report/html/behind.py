"""The cases behind the points and cells of a figure: where a page leads from each, and a page that lists them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, cast

from mrb_lib.report.clean import Json

FOLDER = "behind"


def cells_of(figure: Json, cases: Mapping[str, str]) -> list[Json]:
    """The points or cells of a figure that lead somewhere, in the order they are drawn; empty where none does.

    Parameters
    ----------
    figure : its sidecar
    cases : the page of each case that has one

    Returns
    -------
    list of dict
        `row` and `part` (a judge, and its subfield or dimension); `anchor`, where its list begins on the page of the
        figure; `stated`, how many cases there are, and of what; `n_listed`; `listed`, their ids, or the first of very
        many, with the page of each, empty where it has none; `command`, which opens them for review, empty where no
        filter says which they are; `box` (left, top, width and height in the figure, in percent).
    """
    rows = cast(Sequence[Mapping[str, Any]], cast(Json, figure.get("behind") or {}).get("cells", ()))
    names, parts = (list(dict.fromkeys(values)) for values in (map(_row, rows), map(_part, rows)))
    return [
        {
            **row,
            "row": _row(row),
            "part": _part(row),
            "anchor": f"cell-{names.index(_row(row)) + 1}-{parts.index(_part(row)) + 1}",
            "listed": [(case, cases.get(case, "")) for case in row["listed"]],
            "command": f"mrb review BENCH RUNS --query {shlex.quote(row['query'])}" if row["query"] else "",
            "box": [round(100 * share, 2) for share in row["box"]],
        }
        for row in rows
    ]


def _row(row: Mapping[str, Any]) -> str:
    return str(row["row"])


def _part(row: Mapping[str, Any]) -> str:
    return str(row["dimension"] if row["subfield"] is None else row["subfield"])


def page_name(figure: Json) -> str:
    """The page that lists the cases behind a figure, relative to the report's folder; its id is plain."""
    return f"{FOLDER}/{figure['id']}.html"
