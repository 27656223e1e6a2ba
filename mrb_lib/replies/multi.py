"""A judge's reply becomes, in dimensions of several labels, those that apply: a JSON list for each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from mrb_lib.replies.categories import parse_categories, reading_of
from mrb_lib.replies.rating_prose import rating_names
from mrb_lib.replies.reading import Reading, sole_object
from mrb_lib.replies.text import without_thinking
from mrb_lib.tables.schema import NO_LABEL, SEPARATOR, joined_labels

LONGEST_REPLY: Final = 30_000
"""Characters of a reply that are searched for a list, from its end."""
_MOST_TRIED: Final = 40
_FENCE: Final = "```"
_ANSWER: Final = re.compile(r"(?:the |my )?(?:final )?(?:answer|labels|list|reply)(?: is)?", re.IGNORECASE)
"""What may stand before a list on its line; another title says that the list is of something else."""


def parse_ratings(
    reply: str, dimensions: Sequence[str], categories: Sequence[str], labels: Mapping[str, Sequence[str]]
) -> Reading:
    """Read the categories and the labels in a judge's reply.

    Parameters
    ----------
    dimensions : the dimensions asked
    categories : of the dimensions that have one, see `parse_categories`
    labels : those of each dimension in which several may apply, see `parse_labels`
    """
    several = {name: labels[name] for name in dimensions if name in labels}
    one = [name for name in dimensions if name not in labels]
    if not several:
        return parse_categories(reply, dimensions, categories)
    alone = len(dimensions) == 1
    readings = [parse_labels(reply, several, alone=alone), *([parse_categories(reply, one, categories)] if one else [])]
    read = {name: choice for reading in readings for name, choice in reading.choices.items()}
    choices = {name: read[name] for name in dimensions}
    statuses = {reading.status for reading in readings}
    if any(choice is not None for choice in choices.values()):
        return Reading(choices, "ok" if statuses == {"ok"} else "repaired")
    return Reading(choices, "refused" if "refused" in statuses else "unparsed")


def parse_labels(reply: str, labels: Mapping[str, Sequence[str]], *, alone: bool = True) -> Reading:
    """Read which labels a judge's reply gives in each dimension.

    Parameters
    ----------
    reply : any text; what the model thought aloud before its answer is left out
    labels : those of each dimension asked
    alone : no other dimension was asked, so that where `labels` has one, a list that names none is of it

    Returns
    -------
    Reading
        For every dimension a choice as `schema.joined_labels` writes it, or None. `ok`: the reply is one valid
        JSON object, in a code fence or not, that has a list of labels for every dimension; or, where one dimension was
        asked, such a list alone. `repaired`: such an object is the last one in the reply that names a dimension, or
        the one list is its end where no object does; or the labels are written in other case, as one text, or as an
        object of true and false. A label outside the list leaves its dimension without a choice, as does a dimension
        named twice, or none of either; nothing is read from sentences, or from what is not JSON.

    Notes
    -----
    Never raises on any reply, and takes time proportional to its length. Validated by tests/replies/test_multi.py.
    """
    answer = without_thinking(reply).strip()
    only = next(iter(labels)) if alone and len(labels) == 1 else None
    clean = _clean(answer, labels, only)
    if clean is not None:
        return Reading(clean, "ok")
    stated = _last_value(answer[-LONGEST_REPLY:], labels, only if len(answer) <= LONGEST_REPLY else None)
    return reading_of(answer, {name: _chosen(stated.get(name), own) for name, own in labels.items()})


def _clean(answer: str, labels: Mapping[str, Sequence[str]], only: str | None) -> dict[str, str | None] | None:
    """The choices of an answer that needs no leniency, else None."""
    stated = sole_object(answer)
    if stated is None and only is not None:
        stated = {only: _value(answer.removeprefix(_FENCE + "json").strip("`").strip())}
    if stated is None:
        return None
    named = [rating_names(tuple(labels)).plain(key) for key in stated]
    out: dict[str, str | None] = {}
    for name, own in labels.items():
        listed = stated.get(name)
        if named.count(name) != 1 or not isinstance(listed, list):
            return None
        if not all(isinstance(one, str) and one in own for one in listed):
            return None
        out[name] = joined_labels(listed, own)
    return out


def _value(text: str) -> object:
    try:
        value: object = json.loads(text, object_pairs_hook=tuple)
    except (ValueError, RecursionError):
        return None
    return value


def _last_value(text: str, labels: Mapping[str, Sequence[str]], only: str | None) -> dict[str, object]:
    """What the last JSON object that names a dimension says of each; or the one list at the end, of the only one."""
    names, decoder = rating_names(tuple(labels)), json.JSONDecoder(object_pairs_hook=tuple)
    starts = [i for i, sign in enumerate(text) if sign in "{["]
    found, lists = dict[str, object](), list[tuple[int, int, list[object]]]()
    end, is_open = 0, len(starts) > _MOST_TRIED
    for start in starts[-_MOST_TRIED:]:
        if start < end:  # within what was read before
            continue
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            # What follows may be within it: of an object that is not JSON, or a list that is not closed before.
            is_open |= text[start] == "{" or not re.match(r"[^\[{\]]*\]", text[start + 1 :])
            continue
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            lists.append((start, end, value))
        elif isinstance(value, tuple):
            said = [(name, own) for key, own in value if (name := names.plain(key)) is not None]
            stated = {name: own for name, own in said if sum(name == other for other, _ in said) == 1}
            found = stated if said else found
            only = None if said else only
    if only is None or is_open or len(lists) != 1 or text[lists[0][1] :].strip(" \n\t`*."):
        return found
    title = text[: lists[0][0]].rpartition("\n")[2].strip(" \t`*#>:-")
    return {only: lists[0][2]} if not title or names.plain(title) or _ANSWER.fullmatch(title) else {}


def _chosen(stated: object, labels: Sequence[str]) -> str | None:
    """The choice that a value of an object states; None where it is anything but labels of the list."""
    if isinstance(stated, str):
        stated = [stated] if _key(stated) in map(_key, labels) else stated.split(SEPARATOR.strip())
    if isinstance(stated, tuple):
        if not all(isinstance(applies, bool) for _, applies in stated) or len(dict(stated)) < len(stated):
            return None
        known = {_key(name) for name, _ in stated} == set(map(_key, labels))
        stated = [name for name, applies in stated if applies] if known else None
    if not isinstance(stated, list) or not all(isinstance(one, str) for one in stated):
        return None
    if [_key(one) for one in stated] == [NO_LABEL]:
        return NO_LABEL
    by_key = {_key(name): name for name in labels}
    if len(by_key) < len(labels) or not all(_key(one) in by_key for one in stated):
        return None
    return joined_labels([by_key[_key(one)] for one in stated], labels)


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()
