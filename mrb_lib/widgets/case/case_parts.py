"""The parts of a case that are known before any judge is asked: where it is from, its two answers, the votes."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from mrb_lib.schema import CHOICES
from mrb_lib.widgets.case.facts import Mark, marks
from mrb_lib.widgets.text import OWN_KEYS, escaped, isolated

_PLACE = {
    "organ": "Organ",
    "department": "Department",
    "modality": "Modality",
    "question_type": "Question type",
    "dataset": "Source",
}
_PARTS = ("numbers, sides, denials or anatomical words", "number, side, denial or anatomical word")


def is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def choice_html(choice: object) -> str:
    """A choice as a letter in its colour; the letter says it, the colour only helps to find it."""
    if not is_text(choice):
        return '<span class="mrb-none">&ndash;</span>'
    kind = f" mrb-{str(choice).lower()}" if choice in CHOICES else ""
    return f'<b class="mrb-choice{kind}" dir="auto">{escaped(choice)}</b>'


def place_html(case: pd.Series) -> str:
    """Organ, department, modality, kind of question and source, as far as the case names them."""
    known = [
        (label, case[name] if name == "dataset" else str(case[name]).replace("_", " "))
        for name, label in _PLACE.items()
        if is_text(case.get(name))
    ]
    items = "".join(f"<div><dt>{label}</dt><dd>{isolated(value)}</dd></div>" for label, value in known)
    return f'<dl class="mrb-place">{items}</dl>' if items else ""


def answers_html(case: pd.Series, heading: str, *, blind: bool) -> str:
    """The two answers side by side, each in a box that scrolls; facts that only one of them states are marked."""
    texts = [str(case["response_a"]), str(case["response_b"])]
    found: tuple[list[Mark], list[Mark]] = ([], []) if blind else marks(*texts)
    switch = ""
    if any(found):
        count = sum(map(len, found))
        switch = (
            f'<label class="mrb-switch"><input type="checkbox" class="mrb-marks" checked {OWN_KEYS}> '
            f"mark what only one answer states: {count} {_PARTS[count == 1]} (found by rules, not a judgement)</label>"
        )
    both = "".join(
        _answer(side, text, said, None if blind else case.get(f"model_{side.lower()}"), heading)
        for side, text, said in zip("AB", texts, found, strict=True)
    )
    return f'<div class="mrb-answers">{switch}<div class="mrb-pair">{both}</div></div>'


def _answer(side: str, text: str, found: list[Mark], model: object, heading: str) -> str:
    by = f' <span class="mrb-by">{isolated(model)}</span>' if is_text(model) else ""
    body = f'<div class="mrb-text mrb-answer-text" dir="auto" tabindex="0" {OWN_KEYS}>{marked_html(text, found)}</div>'
    return (
        f'<article class="mrb-answer mrb-{side.lower()}" data-mrb="answer">'
        f"<{heading}>{choice_html(side)} Response {side}{by}</{heading}>{body}</article>"
    )


def marked_html(text: str, found: Iterable[Mark]) -> str:
    """Escaped text with its marks."""
    parts, at = [], 0
    for mark in found:
        said = escaped(text[mark.start : mark.end])
        parts.append(f'{escaped(text[at : mark.start])}<mark class="mrb-{mark.kind}">{said}</mark>')
        at = mark.end
    return "".join([*parts, escaped(text[at:])])


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
    said = [str(choice) for choice in cast if is_text(choice)]
    each = [f"{said.count(choice)} {choice}" for choice in CHOICES if choice in said]
    return " · ".join(each) or "&ndash;"
