"""A judge's reply becomes, in dimensions of several labels, those that apply: a JSON list for each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from mrb_lib.replies.categories import parse_categories
from mrb_lib.replies.forms import objects, sole_object
from mrb_lib.replies.names import DimensionNames, names_of
from mrb_lib.replies.reading import Reading, reading_of
from mrb_lib.replies.text import LONGEST, without_thinking
from mrb_lib.tables.schema import NO_LABEL, SEPARATOR, joined_labels

_ANSWER = re.compile(r"(?i)(?:the |my )?(?:final )?(?:answer|labels|list|reply)(?: is)?")


def parse_ratings(
    reply: str, dimensions: Sequence[str], categories: Sequence[str], labels: Mapping[str, Sequence[str]]
) -> Reading:
    """Read the categories and the labels in a judge's reply; see `parse_categories` and `parse_labels`."""
    several = {name: labels[name] for name in dimensions if name in labels}
    one = [name for name in dimensions if name not in labels]
    if not several:
        return parse_categories(reply, dimensions, categories)
    readings = [
        parse_labels(reply, several, alone=not one),
        *([parse_categories(reply, one, categories)] if one else []),
    ]
    read = {name: choice for reading in readings for name, choice in reading.choices.items()}
    statuses = {reading.status for reading in readings}
    if any(read.values()):
        return Reading({name: read[name] for name in dimensions}, "ok" if statuses == {"ok"} else "repaired")
    return Reading({name: None for name in dimensions}, "refused" if "refused" in statuses else "unparsed")


def parse_labels(reply: str, labels: Mapping[str, Sequence[str]], *, alone: bool = True) -> Reading:
    """Read which labels a judge's reply gives in each dimension; nothing is read from sentences."""
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
    """The choices of an answer that needs no leniency, else None."""
    stated = sole_object(answer)
    if stated is None and only is not None:
        try:
            stated = {only: json.loads(re.sub(r"\A```(?:json)?\s|\s```\Z", "", answer))}
        except (ValueError, RecursionError):
            return None
    named = [names.plain(key) for key in stated or {}]
    if stated is None or any(
        named.count(name) != 1
        or not isinstance(stated.get(name), list)
        or not all(one in own for one in stated[name] if isinstance(one, str))
        or not all(isinstance(one, str) for one in stated[name])
        for name, own in labels.items()
    ):  # type: ignore[attr-defined,union-attr]
        return None
    return {name: joined_labels(stated[name], own) for name, own in labels.items()}  # type: ignore[arg-type]


def _last_object(text: str, names: DimensionNames, only: str | None) -> dict[str, object]:
    """What the last JSON object that names a dimension says of each; or the one list at the end, of the only one."""
    found: dict[str, object] = {}
    lists: list[tuple[int, int, list[object]]] = []
    for start, end, value in objects(text):
        if isinstance(value, list):
            lists.append((start, end, value))
        elif isinstance(value, tuple):
            named = [names.plain(key) for key, _ in value]
            own = {name: stated for (_, stated), name in zip(value, named, strict=True) if name is not None}
            found = {name: None if named.count(name) > 1 else stated for name, stated in own.items()} or found
    if found or only is None or text.count("{") or not lists:
        return found
    start, end, value = lists[-1]
    title = text[text.rfind("\n", 0, start) + 1 : start].strip(" :*-#")
    is_titled = not title or names.plain(title) == only or _ANSWER.fullmatch(title) is not None
    others = [one for one in lists[:-1] if re.search("[A-Za-z]{4}", str(one[2]))]
    return {only: value} if is_titled and not text[end:].strip(" .`\n") and not others else {}


def _chosen(stated: object, labels: Sequence[str]) -> str | None:
    """The choice that a value of an object states; None where it is anything but labels of the list."""
    by_key = {_key(name): name for name in labels}
    if isinstance(stated, str):
        stated = [stated] if _key(stated) in by_key else stated.split(SEPARATOR.strip())
    if isinstance(stated, tuple):
        is_whole = {_key(name) for name, _ in stated} == set(by_key) and all(isinstance(v, bool) for _, v in stated)
        stated = (
            [name for name, applies in stated if applies] if is_whole and len(dict(stated)) == len(stated) else None
        )
    if not isinstance(stated, list) or not all(isinstance(one, str) for one in stated):
        return None
    if [_key(one) for one in stated] == [NO_LABEL]:
        return NO_LABEL
    if len(by_key) < len(labels) or not all(_key(one) in by_key for one in stated):
        return None
    return joined_labels([by_key[_key(one)] for one in stated], labels)


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()
