"""The cases that a point or a cell of a figure leads to, and how a reviewer opens just these.

A list frame has a row per mark that leads somewhere: `row`, `dimension`, `by` and `subfield`, as the marks of the
figure name them; `listed`, the ids of its cases; `stated`, how many they are and of what; and `query`, the part after
# of the address of `mrb review` that lists the same cases, empty where no short filter names them. Its `attrs` tell
what all lists are `about`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pandas as pd

from mrb_lib.figures.confidence import promised
from mrb_lib.figures.style import Paper
from mrb_lib.report.table import Source, Table
from mrb_lib.review.failures import lists
from mrb_lib.review.failures.kinds import INCONSISTENT, SPLIT
from mrb_lib.review.failures.query import PLACES, Query, to_fragment
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.subfields import subfield_values
from mrb_lib.stats.tables.jury import missed_by_juries
from mrb_lib.stats.where import WRONG
from mrb_lib.tables.schema import NO_PROBE

MOST_IDS: Final = 1000
_LONGEST_WHERE = 1500
REVIEWED_BY: Final = ("balanced", "majority")
"""The policy and the gold rule of the reviewer's app; under others, cases are named one by one."""
_COLUMNS: Final = ["row", "dimension", "by", "subfield", "listed", "stated", "query"]
Rows = Iterable[dict[str, object]]
LISTS: Final[dict[str, Callable[[Table], pd.DataFrame]]] = {}
"""The lists of cases that figures lead to, by the name that a figure gives as `cases`."""


def links_of(name: str, table: Table) -> pd.DataFrame | None:
    """Return the list frame of a figure, by the name that it gives as `cases`.

    None for no name, for lists of verdicts where there are none, and of confidence where they are ratings.
    """
    study = table.study
    lacks = study.verdicts.empty and name not in ("disputed", "disputed pairs", "all")
    if not name or lacks or (name == "surely wrong" and study.benchmark.meta.is_rating):
        return None
    return LISTS[name](table)


def cells_behind(frame: pd.DataFrame, drawn: Paper, dimension: str) -> dict[str, object]:
    """The rows of a list frame that a figure draws, each with where it is drawn, for the sidecar of the figure.

    Parameters
    ----------
    drawn : finished; its marks name a `row` or `judge`, and a `dimension` or a `subfield` where that differs
    dimension : of the marks that name none

    Returns
    -------
    dict
        `about`, and `cells`, a list of `row`, `dimension`, `by`, `subfield`, `stated`, `query`; `n_listed`, and
        `listed`, the first `MOST_IDS` ids; `box`, left, top, width and height as shares of the figure's.
    """
    keys = ("row", "dimension", "subfield")
    rows: list[dict[Any, Any]] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    by_key = {tuple(row[key] for key in keys): row for row in rows}
    cells = []
    for names, box in drawn.boxes():
        key = (names.get("row", names.get("judge")), names.get("dimension", dimension), names.get("subfield"))
        if row := by_key.get(key):
            ids = row["listed"]
            cells.append({**row, "n_listed": len(ids), "listed": ids[:MOST_IDS], "box": box})
    return {"about": frame.attrs["about"], "cells": cells}


def _list(name: str, about: str) -> Callable[[Callable[[Table], Rows]], Callable[[Table], Rows]]:
    """Register the function below as what makes the rows of a list; `about` is in its `attrs`."""

    def register(make: Callable[[Table], Rows]) -> Callable[[Table], Rows]:
        def frame(table: Table) -> pd.DataFrame:
            made = pd.DataFrame(list(make(table)), columns=_COLUMNS)
            made.attrs = {"about": about.format(policy=table.study.options.policy)}
            return made

        LISTS[name] = frame
        return make

    return register


def _row(
    query: Query, listed: Sequence[str], stated: str, *, opens: Query | None = None, **where: Any
) -> dict[str, Any]:
    """One row of a list.

    Parameters
    ----------
    query : the judge and the dimension of the cases
    opens : the query that lists the same cases; None names them one by one, or not where they are too many
    where : `row`, `by` and `subfield`, where the row is of no judge or of a subfield
    """
    names = f"case_id in {list(listed)!r}"
    if opens is None and len(names) <= _LONGEST_WHERE:
        opens = replace(query, where=names)
    fragment = to_fragment(opens) if listed and opens else ""
    of = {"row": query.judge, "dimension": query.dimension, **where}
    return {**of, "listed": listed, "stated": stated, "query": fragment}


