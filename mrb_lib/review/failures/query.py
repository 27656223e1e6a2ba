"""A reviewer's query: its address, the cases that match it in order, and the number that each further filter leaves.

A case matches if one of its verdicts does: by the judge of the query, on its dimension, of one of its kinds, with one
of its outcomes, and changed by its probe. No judge, or no dimension, means any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.where import syntax_tree
from mrb_lib.review.failures.kinds import ANY_PROBE, KINDS, Kinds
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, check_choice
from mrb_lib.stats.where import HALF, NOT_JUDGED, OUTCOMES, RIGHT, SEEN, WRONG
from mrb_lib.tables.errors import InputError

PLACES: Final = ("organ", "department", "modality")
SORTS: Final = ("", "confidence", "distance", "disagreement", "difficulty")
REVIEWS: Final = ("", "queue", "unreviewed", "mine", "disagree")
SEARCHED: Final = ("case_id", "question", "response_a", "response_b", "reference")
NO_KIND: Final = "none of these"
PAIRS: Final = ("both right", "only the first right", "only the second right", "neither right", "not both scored")
_SEVERAL: Final = ("kind", "outcome")
_FACETS = ["facet", "value", "n", "n_total", "adds_up"]
_TERM = re.compile(r'"([^"]+)"|(\S+)')
_Row = tuple[str, str | None, int, int, bool]


@dataclass(frozen=True)
class Query:
    """A reviewer's query; its fields are the keys of the address, see `to_fragment`.

    Attributes
    ----------
    judge : None for any
    other : a second judge: only cases on which it and `judge` choose differently
    dimension : None for any
    organ, department, modality : None for any; empty for cases without one
    kind : kinds of failure (see `Kinds`), of which a verdict needs one; empty for all verdicts
    outcome : of a judge's verdict (see `mrb_lib.stats.where.OUTCOMES`), of which it needs one; empty for all
    changed_by : only verdicts that this probe changed, or any probe for `ANY_PROBE`; None for all
    where : a filter of the cases, see `mrb_lib.stats.where.cases_where`; empty for all
    review : the state of review: "queue" (assigned to the reviewer), "unreviewed" or "mine" (by the reviewer),
        "disagree" (reviewers do); empty for any. The query does not name the reviewer
    text : words and "phrases in quotes" that the case's texts all contain, regardless of capitals
    sort : one of `SORTS`; empty for the order of the benchmark
    desc : highest first
    """

    judge: str | None = None
    other: str | None = None
    dimension: str | None = None
    organ: str | None = None
    department: str | None = None
    modality: str | None = None
    kind: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()
    changed_by: str | None = None
    where: str = ""
    review: str = ""
    text: str = ""
    sort: str = ""
    desc: bool = True


def to_fragment(query: Query, case: str = "") -> str:
    """Return the part of an address after `#` that opens a query at a case."""
    values: dict[str, Any] = {each.name: getattr(query, each.name) for each in fields(Query)}
    values |= {name: ",".join(values[name]) for name in _SEVERAL}
    values["desc"] = str(int(query.desc)) if query.sort else ""
    kept = [(name, value) for name, value in values.items() if value or (name in PLACES and value is not None)]
    return urlencode([("case", case), *kept] if case else kept, quote_via=quote, errors="replace")


def from_fragment(fragment: str) -> tuple[Query, str]:
    """Return the query and the case of an address; unknown keys are ignored.

    Raises
    ------
    InputError
        A kind, an outcome, a sort or a state of review is unknown, or the filter cannot be read.
    """
    found: dict[str, Any] = dict(parse_qsl(fragment.lstrip("#"), keep_blank_values=True, errors="replace"))
    names = {each.name for each in fields(Query)}
    given = {name: value for name, value in found.items() if name in names and (value or name in PLACES)}
    given |= {name: tuple(filter(None, found.get(name, "").split(","))) for name in _SEVERAL}
    query = Query(**given | {"desc": found.get("desc") != "0"})
    check_words(query)
    return query, found.get("case", "")


def check_words(query: Query) -> None:
    """Raise `InputError` if a word or the filter cannot be read, or the first of two judges is missing."""
    if query.where:
        syntax_tree(query.where)
    check_choice("sort", query.sort, SORTS)
    check_choice("review", query.review, REVIEWS)
    for kind in query.kind:
        check_choice("kind", kind, KINDS)
    for outcome in query.outcome:
        check_choice("outcome", outcome, OUTCOMES)
    if query.other is not None and query.judge is None:
        raise InputError(f"judge {query.other!r}: there is no judge to compare it with; choose two.")


def searchable(cases: pd.DataFrame) -> list[str]:
    """Return the text of each case that a search reads; make it once for many searches."""
    columns = [cases[name].fillna("").astype("str").tolist() for name in SEARCHED if name in cases.columns]
    return ["\n".join(texts).casefold() for texts in zip(*columns, strict=True)]


def select(
    kinds: Kinds, cases: pd.DataFrame, query: Query, *, texts: Sequence[str] | None = None,
    within: BoolArray | None = None,
) -> IntArray:  # fmt: skip
    """Return the positions of the cases that match a query, in its order.

    Parameters
    ----------
    kinds : of the same cases
    cases : the cases table
    texts : see `searchable`; None makes them
    within : the cases that the query's `where` and `review` leave, shape (N,); None for all

    Returns
    -------
    int array
        A case is sorted by the highest value of its matching verdicts, or by the lowest if the lowest come first.
        Cases without a value come last, equal ones in the order of the benchmark.

    Raises
    ------
    InputError
        The query names an unknown judge, dimension, kind, probe or sort.

    Notes
    -----
    Validated by tests/review/failures/test_query.py against a plain loop.
    """
    cells = _cells(kinds, query)
    kept = np.flatnonzero(_all(_masks(kinds, cases, query, texts, within)) & _any(cells)).astype(np.int64)
    if not query.sort:
        return kept
    value = sort_value(kinds, query, cells)[kept]
    return kept[np.argsort(-value if query.desc else value, kind="stable")]


def sort_value(kinds: Kinds, query: Query, cells: BoolArray | None = None) -> FloatArray:
    """Return the value that each case is sorted by, shape (N,); NaN without one.

    Parameters
    ----------
    cells : the verdicts that count, as in the query's judge and dimension; None for all
    """
    values = kinds.grid(query.sort)[axes(kinds, query)]
    values = np.where(True if cells is None else cells, values, np.nan).reshape(-1, kinds.n_cases)
    best: FloatArray = (np.fmax if query.desc else np.fmin).reduce(values, axis=0, initial=np.nan)
    return best


def facets(
    kinds: Kinds, cases: pd.DataFrame, query: Query, *, texts: Sequence[str] | None = None,
    within: BoolArray | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return the number of cases that each value of each filter would leave; parameters as in `select`.

    Returns
    -------
    DataFrame
        `facet`, `value` (null for the cases without one), `n` cases, `n_total` the cases that match without this
        filter, and `adds_up`, true if each case has one value, so that the counts add up to `n_total`. Facets are
        `organ`, `department`, `modality`; `kind`, `judge`, `dimension`, `changed_by`, whose values share cases, kinds
        with the rest as `none of these`, probes with `ANY_PROBE`; `other`, the cases on which each judge differs from
        `judge`; `outcome`, of one judge on one dimension; `pair`, with `other` on one dimension, by who is right.

    Raises
    ------
    InputError
        As in `select`.
    """
    masks, hit = _masks(kinds, cases, query, texts, within), _any(_cells(kinds, query))
    rows: list[_Row] = []
    for name in PLACES:
        if name in cases.columns:
            rest = _all({key: mask for key, mask in masks.items() if key != name}) & hit
            values = _places(cases, name)
            names = sorted(set(values), key=lambda value: (not value, value))
            counted = values[rest].value_counts().reindex(names, fill_value=0)
            rows += [(name, str(value) or None, int(n), int(rest.sum()), True) for value, n in counted.items()]
    rows += _filter_rows(kinds, query, _all(masks))
    rows += _outcome_rows(kinds, query, _all(masks) & hit)
    return pd.DataFrame(rows, columns=_FACETS).astype({"facet": "str", "value": "str"})


