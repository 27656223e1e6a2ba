"""The verdicts on a case as tables: what each judge chose, how sure it was, and whether that agrees with gold."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import NamedTuple

import pandas as pd

from mrb_lib.benchmarks.votes import voting
from mrb_lib.review.case.replies import VerdictRow, order_words, presented
from mrb_lib.review.failures.kinds import Kinds, Scale
from mrb_lib.review.pages import macro
from mrb_lib.stats.verdicts import label_gold
from mrb_lib.stats.where import OUTCOMES, OVERALL
from mrb_lib.tables.schema import ORDERS, split_labels

_KEYS = ["judge", "repeat", "probe"]


class Cell(NamedTuple):
    """What stands in a cell of a verdict.

    Attributes
    ----------
    choice : None where there is none; of a label whether it was given
    sure : how probable the judge held it; None where it does not say
    right : whether it agrees with gold; None where nobody can say
    off : how far a wrong category is away, in words
    status : empty where all went well
    changed : whether it is another choice than on the plain case
    """

    choice: object
    sure: float | None = None
    right: bool | None = None
    off: str = ""
    status: str = ""
    changed: bool = False


def is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def choice_html(choice: object) -> str:
    """A choice as a letter in its colour."""
    return macro("case_tables", "choice")(choice)


def gold_of(labels: pd.DataFrame) -> dict[str, object]:
    """The gold choice by dimension."""
    return dict(zip(labels["dimension"].astype("str"), labels["choice"], strict=True))


def judged_dimensions(verdicts: pd.DataFrame, gold: Mapping[str, object]) -> list[str]:
    """The dimensions of some verdicts, those with gold labels first, in their order."""
    judged = dict.fromkeys(verdicts["dimension"].astype("str"))
    return [name for name in dict.fromkeys([*gold, *judged]) if name in judged]


def verdicts_html(verdicts: pd.DataFrame, labels: pd.DataFrame, scale: Scale | None = None) -> str:
    """A table with a row a judge (and repeat, and probe) and, for each dimension, a column an order.

    A cell holds the choice, how probable the judge held it, and whether it agrees with the gold choice. A judge that
    was trained on the case is marked, and its verdicts are neither right nor wrong. Ratings have one order; below them
    stands the probability of each category, where judges give it.

    Parameters
    ----------
    scale : of ratings; None of preferences. Dimensions of several labels are left to `label_sets_html`
    """
    if scale is not None and scale.labels:
        verdicts = verdicts[~verdicts["dimension"].isin(list(scale.labels))]
    gold = gold_of(labels)
    dimensions = judged_dimensions(verdicts, gold)
    said = set(verdicts["order"].astype("str"))
    orders = [*(order for order in ORDERS if order in said), *sorted(said - set(ORDERS))]
    orders = orders if scale is None else orders[:1]
    rows, probabilities = [], []
    for row, own in presented(verdicts, _KEYS):
        known = {} if row["seen"] else gold
        verdict_on = {(str(one["dimension"]), str(one["order"])): one for one in own}
        cells = [cell(verdict_on.get((name, o)), known.get(name), scale) for name in dimensions for o in orders]
        rows.append(row | {"cells": cells} | _summary(own, gold, seen=row["seen"]))
        for one in sorted(own, key=lambda one: dimensions.index(str(one["dimension"]))):
            shares, expected = None if scale is None else shares_of(one, scale), one.get("score_a")
            expected = expected if isinstance(expected, float) and isfinite(expected) else None
            if scale is not None and (shares, expected) != (None, None):
                about = {"dimension": one["dimension"], "gold": known.get(str(one["dimension"])), "seen": False}
                probabilities.append(row | about | {"shares": shares, "expected": expected})
    below = [order_words(order) for order in orders] if scale is None else []
    categories = () if scale is None else scale.categories
    return macro("case_tables", "all_verdicts")(rows, dimensions, below, probabilities, categories)


def chose_html(
    kinds: Kinds, position: int, judges: Sequence[str], dimension: str | None, gold: Mapping[str, object]
) -> str:
    """The gold label of the case at a position and what judges chose, in a line.

    Parameters
    ----------
    judges : unknown ones are left out; where none is left, there is no line
    dimension : None for overall, or the last one where there is no overall
    gold : the gold choice by dimension
    """
    usual = OVERALL if OVERALL in kinds.dimensions else kinds.dimensions[-1]
    at = kinds.dimensions.index(dimension or usual)
    said, outcome = (kinds.grid(name)[:, at, position] for name in ("said", "outcome"))
    rows = [(name, kinds.choice_name(said[j]), OUTCOMES[outcome[j]]) for j, name in enumerate(kinds.judges) if name in judges]
    return macro("case_tables", "chose")(kinds.dimensions[at], gold.get(kinds.dimensions[at]), rows)


def cell(row: VerdictRow | None, gold: object, scale: Scale | None = None) -> Cell | None:
    """What to show of a verdict beside the gold choice; None where there is no verdict."""
    if row is None:
        return None
    choice, status = row["choice"], _status(row)
    if not is_text(choice):
        return Cell(None, status=status)
    right = bool(choice == gold) if is_text(gold) else None
    return Cell(choice, _sure(row, scale), right, _off(choice, gold, scale), status)


def _status(row: VerdictRow) -> str:
    return "" if str(row["status"]) == "ok" else str(row["status"])


def _sure(row: VerdictRow, scale: Scale | None) -> float | None:
    """How probable the judge held what it chose."""
    choice = str(row["choice"])
    if scale is not None:
        shares = shares_of(row, scale)
        return None if shares is None or choice not in scale.categories else shares[scale.categories.index(choice)]
    p_a = row.get("p_a")
    return {"A": p_a, "B": 1 - p_a}.get(choice) if isinstance(p_a, float) and p_a == p_a else None


def _off(choice: object, gold: object, scale: Scale | None) -> str:
    """How many categories a wrong one is off, where they are ordered."""
    if scale is None or not scale.is_ordered or choice == gold or not {choice, gold} <= set(scale.categories):
        return ""
    away = scale.categories.index(str(choice)) - scale.categories.index(str(gold))
    return f"{abs(away)} too {'high' if away > 0 else 'low'}"


def _summary(verdicts: Sequence[VerdictRow], gold: Mapping[str, object], *, seen: bool) -> dict[str, object]:
    """How many of the verdicts with a gold choice agree with it, and in how many dimensions the order decides."""
    if seen:
        return {"sum": "not counted"}
    expected = [(row["choice"], gold.get(str(row["dimension"]))) for row in verdicts]
    with_gold = [bool(choice == label) for choice, label in expected if is_text(label)]
    chosen = {(str(row["dimension"]), row["choice"]) for row in verdicts if isinstance(row["choice"], str)}
    turned = sum(n > 1 for n in Counter(dimension for dimension, _ in chosen).values())
    return {"sum": f"{sum(with_gold)} of {len(with_gold)}" if with_gold else "no gold", "turned": turned}


def shares_of(row: VerdictRow, scale: Scale) -> list[float] | None:
    """The probability of each category by the verdict's `p_categories`; None where there is no such list."""
    stated = row.get("p_categories")
    try:
        found = json.loads(stated) if isinstance(stated, str) else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or len(found) != len(scale.categories):
        return None
    return found if all(isinstance(one, int | float) for one in found) else None


