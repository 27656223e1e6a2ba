"""A judge's reply becomes one category a dimension: a rating, a risk level, a label.

Reading is lenient in form and strict in meaning, as in `reading`: an echoed list of
the options, a negation, an interval, a measurement and a rating on another scale are
not verdicts. `scale` knows what a value says, `rating_prose` finds values in tables,
labelled lines and sentences; objects are read as anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from mrb_lib.replies.names import DimensionNames
from mrb_lib.replies.objects import Span, read_objects
from mrb_lib.replies.rating_prose import LAST, PASSING, RatingProse, Said, rating_names
from mrb_lib.replies.reading import Reading, ending_object, segments, sole_object
from mrb_lib.replies.scale import Scale, marks_of, scale_of
from mrb_lib.replies.text import plainly_written, refuses, without_thinking

__all__ = ["marks_of", "parse_categories"]

LONGEST_REPLY: Final = 30_000
"""Characters of a reply that are searched for a verdict, from its end; longer ones only repeat themselves."""

_TEMPLATE: Final = re.compile(r"[\"']\s?(?:\||/|or\b)\s?[\"']")


def parse_categories(reply: str, dimensions: Sequence[str], categories: Sequence[str]) -> Reading:
    """Read the categories in a judge's reply.

    Parameters
    ----------
    reply : any text; what the model thought aloud before its answer is left out
    dimensions : the dimensions asked, under any names
    categories : the benchmark's categories, any text; a prompt names each by its mark (`marks_of`)

    Returns
    -------
    Reading
        For every dimension a category exactly as listed, or None. `ok`: one valid JSON object, alone, in a code fence
        or after reasons, with a category or its mark in any case for every dimension; or, with one dimension, a
        category or a mark alone. `repaired`: read with leniency. The last firm verdict counts for each dimension;
        remarks in passing count where there is no other and they agree. Nothing is copied from one dimension to
        another, and no number is rounded to a category.

    Raises
    ------
    ValueError
        No dimension, or categories that cannot be marked (`marks_of`).

    Notes
    -----
    Never raises on any reply, and takes time proportional to its length: of one beyond `LONGEST_REPLY` that is not
    clean, the end is read. Validated by tests/replies/test_categories.py.
    """
    names, scale = rating_names(tuple(dimensions)), scale_of(tuple(categories))
    answer = without_thinking(reply).strip()
    clean = _clean(answer, names, scale)
    if clean is not None:
        return Reading(clean, "ok")
    text = plainly_written(answer)[-LONGEST_REPLY:]
    spans = read_objects(text, names, scale.value)
    ending = ending_object(answer, text, spans)
    clean = None if ending is None else _clean(ending, names, scale)
    if clean is not None:
        return Reading(clean, "ok")
    decided = _decided(said_in(text, spans, lambda prose: RatingProse(names, scale, prose).read()))
    return reading_of(answer, {name: decided.get(name) for name in names.asked})


def reading_of(answer: str, choices: dict[str, str | None]) -> Reading:
    """The reading of choices made with leniency, or of an answer without any."""
    if any(choice is not None for choice in choices.values()):
        return Reading(choices, "repaired")
    return Reading(choices, "refused" if refuses(answer) else "unparsed")


def said_in(text: str, spans: Sequence[Span], read: Callable[[str], Iterator[Said]]) -> Iterator[Said]:
    """What the objects of a text and the prose between them say, in its order."""
    for before, span in segments(text, spans):
        yield from read(before)
        if span is not None and not _TEMPLATE.search(text, span.start, span.end):
            for statement in span.statements:
                for name, category in statement.choices.items():
                    yield Said(name, category, LAST)


def _clean(answer: str, names: DimensionNames, scale: Scale) -> dict[str, str | None] | None:
    """The categories of an answer that needs no leniency, else None."""
    if len(names.asked) == 1 and (alone := scale.plain(answer)) is not None:
        return {names.asked[0]: alone}
    stated = sole_object(answer)
    if stated is None:
        return None
    categories: dict[str, str | None] = {}
    for key, value in stated.items():
        name = names.plain(key)
        if name is not None:
            categories[name] = None if name in categories else scale.plain(value)
    if any(categories.get(name) is None for name in names.asked):
        return None
    return {name: categories[name] for name in names.asked}


def _decided(said: Iterator[Said]) -> dict[str, str | None]:
    """For each dimension the last of what is said most firmly; remarks in passing count where they agree."""
    best: dict[str, Said] = {}
    disagree: set[str] = set()
    for one in said:
        if one.dimension is None:
            continue
        before = best.get(one.dimension)
        if before is not None and one.rank == before.rank == PASSING and one.category != before.category:
            disagree.add(one.dimension)
        if before is None or one.rank >= before.rank:
            best[one.dimension] = one
    return {name: None if one.rank == PASSING and name in disagree else one.category for name, one in best.items()}
