"""A judge's reply becomes one ranking of the responses shown a dimension, and a status that says how it was read.

The responses are A (shown first), B, C and so on. As in `mrb_lib.replies.reading`, form is read leniently and meaning
strictly: a ranking that leaves a response out, names one twice or one that was not shown is none, and nothing is
guessed. `ranking_text` reads what is no JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from mrb_lib.replies.names import DimensionNames, names_of
from mrb_lib.replies.ranking_text import Places, label_of, number_of, places_by_rank, places_of, read_prose, read_value
from mrb_lib.replies.reading import ReadingStatus
from mrb_lib.replies.text import plainly_written, refuses, without_thinking

_FENCED = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL | re.IGNORECASE)
_ARROWS = re.compile(r"[\u2192\u21d2\u279c\u2794\u27f6\u227b\u227f]|\\succ\b|-{1,2}>|=>|&gt;")
_STARTS = re.compile(r"(?:^|(?<=[\s:`]))[\[{]")
_TRAILING = re.compile(r",(\s*[}\]])")
_PLAIN = re.compile(r"[A-Z](?: [>=] [A-Z])*")
_RANKING_KEYS: Final = frozenset(("ranking", "rankings", "rank", "ranks", "order", "ranked", "sorted", "list"))
_RESPONSE_KEYS: Final = frozenset(("response", "answer", "letter", "label", "id", "name", "assistant", "candidate"))
_MOST_OBJECTS, _DEEPEST = 32, 4
_LONGEST: Final = 50_000  # characters from the end of an answer that are read: what it says last counts


@dataclass(frozen=True)
class RankingReading:
    """What a reply says.

    Attributes
    ----------
    places : for every dimension asked the place of each response, in the order shown: 0 the best, and equal ones share
        the better place; None where the reply has no readable ranking
    status : `ok`, a clean and complete answer: it is, or after its reasons ends with, a JSON object with a list of
        letters for every dimension; or, where one dimension was asked, letters with " > " and " = " between them.
        `repaired`: read with leniency in form, or without all dimensions. `refused`, `unparsed`: no ranking.
    """

    places: Mapping[str, Places | None]
    status: ReadingStatus

    def status_of(self, dimension: str) -> ReadingStatus:
        """The status of one dimension: the reading's with a ranking, else `refused` or `unparsed`."""
        if self.places[dimension] is not None:
            return self.status
        return "refused" if self.status == "refused" else "unparsed"


class _Pairs(list[tuple[str, object]]):
    """A JSON object, its keys as often as they stand there."""


def parse_rankings(reply: str, dimensions: Sequence[str], n: int) -> RankingReading:
    """Read the rankings in a judge's reply.

    Parameters
    ----------
    reply : any text; what the model thought aloud before its answer is left out
    dimensions : the dimensions asked, under any names
    n : how many responses were shown, at most 26

    Returns
    -------
    RankingReading
        The last ranking of a dimension counts. A ranking without a dimension answers the one dimension asked; where
        several were asked, it answers none.

    Notes
    -----
    Never raises on any text, and takes time proportional to its length. Validated by tests/replies/test_rankings.py.
    """
    names = names_of(tuple(dimensions))
    if not names.asked:
        raise ValueError("no dimension is asked")
    answer = without_thinking(reply).strip()[-_LONGEST:]
    clean = _clean(answer, names, n)
    if clean is not None:
        return RankingReading(clean, "ok")
    read, ends_clean = _of_objects(answer, names, n)
    if read is None:
        text = plainly_written(_ARROWS.sub(">", answer))
        read = read_prose(text, names, n)
    places = {name: read.get(name) for name in names.asked}
    if any(each is not None for each in places.values()):
        return RankingReading(places, "ok" if ends_clean and None not in places.values() else "repaired")
    return RankingReading(places, "refused" if refuses(answer) else "unparsed")


def _clean(answer: str, names: DimensionNames, n: int) -> dict[str, Places | None] | None:
    """The rankings of an answer that needs no leniency, else None."""
    if len(names.asked) == 1 and _PLAIN.fullmatch(answer):
        places = read_value(answer, n)
        return None if places is None else {names.asked[0]: places}
    fenced = _FENCED.match(answer)
    value = _decoded(fenced.group(1) if fenced else answer)
    return _exact(value, names, n)


def _exact(value: object, names: DimensionNames, n: int) -> dict[str, Places | None] | None:
    """The rankings of an object that has the dimensions asked, and a list of letters for each; else None."""
    if not isinstance(value, _Pairs) or [key for key, _ in value] != list(dict(value)):
        return None
    stated = dict(value)
    places = {name: _of_list(stated[name], n) for name in names.asked if isinstance(stated.get(name), list)}
    whole = len(places) == len(names.asked) and all(each is not None for each in places.values())
    return places if whole else None


