"""One view of a case, for notebooks, the app and the site: its images, the answers, the votes, the gold, the judges.

Everything from the data is escaped, images are decoded and drawn anew, and it is whole without a script; what a hostile
case says can therefore be read but does nothing. `case.js` adds zoom, pan and the window of grey images.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import Final

import pandas as pd

from mrb_lib.schema import CHOICES, ORDERS
from mrb_lib.verdicts.manifest import Manifest
from mrb_lib.widgets.bundle import style as style_of
from mrb_lib.widgets.case.facts import FactMark, Stretch, marks, word_differences
from mrb_lib.widgets.case.images import SIDE, image_html
from mrb_lib.widgets.case.markdown import MarkdownText, marked_html, read_markdown
from mrb_lib.widgets.case.replies import VerdictRow, order_words, presented, replies_html
from mrb_lib.widgets.text import OWN_KEYS, escaped, isolated, visible

STYLES: Final = ("case/case", "case/overlay")
SCRIPTS: Final = ("case/overlay", "case/picture", "case/case")
_ORIGIN = {
    "organ": "Organ",
    "department": "Department",
    "modality": "Modality",
    "question_type": "Question type",
    "dataset": "Source",
}
_PARTS = ("numbers, sides, denials or anatomical words", "number, side, denial or anatomical word")
SEEN_MARK: Final = (
    ' <span class="mrb-seen" title="this judge was trained on the case, so that no number counts its verdicts">'
    "trained on</span>"
)
_KEYS = ["judge", "repeat", "probe"]


def case_html(
    case: pd.Series,
    *,
    images: Mapping[str, bytes],
    annotations: pd.DataFrame,
    gold: pd.DataFrame,
    verdicts: pd.DataFrame,
    manifests: Mapping[str, Manifest] | None = None,
    note: str = "",
    blind: bool = False,
    level: int = 3,
    style: bool = True,
    side: int = SIDE,
) -> str:
    """Show one case.

    Parameters
    ----------
    case : one row of the cases table
    images : the bytes of the images by name; in the place of one that is missing or cannot be read stands what is wrong
    annotations, gold, verdicts : the tables, of this case or of all; only rows of this case are shown. Verdicts with
        `p_a` show the probability of what they chose; those with `reply` and `error` show these, whole, on demand.
        Those that are `seen` (`mrb_lib.verdicts.training.mark_seen`) are of judges that were trained on the case.
    manifests : of the runs, by the judge's name in the verdicts; with them each reply opens what was asked
    note : a sentence to show above it, as for simulated data
    blind : for someone who has yet to judge: no vote, no gold, no judge, no responder, no reference, nothing marked
    level : of the heading; the parts have the next one
    style : put the style sheet into it. A page with several cases needs it in one of them, or has
        `bundle.style(*STYLES)` of its own.
    side : the longest side of an image, in pixels

    Returns
    -------
    str
        A `<section>` that needs nothing else. Validated by tests/widgets/case/test_view.py.
    """
    here = str(case["case_id"])
    title, heading = f"h{level}", f"h{level + 1}"
    pictures = "".join(image_html(name, images, side, i) for i, name in enumerate(case["images"]))
    body = [
        f"<style>{style_of(*STYLES)}</style>" if style else "",
        f'<p class="mrb-simulated mrb-note">{isolated(note)}</p>' if note else "",
        f'<header><{title} class="mrb-title">Case {isolated(here)}</{title}>{origin_html(case)}</header>',
        '<div class="mrb-stage">',
        f'<div class="mrb-images">{pictures}</div>' if pictures else "",
        f'<div class="mrb-asked"><{heading}>Question</{heading}>{_text(case["question"])}</div>',
        answers_html(case, heading, blind=blind),
        "" if blind else _reference(case.get("reference"), heading),
        "</div>",
    ]
    if not blind:
        votes, labels, own_verdicts = (rows_of(table, here) for table in (annotations, gold, verdicts))
        replies = replies_html(case, own_verdicts, heading, manifests or {})
        body += [
            f"<{heading}>Annotators</{heading}>{votes_html(votes, labels)}",
            f"<{heading}>Judges</{heading}>{verdicts_html(own_verdicts, labels)}{replies}",
        ]
    name = escaped(here)
    return (
        f'<section class="mrb mrb-case" data-case="{name}" aria-label="case {name}" tabindex="-1" '
        f"{OWN_KEYS}>{''.join(body)}</section>"
    )


def rows_of(table: pd.DataFrame, case_id: str) -> pd.DataFrame:
    """The rows of a table that are about a case."""
    column = table["case_id"]
    return table[(column if pd.api.types.is_string_dtype(column) else column.astype("str")) == case_id]


def _text(value: object) -> str:
    return f'<div class="mrb-text mrb-question" dir="auto" tabindex="0" {OWN_KEYS}>{escaped(value)}</div>'


def _reference(value: object, heading: str) -> str:
    if not is_text(value):
        return ""
    text = visible(value)
    body = f'<div class="mrb-text" dir="auto" tabindex="0" {OWN_KEYS}>{answer_html(text, read_markdown(text))}</div>'
    return f'<div class="mrb-asked mrb-reference"><{heading}>Reference</{heading}>{body}</div>'


def is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def choice_html(choice: object) -> str:
    """A choice as a letter in its colour; the letter says it, the colour only helps to find it."""
    if not is_text(choice):
        return '<span class="mrb-none">&ndash;</span>'
    kind = f" mrb-{str(choice).lower()}" if choice in CHOICES else ""
    return f'<b class="mrb-choice{kind}" dir="auto">{escaped(choice)}</b>'


def origin_html(case: pd.Series) -> str:
    """Organ, department, modality, kind of question and source, as far as the case names them."""
    named = [
        (label, case[name] if name == "dataset" else str(case[name]).replace("_", " "))
        for name, label in _ORIGIN.items()
        if is_text(case.get(name))
    ]
    items = "".join(f"<div><dt>{label}</dt><dd>{isolated(value)}</dd></div>" for label, value in named)
    return f'<dl class="mrb-place">{items}</dl>' if items else ""


def answers_html(case: pd.Series, heading: str, *, blind: bool) -> str:
    """The two answers side by side, each in a box that scrolls; facts that only one of them states are marked."""
    texts = [visible(case["response_a"]), visible(case["response_b"])]
    read = [read_markdown(text) for text in texts]
    plain = [text if one is None else one.plain for text, one in zip(texts, read, strict=True)]
    marked: tuple[list[FactMark], list[FactMark]] = ([], []) if blind else marks(*plain)
    differing: tuple[list[Stretch], list[Stretch]] = ([], []) if blind else word_differences(*plain)
    switches = ""
    if any(marked):
        count = sum(map(len, marked))
        switches = (
            f'<label class="mrb-switch"><input type="checkbox" class="mrb-marks" checked {OWN_KEYS}> '
            f"mark what only one answer states: {count} {_PARTS[count == 1]} (found by rules, not a judgement)</label>"
        )
    if any(differing):
        switches += (
            f'<label class="mrb-switch"><input type="checkbox" class="mrb-words" aria-keyshortcuts="D" {OWN_KEYS}> '
            "underline every word that is not in the other answer <kbd>D</kbd></label>"
        )
    reference = None if blind else case.get("reference")
    if any(read) or (is_text(reference) and read_markdown(visible(reference))):
        switches += raw_switch(marked=bool(switches))
    switches = f'<div class="mrb-switches">{switches}</div>' if switches else ""
    models = (None, None) if blind else (case.get("model_a"), case.get("model_b"))
    both = "".join(
        _answer(side, answer_html(text, one, facts, words), model, heading)
        for side, text, one, facts, words, model in zip("AB", texts, read, marked, differing, models, strict=True)
    )
    return f'<div class="mrb-answers"><div class="mrb-pair">{both}</div>{switches}</div>'


def answer_html(
    text: str, markdown: MarkdownText | None, facts: Sequence[FactMark] = (), differing: Sequence[Stretch] = ()
) -> str:
    """What stands in the box of an answer: the text, or where it has Markdown its rendering and the text beside it.

    Parameters
    ----------
    text : as `visible` makes it
    markdown : what `read_markdown` makes of it
    facts, differing : the marks of the text, or of the `plain` of its Markdown
    """
    if markdown is None:
        return marked_html(text, facts, differing)
    return (
        f'<div class="mrb-markdown">{markdown.html(facts, differing)}</div>'
        f'<div class="mrb-written" dir="auto">{escaped(text)}</div>'
    )


def raw_switch(*, marked: bool) -> str:
    """The switch from the rendering of Markdown to the text as it was written; the style sheet does what it says."""
    without = ", without marks" if marked else ""
    return (
        f'<label class="mrb-switch"><input type="checkbox" class="mrb-raw" aria-keyshortcuts="W" {OWN_KEYS}> '
        f"show answers as written{without} <kbd>W</kbd></label>"
    )


def _answer(side: str, marked: str, model: object, heading: str) -> str:
    by = f' <span class="mrb-by">{isolated(model)}</span>' if is_text(model) else ""
    body = f'<div class="mrb-text mrb-answer-text" dir="auto" tabindex="0" {OWN_KEYS}>{marked}</div>'
    return (
        f'<article class="mrb-answer mrb-{side.lower()}" data-mrb="answer">'
        f"<{heading}>{choice_html(side)} Response {side}{by}</{heading}>{body}</article>"
    )


def votes_html(votes: pd.DataFrame, labels: pd.DataFrame) -> str:
    """A row a dimension: the gold choice, how many annotators chose what, and who."""
    if votes.empty and labels.empty:
        return "<p>none</p>"
    annotators = sorted(votes["annotator"].unique())
    chosen = {
        (str(d), str(who)): c for d, who, c in votes[["dimension", "annotator", "choice"]].itertuples(index=False)
    }
    gold = gold_of(labels)
    rows = []
    for dimension in dict.fromkeys([*gold, *votes["dimension"].astype("str")]):
        cast = [chosen.get((dimension, str(annotator))) for annotator in annotators]
        cells = "".join(f"<td>{choice_html(choice)}</td>" for choice in cast)
        label = choice_html(gold.get(dimension))
        rows.append(
            f'<tr><th scope="row">{isolated(dimension)}</th><td class="mrb-gold">{label}</td>'
            f'<td class="mrb-counts">{_counts(cast)}</td>{cells}</tr>'
        )
    head = "".join(f'<th scope="col">{isolated(name)}</th>' for name in annotators)
    return (
        f'<div class="mrb-wide" tabindex="0" {OWN_KEYS}><table><thead><tr><th scope="col">dimension</th>'
        f'<th scope="col">gold</th><th scope="col">votes</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def gold_of(labels: pd.DataFrame) -> dict[str, object]:
    """The gold choice by dimension."""
    return dict(zip(labels["dimension"].astype("str"), labels["choice"], strict=True))


def _counts(cast: Iterable[object]) -> str:
    choices = [str(choice) for choice in cast if is_text(choice)]
    each = [f"{choices.count(choice)} {choice}" for choice in CHOICES if choice in choices]
    return " · ".join(each) or "&ndash;"


def verdicts_html(verdicts: pd.DataFrame, labels: pd.DataFrame) -> str:
    """A table with a row a judge (and repeat, and probe) and, for each dimension, a column an order.

    A cell holds the choice, how probable the judge held it, and whether it agrees with the gold choice. A judge that
    was trained on the case is marked, and its verdicts are neither right nor wrong.
    """
    if verdicts.empty:
        return "<p>none</p>"
    gold = gold_of(labels)
    judged = verdicts["dimension"].astype("str")
    dimensions = [name for name in dict.fromkeys([*gold, *judged]) if name in set(judged)]
    orders = [order for order in ORDERS if (verdicts["order"] == order).any()]
    orders += sorted(set(verdicts["order"].astype("str")) - set(ORDERS))
    rows = []
    for judge, how, own in presented(verdicts, _KEYS):
        verdict_on = {(str(row["dimension"]), str(row["order"])): row for row in own}
        is_seen = any(row.get("seen") is True for row in own)
        known = {} if is_seen else gold
        cells = "".join(
            cell_html(verdict_on.get((name, order)), known.get(name)) for name in dimensions for order in orders
        )
        name = isolated(judge) + (f' <span class="mrb-how">{escaped(how)}</span>' if how else "")
        name += SEEN_MARK if is_seen else ""
        summary = "not counted" if is_seen else _summary(own, gold)
        rows.append(f'<tr><th scope="row">{name}</th><td class="mrb-sum">{summary}</td>{cells}</tr>')
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


def cell_html(row: VerdictRow | None, gold: object) -> str:
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
