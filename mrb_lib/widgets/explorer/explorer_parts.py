"""Words, values and small parts that the failure explorer shows beside a case."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.schema import NO_PROBE
from mrb_lib.stats.core.options import IntArray
from mrb_lib.stats.failures.failure_kinds import Kinds
from mrb_lib.stats.failures.query import SORTS, Query
from mrb_lib.widgets.case.case_verdicts import verdicts_html

KIND_WORDS = {
    "wrong": ["Wrong", "the judge's choice is not the gold label"],
    "inconsistent": ["Inconsistent", "the choice changed when the answers changed places"],
    "unparsed": ["No answer read", "the reply could not be read, was refused, or failed"],
    "confidently_wrong": ["Confidently wrong", "wrong with a mean probability of 0.9 or more"],
    "all_wrong": ["All judges wrong", "two judges or more are scored, and all are wrong"],
    "split": ["Clinicians split", "the most frequent label has less than three quarters of the votes"],
}
_UNSENDABLE = re.compile("[\ud800-\udfff]")
_SHORT = {"confidence": "confidence", "disagreement": "disagreement", "difficulty": "difficulty"}


def shown(value: object) -> str:
    """Text that a message can carry: half a character, which no message can hold, becomes U+FFFD."""
    return _UNSENDABLE.sub("\ufffd", str(value))


def value_of(kinds: Kinds, query: Query, positions: IntArray) -> list[str]:
    """What a row of the list says beside the case: the value it is sorted by, or what became of the judge's verdict."""
    judges = slice(None) if query.judge is None else _only(kinds.judges, query.judge)
    dimensions = slice(None) if query.dimension is None else _only(kinds.dimensions, query.dimension)
    if not query.sort:
        return [""] * len(positions)
    if query.sort == "confidence":
        found = kinds.confidence[judges, dimensions][:, :, positions].reshape(-1, len(positions))
    else:
        table = kinds.disagreement if query.sort == "disagreement" else kinds.difficulty
        found = table[dimensions][:, positions]
    empty = -np.inf if query.desc else np.inf
    filled = np.where(np.isnan(found), empty, found)
    best = filled.max(axis=0, initial=empty) if query.desc else filled.min(axis=0, initial=empty)
    return [f"{_SHORT[query.sort]} {value:.2f}" if np.isfinite(value) else "" for value in best]


def in_view_html(verdicts: pd.DataFrame, labels: pd.DataFrame, judges: Sequence[str], dimension: object = None) -> str:
    """What the judges in view say of a case, one below the other, on one dimension or all: where two differ is seen."""
    plain = verdicts[(verdicts["probe"].fillna(NO_PROBE) == NO_PROBE) & verdicts["judge"].isin(list(judges))]
    if dimension:
        plain, labels = (table[table["dimension"] == dimension] for table in (plain, labels))
    if plain.empty:
        return "<p>No verdict of the chosen judges on this case.</p>"
    return verdicts_html(plain, labels)


def query_from(given: Mapping[str, Any]) -> Query:
    """The query that a page sends as a dictionary of its fields.

    Raises
    ------
    InputError
        A field has no value that it can have.
    """
    values: dict[str, Any] = {}
    for name in (field.name for field in fields(Query)):
        value = given.get(name)
        if name == "kind":
            values[name] = tuple(str(kind) for kind in value or ())
        elif name == "desc":
            values[name] = value is not False
        elif name in ("text", "sort"):
            values[name] = str(value or "")
        elif value is not None:
            values[name] = str(value)
    if values["sort"] not in SORTS:
        raise InputError(f"sort {values['sort']!r} is unknown; use one of {', '.join(filter(None, SORTS))}.")
    return Query(**values)


def sent(value: object) -> object:
    """A value as a message can hold it: nulls, lists, and text without half characters."""
    if isinstance(value, tuple):
        return [shown(part) for part in value]
    if value is None or (isinstance(value, float) and value != value):
        return None
    return shown(value) if isinstance(value, str) else value


def facet_counts(table: pd.DataFrame) -> dict[str, Any]:
    """By facet: `total`, `adds_up`, and the `values` with their counts; an empty value stands for cases without one."""
    out: dict[str, Any] = {}
    for row in table.to_dict("records"):
        value = shown(row["value"]) if isinstance(row["value"], str) else ""
        empty = {"total": int(row["n_total"]), "adds_up": bool(row["adds_up"]), "values": []}
        out.setdefault(str(row["facet"]), empty)["values"].append([value, int(row["n"])])
    return out


def _only(names: Sequence[str], name: str) -> slice:
    place = list(names).index(name)
    return slice(place, place + 1)