def _decoded(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return None


def _of_objects(answer: str, names: DimensionNames, n: int) -> tuple[dict[str, Places | None] | None, bool]:
    """The rankings in JSON, None where none speaks of what was asked; and whether a clean object ends the answer."""
    best: dict[str, Places | None] | None = None
    is_clean = False
    for value, end in _objects(answer):
        stated = _of_object(value, names, n, 0)
        if not stated:
            continue
        complete = all(stated.get(name) is not None for name in names.asked)
        if complete or best is None or any(best.get(name) is None for name in names.asked):
            best = stated
            is_clean = not answer[end:].strip(" \n\t`") and _exact(value, names, n) is not None
    return best, is_clean


def _objects(text: str) -> Iterator[tuple[object, int]]:
    """The JSON values of a text, in its order, and where each ends; what only resembles JSON, where there is none."""
    decoder = json.JSONDecoder(object_pairs_hook=_Pairs)
    end, n_read = 0, 0
    for start in islice(_STARTS.finditer(text), _MOST_OBJECTS):
        if start.end() - 1 < end:
            continue
        try:
            value, end = decoder.raw_decode(text, start.end() - 1)
        except (ValueError, RecursionError):
            continue
        n_read += 1
        yield value, end
    first, last = text.find("{"), text.rfind("}") + 1
    if not n_read and 0 <= first < last:
        stretch = _TRAILING.sub(r"\1", text[first:last])
        value = _decoded(stretch if '"' in stretch else stretch.replace("'", '"'))
        if value is not None:
            yield value, len(text) + 1


def _of_object(value: object, names: DimensionNames, n: int, depth: int) -> dict[str, Places | None]:
    """What a JSON value says of each dimension that it speaks of; None where that is no ranking."""
    out: dict[str, Places | None] = {}
    if depth > _DEEPEST:
        return out
    if isinstance(value, _Pairs):
        subject = next((names.plain(str(v)) for key, v in value if names.role(key)[0] == "subject"), None)
        for key, stated in value:
            role, name = names.role(key)
            if role == "dimension" and name is not None:
                own = _of_value(stated, n)
                out[name] = own if name not in out or out[name] == own else None
            elif subject is not None and key.casefold() in _RANKING_KEYS:
                out[subject] = _of_value(stated, n)
            elif isinstance(stated, _Pairs | list) and subject is None:
                out |= _of_object(stated, names, n, depth + 1)
    elif isinstance(value, list):
        for each in value:
            if isinstance(each, _Pairs):
                out |= _of_object(each, names, n, depth + 1)
    if not out and depth == 0 and names.only is not None and isinstance(value, _Pairs | list):
        return {names.only: _of_value(value, n)}
    return out


def _of_value(value: object, n: int) -> Places | None:
    """The ranking that stands for one dimension: text, a list, or an object of letters and places."""
    if isinstance(value, str):
        return read_value(plainly_written(_ARROWS.sub(">", value)), n)
    if isinstance(value, _Pairs):
        inner = [stated for key, stated in value if key.casefold() in _RANKING_KEYS]
        if len(inner) == 1 and not isinstance(inner[0], _Pairs):
            return _of_value(inner[0], n)
        entries = value if not inner else inner[0] if isinstance(inner[0], _Pairs) else _Pairs()
        pairs = [_rank_and_label(key, stated, n) for key, stated in entries]
        return places_by_rank([pair for each in pairs for pair in each], n) if all(pairs) else None
    return _of_list(value, n)


def _of_list(value: object, n: int) -> Places | None:
    """The ranking of a list of letters from best to worst, equal ones in a list within it."""
    if not isinstance(value, list) or isinstance(value, _Pairs):
        return None
    entries = [dict(each) for each in value if isinstance(each, _Pairs)]
    if entries and len(entries) == len(value):
        letters = [_stated(entry, _RESPONSE_KEYS, n) for entry in entries]
        ranks = [number_of(next((v for k, v in entry.items() if k.casefold() in _RANKING_KEYS), None)) for entry in
                 entries]  # fmt: skip
        if all(rank is not None for rank in ranks):
            return places_by_rank([(rank or 0, letter) for rank, letter in zip(ranks, letters, strict=True)], n)
        return places_of([(letter,) for letter in letters], n)
    groups = [tuple(label_of(one, n) for one in (each if isinstance(each, list) else [each])) for each in value]
    return places_of(groups, n)


def _stated(entry: Mapping[str, object], keys: frozenset[str], n: int) -> int:
    return next((label_of(value, n) for key, value in entry.items() if key.casefold() in keys), -1)


def _rank_and_label(key: str, value: object, n: int) -> list[tuple[int, int]]:
    """The places and letters of one entry: `"B": 1`, `"1": "B"` or `"2": ["A", "C"]`; empty where it is none."""
    rank = number_of(key)
    if rank is not None:
        return [(rank, label_of(each, n)) for each in (value if isinstance(value, list) else [value])]
    rank = number_of(value)
    return [] if rank is None else [(rank, label_of(key, n))]
