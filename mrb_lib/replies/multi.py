"""A judge's reply becomes, in dimensions of several labels, those that apply: a JSON list for each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

from mrb_lib.replies.categories import parse_categories, reading_of
from mrb_lib.replies.rating_prose import rating_names
from mrb_lib.replies.reading import Reading, sole_object
from mrb_lib.replies.text import without_thinking
from mrb_lib.schema import NO_LABEL, SEPARATOR, joined_labels

LONGEST_REPLY: Final = 30_000
"""Characters of a reply that are searched for a list, from its end."""
_MOST_TRIED: Final = 40
_FENCE: Final = "```"


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
    readings = [parse_labels(reply, several), *([parse_categories(reply, one, categories)] if one else [])]
    read = {name: choice for reading in readings for name, choice in reading.choices.items()}
    choices = {name: read[name] for name in dimensions}
    statuses = {reading.status for reading in readings}
    if any(choice is not None for choice in choices.values()):
        return Reading(choices, "ok" if statuses == {"ok"} else "repaired")
    return Reading(choices, "refused" if "refused" in statuses else "unparsed")


def parse_labels(reply: str, labels: Mapping[str, Sequence[str]]) -> Reading:
    """Read which labels a judge's reply gives in each dimension.

    Parameters
    ----------
    reply : any text; what the model thought aloud before its answer is left out
    labels : those of each dimension asked

    Returns
    -------
    Reading
        For every dimension a choice as `mrb_lib.schema.joined_labels` writes it, or None. `ok`: the reply is one valid
        JSON object, in a code fence or not, that has a list of labels for every dimension; or, where one dimension was
        asked, such a list alone. `repaired`: such an object or list is the last one in the reply, or the labels are
        written in other case, as one text, or as an object of true and false. A label outside the list leaves its
        dimension without a choice, as does a dimension named twice, or none of either; nothing is read from sentences.

    Notes
    -----
    Never raises on any reply, and takes time proportional to its length. Validated by tests/replies/test_multi.py.
    """
    answer = without_thinking(reply).strip()
    clean = _clean(answer, labels)
    if clean is not None:
        return Reading(clean, "ok")
    stated = _last_value(answer[-LONGEST_REPLY:], labels)
    return reading_of(answer, {name: _chosen(stated.get(name), own) for name, own in labels.items()})


def _clean(answer: str, labels: Mapping[str, Sequence[str]]) -> dict[str, str | None] | None:
    """The choices of an answer that needs no leniency, else None."""
    stated = sole_object(answer)
    if stated is None and len(labels) == 1:
        stated = {next(iter(labels)): _value(answer.removeprefix(_FENCE + "json").strip("`").strip())}
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


def _last_value(text: str, labels: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """What the last JSON object that names a dimension says of each; or the last list, where one is asked."""
    names, decoder = rating_names(tuple(labels)), json.JSONDecoder(object_pairs_hook=tuple)
    starts = [i for i, sign in enumerate(text) if sign in "{["][-_MOST_TRIED:]
    found: dict[str, object] = {}
    end = 0
    for start in starts:
        if start < end:  # within what was read before
            continue
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, list) and len(labels) == 1:
            found = {next(iter(labels)): value}
        elif isinstance(value, tuple):
            said = [(name, own) for key, own in value if (name := names.plain(key)) is not None]
            stated = {name: own for name, own in said if sum(name == other for other, _ in said) == 1}
            found = stated if said else found
    return found


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
