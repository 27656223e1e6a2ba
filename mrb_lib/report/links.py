"""The cases that a point or a cell of a figure leads to, and how a reviewer opens just these.

A list frame has a row a mark that leads somewhere: `row` and `subfield` or
`dimension`, as the marks of the figure name them, `listed`, the ids of its cases, `stated`, how many they are and of
what, and `query`, what stands after # in the address of `mrb review` that lists the same cases, empty where no short
filter says which they are. Its `attrs` say what all lists are `about`, and what its `rows` are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Protocol

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.figures.confidence import promised
from mrb_lib.figures.style import Paper
from mrb_lib.report.defaults import Options
from mrb_lib.report.publish import Publisher
from mrb_lib.review.failures.kinds import INCONSISTENT, SPLIT
from mrb_lib.review.failures.lists import (
    disputed_cases,
    disputed_pairs,
    failing_cases,
    in_order,
    surely_wrong,
    turned_cases,
    unsure_cases,
)
from mrb_lib.review.failures.query import PLACES, Query, to_fragment
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.subfields import subfield_values
from mrb_lib.stats.tables.jury import missed_by_juries
from mrb_lib.stats.where import WRONG
from mrb_lib.tables.schema import NO_PROBE

MOST_IDS: Final = 1000
_LONGEST_WHERE = 1500
REVIEWED_BY: Final = ("balanced", "majority")
ABOUT_FAILURES: Final = (
    "The cases that a judge gets wrong: those on which its score under the policy {policy} is below one half. A score "
    "of one half, as for calling a tie what is none, is counted beside."
)


class Source(Protocol):
    """What a table was made from: a `mrb_lib.report.study.Study`."""

    @property
    def benchmark(self) -> Benchmark: ...
    @property
    def verdicts(self) -> pd.DataFrame: ...
    @property
    def panels(self) -> pd.DataFrame | Mapping[str, Panel]: ...
    @property
    def options(self) -> Options: ...
    @property
    def labels(self) -> pd.DataFrame: ...
    @property
    def order(self) -> list[str]: ...
    @property
    def group_of(self) -> dict[str, str]: ...
    @property
    def derives_departments(self) -> bool: ...
    @property
    def publisher(self) -> Publisher: ...


class Drawn(Protocol):
    """The rows that a figure draws: a `mrb_lib.report.table.Table`."""

    @property
    def frame(self) -> pd.DataFrame: ...
    @property
    def study(self) -> Source: ...
    @property
    def options(self) -> Mapping[str, Any]: ...
    @property
    def by(self) -> str | None: ...
    @property
    def dimension(self) -> str: ...


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


def links_of(name: str, table: Drawn) -> pd.DataFrame | None:
    """Return the list frame of a figure, by the name that it gives as `cases`.

    None for no name, for lists of verdicts where there are none, and of confidence where they are ratings.
    """
    study = table.study
    lacks = study.verdicts.empty and name not in ("disputed", "disputed pairs", "all")
    if not name or lacks or (name == "surely wrong" and study.benchmark.meta.is_rating):
        return None
    return LISTS[name](table)


def _plain(study: Source) -> pd.DataFrame | Panel:
    """The verdicts without probes, laid out by the categories of the benchmark."""
    by_probe = study.panels if isinstance(study.panels, Mapping) else {}
    return by_probe.get(NO_PROBE, study.verdicts[study.verdicts["probe"] == NO_PROBE])


def _of_judges(rows: pd.DataFrame, dimension: str | None = None) -> pd.DataFrame:
    """The rows of a list by judge as a list frame, the cases named one by one."""
    own = rows["dimension"] if dimension is None else [dimension] * len(rows)
    of = zip(rows["judge"], own, rows["listed"], strict=True)
    queries = [named(Query(judge, dimension=each), listed) for judge, each, listed in of]
    return rows.assign(row=rows["judge"], dimension=own, query=queries)


def _wrong(table: Drawn) -> pd.DataFrame:
    """The cases that each judge gets wrong, of each dimension of the table and each subfield."""
    study, shared = table.study, table.study.options
    dimensions = table.frame["dimension"].dropna().unique().tolist()
    known = [name for name in dimensions if name in study.benchmark.meta.dimensions]
    made = failing_cases(
        _plain(study), study.labels, study.benchmark.cases, by=table.by, dimensions=known or None, policy=shared.policy
    )
    return with_queries(made, study.benchmark.cases, policy=shared.policy, gold=shared.gold, where=shared.where)


def _turned(table: Drawn) -> pd.DataFrame:
    """The cases whose verdict turns with the order, of each judge and dimension."""
    study = table.study
    made = turned_cases(_plain(study), study.benchmark.cases)
    of = zip(made["judge"], made["dimension"], made["listed"], made["n"], strict=True)
    rows = [
        {
            "row": judge,
            "dimension": dimension,
            "listed": listed,
            "stated": f"{len(listed):,} turned of {counted(n)} answered in both orders",
            "query": to_fragment(Query(judge, dimension=dimension, kind=(INCONSISTENT,), where=study.options.where))
            if listed
            else "",
        }
        for judge, dimension, listed, n in of
    ]
    about = (
        "The cases on which a judge changes its choice when the responses change places, in one repeat at least. "
        "Where a judge was asked several times, the figure counts a case by the share of its repeats that change."
    )
    return as_lists(pd.DataFrame(rows), about)


def _surely_wrong(table: Drawn) -> pd.DataFrame:
    """The cases of each judge and dimension on which it is wrong with a confidence of .9 or more."""
    made = surely_wrong(_plain(table.study), table.study.labels, table.study.benchmark.cases)
    rows = [
        f"{counted(len(row['listed']))}, with {row['n_verdicts']:,} wrong of {counted(row['n'], 'verdict')} of "
        "confidence .9 or more"
        for row in made.to_dict("records")
    ]
    about = (
        "The cases on which a judge gives the other label a probability of at least .9, in one verdict at least; the "
        "table counts verdicts. Only cases with a decisive gold label count."
    )
    return as_lists(_of_judges(made.assign(stated=pd.Series(rows, made.index, dtype="str"))), about)


def _unsure(table: Drawn) -> pd.DataFrame:
    """The cases below the threshold of confidence above which the table `selective` lets a judge answer alone."""
    study, dimension = table.study, table.dimension
    own = promised(table.frame[table.frame["dimension"] == dimension]).dropna(subset="threshold")
    thresholds = dict(zip(own["judge"], own["threshold"], strict=True))
    made = unsure_cases(_plain(study), study.labels, study.benchmark.cases, thresholds, dimension=dimension)
    of = zip(made["judge"], made["listed"], made["n"], strict=True)
    stated = [f"{len(own):,} of {counted(n)} below a confidence of {thresholds[judge]:.3f}" for judge, own, n in of]
    about = (
        "The cases that a judge should not answer alone: its confidence is below the threshold of the guarantee. A "
        "judge without a guarantee has no list."
    )
    return as_lists(_of_judges(made.assign(stated=pd.Series(stated, made.index, dtype="str")), dimension), about)


def _suspect(table: Drawn) -> pd.DataFrame:
    """The cases whose gold label is more probably wrong than right, by the rows "case" of the table `difficulty`."""
    rows, dimension = table.frame, table.dimension
    cases = rows[(rows["part"] == "case") & (rows["dimension"] == dimension)]
    listed = in_order(cases.loc[cases["suspicion"] >= 0.5, "case_id"].tolist(), table.study.benchmark.cases)
    row = {
        "row": "suspect",
        "dimension": dimension,
        "listed": listed,
        "stated": f"{len(listed):,} of {counted(int(cases['suspicion'].notna().sum()))} with a suspicion",
        "query": named(Query(dimension=dimension), listed),
    }
    about = "The cases whose gold label is wrong with a posterior probability of at least .5, by the judges' verdicts."
    return as_lists(pd.DataFrame([row]), about, rows="cases")


def _disputed(table: Drawn) -> pd.DataFrame:
    """The cases on which annotators do not all choose the same, of each dimension."""
    study, rows = table.study, []
    made = disputed_cases(study.benchmark.annotations, study.benchmark.cases)
    for dimension, n, listed, is_split in made.itertuples(index=False):
        query = Query(dimension=dimension, where=study.options.where)
        by_kind = is_split and study.benchmark.meta.is_preference and listed
        rows.append(
            {
                "row": "annotators",
                "dimension": dimension,
                "listed": listed,
                "stated": f"{len(listed):,} of {counted(n)} with several annotators",
                "query": to_fragment(replace(query, kind=(SPLIT,))) if by_kind else named(query, listed),
            }
        )
    return as_lists(pd.DataFrame(rows), "The cases on which annotators do not all choose the same.", rows="list")


def _disputed_pairs(table: Drawn) -> pd.DataFrame:
    """The cases on which two annotators choose differently, of each pair and dimension."""
    made = disputed_pairs(table.study.benchmark.annotations, table.study.benchmark.cases)
    rows = [
        {
            "row": f"{one} and {two}",
            "dimension": dimension,
            "listed": listed,
            "stated": f"{len(listed):,} of {counted(n)} that both annotated",
            "query": named(Query(dimension=dimension), listed),
        }
        for dimension, one, two, n, listed in made.itertuples(index=False)
    ]
    return as_lists(pd.DataFrame(rows), "The cases on which two annotators choose differently.", rows="annotators")


def _missed(table: Drawn) -> pd.DataFrame:
    """The cases that the juries of all judges get wrong; a row is named by the kind of jury."""
    study, dimension, shared = table.study, table.dimension, table.study.options
    plain = study.verdicts[study.verdicts["probe"] == NO_PROBE]
    made = missed_by_juries(
        plain, study.labels, study.benchmark.cases_by_image, dimension=dimension, policy=shared.policy,
        cluster=shared.cluster, seed=shared.seed, meta=study.benchmark.meta,
    )  # fmt: skip
    rows = [
        {
            "row": row["kind"],
            "dimension": dimension,
            "listed": row["wrong"],
            "stated": wrong_of(row),
            "query": named(Query(dimension=dimension), row["wrong"]),
        }
        for row in made[made["n"] > 0].to_dict("records")
    ]
    about = "The cases on which a jury of all judges disagrees with the gold label: its score is below 1/2."
    return as_lists(pd.DataFrame(rows), about, rows="jury")


def _all(table: Drawn) -> pd.DataFrame:
    """All cases of each value of a column."""
    study, rows = table.study, []
    cases = study.benchmark.cases
    named = dict.fromkeys(("organ", "department", "modality", *([table.by] if table.by else ())))
    columns = [name for name in named if name in cases and cases[name].notna().any()]
    for by in columns:
        for name, own in cases.groupby(subfield_values(cases, by)):
            query = of_part(Query(where=study.options.where), cases, by, str(name))
            row = {
                "row": "cases",
                "by": by,
                "subfield": str(name),
                "dimension": table.dimension,
                "stated": counted(len(own)),
            }
            listed = tuple(map(str, own["case_id"]))
            rows.append(row | {"listed": listed, "query": "" if query is None else to_fragment(query)})
    return as_lists(pd.DataFrame(rows), "All cases of the subfield.", rows="list")


LISTS: Final[Mapping[str, Callable[[Drawn], pd.DataFrame]]] = {
    "wrong": _wrong,
    "turned": _turned,
    "surely wrong": _surely_wrong,
    "unsure": _unsure,
    "suspect": _suspect,
    "disputed": _disputed,
    "disputed pairs": _disputed_pairs,
    "missed": _missed,
    "all": _all,
}
"""The lists of cases that figures lead to, by the name that a figure gives as `cases`."""
