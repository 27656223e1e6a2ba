"""A reply becomes one choice per dimension, and a status that says how it was read.

The two responses are "A" (shown first) and "B" (shown second). JSON, what resembles it, labelled lines, tables,
headings, `[[A]]` and plain sentences are understood. Where reading is in doubt a dimension stays without a choice.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from mrb_lib.replies.choices import ChoiceReader
from mrb_lib.replies.forms import FormReader, Statement, ValueReader, last_verdict, objects, sole_object
from mrb_lib.replies.labels import LETTERS, Labels, in_letters, lists_options, without_options
from mrb_lib.replies.languages import verdict_abroad
from mrb_lib.replies.names import DimensionNames, names_of
from mrb_lib.replies.text import LONGEST, plainly_written, refuses, without_thinking
from mrb_lib.tables.schema import CHOICES

ReadingStatus = Literal["ok", "repaired", "unparsed", "refused"]
Weigh = Callable[[Sequence[Statement], Sequence[str]], Mapping[str, str | None]]

_CHOICES: Final = ChoiceReader()


@dataclass(frozen=True)
class Reading:
    """The verdict in a reply.

    Attributes
    ----------
    choices : for every dimension asked, in the order asked: A (the response shown first), B (the second), tie, or None
        where the reply has no readable verdict; of ratings a category, of rubrics `met` or `not met`
    status : `ok`, a clean and complete answer: it is, or after its reasons ends with, one valid JSON object (in a code
        fence or not) with a choice for every dimension; or, where one dimension was asked, a choice alone.
        `repaired`: choices were read, with leniency in form or without all dimensions. `refused`: no choice, and the
        reply declines to judge. `unparsed`: no choice.
    """

    choices: Mapping[str, str | None]
    status: ReadingStatus

    def status_of(self, dimension: str) -> ReadingStatus:
        """Return the status of one dimension's row: the reading's with a choice, else `refused` or `unparsed`.

        Raises
        ------
        KeyError
            The dimension was not asked.
        """
        return status_of_one(self.choices[dimension], self.status)


def status_of_one(choice: object, status: ReadingStatus) -> ReadingStatus:
    """Return the status of a row with a choice or None, of a reply with this status."""
    if choice is not None:
        return status
    return "refused" if status == "refused" else "unparsed"


def parse(
    reply: str,
    dimensions: Sequence[str],
    offered: Sequence[str] = CHOICES,
    labels: Labels = LETTERS,
    *,
    question: str = "",
    is_cut_off: bool = False,
) -> Reading:
    """Read the verdict in a judge's reply.

    Parameters
    ----------
    reply : any text; what the model thought aloud before its answer is left out
    dimensions : the dimensions asked, under any names
    offered : the choices that the judge could make. Another, as a tie where there is none, is read and then not
        taken: the dimension stays without a choice, and the rest of the reply counts as `repaired`
    labels : the names of the responses in the prompt; the choices are A and B nevertheless
    question : the case's question. Where it lists options by letter, a bare letter such as "B. Bacterial pneumonia"
        may answer it and is no verdict
    is_cut_off : the reply ended because it was as long as allowed, so that only what an object states counts with
        which it ends: anything else might have been corrected

    Returns
    -------
    Reading
        The last complete verdict counts, and where none is complete the last partial one; statements about different
        dimensions are one verdict. A dimension named twice in one object with different choices has none. Nothing is
        copied from one dimension to another: a verdict that names none answers the one dimension asked; where several
        were asked it answers `overall` if the reply calls it final or overall, and nothing otherwise.

    Notes
    -----
    Never raises on any text, and takes time proportional to its length. Validated by tests/replies/test_parse.py.
    """
    names = names_of(tuple(dimensions))
    answer = in_letters(without_thinking(reply), labels)
    if labels == LETTERS:
        answer = without_options(answer, question, names)
    reading = read_reply(answer, FormReader(names, _CHOICES), last_verdict, is_cut_off=is_cut_off)
    if reading.status == "unparsed" and names.only is not None and not is_cut_off and not lists_options(question):
        reading = reading_of(answer, {names.only: verdict_abroad(plainly_written(answer[-LONGEST:]))})
    if all(choice is None or choice in offered for choice in reading.choices.values()):
        return reading
    choices = {name: choice if choice in offered else None for name, choice in reading.choices.items()}
    return Reading(choices, "repaired" if any(choices.values()) else "unparsed")


def read_reply(reply: str, forms: FormReader, weigh: Weigh, *, is_cut_off: bool = False) -> Reading:
    """Read a reply of any kind: clean as a whole, else all its statements, weighed into one verdict."""
    answer = without_thinking(reply).strip()
    text = plainly_written(answer[-LONGEST:])
    clean = None if is_cut_off and sole_object(answer) is None else _exact(answer, forms.names, forms.reader)
    spans = [] if clean is not None else list(objects(text))
    if spans and not text[spans[-1].end :].strip(" \n\t`") and answer.rstrip(" \n\t`").endswith(spans[-1].text):
        clean = _exact(spans[-1].text, forms.names, forms.reader)
    if clean is not None:
        return Reading(clean, "ok")
    stated = weigh(forms.statements(text, spans, is_cut_off=is_cut_off), forms.names.asked)
    return reading_of(answer, {name: stated.get(name) for name in forms.names.asked})


def reading_of(answer: str, choices: Mapping[str, str | None]) -> Reading:
    """Return the reading of choices made with leniency, or of an answer without any."""
    if any(choice is not None for choice in choices.values()):
        return Reading(choices, "repaired")
    return Reading(choices, "refused" if refuses(answer) else "unparsed")


def plain_choice(value: object) -> str | None:
    """Return A, B or tie, in any case and with spaces around; None for anything else."""
    return _CHOICES.exact(value)


def choices_in_object(value: Mapping[str, object], dimensions: Sequence[str]) -> dict[str, str]:
    """Return the choices that an object states plainly, by dimension; one named twice is left out."""
    return _in_object(value, names_of(tuple(dimensions)), _CHOICES)


def _exact(answer: str, names: DimensionNames, reader: ValueReader) -> dict[str, str | None] | None:
    """Return the choices of an answer that needs no leniency at all, else None."""
    if names.only is not None and (alone := reader.exact(re.sub(r"\A\[\[(\w+)\]\]\Z", r"\1", answer))) is not None:
        return {names.only: alone}
    stated = sole_object(answer)
    choices = {} if stated is None else _in_object(stated, names, reader)
    return {name: choices[name] for name in names.asked} if len(choices) == len(names.asked) else None


def _in_object(value: Mapping[str, object], names: DimensionNames, reader: ValueReader) -> dict[str, str]:
    choice_of: dict[str, str | None] = {}
    for key, stated in value.items():
        if (name := names.plain(key)) is not None:
            choice_of[name] = None if name in choice_of else reader.exact(stated)
    return {name: choice for name in names.asked if (choice := choice_of.get(name)) is not None}
