"""A reply becomes, in dimensions of several labels, the labels that apply: a JSON list for each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from mrb_lib.replies.categories import parse_categories
from mrb_lib.replies.forms import Span, objects, sole_object
from mrb_lib.replies.names import DimensionNames, names_of
from mrb_lib.replies.reading import Reading, reading_of
from mrb_lib.replies.text import LONGEST, without_thinking
from mrb_lib.tables.schema import NO_LABEL, SEPARATOR, joined_labels

_ANSWER: Final = re.compile(r"(?i)(?:the |my )?(?:final )?(?:answer|labels|list|reply)(?: is)?")


def parse_ratings(
    reply: str,
    dimensions: Sequence[str],
    categories: Sequence[str],
    labels: Mapping[str, Sequence[str]],
    *,
    is_cut_off: bool = False,
) -> Reading:
    """Read the categories and the labels in a judge's reply.

    Parameters
    ----------
    dimensions : the dimensions asked
    categories : of the dimensions that have one, see `parse_categories`
    labels : those of each dimension in which several may apply, see `parse_labels`
    is_cut_off : see `parse`
    """
    several = {name: labels[name] for name in dimensions if name in labels}
    one = [name for name in dimensions if name not in labels]
    if not several:
        return parse_categories(reply, dimensions, categories, is_cut_off=is_cut_off)
    readings = [parse_labels(reply, several, alone=not one)]
    readings += [parse_categories(reply, one, categories, is_cut_off=is_cut_off)] if one else []
    read = {name: choice for reading in readings for name, choice in reading.choices.items()}
    statuses = {reading.status for reading in readings}
    if any(read.values()):
        return Reading({name: read[name] for name in dimensions}, "ok" if statuses == {"ok"} else "repaired")
    return Reading(dict.fromkeys(dimensions), "refused" if "refused" in statuses else "unparsed")


def parse_labels(reply: str, labels: Mapping[str, Sequence[str]], *, alone: bool = True) -> Reading:
    """Read the labels that a judge's reply gives in each dimension.

    Parameters
    ----------
    reply : any text; what the model thought aloud before its answer is left out
    labels : those of each dimension asked
    alone : no other dimension was asked, so that a list by itself answers the only one

    Returns
    -------
    Reading
        Its choices are labels joined by "; " in the benchmark's order, `none` for an empty list, or None: anything that
        is not a list of these labels. Nothing is read from sentences.
    """
    answer, names = without_thinking(reply).strip(), names_of(tuple(labels))
    only = names.only if alone else None
    clean = _clean(answer, labels, names, only)
    if clean is not None:
        return Reading(clean, "ok")
    stated = _last_object(answer[-LONGEST:], names, only)
    return reading_of(answer, {name: _chosen(stated.get(name), own) for name, own in labels.items()})


def _clean(
    answer: str, labels: Mapping[str, Sequence[str]], names: DimensionNames, only: str | None
) -> dict[str, str | None] | None:
    """Return the choices of an answer that needs no leniency, else None."""
    stated = sole_object(answer)
    if stated is None and only is not None:
        try:
            stated = {only: json.loads(re.sub(r"\A```(?:json)?\s|\s```\Z", "", answer))}
        except (ValueError, RecursionError):
            return None
    named = [names.plain(key) for key in stated or {}]
    chosen: dict[str, str | None] = {}
    for name, own in labels.items():
        value = (stated or {}).get(name)
        if named.count(name) != 1 or not isinstance(value, list) or not all(one in own for one in value):
            return None
        chosen[name] = joined_labels(value, own)
    return chosen


def _last_object(text: str, names: DimensionNames, only: str | None) -> dict[str, object]:
    """Return the values of the last JSON object that names a dimension, or the one list at the end for the only one."""
    found: dict[str, object] = {}
    lists: list[Span] = []
    for span in objects(text, is_strict=True):
        if isinstance(span.value, list):
            lists.append(span)
        elif isinstance(span.value, tuple):
            named = [names.plain(key) for key, _ in span.value]
            own = {name: stated for (_, stated), name in zip(span.value, named, strict=True) if name is not None}
            found = {name: None if named.count(name) > 1 else stated for name, stated in own.items()} or found
    if found or only is None or "{" in text or not lists:
        return found
    *earlier, last = lists
    title = text[text.rfind("\n", 0, last.start) + 1 : last.start].strip(" :*-#")
    is_titled = not title or names.plain(title) == only or _ANSWER.fullmatch(title) is not None
    others = [span for span in earlier if re.search("[A-Za-z]{4}", span.text)]
    return {only: last.value} if is_titled and not text[last.end :].strip(" .`\n") and not others else {}


def _chosen(stated: object, labels: Sequence[str]) -> str | None:
    """Return the choice that a value of an object states; None where it is anything but labels of the list."""
    by_key = {_key(name): name for name in labels}
    if isinstance(stated, str):
        stated = [stated] if _key(stated) in by_key else stated.split(SEPARATOR.strip())
    if isinstance(stated, tuple):
        is_whole = sorted(_key(name) for name, _ in stated) == sorted(by_key)
        is_whole = is_whole and all(isinstance(applies, bool) for _, applies in stated)
        stated = [name for name, applies in stated if applies] if is_whole else None
    if not isinstance(stated, list) or not all(isinstance(one, str) for one in stated):
        return None
    if [_key(one) for one in stated] == [NO_LABEL]:
        return NO_LABEL
    if len(by_key) < len(labels) or not all(_key(one) in by_key for one in stated):
        return None
    return joined_labels([by_key[_key(one)] for one in stated], labels)


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()