def counted(n: int, word: str = "case") -> str:
    """A number of things: "1 case", "1,026 cases"."""
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def _scored(row: Mapping[Any, Any]) -> str:
    """Return how many cases are wrong, and half right, of those scored."""
    half = f" and {row['n_half_right']:,} half right" if row["n_half_right"] else ""
    return f"{row['n_wrong']:,} wrong{half} of {counted(row['n'])} scored"


def _in_part(query: Query, cases: pd.DataFrame, by: str, subfield: object) -> Query | None:
    """The query for the cases of a subfield, or for all; None where no filter can say which these are."""
    if not isinstance(subfield, str):
        return query
    if by in PLACES:
        return replace(query, **{by: subfield})  # type: ignore[arg-type]  # names of texts
    if by not in cases or not by.isidentifier() or not pd.api.types.is_string_dtype(cases[by]):
        return None
    where = f"{by} == {subfield!r}"
    return replace(query, where=f"({query.where}) and {where}" if query.where else where)


def _plain(study: Source) -> pd.DataFrame | Panel:
    """The verdicts without probes, laid out by the categories of the benchmark."""
    by_probe = study.panels if isinstance(study.panels, Mapping) else {}
    return by_probe.get(NO_PROBE, study.verdicts[study.verdicts["probe"] == NO_PROBE])


@_list(
    "wrong",
    "The cases that a judge gets wrong: those on which its score under the policy {policy} is below one half. A score "
    "of one half, as for calling a tie what is none, is counted beside.",
)
def _wrong(table: Table) -> Rows:
    """The cases that each judge gets wrong, of each dimension of the table and each subfield."""
    shared, labels, benchmark = table.study.options, table.study.labels, table.study.benchmark
    cases = benchmark.cases
    known = [name for name in table.frame["dimension"].dropna().unique() if name in benchmark.meta.dimensions]
    made = lists.failing_cases(
        _plain(table.study), labels, cases, by=table.by, dimensions=known or None, policy=shared.policy
    )
    for row in made.to_dict("records"):
        query, part = Query(row["judge"], dimension=row["dimension"]), {name: row[name] for name in ("by", "subfield")}
        same = _in_part(replace(query, where=shared.where, outcome=(WRONG,)), cases, **part)
        opens = same if (shared.policy, shared.gold) == REVIEWED_BY else None
        yield _row(query, row["wrong"], _scored(row), opens=opens, **part)


@_list(
    "turned",
    "The cases on which a judge changes its choice when the responses change places, in one repeat at least. Where a "
    "judge was asked several times, the figure counts a case by the share of its repeats that change.",
)
def _turned(table: Table) -> Rows:
    """The cases whose verdict turns with the order, of each judge and dimension."""
    study = table.study
    for judge, dimension, n, listed in lists.turned_cases(_plain(study), study.benchmark.cases).itertuples(index=False):
        query = Query(judge, dimension=dimension, kind=(INCONSISTENT,), where=study.options.where)
        yield _row(query, listed, f"{len(listed):,} turned of {counted(n)} answered in both orders", opens=query)


@_list(
    "surely wrong",
    "The cases on which a judge gives the other label a probability of at least .9, in one verdict at least; the table "
    "counts verdicts. Only cases with a decisive gold label count.",
)
def _surely_wrong(table: Table) -> Rows:
    """The cases of each judge and dimension on which it is wrong with a confidence of .9 or more."""
    made = lists.surely_wrong(_plain(table.study), table.study.labels, table.study.benchmark.cases)
    for judge, dimension, n, listed, n_wrong in made.itertuples(index=False):
        among = f"{n_wrong:,} wrong of {counted(n, 'verdict')} of confidence .9 or more"
        yield _row(Query(judge, dimension=dimension), listed, f"{counted(len(listed))}, with {among}")