def label_sets_html(votes: pd.DataFrame, verdicts: pd.DataFrame, scale: Scale | None, heading: str) -> str:
    """A table a dimension of several labels: a row a label, with the annotators and the judges who gave it.

    Parameters
    ----------
    votes, verdicts : the annotations and verdicts of one case
    heading : the tag of the headings
    """
    several = {} if scale is None else scale.labels
    tables = []
    for dimension, labels in several.items():
        own_votes, own = (table[table["dimension"] == dimension] for table in (votes, verdicts))
        chosen = {
            str(who): split_labels(str(said))
            for who, said in zip(own_votes["annotator"], own_votes["choice"], strict=True)
        }
        ids = own_votes["case_id"].drop_duplicates()
        gold = label_gold(voting(own_votes), ids, {dimension: labels})[0] if len(ids) else [float("nan")] * len(labels)
        judges = [(row, one) for row, rows in presented(own, _KEYS) for one in rows]
        rows = []
        for place, (label, share) in enumerate(zip(labels, gold, strict=True)):
            known = {0.0: False, 1.0: True}.get(float(share))
            cells = [_label_cell(one, labels, place, known) for _, one in judges]
            rows.append((label, known, sorted(who for who in chosen if label in chosen[who]), cells))
        tables.append((dimension, [row for row, _ in judges], len(chosen), rows if len(own_votes) or len(own) else []))
    return macro("case_tables", "label_sets")(tables, heading)


def _label_cell(row: VerdictRow, labels: Sequence[str], place: int, gold: bool | None) -> Cell:
    """Whether a judge gave a label, how probable it held it, and the agreement; the status unless all went well."""
    if not isinstance(row["choice"], str):
        return Cell(None, status=_status(row))
    given, shares = labels[place] in split_labels(row["choice"]), shares_of(row, Scale(tuple(labels)))
    right = None if gold is None or row.get("seen") is True else given == gold
    return Cell(given, None if shares is None else shares[place], right, status=_status(row))
