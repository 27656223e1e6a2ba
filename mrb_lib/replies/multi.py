"""A reply becomes, in dimensions of several labels, the labels that apply: a JSON list for each."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from mrb_lib.replies.categories import parse_categories
from mrb_lib.replies.forms import Span, objects
from mrb_lib.replies.names import DimensionNames, names_of
from mrb_lib.replies.reading import Reading, reading_of
from mrb_lib.replies.text import without_thinking
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
    readings = [parse_labels(reply, several, alone=not one, is_cut_off=is_cut_off)]
    readings += [parse_categories(reply, one, categories, is_cut_off=is_cut_off)] if one else []
    read = {name: choice for reading in readings for name, choice in reading.choices.items()}
    statuses = {reading.status for reading in readings}
    if any(read.values()):
        return Reading({name: read[name] for name in dimensions}, "ok" if statuses == {"ok"} else "repaired")
    return Reading(dict.fromkeys(dimensions), "refused" if "refused" in statuses else "unparsed")


def parse_labels(
    reply: str, labels: Mapping[str, Sequence[str]], *, alone: bool = True, is_cut_off: bool = False
) -> Reading:
    """Read the labels that a judge's reply gives in each dimension.

    Parameters
    ----------
    reply : any text; what the model thought aloud before its answer is left out
    labels : those of each dimension asked
    alone : no other dimension was asked, so that a list by itself answers the only one
    is_cut_off : see `parse`

    Returns
    -------
    Reading
        Its choices are labels joined by "; " in the benchmark's order, `none` for an empty list, or None: anything that
        is not a list of these labels. Nothing is read from sentences.
    """
    answer, names = without_thinking(reply).strip(), names_of(tuple(labels))
    spans = list(objects(answer, is_strict=True))
    stated: dict[str, object] = {}
    if is_cut_off and spans and answer[spans[-1].end :].strip(" `\n"):
        spans = []
    for span in spans:
        entries = span.value if isinstance(span.value, tuple) else ()
        named = [names.plain(key) for key, _ in entries]
        values = {name: value for (_, value), name in zip(entries, named, strict=True) if name is not None}
        stated = {name: None if named.count(name) > 1 else value for name, value in values.items()} or stated
    if not stated and alone and names.only is not None and _ends_with_list(answer, spans, names):
        stated = {names.only: spans[-1].value}
    choices = {name: _chosen(stated.get(name), own) for name, own in labels.items()}
    is_whole = len(spans) == 1 and re.sub(r"\A```(?:json)?\s|\s```\Z", "", answer).strip() == spans[0].text
    pairs = [(stated.get(name), own) for name, own in labels.items()]
    is_exact = all(isinstance(value, list) and all(one in own for one in value) for value, own in pairs)
    return Reading(choices, "ok") if is_whole and is_exact else reading_of(answer, choices)


def _ends_with_list(text: str, spans: Sequence[Span], names: DimensionNames) -> bool:
    """Return True where a text ends with its one list, titled by the only dimension or not, and has no object."""
    if not spans or "{" in text or not isinstance(spans[-1].value, list):
        return False
    *earlier, last = spans
    title = text[text.rfind("\n", 0, last.start) + 1 : last.start].strip(" :*-#")
    is_titled = not title or names.plain(title) is not None or _ANSWER.fullmatch(title) is not None
    others = [span for span in earlier if re.search("[A-Za-z]{4}", span.text)]
    return is_titled and not text[last.end :].strip(" .`\n") and not others


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