def axes(kinds: Kinds, query: Query) -> tuple[slice, slice]:
    """Return the judges and dimensions of a query as positions in a grid; any judge includes the case itself.

    Raises
    ------
    InputError
        As in `select`.
    """
    check_words(query)
    out = []
    for what, value, names in (("judge", query.judge, kinds.judges), ("dimension", query.dimension, kinds.dimensions)):
        if value is not None:
            check_choice(what, value, names)
        out.append(slice(None) if value is None else slice(names.index(value), names.index(value) + 1))
    if query.other is not None:
        check_choice("judge", query.other, kinds.judges)
    if query.changed_by is not None:
        check_choice("probe", query.changed_by, (ANY_PROBE, *kinds.probes))
    check_choice("sort", query.sort, ("", *kinds.sorts))
    return out[0], out[1]


def _cells(kinds: Kinds, query: Query) -> BoolArray:
    """The verdicts that match judges, dimension, kinds, outcomes and probe, shape (judges in view, dimensions, N).

    With any judge, a last position of the first axis is the case itself: annotators may split without any judge.
    """
    at = axes(kinds, query)
    match: BoolArray = np.array(kinds.grid("judged")[at])
    by_judge, by_case = (match, match[:0]) if query.judge else (match[:-1], match[-1:])
    by_case[:] = True
    if query.kind:
        match &= np.logical_or.reduce([kinds.grid(kind)[at] for kind in query.kind])
    elif query.dimension:
        by_case &= kinds.grid("labelled")[at][-1:]
    if query.outcome:
        codes = [OUTCOMES.index(name) for name in query.outcome]
        by_judge &= np.isin(kinds.grid("outcome")[at][: len(by_judge)], codes)
    if query.changed_by is not None:
        by_judge &= kinds.changed_by(query.changed_by)[at]
    if query.outcome or query.changed_by is not None:
        by_case[:] = False
    if query.judge is not None and query.other is not None:
        match &= _differ(kinds, query.judge, query.other)[at[1]]
    return match


