"""What a point or a cell of a figure leads to: the cases that its judge gets wrong, and how a reviewer opens them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pandas as pd

from mrb_lib.plots.style import Paper
from mrb_lib.stats.failures.failure_kinds import MISSED, OUTCOMES
from mrb_lib.stats.failures.query import PLACES, Query, to_fragment

MOST_IDS: Final = 1000
_LONGEST_WHERE = 1500
REVIEWED_BY: Final = ("balanced", "majority")


def with_queries(frame: pd.DataFrame, cases: pd.DataFrame, *, policy: str, gold: str, where: str) -> pd.DataFrame:
    """The table of `mrb_lib.stats.failures.cells.failing_cases` with a `query` for each row.

    Parameters
    ----------
    policy, gold : that the table was made by
    where : the filter that chose its cases; empty for all

    Returns
    -------
    DataFrame
        `query` is what stands after # in the address of `mrb review` that lists the same cases; empty where no short
        filter says which they are. The reviewer's app scores by the policy `balanced` and the annotators' majority, so
        that under others the cases are named one by one.
    """
    filtered = where if (policy, gold) == REVIEWED_BY else None
    rows = [dict(zip(frame.columns, row, strict=True)) for row in frame.itertuples(index=False)]
    return frame.assign(query=pd.Series([_fragment(row, cases, filtered) for row in rows], frame.index, dtype="str"))


def _fragment(row: dict[str, Any], cases: pd.DataFrame, where: str | None) -> str:
    """The query of one row; `where` is None where the reviewer's app would call other cases wrong."""
    if not row["wrong"]:
        return ""
    query = Query(row["judge"], dimension=row["dimension"])
    if where is not None and (chosen := _of_cell(replace(query, where=where), cases, row["by"], row["subfield"])):
        return to_fragment(replace(chosen, outcome=(OUTCOMES[MISSED],)))
    named = f"case_id in {list(row['wrong'])!r}"
    return to_fragment(replace(query, where=named)) if len(named) <= _LONGEST_WHERE else ""


def _of_cell(query: Query, cases: pd.DataFrame, by: str | None, subfield: str | None) -> Query | None:
    """The query for the cases of a subfield, or for all; None where no filter can say which these are."""
    if by is None or subfield is None or pd.isna(subfield):
        return query
    if by in PLACES:
        place: dict[str, Any] = {by: subfield}
        return replace(query, **place)
    column = cases.get(by)
    if column is None or not by.isidentifier() or not pd.api.types.is_string_dtype(column):
        return None
    where = f"{by} == {subfield!r}"
    return replace(query, where=f"({query.where}) and {where}" if query.where else where)


def cells_behind(frame: pd.DataFrame, drawn: Paper, dimension: str) -> list[dict[str, object]]:
    """The rows of `with_queries` that a figure draws, each with where it is drawn, for the sidecar of the figure.

    Parameters
    ----------
    drawn : finished; its marks name a `judge`, and a `dimension` or a `subfield` where that differs
    dimension : of the marks that name none

    Returns
    -------
    list of dict
        `judge`, `dimension`, `by`, `subfield`, `n`, `n_half_right`, `n_wrong`, `query`; `wrong`, the first `MOST_IDS`
        ids; `box`, left, top, width and height as shares of the figure's.
    """
    rows = {
        (row["judge"], row["dimension"], None if pd.isna(row["subfield"]) else row["subfield"]): row
        for row in frame.to_dict("records")
    }
    made: list[dict[str, object]] = []
    for names, box in drawn.boxes():
        key = (names["judge"], names.get("dimension", dimension), names.get("subfield"))
        if key in rows:
            row, stated = rows[key], dict(zip(("judge", "dimension", "subfield"), key, strict=True))
            by = None if key[2] is None else row["by"]
            counts = {name: int(row[name]) for name in ("n", "n_half_right", "n_wrong")}
            ids = list(row["wrong"][:MOST_IDS])
            made.append({**stated, "by": by, **counts, "query": row["query"], "wrong": ids, "box": box})
    return made
