"""Which cases a reviewer asked for, in which order, and how many each further filter would leave.

A case matches where one of its verdicts does: of the judge asked for, on the dimension asked for, of one of the kinds,
with one of the outcomes and changed by the probe asked for. No judge, or no dimension, means any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.stats.failures.failure_kinds import (
    ANY_PROBE,
    MISSED,
    NOT_JUDGED,
    OF_A_CASE,
    OUTCOMES,
    RIGHT,
    SEEN,
    Kinds,
)
from mrb_lib.stats.failures.query import PLACES, check_words
from mrb_lib.stats.failures.query import Query as Query
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, check_choice
from mrb_lib.tables.errors import InputError

SEARCHED: Final = ("case_id", "question", "response_a", "response_b", "reference")
NO_KIND: Final = "none of these"
PAIRS: Final = ("both right", "only the first right", "only the second right", "neither right", "not both scored")
_FACETS = ["facet", "value", "n", "n_total", "adds_up"]
_TERM = re.compile(r'"([^"]+)"|(\S+)')


def searchable(cases: pd.DataFrame) -> list[str]:
    """The texts of each case as the search sees them; make them once where many searches follow."""
    columns = [cases[name].fillna("").astype("str").tolist() for name in SEARCHED if name in cases.columns]
    return ["\n".join(texts).casefold() for texts in zip(*columns, strict=True)]


def select(
    kinds: Kinds,
    cases: pd.DataFrame,
    query: Query,
    *,
    texts: Sequence[str] | None = None,
    within: BoolArray | None = None,
) -> IntArray:
    """The cases that match, in the order asked for.

    Parameters
    ----------
    kinds : of the same cases
    cases : the cases table
    texts : see `searchable`; None makes them anew
    within : which cases the query's `where` and `review` leave, which may take a store of reviews to tell; None for all

    Returns
    -------
    int array
        Positions in the cases table. A case's confidence (disagreement, difficulty) is the highest over its verdicts
        that match, or the lowest if the lowest come first; cases without any come last, equal ones as in the benchmark.

    Raises
    ------
    InputError
        The query names a judge, dimension, kind, probe or sort that there is not.

    Notes
    -----
    Validated by tests/stats/failures/test_selection.py against a plain loop.
    """
    cells = _cells(kinds, query)
    kept = np.flatnonzero(_all(_masks(kinds, cases, query, texts, within)) & _any(cells)).astype(np.int64)
    if not query.sort:
        return kept
    value = _sort_value(kinds, query, cells)[kept]
    key = np.where(np.isnan(value), np.inf, -value if query.desc else value)
    return kept[np.argsort(key, kind="stable")]


def facets(
    kinds: Kinds,
    cases: pd.DataFrame,
    query: Query,
    *,
    texts: Sequence[str] | None = None,
    within: BoolArray | None = None,
) -> pd.DataFrame:
    """How many cases would be left if one filter of the query were set to each of its values; parameters as `select`.

    Returns
    -------
    DataFrame
        `facet`, `value` (null for the cases without one), `n` cases, `n_total` the cases that match without this
        filter, and `adds_up`: whether each case has one value, so that the counts add up to `n_total`. Facets
        are `organ`, `department`, `modality`; `kind`, `judge`, `dimension`, `changed_by`, whose values share cases,
        kinds with the rest as `none of these`, probes with `*` for any; `other`, each judge's cases that differ from
        `judge`; `outcome` of the one judge on the one dimension asked for; `pair`, with `other` on one dimension, who
        of the two is right.

    Raises
    ------
    InputError
        As in `select`.
    """
    cells = _cells(kinds, query)
    masks, hit = _masks(kinds, cases, query, texts, within), _any(cells)
    rows: list[tuple[str, str | None, int, int, bool]] = []
    for name in PLACES:
        if name in cases.columns:
            rest = _all({key: mask for key, mask in masks.items() if key != name}) & hit
            rows += _place_rows(name, _places(cases, name), rest)
    rest = _all(masks)
    rows += _kind_rows(kinds, query, rest)
    rows += _axis_rows(kinds, query, rest)
    rows += _probe_rows(kinds, query, rest)
    rows += _pair_rows(kinds, query, rest & hit)
    return pd.DataFrame(rows, columns=_FACETS).astype({"facet": "str", "value": "str"})


def _axes(kinds: Kinds, query: Query) -> tuple[slice, slice]:
    """The judges and dimensions of the query."""
    check_words(query)
    out = []
    for what, value, known in (("judge", query.judge, kinds.judges), ("dimension", query.dimension, kinds.dimensions)):
        if value is not None:
            check_choice(what, value, known)
        out.append(slice(None) if value is None else slice(known.index(value), known.index(value) + 1))
    if query.other is not None:
        check_choice("judge", query.other, kinds.judges)
    if query.changed_by is not None:
        check_choice("probe", query.changed_by, (ANY_PROBE, *kinds.probes))
    check_choice("sort", query.sort, ("", *kinds.sorts))
    return out[0], out[1]


def _differ(kinds: Kinds, first: str, second: str) -> BoolArray:
    """Where both judges have a verdict and they do not say the same, shape (dimensions, cases)."""
    one, two = (kinds.judges.index(name) for name in (first, second))
    both = kinds.judged[one] & kinds.judged[two]
    return np.asarray(both & (kinds.said[one] != kinds.said[two]), dtype=bool)


def _cells(kinds: Kinds, query: Query) -> BoolArray:
    """The verdicts that match the judges, the dimension and the kinds, shape (judges asked for, dimensions, cases).

    Where no judge is asked for, a last row stands for the case itself, which may be split without any judge.
    """
    judges, dimensions = _axes(kinds, query)
    judged = kinds.judged[judges, dimensions]
    n_judges, *rest = judged.shape
    one = np.zeros((n_judges + (query.judge is None), *rest), dtype=bool)
    if not query.kind:
        one[:n_judges] = judged
        if query.judge is None:
            one[-1] = kinds.labelled[dimensions] if query.dimension is not None else True
    for kind in query.kind:
        found = kinds.of(kind)
        if kind in OF_A_CASE:
            one[:n_judges] |= found[dimensions] & judged
            if query.judge is None:
                one[-1] |= found[dimensions]
        else:
            one[:n_judges] |= found[judges, dimensions]
    if query.outcome:
        codes = [OUTCOMES.index(name) for name in query.outcome]
        one[:n_judges] &= np.isin(kinds.outcome[judges, dimensions], codes)
        one[n_judges:] = False
    if query.changed_by is not None:
        one[:n_judges] &= kinds.changed_by(query.changed_by)[judges, dimensions]
        one[n_judges:] = False
    if query.judge is not None and query.other is not None:
        one &= _differ(kinds, query.judge, query.other)[dimensions]
    return one


def _any(cells: BoolArray) -> BoolArray:
    return np.asarray(cells.any(axis=(0, 1)), dtype=bool)


def _all(masks: dict[str, BoolArray]) -> BoolArray:
    return np.asarray(np.logical_and.reduce(list(masks.values())), dtype=bool)


def _masks(
    kinds: Kinds, cases: pd.DataFrame, query: Query, texts: Sequence[str] | None, within: BoolArray | None
) -> dict[str, BoolArray]:
    """The cases that match each filter on the case itself."""
    if len(cases) != kinds.n_cases:
        raise InputError(f"cases: {len(cases)} rows do not fit kinds of {kinds.n_cases}; make both from one benchmark.")
    out: dict[str, BoolArray] = {"within": np.ones(len(cases), dtype=bool) if within is None else within}
    for name in PLACES:
        wanted = getattr(query, name)
        if wanted is not None:
            out[name] = np.asarray(_places(cases, name) == wanted, dtype=bool)
    terms = [(phrase or word).casefold() for phrase, word in _TERM.findall(query.text)]
    if terms:
        searched = searchable(cases) if texts is None else texts
        out["text"] = np.array([all(term in text for term in terms) for text in searched], dtype=bool)
    return out


def _places(cases: pd.DataFrame, name: str) -> pd.Series:
    """The value of each case, empty where it has none."""
    if name not in cases.columns:
        return pd.Series("", index=range(len(cases)), dtype="str")
    values = cases[name].reset_index(drop=True)
    return values.astype("str").where(values.notna(), "")


def _sort_value(kinds: Kinds, query: Query, cells: BoolArray) -> FloatArray:
    judges, dimensions = _axes(kinds, query)
    where: BoolArray
    if query.sort in ("confidence", "distance"):
        value = (
            kinds.confidence[judges, dimensions] if query.sort == "confidence" else kinds.distance[judges, dimensions]
        )
        where = cells[: len(value)]
    else:
        value = (kinds.disagreement if query.sort == "disagreement" else kinds.difficulty)[dimensions][None]
        where = np.asarray(cells.any(axis=0, keepdims=True), dtype=bool)
    empty = -np.inf if query.desc else np.inf
    filled = np.where(where & ~np.isnan(value), value, empty)
    best = filled.max(axis=(0, 1), initial=empty) if query.desc else filled.min(axis=(0, 1), initial=empty)
    return np.where(np.isinf(best), np.nan, best)


_Row = tuple[str, str | None, int, int, bool]


def _place_rows(name: str, values: pd.Series, rest: BoolArray) -> Iterator[_Row]:
    every, total = sorted(set(values)), int(rest.sum())
    counted = values[rest].value_counts()
    for value in [text for text in every if text] + [text for text in every if not text]:
        yield name, value or None, int(counted.get(value, 0)), total, True


def _kind_rows(kinds: Kinds, query: Query, rest: BoolArray) -> Iterator[_Row]:
    total = _any(_cells(kinds, replace(query, kind=()))) & rest
    some: BoolArray = np.zeros(len(total), dtype=bool)
    for kind in kinds.names:
        found = _any(_cells(kinds, replace(query, kind=(kind,)))) & total
        some |= found
        yield "kind", kind, int(found.sum()), int(total.sum()), False
    yield "kind", NO_KIND, int((total & ~some).sum()), int(total.sum()), False


def _axis_rows(kinds: Kinds, query: Query, rest: BoolArray) -> Iterator[_Row]:
    """The judges, the dimensions, and the judges to compare with."""
    open_ = _cells(kinds, replace(query, judge=None, other=None))
    n_any = int((_any(open_) & rest).sum())
    for judge, found in zip(kinds.judges, open_, strict=False):
        yield "judge", judge, int((found.any(axis=0) & rest).sum()), n_any, False
    wide = _cells(kinds, replace(query, dimension=None))
    n_wide = int((_any(wide) & rest).sum())
    for dimension in kinds.dimensions:
        found = _any(_cells(kinds, replace(query, dimension=dimension))) & rest
        yield "dimension", dimension, int(found.sum()), n_wide, False
    if query.judge is not None:
        alone = _cells(kinds, replace(query, other=None))[0]
        total = int((alone.any(axis=0) & rest).sum())
        _, dimensions = _axes(kinds, query)
        for judge in kinds.judges:
            if judge != query.judge:
                found = (alone & _differ(kinds, query.judge, judge)[dimensions]).any(axis=0) & rest
                yield "other", judge, int(found.sum()), total, False


def _probe_rows(kinds: Kinds, query: Query, rest: BoolArray) -> Iterator[_Row]:
    """The probes under which verdicts changed, `ANY_PROBE` first."""
    if not kinds.probes:
        return
    judges, dimensions = _axes(kinds, query)
    open_ = _cells(kinds, replace(query, changed_by=None))
    total = int((_any(open_) & rest).sum())
    for probe in (ANY_PROBE, *kinds.probes):
        changed = kinds.changed_by(probe)[judges, dimensions]
        found = _any(open_[: len(changed)] & changed) & rest
        yield "changed_by", probe, int(found.sum()), total, False


def _pair_rows(kinds: Kinds, query: Query, chosen: BoolArray) -> Iterator[_Row]:
    """What became of the selection, where one judge on one dimension, or two judges, are looked at."""
    if query.judge is None or query.dimension is None:
        return
    dimension, total = kinds.dimensions.index(query.dimension), int(chosen.sum())
    first = kinds.outcome[kinds.judges.index(query.judge), dimension][chosen]
    for code, name in enumerate(OUTCOMES):
        if code == NOT_JUDGED or (code == SEEN and not (first == SEEN).any()):
            continue
        yield "outcome", name, int((first == code).sum()), total, True
    if query.other is None:
        return
    second = kinds.outcome[kinds.judges.index(query.other), dimension][chosen]
    scored = (first <= MISSED) & (second <= MISSED)
    one, two = first == RIGHT, second == RIGHT
    parts = (one & two, one & ~two, ~one & two, ~one & ~two)
    for name, part in zip(PAIRS, (*(part & scored for part in parts), ~scored), strict=True):
        yield "pair", name, int(part.sum()), total, True