def _differ(kinds: Kinds, first: str, second: str) -> BoolArray:
    """Where both judges have a verdict and choose differently, shape (D, N)."""
    one, two = kinds.judges.index(first), kinds.judges.index(second)
    judged, said = kinds.grid("judged"), kinds.grid("said")
    return np.asarray(judged[one] & judged[two] & (said[one] != said[two]), dtype=bool)


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
        if getattr(query, name) is not None:
            out[name] = np.asarray(_places(cases, name) == getattr(query, name), dtype=bool)
    terms = [(phrase or word).casefold() for phrase, word in _TERM.findall(query.text)]
    if terms:
        searched = searchable(cases) if texts is None else texts
        out["text"] = np.array([all(term in text for term in terms) for text in searched], dtype=bool)
    return out


def _places(cases: pd.DataFrame, name: str) -> pd.Series:
    """The value of each case, empty without one."""
    values = cases[name] if name in cases else pd.Series(None, index=cases.index, dtype="str")
    return values.astype("str").where(values.notna(), "").reset_index(drop=True)


def _filter_rows(kinds: Kinds, query: Query, rest: BoolArray) -> Iterator[_Row]:
    """The facets of kinds, judges, dimensions, probes and second judges."""

    def left(**changed: Any) -> BoolArray:
        return _any(_cells(kinds, replace(query, **changed))) & rest

    every = left(kind=())
    by_kind = {kind: left(kind=(kind,)) & every for kind in kinds.names}
    by_kind[NO_KIND] = every & ~np.logical_or.reduce(list(by_kind.values()))
    yield from (("kind", kind, int(found.sum()), int(every.sum()), False) for kind, found in by_kind.items())
    cells = _cells(kinds, replace(query, judge=None, other=None))
    total = int((_any(cells) & rest).sum())
    for judge, own in zip(kinds.judges, cells, strict=False):  # the case itself is no judge
        yield "judge", judge, int((own.any(axis=0) & rest).sum()), total, False
    total = int(left(dimension=None).sum())
    for dimension in kinds.dimensions:
        yield "dimension", dimension, int(left(dimension=dimension).sum()), total, False
    if query.judge is not None:
        alone = _cells(kinds, replace(query, other=None))[0]
        total = int((alone.any(axis=0) & rest).sum())
        for judge in kinds.judges:
            if judge != query.judge:
                differ = alone & _differ(kinds, query.judge, judge)[axes(kinds, query)[1]]
                yield "other", judge, int((differ.any(axis=0) & rest).sum()), total, False
    at, cells = axes(kinds, query), _cells(kinds, replace(query, changed_by=None))
    total = int((_any(cells) & rest).sum())
    for probe in (ANY_PROBE, *kinds.probes) if kinds.probes else ():
        changed = kinds.changed_by(probe)[at]
        yield "changed_by", probe, int((_any(cells[: len(changed)] & changed) & rest).sum()), total, False


def _outcome_rows(kinds: Kinds, query: Query, chosen: BoolArray) -> Iterator[_Row]:
    """The outcomes of the selection, for one judge on one dimension, and of the pair if there are two judges."""
    if query.judge is None or query.dimension is None:
        return
    texts = np.array(OUTCOMES)[kinds.grid("outcome")[:, kinds.dimensions.index(query.dimension)]]
    total = int(chosen.sum())
    first = texts[kinds.judges.index(query.judge)][chosen]
    for name in OUTCOMES:
        if name != NOT_JUDGED and (name != SEEN or (first == SEEN).any()):
            yield "outcome", name, int((first == name).sum()), total, True
    if query.other is None:
        return
    second = texts[kinds.judges.index(query.other)][chosen]
    scored = np.isin(first, (RIGHT, HALF, WRONG)) & np.isin(second, (RIGHT, HALF, WRONG))
    one, two = first == RIGHT, second == RIGHT
    parts = (one & two, one & ~two, ~one & two, ~one & ~two)
    for name, part in zip(PAIRS, (*(part & scored for part in parts), ~scored), strict=True):
        yield "pair", name, int(part.sum()), total, True
