"""A case as its annotator sees it; which response is which never reaches the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from mrb_lib.review.case.images import SIDE, image_html
from mrb_lib.review.case.markdown import MarkdownText, read_markdown
from mrb_lib.review.case.view import STYLES as CASE_STYLES
from mrb_lib.review.case.view import answer_html, before_html, origin_html, raw_switch, step_of
from mrb_lib.review.pages import template
from mrb_lib.review.text import visible
from mrb_lib.verdicts.orders import choice_to_shown, to_case_frame, to_shown_frame

STYLES = (*CASE_STYLES, "annotate/annotate")
NAMES = {"first": "First", "second": "Second", "tie": "Tie"}


@dataclass(frozen=True)
class Box:
    """An answer in its box.

    Attributes
    ----------
    text : any text, which may have Markdown
    title, place : what it is called, for people and for scripts
    key : chooses it; empty for none
    """

    text: str
    title: str
    place: str
    key: str = ""

    @cached_property
    def markdown(self) -> MarkdownText | None:
        """The text as Markdown; None where it has none."""
        return read_markdown(visible(self.text))

    @property
    def html(self) -> str:
        """What stands in the box."""
        return answer_html(visible(self.text), self.markdown)


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
    boxes = [Box(shown[at], f"{NAMES[at]} answer", at, key) for at, key in (("first", "A"), ("second", "B"))]
    return _sheet(shown, boxes, images=images, number=number, total=total, side=side)


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
    boxes = [Box(case["response_a"], "Response" if step is None else f"Step {step}", "response")]
    return _sheet(
        case, boxes, before=before_html(case, "h3"), images=images, number=number, total=total, side=side
    )  # fmt: skip


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
    boxes = [Box(text, f"Answer {key}", key) for key, text in responses.items()]
    return _sheet(case, boxes, images=images, number=number, total=total, side=side)


def item_html(
    case: pd.Series, order: str, *, images: Mapping[str, bytes], number: int, total: int, side: int = SIDE
) -> str:
    """An item with its reference answer, and nothing of what models made of it or where it came from.

    Parameters
    ----------
    case : `question, images, response_a` (the reference; empty: there is none), and perhaps organ and modality
    order, images, number, total, side : see `blinded_html`
    """
    reference = case["response_a"]
    boxes = [Box(reference, "Reference answer", "reference")] if reference else []
    return _sheet(case, boxes, images=images, number=number, total=total, side=side)


def _sheet(
    case: pd.Series, boxes: Sequence[Box], *, images: Mapping[str, bytes], number: int, total: int, side: int,
    before: str = "",
) -> str:  # fmt: skip
    """A case with its images and its question, whatever its source; `before` is HTML that stands above the boxes."""
    names = [str(name) for name in case["images"]]
    called = [f"Image {at} of {len(names)}" if len(names) > 1 else "Image" for at in range(1, len(names) + 1)]
    pictures = [
        (alias, image_html(alias, {alias: images[name]}, side, at) if name in images else "")
        for at, (name, alias) in enumerate(zip(names, called, strict=True))
    ]
    return template("annotate_case").render(
        question=str(case["question"]), boxes=boxes, pictures=pictures, before=before, number=number, total=total,
        origin=origin_html(case.drop(labels="dataset", errors="ignore")),
        switch=raw_switch(marked=False) if any(box.markdown for box in boxes) else "",
    )  # fmt: skip


def in_case_frame(order: str, pick: str) -> str:
    """What "first", "second" or "tie" is in the case's own frame: A, B or tie."""
    return str(to_case_frame(pd.DataFrame({"order": [order], "pick": [pick]}))["choice"].iloc[0])


def as_shown(order: str, choice: str) -> str:
    """What A, B or tie is on the page: "first", "second" or "tie"."""
    return str(choice_to_shown(pd.Series([order]), pd.Series([choice])).iloc[0])
