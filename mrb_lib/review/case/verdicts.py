"""The verdicts on a case as tables: what each judge chose, how sure it was, and whether that agrees with gold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite, isnan
from typing import Final

import pandas as pd

from mrb_lib.review.case.replies import VerdictRow, order_words, presented
from mrb_lib.review.failures.kinds import Scale
from mrb_lib.review.text import OWN_KEYS, escaped, isolated
from mrb_lib.tables.schema import CHOICES, ORDERS

SEEN_MARK: Final = (
    ' <span class="mrb-seen" title="this judge was trained on the case, so that no number counts its verdicts">'
    "trained on</span>"
)
_KEYS = ["judge", "repeat", "probe"]


def is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def choice_html(choice: object) -> str:
    """A choice as a letter in its colour; the letter says it, the colour only helps to find it."""
    if not is_text(choice):
        return '<span class="mrb-none">&ndash;</span>'
    kind = f" mrb-{str(choice).lower()}" if choice in CHOICES else ""
    return f'<b class="mrb-choice{kind}" dir="auto">{escaped(choice)}</b>'


def gold_of(labels: pd.DataFrame) -> dict[str, object]:
    """The gold choice by dimension."""
    return dict(zip(labels["dimension"].astype("str"), labels["choice"], strict=True))


def verdicts_html(verdicts: pd.DataFrame, labels: pd.DataFrame, scale: Scale | None = None) -> str:
    """A table with a row a judge (and repeat, and probe) and, for each dimension, a column an order.

    A cell holds the choice, how probable the judge held it, and whether it agrees with the gold choice. A judge that
    was trained on the case is marked, and its verdicts are neither right nor wrong. Ratings have one order; below them
    stands the probability of each category, where judges give it.

    Parameters
    ----------
    scale : of ratings; None of preferences. Dimensions of several labels are left to
        `mrb_lib.review.case.label_sets`
    """
    if scale is not None and scale.labels:
        verdicts = verdicts[~verdicts["dimension"].isin(list(scale.labels))]
    if verdicts.empty:
        return "<p>none</p>"
    gold = gold_of(labels)
    judged = verdicts["dimension"].astype("str")
    dimensions = [name for name in dict.fromkeys([*gold, *judged]) if name in set(judged)]
    orders = [order for order in ORDERS if (verdicts["order"] == order).any()]
    orders += sorted(set(verdicts["order"].astype("str")) - set(ORDERS))
    orders = orders if scale is None else orders[:1]
    rows = []
    for judge, how, own in presented(verdicts, _KEYS):
        verdict_on = {(str(row["dimension"]), str(row["order"])): row for row in own}
        is_seen = any(row.get("seen") is True for row in own)
        known = {} if is_seen else gold
        cells = "".join(
            cell_html(verdict_on.get((name, order)), known.get(name), scale) for name in dimensions for order in orders
        )
        name = isolated(judge) + (f' <span class="mrb-how">{escaped(how)}</span>' if how else "")
        name += SEEN_MARK if is_seen else ""
        summary = "not counted" if is_seen else _summary(own, gold)
        rows.append(f'<tr><th scope="row">{name}</th><td class="mrb-sum">{summary}</td>{cells}</tr>')
    if scale is not None:
        return f"{_RATED}{_rated_table(dimensions, rows)}{_probabilities(verdicts, dimensions, gold, scale)}"
    return f"{_legend()}{_table(dimensions, orders, rows)}"


def _legend() -> str:
    return (
        '<p class="mrb-legend">Each verdict: the choice, the probability the judge gave it, and '
        '<span class="mrb-yes">✓</span> agrees or <span class="mrb-no">✗</span> disagrees with gold. '
        "Left and right of a pair: response A shown first, response B shown first; turned: the dimensions in which "
        "the order changed the choice.</p>"
    )


def _table(dimensions: Iterable[str], orders: list[str], rows: Iterable[str]) -> str:
    above = "".join(f'<th scope="colgroup" colspan="{len(orders)}">{isolated(name)}</th>' for name in dimensions)
    below = "".join(f'<th scope="col">{escaped(order_words(order))}</th>' for order in orders)
    return (
        f'<div class="mrb-wide" tabindex="0" {OWN_KEYS} data-mrb="verdicts"><table class="mrb-verdicts"><thead><tr>'
        f'<th scope="col" rowspan="2">judge</th><th scope="col" rowspan="2">agrees with gold</th>{above}</tr>'
        f"<tr>{below * len(list(dimensions))}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def cell_html(row: VerdictRow | None, gold: object, scale: Scale | None = None) -> str:
    """The choice, how probable the judge held it, the status unless all went well, and the agreement."""
    if row is None:
        return '<td class="mrb-none">&ndash;</td>'
    choice, status = row["choice"], str(row["status"])
    mark = f' <span class="mrb-status">({escaped(status)})</span>' if status != "ok" else ""
    if not is_text(choice):
        return f"<td>{mark.strip() or '&ndash;'}</td>"
    sure = _probability(choice, row.get("p_a")) if scale is None else _of_choice(row, scale)
    small = "" if sure is None else f' <small class="mrb-p">{sure:.2f}</small>'
    kind, agreement = "", ""
    if is_text(gold):
        kind = ' class="mrb-right"' if choice == gold else ' class="mrb-wrong"'
        agreement = agreement_html(choice == gold) + _off(choice, gold, scale)
    return f"<td{kind}>{choice_html(choice)}{small}{agreement}{mark}</td>"


def _probability(choice: object, p_a: object) -> float | None:
    if not isinstance(p_a, float) or isnan(p_a):
        return None
    return {"A": p_a, "B": 1 - p_a}.get(str(choice))


def agreement_html(right: bool) -> str:
    """The sign that says whether a verdict agrees with gold."""
    sign, words, kind = ("✓", "agrees with gold", "yes") if right else ("✗", "disagrees with gold", "no")
    return f' <span class="mrb-{kind}" role="img" aria-label="{words}">{sign}</span>'


def _summary(verdicts: Sequence[VerdictRow], gold: Mapping[str, object]) -> str:
    """How many of the verdicts with a gold choice agree with it, and in how many dimensions the order decides."""
    n_gold, n_right = 0, 0
    choices: dict[object, set[str]] = {}
    for row in verdicts:
        expected, choice = gold.get(str(row["dimension"])), row["choice"]
        n_gold += is_text(expected)
        n_right += is_text(expected) and choice == expected
        if isinstance(choice, str):
            choices.setdefault(row["dimension"], set()).add(choice)
    turned = sum(len(chosen) > 1 for chosen in choices.values())
    agreeing = f"{n_right} of {n_gold}" if n_gold else "no gold"
    return agreeing + (f' <span class="mrb-turned">{turned} turned</span>' if turned else "")


_RATED: Final = (
    '<p class="mrb-legend">Each verdict: the category, the probability the judge gave it, and '
    '<span class="mrb-yes">✓</span> agrees or <span class="mrb-no">✗</span> disagrees with gold.</p>'
)


def _rated_table(dimensions: Sequence[str], rows: Iterable[str]) -> str:
    names = "".join(f'<th scope="col">{isolated(name)}</th>' for name in dimensions)
    return (
        f'<div class="mrb-wide" tabindex="0" {OWN_KEYS} data-mrb="verdicts"><table class="mrb-verdicts mrb-rated">'
        f'<thead><tr><th scope="col">judge</th><th scope="col">agrees with gold</th>{names}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _probabilities(verdicts: pd.DataFrame, dimensions: Sequence[str], gold: Mapping[str, object], scale: Scale) -> str:
    """A row a judge and dimension: the probability of each category, and the expectation; empty where none is known."""
    place = {name: number for number, name in enumerate(dimensions)}
    rows = []
    for judge, how, own in presented(verdicts, _KEYS):
        for row in sorted(own, key=lambda one: place.get(str(one["dimension"]), len(place))):
            shares, expected = shares_of(row, scale), row.get("score_a")
            is_known = isinstance(expected, float) and isfinite(expected)
            if shares is None and not is_known:
                continue
            label = {} if row.get("seen") is True else gold
            cells = [
                _share(shares, i, name == label.get(str(row["dimension"]))) for i, name in enumerate(scale.categories)
            ]
            head = isolated(judge) + (f' <span class="mrb-how">{escaped(how)}</span>' if how else "")
            rows.append(
                f'<tr><th scope="row">{head}</th><td>{isolated(row["dimension"])}</td>{"".join(cells)}'
                f"<td>{f'{expected:.2f}' if is_known else '&ndash;'}</td></tr>"
            )
    if not rows:
        return ""
    names = "".join(f'<th scope="col">{isolated(name)}</th>' for name in scale.categories)
    return (
        '<p class="mrb-legend">The probability each judge gave each category, the gold one marked, and its expectation '
        "over their numbers, where they are ordered.</p>"
        f'<div class="mrb-wide" tabindex="0" {OWN_KEYS} data-mrb="probabilities"><table class="mrb-verdicts mrb-rated">'
        f'<thead><tr><th scope="col">judge</th><th scope="col">dimension</th>{names}<th scope="col">expectation</th>'
        f"</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _share(shares: Sequence[float] | None, place: int, is_gold: bool) -> str:
    kind = ' class="mrb-gold"' if is_gold else ""
    if shares is None:
        return f"<td{kind}>&ndash;</td>"
    text = f"{shares[place]:.2f}"
    return f"<td{kind}>{f'<b>{text}</b>' if shares[place] == max(shares) else text}</td>"


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


def _of_choice(row: VerdictRow, scale: Scale) -> float | None:
    shares, choice = shares_of(row, scale), row["choice"]
    return None if shares is None or choice not in scale.categories else shares[scale.categories.index(str(choice))]


def _off(choice: object, gold: object, scale: Scale | None) -> str:
    """How many categories a wrong one is off, where they are ordered."""
    if scale is None or not scale.is_ordered or choice == gold or not {choice, gold} <= set(scale.categories):
        return ""
    away = scale.categories.index(str(choice)) - scale.categories.index(str(gold))
    return f' <small class="mrb-p">{abs(away)} too {"high" if away > 0 else "low"}</small>'
