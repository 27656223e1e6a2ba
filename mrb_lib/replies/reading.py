"""A judge's reply becomes one choice a dimension, and a status that says how it was read.

The two responses are "A" (shown first) and "B" (shown second). Reading is lenient in
form and strict in meaning: many ways of writing a verdict are understood, and what
is not a verdict (the article "a", vitamin A, an echoed template, a refusal) never
becomes one. Where reading is in doubt a dimension stays without a choice.

The parts: `text` (thinking, refusals, look-alike characters), `names` (dimensions
and keys), `canonical` (which letters mean a response), `phrases` (what a value or a
sentence says), `objects` (JSON and what resembles it), `tables`, `prose`, and
`statements` (which of several verdicts counts).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mrb_lib.replies.labels import LETTERS, Labels, in_letters
from mrb_lib.replies.names import DimensionNames, names_of
from mrb_lib.replies.objects import Span, read_objects
from mrb_lib.replies.phrases import plain_choice
from mrb_lib.replies.prose import Prose
from mrb_lib.replies.statements import Statement, last_verdict
from mrb_lib.replies.text import plainly_written, refuses, without_thinking
from mrb_lib.tables.schema import CHOICES

ReadingStatus = Literal["ok", "repaired", "unparsed", "refused"]

__all__ = ["Reading", "choices_in_object", "parse", "plain_choice"]

_FENCED = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL | re.IGNORECASE)
_BARE = {"A": "A", "B": "B", "tie": "tie", "[[A]]": "A", "[[B]]": "B", "[[tie]]": "tie"}


@dataclass(frozen=True)
class Reading:
    """What a reply says.

    Attributes
    ----------
    choices : for every dimension asked, in the order asked: A (the response shown
        first), B (the second), tie, or None where the reply has no readable verdict
    status : `ok`, a clean and complete answer: it is, or after its reasons ends with,
        one valid JSON object (in a code fence or not) with A, B or tie for every
        dimension; or, where one dimension was asked, a letter or `[[A]]` alone.
        `repaired`: choices were read, with leniency in form or without all dimensions.
        `refused`: no choice, and the reply declines to judge. `unparsed`: no choice.
    """

    choices: Mapping[str, str | None]
    status: ReadingStatus

    def status_of(self, dimension: str) -> ReadingStatus:
        """The status of one dimension's row: the reading's with a choice, else `refused` or `unparsed`.

        Raises
        ------
        KeyError
            The dimension was not asked.
        """
        if self.choices[dimension] is not None:
            return self.status
        return "refused" if self.status == "refused" else "unparsed"


def parse(reply: str, dimensions: Sequence[str], offered: Sequence[str] = CHOICES, labels: Labels = LETTERS) -> Reading:
    """Read the verdict in a judge's reply.

    Parameters
    ----------
    reply : any text; what the model thought aloud before its answer is left out
    dimensions : the dimensions asked, under any names
    offered : the choices that the judge could make. Another, as a tie where there is none, is read and then not
        taken: the dimension stays without a choice, and the rest of the reply counts as `repaired`
    labels : what the judge was told that the responses are called; the choices are A and B nevertheless

    Returns
    -------
    Reading
        The last complete verdict counts, and where none is complete the last partial
        one; statements that speak about different dimensions are one verdict. A
        dimension named twice in one object with different choices has none. Nothing
        is copied from one dimension to another: a verdict that names none answers
        the one dimension asked; where several were asked it answers `overall` if
        the reply calls it final or overall, and nothing otherwise.

    Notes
    -----
    Never raises on any text, and takes time proportional to its length. Validated by
    tests/replies/test_parse.py and test_published_defects.py (the defects of the
    published parser, each shown to be absent).
    """
    names = names_of(tuple(dimensions))
    if not names.asked:
        raise ValueError("no dimension is asked")
    reading = _parse(in_letters(reply, labels), names)
    if all(choice is None or choice in offered for choice in reading.choices.values()):
        return reading
    choices = {name: choice if choice in offered else None for name, choice in reading.choices.items()}
    return Reading(choices, "repaired" if any(choices.values()) else "unparsed")


def _parse(reply: str, names: DimensionNames) -> Reading:
    """The reading of a reply, whatever choices were offered."""
    answer = without_thinking(reply).strip()
    clean = _clean(answer, names)
    if clean is not None:
        return Reading(clean, "ok")
    text = plainly_written(answer)
    spans = read_objects(text, names)
    ending = ending_object(answer, text, spans)
    clean = None if ending is None else _clean(ending, names)
    if clean is not None:
        return Reading(clean, "ok")
    choice_of = last_verdict(_statements(text, spans, names), names.asked)
    choices = {name: choice_of.get(name) for name in names.asked}
    if any(choices.values()):
        return Reading(choices, "repaired")
    return Reading(choices, "refused" if refuses(answer) else "unparsed")


def choices_in_object(value: Mapping[str, object], dimensions: Sequence[str]) -> dict[str, str]:
    """The choices that an object states plainly, by dimension.

    Returns
    -------
    dict
        A, B or tie, in any case and with spaces around; a dimension that is absent,
        has any other value, or is named twice is left out.
    """
    names = names_of(tuple(dimensions))
    choice_of: dict[str, str | None] = {}
    for key, stated in value.items():
        name = names.plain(key)
        if name is not None:
            choice_of[name] = None if name in choice_of else plain_choice(stated)
    return {name: choice for name in names.asked if (choice := choice_of.get(name)) is not None}


def _clean(answer: str, names: DimensionNames) -> dict[str, str | None] | None:
    """The choices of an answer that needs no leniency at all, else None."""
    if len(names.asked) == 1 and answer in _BARE:
        return {names.asked[0]: _BARE[answer]}
    stated = sole_object(answer)
    choices = {} if stated is None else choices_in_object(stated, names.asked)
    return {name: choices[name] for name in names.asked} if len(choices) == len(names.asked) else None


def sole_object(answer: str) -> dict[str, object] | None:
    """The one valid JSON object that an answer is, in a code fence or not; None where a key stands twice."""
    fenced = _FENCED.match(answer)
    try:
        pairs = json.loads(fenced.group(1) if fenced else answer, object_pairs_hook=tuple)
    except (ValueError, RecursionError):
        return None
    if not isinstance(pairs, tuple) or len({key for key, _ in pairs}) < len(pairs):
        return None
    return dict(pairs)


def ending_object(answer: str, text: str, spans: Sequence[Span]) -> str | None:
    """The object with which the answer ends, after its reasons; None where it ends otherwise."""
    if not spans or text[spans[-1].end :].strip(" \n\t`"):
        return None
    ending = text[spans[-1].start : spans[-1].end]
    return ending if answer.rstrip(" \n\t`").endswith(ending) else None


def _statements(text: str, spans: Sequence[Span], names: DimensionNames) -> list[Statement]:
    """All statements of the text, in its order."""
    prose = Prose(names, text)
    statements: list[Statement] = []
    for before, span in segments(text, spans):
        statements += prose.read(before)
        if span is not None:
            statements += span.statements
    return statements


def segments(text: str, spans: Sequence[Span]) -> list[tuple[str, Span | None]]:
    """The prose between the objects, each with the object that follows it."""
    parts: list[tuple[str, Span | None]] = []
    start = 0
    for span in spans:
        parts.append((text[start : span.start], span))
        start = span.end
    return [*parts, (text[start:], None)]
