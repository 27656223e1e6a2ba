"""A reviewer's query: its address, the cases that match it in order, and the number that each further filter leaves.

A case matches if one of its verdicts does: by the judge of the query, on its dimension, of one of its kinds, with one
of its outcomes, and changed by its probe. No judge, or no dimension, means any.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode

import numpy as np
import pandas as pd

from mrb_lib.review.failures.kinds import ANY_PROBE, KINDS, SORTS, Kinds
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, check_choice
from mrb_lib.stats.where import OUTCOMES, syntax_tree
from mrb_lib.tables.errors import InputError

PLACES: Final = ("organ", "department", "modality")
REVIEWS: Final = {
    "queue": "Assigned to me",
    "unreviewed": "Not reviewed by me",
    "mine": "Reviewed by me",
    "disagree": "Reviewers disagree",
}
SEARCHED: Final = ("case_id", "question", "response_a", "response_b", "reference")
_WORDS: Final = {"sort": ("", *SORTS), "review": ("", *REVIEWS), "kind": tuple(KINDS), "outcome": OUTCOMES}
LONGEST: Final = 10_000
"""Characters of a filter or a search; more would keep the server busy."""
_SEVERAL: Final = ("kind", "outcome")
_TERM = re.compile(r'"([^"]+)"|(\S+)')


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
    values = vars(query) | {name: ",".join(getattr(query, name)) for name in _SEVERAL}
    values["desc"] = str(int(query.desc)) if query.sort else ""
    kept = [(name, value) for name, value in values.items() if value or (name in PLACES and value is not None)]
    return urlencode([("case", case), *kept] if case else kept, quote_via=quote, errors="replace")


def from_fragment(fragment: str) -> tuple[Query, str]:
    """Return the query and the case of an address; unknown keys are ignored.

    Raises
    ------
    InputError
        A kind, an outcome, a sort or a state of review is unknown, the filter cannot be read, or a text is too long.
    """
    found: dict[str, Any] = dict(parse_qsl(fragment.lstrip("#"), keep_blank_values=True, errors="replace"))
    names = Query.__dataclass_fields__
    given = {name: value for name, value in found.items() if name in names and (value or name in PLACES)}
    given |= {name: tuple(filter(None, found.get(name, "").split(","))) for name in _SEVERAL}
    query = Query(**given | {"desc": found.get("desc") != "0"})
    check_words(query)
    return query, found.get("case", "")


def check_words(query: Query) -> None:
    """Raise `InputError` if a word or the filter cannot be read or is too long, or one of two judges is missing."""
    for name, value in vars(query).items():
        if len(str(value or "")) > LONGEST:
            raise InputError(f"{name} is longer than {LONGEST:,} characters; shorten it.")
    if query.where:
        syntax_tree(query.where)
    for name, allowed in _WORDS.items():
        value = getattr(query, name)
        for word in [value] if isinstance(value, str) else value:
            check_choice(name, word, allowed)
    if query.other is not None and query.judge is None:
        raise InputError(f"judge {query.other!r}: there is no judge to compare it with; choose two.")


def select(kinds: Kinds, cases: pd.DataFrame, query: Query, *, within: BoolArray | None = None) -> IntArray:
    """Return the positions of the cases that match a query, in its order.

    Parameters
    ----------
    kinds : of the same cases
    cases : the cases table
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
    left = _masks(kinds, cases, query, within).all(axis=1) & np.logical_or.reduce(cells, axis=(0, 1))
    kept = np.flatnonzero(left).astype(np.int64)
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
    values = np.where(True if cells is None else cells, kinds.grid(query.sort)[axes(kinds, query)], np.nan)
    best: FloatArray = (np.fmax if query.desc else np.fmin).reduce(values, axis=(0, 1), initial=np.nan)
    return best


