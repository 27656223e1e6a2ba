"""A case as its annotator sees it; which response is which never reaches the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from mrb_lib.review.case.images import SIDE, image_html
from mrb_lib.review.case.markdown import read_markdown
from mrb_lib.review.case.view import STYLES as CASE_STYLES
from mrb_lib.review.case.view import answer_html, before_html, origin_html, raw_switch, step_of
from mrb_lib.review.text import OWN_KEYS, escaped, visible
from mrb_lib.verdicts.orders import choice_to_shown, to_case_frame, to_shown_frame

STYLES = (*CASE_STYLES, "annotate/annotate")
POSITIONS = {"first": "First answer", "second": "Second answer"}
NAMES = {"first": "First", "second": "Second", "tie": "Tie"}


def blinded_html(
    case: pd.Series, order: str, *, images: Mapping[str, bytes], number: int, total: int, side: int = SIDE
) -> str:
    """The case without anything that could sway: no responder, judge, vote, gold, reference or source.

    Parameters
    ----------
    case : one row of the cases table
    order : "AB" or "BA", which response is shown first; it cannot be told from what is returned
    images : the bytes of the images by name, which is not shown: a file's name may hold the diagnosis
    number, total : of the case among those of the annotator, who knows it by this number: an id may give it away
    side : the longest side of an image, in pixels

    Returns
    -------
    str
        A `<section>` of the class `mrb-case`, without a style sheet.
        Validated by tests/review/annotate/test_annotate.py.
    """
    shown = to_shown_frame(pd.DataFrame([case]).assign(order=order), planned=False).iloc[0]
    answers = "".join(
        answer_box(shown[position], title, key=key, place=position)
        for (position, title), key in zip(POSITIONS.items(), ("A", "B"), strict=True)
    )
    written = any(read_markdown(visible(shown[position])) for position in POSITIONS)
    return _sheet(shown, answers, written=written, images=images, number=number, total=total, side=side)


def rated_html(
    case: pd.Series, order: str, *, images: Mapping[str, bytes], number: int, total: int, side: int = SIDE
) -> str:
    """One response, or one step of it below the steps before it, without anything that could sway.

    Parameters
    ----------
    case, images, number, total, side : see `blinded_html`
    order : "AB"; there is nothing to turn round
    """
    step = step_of(case)
    box = answer_box(case["response_a"], "Response" if step is None else f"Step {step}", place="response")
    written = bool(read_markdown(visible(case["response_a"])))
    answers = f'<div class="mrb-one">{before_html(case, "h3")}{box}</div>'
    about = case.drop(labels="dataset", errors="ignore")
    return _sheet(about, answers, written=written, images=images, number=number, total=total, side=side)


def ranked_html(
    case: pd.Series,
    responses: Mapping[str, str],
    *,
    images: Mapping[str, bytes],
    number: int,
    total: int,
    side: int = SIDE,
) -> str:
    """An item with all its responses, without anything that could sway.

    Parameters
    ----------
    case : a row of the cases table, whose question and images are those of the item
    responses : by the key that they are called by, in the order to show them
    images, number, total, side : see `blinded_html`
    """
    boxes = "".join(answer_box(text, "Answer", key=key, place=key) for key, text in responses.items())
    written = any(read_markdown(visible(text)) for text in responses.values())
    about = case.drop(labels="dataset", errors="ignore")
    return _sheet(about, boxes, written=written, images=images, number=number, total=total, side=side)


def item_html(
    case: pd.Series, order: str, *, images: Mapping[str, bytes], number: int, total: int, side: int = SIDE
) -> str:
    """An item with its reference answer, and nothing of what models made of it or where it came from.

    Parameters
    ----------
    case : `question, images, response_a` (the reference; empty: there is none), and perhaps organ and modality
    order, images, number, total, side : see `blinded_html`
    """
    reference = visible(case["response_a"])
    box = answer_box(reference, "Reference answer", place="reference") if reference else ""
    written = bool(read_markdown(reference))
    about = case.drop(labels="dataset", errors="ignore")
    return _sheet(about, box, written=written, images=images, number=number, total=total, side=side)


def _sheet(
    shown: pd.Series, answers: str, *, written: bool, images: Mapping[str, bytes], number: int, total: int, side: int
) -> str:
    """A case with its images and its question; `answers` are boxes, `written` where one of them has Markdown."""
    pictures = _pictures([str(name) for name in shown["images"]], images, side)
    text = escaped(shown["question"])
    question = f'<div class="mrb-text mrb-question" dir="auto" tabindex="0" {OWN_KEYS}>{text}</div>'
    switches = f'<div class="mrb-switches">{raw_switch(marked=False)}</div>' if written else ""
    return (
        f'<section class="mrb mrb-case" aria-label="case {number} of {total}">'
        f'<header><h2 class="mrb-title" tabindex="-1">Case {number} <span class="mrb-of">of {total}</span></h2>'
        f"{origin_html(shown)}</header>"
        f'<div class="mrb-stage">{pictures}<div class="mrb-asked"><h3>Question</h3>{question}</div>'
        f'<div class="mrb-answers"><div class="mrb-pair">{answers}</div>{switches}</div></div></section>'
    )


def in_case_frame(order: str, pick: str) -> str:
    """What "first", "second" or "tie" is in the case's own frame: A, B or tie."""
    return str(to_case_frame(pd.DataFrame({"order": [order], "pick": [pick]}))["choice"].iloc[0])


def as_shown(order: str, choice: str) -> str:
    """What A, B or tie is on the page: "first", "second" or "tie"."""
    return str(choice_to_shown(pd.Series([order]), pd.Series([choice])).iloc[0])


def _pictures(names: Sequence[str], images: Mapping[str, bytes], side: int) -> str:
    """The images, each called by its number."""
    made = []
    for number, name in enumerate(names, start=1):
        called = f"Image {number} of {len(names)}" if len(names) > 1 else "Image"
        missing = f'<p class="mrb-missing">[{called} is missing]</p>'
        made.append(image_html(called, {called: images[name]}, side, number - 1) if name in images else missing)
    return f'<div class="mrb-images">{"".join(made)}</div>' if made else ""


def answer_box(value: object, title: str, *, place: str, key: str = "") -> str:
    """An answer under its title, with the key that chooses it."""
    text = visible(value)
    is_named = key and title == "Answer"  # several answers are called by their keys
    title = f"{title} {key}" if is_named else title
    shown_key = f'<kbd aria-hidden="true">{key}</kbd> ' if key and not is_named else ""
    return (
        f'<article class="mrb-answer mrb-shown" data-mrb="answer" data-place="{place}">'
        f"<h3>{shown_key}{title}</h3>"
        f'<div class="mrb-text mrb-answer-text" dir="auto" tabindex="0" role="group" '
        f'aria-label="{title}">{answer_html(text, read_markdown(text))}</div></article>'
    )