@_list(
    "unsure",
    "The cases that a judge should not answer alone: its confidence is below the threshold of the guarantee. A judge "
    "without a guarantee has no list.",
)
def _unsure(table: Table) -> Rows:
    """The cases below the threshold of confidence above which the table `selective` lets a judge answer alone."""
    study, dimension = table.study, table.dimension
    own = promised(table.frame[table.frame["dimension"] == dimension]).dropna(subset="threshold")
    least = dict(zip(own["judge"], own["threshold"], strict=True))
    made = lists.unsure_cases(_plain(study), study.labels, study.benchmark.cases, least, dimension=dimension)
    for judge, _, n, listed in made.itertuples(index=False):
        stated = f"{len(listed):,} of {counted(n)} below a confidence of {least[judge]:.3f}"
        yield _row(Query(judge, dimension=dimension), listed, stated)


@_list(
    "suspect",
    "The cases whose gold label is wrong with a posterior probability of at least .5, by the judges' verdicts.",
)
def _suspect(table: Table) -> Rows:
    """The cases whose gold label is more probably wrong than right, by the rows "case" of the table `difficulty`."""
    rows, dimension = table.frame, table.dimension
    cases = rows[(rows["part"] == "case") & (rows["dimension"] == dimension)]
    listed = lists.in_order(cases.loc[cases["suspicion"] >= 0.5, "case_id"].tolist(), table.study.benchmark.cases)
    stated = f"{len(listed):,} of {counted(int(cases['suspicion'].notna().sum()))} with a suspicion"
    yield _row(Query(dimension=dimension), listed, stated, row="suspect")


@_list("disputed", "The cases on which annotators do not all choose the same.")
def _disputed(table: Table) -> Rows:
    """The cases on which annotators do not all choose the same, of each dimension."""
    study, benchmark = table.study, table.study.benchmark
    for dimension, n, listed, is_split in lists.disputed_cases(benchmark.annotations, benchmark.cases).itertuples(
        index=False
    ):
        query = Query(dimension=dimension, kind=(SPLIT,), where=study.options.where)
        opens = query if is_split and benchmark.meta.is_preference else None
        stated = f"{len(listed):,} of {counted(n)} with several annotators"
        yield _row(Query(dimension=dimension), listed, stated, opens=opens, row="annotators")


@_list("disputed pairs", "The cases on which two annotators choose differently.")
def _disputed_pairs(table: Table) -> Rows:
    """The cases on which two annotators choose differently, of each pair and dimension."""
    made = lists.disputed_pairs(table.study.benchmark.annotations, table.study.benchmark.cases)
    for dimension, one, two, n, listed in made.itertuples(index=False):
        stated = f"{len(listed):,} of {counted(n)} that both annotated"
        yield _row(Query(dimension=dimension), listed, stated, row=f"{one} and {two}")


@_list("missed", "The cases on which a jury of all judges disagrees with the gold label: its score is below 1/2.")
def _missed(table: Table) -> Rows:
    """The cases that the juries of all judges get wrong; a row is named by the kind of jury."""
    study, dimension, shared = table.study, table.dimension, table.study.options
    plain = study.verdicts[study.verdicts["probe"] == NO_PROBE]
    made = missed_by_juries(
        plain, study.labels, study.benchmark.cases_by_image, dimension=dimension, policy=shared.policy,
        cluster=shared.cluster, seed=shared.seed, meta=study.benchmark.meta,
    )  # fmt: skip
    for row in made[made["n"] > 0].to_dict("records"):
        yield _row(Query(dimension=dimension), row["wrong"], _scored(row), row=row["kind"])


@_list("all", "All cases of the subfield.")
def _all(table: Table) -> Rows:
    """All cases of each value of a column."""
    cases, query = table.study.benchmark.cases, Query(where=table.study.options.where)
    for by in dict.fromkeys(filter(None, ("organ", "department", "modality", table.by))):
        if by in cases and cases[by].notna().any():
            for name, own in cases.groupby(subfield_values(cases, by)):
                part, listed = {"by": by, "subfield": str(name)}, tuple(map(str, own["case_id"]))
                at = {"row": "cases", "dimension": table.dimension, **part}
                yield _row(query, listed, counted(len(own)), opens=_in_part(query, cases, **part), **at)