def facets(
    kinds: Kinds, cases: pd.DataFrame, query: Query, *, within: BoolArray | None = None
) -> dict[str, list[tuple[str, int]]]:
    """Return the number of cases that each value of each filter would leave; parameters as in `select`.

    Returns
    -------
    dict
        By facet, each value with its number of cases, empty for cases without a value. Facets are `organ`,
        `department`, `modality`; `kind`, `judge`, `dimension`, `changed_by`, whose values share cases, probes with
        `ANY_PROBE`; and `other`, the cases on which each judge differs from `judge`.

    Raises
    ------
    InputError
        As in `select`.
    """
    masks = _masks(kinds, cases, query, within)
    rest, out = masks.all(axis=1).to_numpy(), dict[str, list[tuple[str, int]]]()
    matching = np.logical_or.reduce(_cells(kinds, query), axis=(0, 1))
    for name in filter(cases.columns.__contains__, PLACES):
        values = _places(cases, name)
        counts = values[masks.drop(columns=name).all(axis=1) & matching].value_counts()
        out[name] = [(value, int(counts.get(value, 0))) for value in sorted(set(values), key=lambda v: (not v, v))]
    found: dict[str, Sequence[str]] = {"kind": kinds.names, "judge": kinds.judges, "dimension": kinds.dimensions}
    if query.judge is not None:
        found["other"] = [name for name in kinds.judges if name != query.judge]
    if kinds.probes:
        found["changed_by"] = (ANY_PROBE, *kinds.probes)
    for facet, names in found.items():
        out[facet] = []
        for name in names:
            changed: dict[str, Any] = {facet: (name,) if facet == "kind" else name}
            changed |= {"other": None} if facet == "judge" else {}
            left = _cells(kinds, replace(query, **changed)).any(axis=(0, 1)) & rest
            out[facet].append((name, int(left.sum())))
    return out


def axes(kinds: Kinds, query: Query) -> tuple[slice, slice]:
    """Return the judges and dimensions of a query as positions in a grid; any judge includes the case itself.

    Raises
    ------
    InputError
        As in `select`.
    """
    check_words(query)
    probes = (ANY_PROBE, *kinds.probes)
    for what, value, names in (
        ("judge", query.judge, kinds.judges), ("judge", query.other, kinds.judges), ("probe", query.changed_by, probes),
        ("dimension", query.dimension, kinds.dimensions), ("sort", query.sort or None, kinds.sorts),
    ):  # fmt: skip
        if value is not None:
            check_choice(what, value, names)
    first, second = (
        slice(None) if name is None else slice(names.index(name), names.index(name) + 1)
        for name, names in ((query.judge, kinds.judges), (query.dimension, kinds.dimensions))
    )
    return first, second


def _cells(kinds: Kinds, query: Query) -> BoolArray:
    """The verdicts that match judges, dimension, kinds, outcomes and probe, shape (judges in view, dimensions, N).

    With any judge, a last position of the first axis is the case itself: annotators may split without any judge.
    """
    at = axes(kinds, query)
    match: BoolArray = np.array(kinds.grid("judged")[at])
    by_judge, by_case = (match, match[:0]) if query.judge is not None else (match[:-1], match[-1:])
    by_case[:] = not query.outcome and query.changed_by is None
    if query.kind:
        match &= np.logical_or.reduce([kinds.grid(kind)[at] for kind in set(query.kind)])
    elif query.dimension is not None:
        by_case &= kinds.grid("labelled")[at][-1:]
    if query.outcome:
        codes = [OUTCOMES.index(name) for name in query.outcome]
        by_judge &= np.isin(kinds.grid("outcome")[at][: len(by_judge)], codes)
    if query.changed_by is not None:
        by_judge &= kinds.changed_by(query.changed_by)[at]
    if query.judge is not None and query.other is not None:
        one, two = kinds.judges.index(query.judge), kinds.judges.index(query.other)
        judged, said = kinds.grid("judged"), kinds.grid("said")
        match &= (judged[one] & judged[two] & (said[one] != said[two]))[at[1]]
    return match


def _masks(kinds: Kinds, cases: pd.DataFrame, query: Query, within: BoolArray | None) -> pd.DataFrame:
    """The cases that match each filter on the case itself, one column per filter."""
    if len(cases) != (n := len(kinds.case_ids)):
        raise InputError(f"cases: {len(cases)} rows do not fit kinds of {n}; make both from one benchmark.")
    masks = pd.DataFrame({"within": True if within is None else within}, index=range(len(cases)))
    for name in PLACES:
        wanted = getattr(query, name)
        masks[name] = True if wanted is None else _places(cases, name) == wanted
    terms = [(phrase or word).casefold() for phrase, word in _TERM.findall(query.text)]
    if terms:
        columns = [cases[name].fillna("").astype("str") for name in SEARCHED if name in cases.columns]
        texts = ("\n".join(each).casefold() for each in zip(*columns, strict=True))
        masks["text"] = [all(term in text for term in terms) for text in texts]
    return masks


def _places(cases: pd.DataFrame, name: str) -> pd.Series:
    """The value of each case, empty without one."""
    values = cases[name] if name in cases else pd.Series(None, index=cases.index, dtype="str")
    return values.astype("str").where(values.notna(), "").reset_index(drop=True)
