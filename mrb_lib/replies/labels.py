"""Responses under other labels than A and B: in what a judge is asked, and back in what it replies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

Labels = tuple[str, str]
"""What the response shown first is called, and the second."""

LETTERS: Final[Labels] = ("A", "B")
_NO_LABEL: Final = "?"  # what an A or a B becomes in a reply where the responses are called otherwise


def labels_of(row: Mapping[str, object]) -> Labels:
    """The labels that a row's column `labels` names, as `1/2`; A and B where there is none."""
    stated = row.get("labels")
    first, _, second = stated.partition("/") if isinstance(stated, str) else ("", "", "")
    return (first, second) if first and second else LETTERS


def relabelled(text: str, labels: Labels) -> str:
    """A text that calls the responses A and B, with other labels in their place; `one letter` becomes what they are."""
    if labels == LETTERS:
        return text
    kind = "number" if labels[0].isdigit() else "letter" if len(labels[0]) == 1 else "name"
    renamed = dict(zip(LETTERS, labels, strict=True))
    return _standing_alone(LETTERS).sub(lambda found: renamed[found[0]], text).replace("one letter", f"one {kind}")


def names_letters(text: str) -> bool:
    """Whether a text holds an A or a B that stands alone."""
    return _standing_alone(LETTERS).search(text) is not None


def in_letters(reply: str, labels: Labels) -> str:
    """A reply in other labels, with A and B in their place; an A or a B that it holds besides is no label."""
    if labels == LETTERS:
        return reply
    letters = dict.fromkeys(LETTERS, _NO_LABEL) | dict(zip(labels, LETTERS, strict=True))
    return _standing_alone(tuple(letters)).sub(lambda found: letters[found[0]], reply)


def _standing_alone(words: tuple[str, ...]) -> re.Pattern[str]:
    """A word by itself: no part of `x-ray` or `1.5`, and no number of an item in a list."""
    number_of_item = r"(?<=\n\d)[.)] |(?<=\A\d)[.)] "
    return re.compile(
        rf"(?<![\w-])(?<!\d[.,])(?:{'|'.join(map(re.escape, words))})(?![\w-])(?![.,]\d)(?!{number_of_item})"
    )
