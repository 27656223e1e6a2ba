"""What a point or a cell of a figure leads to: a list of cases, and how a reviewer opens just these.

A list frame, the `behind` of `Workspace.figure`, has a row a mark that leads somewhere: `row` and `subfield` or
`dimension`, as the marks of the figure name them, `listed`, the ids of its cases, `stated`, how many they are and of
what, and `query`, what stands after # in the address of `mrb review` that lists the same cases, empty where no short
filter says which they are. Its `attrs` say what all lists are `about`, and what its `rows` are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pandas as pd

from mrb_lib.figures.style import Paper
from mrb_lib.review.failures.query import PLACES, Query, to_fragment
from mrb_lib.stats.where import WRONG

MOST_IDS: Final = 1000
_LONGEST_WHERE = 1500
REVIEWED_BY: Final = ("balanced", "majority")
ABOUT_FAILURES: Final = (
    "The cases that a judge gets wrong: those on which its score under the policy {policy} is below one half. A score "
    "of one half, as for calling a tie what is none, is counted beside."
)


def as_lists(frame: pd.DataFrame, about: str, *, rows: str = "judge") -> pd.DataFrame:
    """A list frame: `row`, `listed`, `stated`, `query` and, where it has them, `dimension`, `by` and `subfield`."""
    made = frame.reindex(columns=["row", "dimension", "by", "subfield", "listed", "stated", "query"])
    made.attrs = {"about": about, "rows": rows}
    return made


def counted(n: int, word: str = "case") -> str:
    """A number of things: "1 case", "1,026 cases"."""
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def with_queries(frame: pd.DataFrame, cases: pd.DataFrame, *, policy: str, gold: str, where: str) -> pd.DataFrame:
    """The table of `mrb_lib.review.failures.lists.failing_cases` as a list frame.

    Parameters
    ----------
    policy, gold : that the table was made by
    where : the filter that chose its cases; empty for all

    Returns
    -------
    DataFrame
        See the head of this file. The reviewer's app scores by the policy `balanced` and the annotators' majority, so
        that under others the cases are named one by one.
    """
    filtered = where if (policy, gold) == REVIEWED_BY else None
    rows = [dict(zip(frame.columns, row, strict=True)) for row in frame.itertuples(index=False)]
    made = frame.rename(columns={"judge": "row", "wrong": "listed"}).assign(
        stated=pd.Series([wrong_of(row) for row in rows], frame.index, dtype="str"),
        query=pd.Series([_fragment(row, cases, filtered) for row in rows], frame.index, dtype="str"),
    )
    return as_lists(made, ABOUT_FAILURES.format(policy=policy))


def wrong_of(row: Mapping[Any, Any]) -> str:
    """How many cases are wrong, and half right, of those scored."""
    half = f" and {row['n_half_right']:,} half right" if row["n_half_right"] else ""
    return f"{row['n_wrong']:,} wrong{half} of {counted(row['n'])} scored"


def _fragment(row: dict[str, Any], cases: pd.DataFrame, where: str | None) -> str:
    """The query of one row; `where` is None where the reviewer's app would call other cases wrong."""
    if not row["wrong"]:
        return ""
    query = Query(row["judge"], dimension=row["dimension"])
    if where is not None and (chosen := of_part(replace(query, where=where), cases, row["by"], row["subfield"])):
        return to_fragment(replace(chosen, outcome=(WRONG,)))
    return named(query, row["wrong"])


def named(query: Query, ids: Sequence[str]) -> str:
    """The query with its cases named one by one; empty where there are none, or too many to name."""
    where = f"case_id in {list(ids)!r}"
    return to_fragment(replace(query, where=where)) if ids and len(where) <= _LONGEST_WHERE else ""


def of_part(query: Query, cases: pd.DataFrame, by: str | None, subfield: str | None) -> Query | None:
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


def cells_behind(frame: pd.DataFrame, drawn: Paper, dimension: str) -> dict[str, object]:
    """The rows of a list frame that a figure draws, each with where it is drawn, for the sidecar of the figure.

    Parameters
    ----------
    drawn : finished; its marks name a `row` or `judge`, and a `dimension` or a `subfield` where that differs
    dimension : of the marks that name none

    Returns
    -------
    dict
        `about`, `rows`, and `cells`, a list of `row`, `dimension`, `by`, `subfield`, `stated`, `query`; `n_listed`, and
        `listed`, the first `MOST_IDS` ids; `box`, left, top, width and height as shares of the figure's.
    """
    keys = ("row", "dimension", "subfield")
    rows = {tuple(None if pd.isna(row[key]) else row[key] for key in keys): row for row in frame.to_dict("records")}
    made: list[dict[str, object]] = []
    for names, box in drawn.boxes():
        key = (names.get("row", names.get("judge")), names.get("dimension", dimension), names.get("subfield"))
        if key in rows:
            row, by = rows[key], None if key[2] is None else rows[key]["by"]
            stated = {**dict(zip(keys, key, strict=True)), "by": by, "stated": row["stated"], "query": row["query"]}
            listed = list(row["listed"])
            made.append({**stated, "n_listed": len(listed), "listed": listed[:MOST_IDS], "box": box})
    return {"about": frame.attrs["about"], "rows": frame.attrs["rows"], "cells": made}
