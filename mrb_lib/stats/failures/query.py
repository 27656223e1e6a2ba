"""What a reviewer asks for, and how it is written in an address."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode

from mrb_lib.benchmarks.where import syntax_tree
from mrb_lib.stats.failures.failure_kinds import KINDS, OUTCOMES
from mrb_lib.stats.options import check_choice
from mrb_lib.tables.errors import InputError

PLACES: Final = ("organ", "department", "modality")
SORTS: Final = ("", "confidence", "distance", "disagreement", "difficulty")
_NAMED: Final = ("judge", "other", "dimension", "changed_by")
REVIEWS: Final = ("", "queue", "unreviewed", "mine", "disagree")


@dataclass(frozen=True)
class Query:
    """What a reviewer asks for; its fields are the keys of the address, see `to_fragment`.

    Attributes
    ----------
    judge : None for any
    other : a second judge: only cases where it and `judge` say different things
    dimension : None for any
    organ, department, modality : None for any; empty text for the cases that have none
    kind : kinds of failure (see `KINDS`), any of which will do; empty for all verdicts, failures or not
    outcome : of a judge's verdict (see `OUTCOMES`), any of which will do; empty for all
    changed_by : a probe: only verdicts that changed under it, or under any where it is "*" (see
        `mrb_lib.stats.failures.failure_kinds.Kinds.changed_by`); None for all
    where : a filter of the cases, see `mrb_lib.stats.failures.where.cases_where`; empty for all
    review : what a reviewer has done: "queue" (dealt to them), "unreviewed" or "mine" (by them), "disagree" (reviewers
        do); empty for any. Who they are, the query does not say
    text : words and "phrases in quotes" that all occur in the case's texts; case does not matter
    sort : "confidence", "disagreement", "difficulty" or, of ordered ratings, "distance" from the gold label; empty for
        the order of the benchmark
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
    """The part of an address after `#` that leads to a query and a case."""
    pairs = [("case", case)] if case else []
    for name in (field.name for field in fields(Query)):
        value = getattr(query, name)
        if name in ("kind", "outcome"):
            value = ",".join(value) or None
        elif name == "desc":
            value = ("1" if value else "0") if query.sort else None
        elif name in ("where", "review", "text", "sort"):
            value = value or None
        if value is not None:
            pairs.append((name, value))
    return urlencode(pairs, quote_via=quote, errors="replace")


def from_fragment(fragment: str) -> tuple[Query, str]:
    """A query and a case from an address; keys it does not know are passed over.

    Raises
    ------
    InputError
        A kind, an outcome, a sort or a state of review is unknown, or the filter cannot be read.
    """
    found = dict(parse_qsl(fragment.lstrip("#"), keep_blank_values=True, errors="replace"))
    values: dict[str, str | None] = {name: found.get(name) or None for name in _NAMED} | {
        name: found.get(name) for name in PLACES
    }
    kind, outcome = (tuple(filter(None, found.get(name, "").split(","))) for name in ("kind", "outcome"))
    where, review, text, sort = (found.get(name, "") for name in ("where", "review", "text", "sort"))
    desc = found.get("desc") != "0"
    query = Query(**values, kind=kind, outcome=outcome, where=where, review=review, text=text, sort=sort, desc=desc)
    check_words(query)
    return query, found.get("case", "")


def check_words(query: Query) -> None:
    """Raise `InputError` where a word or the filter cannot be read, or the first of two judges is missing."""
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
