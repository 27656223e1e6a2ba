"""What the judges said about a case: a row a judge, both orders of each dimension side by side, and their reasoning."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import isnan

import pandas as pd

from mrb_lib.schema import NO_PROBE, ORDERS
from mrb_lib.widgets.case.case_parts import choice_html, gold_of, is_text
from mrb_lib.widgets.text import OWN_KEYS, escaped, isolated

Row = Mapping[Hashable, object]
_KEYS = ["judge", "repeat", "probe"]


def verdicts_html(verdicts: pd.DataFrame, labels: pd.DataFrame) -> str:
    """A table with a row a judge (and repeat, and probe) and, for each dimension, a column an order.

    A cell holds the choice, how probable the judge held it, and whether it agrees with the gold choice.
    """
    if verdicts.empty:
        return "<p>none</p>"
    gold = gold_of(labels)
    said_of = verdicts["dimension"].astype("str")
    dimensions = [name for name in dict.fromkeys([*gold, *said_of]) if name in set(said_of)]
    orders = [order for order in ORDERS if (verdicts["order"] == order).any()]
    orders += sorted(set(verdicts["order"].astype("str")) - set(ORDERS))
    rows = []
    for judge, how, part in _presented(verdicts, _KEYS):
        said = {(str(row["dimension"]), str(row["order"])): row for row in part}
        cells = "".join(_cell(said.get((name, order)), gold.get(name)) for name in dimensions for order in orders)
        name = isolated(judge) + (f' <span class="mrb-how">{escaped(how)}</span>' if how else "")
        rows.append(f'<tr><th scope="row">{name}</th><td class="mrb-sum">{_summary(part, gold)}</td>{cells}</tr>')
    return f"{_legend()}{_table(dimensions, orders, rows)}"


def replies_html(verdicts: pd.DataFrame, heading: str) -> str:
    """What each judge wrote, and why it failed, to open one by one; dimensions that share a reply share its place."""
    shown = []
    for judge, how, part in _presented(verdicts, ["judge", "order", "repeat", "probe"]):
        found: dict[tuple[str | None, str | None], list[str]] = {}
        for row in part:
            texts = _text_of(row.get("reply")), _text_of(row.get("error"))
            if texts != (None, None):
                found.setdefault(texts, []).append(str(row["dimension"]))
        if not found:
            continue
        names = [", ".join(dimensions) if len(found) > 1 else "" for dimensions in found.values()]
        body = "".join(_reply(name, reply, error) for name, (reply, error) in zip(names, found, strict=True))
        head = f"{isolated(judge)} <span>{isolated(how)} &middot; {_amount(reply for reply, _ in found)}</span>"
        shown.append(f'<details data-mrb="reply"><summary {OWN_KEYS}>{head}</summary>{body}</details>')
    return f'<{heading}>Replies</{heading}><div class="mrb-replies">{"".join(shown)}</div>' if shown else ""


def _presented(verdicts: pd.DataFrame, keys: list[str]) -> Iterator[tuple[str, str, list[Row]]]:
    """The verdicts of each judge and way of asking, with the judge's name and the way in words."""
    rows: Sequence[Row] = verdicts.sort_values([*keys, "dimension"]).to_dict("records")
    for key, part in groupby(rows, key=lambda row: [str(row[name]) for name in keys]):
        asked = dict(zip(keys, key, strict=True))
        how = [order_words(asked["order"])] if "order" in asked else []
        how += [f"repeat {asked['repeat']}"] if asked["repeat"] != "0" else []
        how += [f"probe {asked['probe']}"] if asked["probe"] != NO_PROBE else []
        yield asked["judge"], ", ".join(how), list(part)


def _text_of(value: object) -> str | None:
    """A text, or None for whatever stands for a missing one: of those NaN equals nothing, not even itself."""
    return value if isinstance(value, str) else None


def order_words(order: str) -> str:
    """Which answer was shown first."""
    return f"{order[:1]} first"


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


def _cell(row: Row | None, gold: object) -> str:
    """The choice, how probable the judge held it, the status unless all went well, and the agreement."""
    if row is None:
        return '<td class="mrb-none">&ndash;</td>'
    choice, status = row["choice"], str(row["status"])
    mark = f' <span class="mrb-status">({escaped(status)})</span>' if status != "ok" else ""
    if not is_text(choice):
        return f"<td>{mark.strip() or '&ndash;'}</td>"
    sure = _probability(choice, row.get("p_a"))
    small = "" if sure is None else f' <small class="mrb-p">{sure:.2f}</small>'
    kind, agreement = "", ""
    if is_text(gold):
        kind = ' class="mrb-right"' if choice == gold else ' class="mrb-wrong"'
        agreement = _agreement(choice == gold)
    return f"<td{kind}>{choice_html(choice)}{small}{agreement}{mark}</td>"


def _probability(choice: object, p_a: object) -> float | None:
    if not isinstance(p_a, float) or isnan(p_a):
        return None
    return {"A": p_a, "B": 1 - p_a}.get(str(choice))


def _agreement(right: bool) -> str:
    sign, words, kind = ("✓", "agrees with gold", "yes") if right else ("✗", "disagrees with gold", "no")
    return f' <span class="mrb-{kind}" role="img" aria-label="{words}">{sign}</span>'


def _summary(part: Sequence[Row], gold: Mapping[str, object]) -> str:
    """How many of the verdicts with a gold choice agree with it, and in how many dimensions the order decides."""
    known, right = 0, 0
    choices: dict[object, set[str]] = {}
    for row in part:
        expected, choice = gold.get(str(row["dimension"])), row["choice"]
        known += is_text(expected)
        right += is_text(expected) and choice == expected
        if isinstance(choice, str):
            choices.setdefault(row["dimension"], set()).add(choice)
    turned = sum(len(said) > 1 for said in choices.values())
    said = f"{right} of {known}" if known else "no gold"
    return said + (f' <span class="mrb-turned">{turned} turned</span>' if turned else "")


def _amount(replies: Iterable[object]) -> str:
    lengths = [len(reply) for reply in replies if isinstance(reply, str)]
    if not lengths:
        return "no reply"
    return f"{'1 reply' if len(lengths) == 1 else f'{len(lengths)} replies'}, {sum(lengths):,} characters"


def _reply(dimensions: str, reply: str | None, error: str | None) -> str:
    parts = [
        f'<p class="mrb-answers-to">{isolated(dimensions)}</p>' if dimensions else "",
        f'<div class="mrb-text mrb-reply" dir="auto" tabindex="0" {OWN_KEYS}>{escaped(reply) or "(empty)"}</div>'
        if isinstance(reply, str)
        else "",
        f'<p class="mrb-text mrb-status">error: {isolated(error)}</p>' if isinstance(error, str) else "",
    ]
    return "".join(parts)
