"""Findings made up for a response, or left out of it."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from mrb_lib.probes.probe import Case, register_response
from mrb_lib.probes.wording import WORDS, Edit, Words, in_place, is_finished, is_layout, sentences

_OBSERVED: Final = frozenset(WORDS["finding"]["observed"])
_OTHERS: Final = frozenset(("no", "without", "other", "another"))
_GOES_ON: Final = frozenset(("this", "these", "it", "its", "they", "their"))
_SUPPOSED: Final = frozenset(WORDS["finding"]["supposed"])


@register_response("response/finding-added", expected="flips", severities=3)
def finding_added(text: str, severity: int, rng: np.random.Generator, case: Case) -> str | None:
    """Write one to three false findings of the same organ into one response."""
    parts = [part for part in sentences(text) if is_finished(part.of(text))]
    findings = _false_findings(text, case)
    order = rng.permutation(len(findings))[:severity]
    places = rng.integers(max(1, len(parts) - 1), size=3)[: len(order)]
    if not parts or not findings or is_layout(text):
        return None
    added = [(parts[place].end, f" {findings[i]}") for i, place in zip(order, places, strict=True)]
    return in_place(text, [Edit(place, place, more) for place, more in sorted(added)])


@register_response("response/finding-dropped", expected="flips", severities=3)
def finding_dropped(text: str, severity: int, rng: np.random.Generator, case: Case) -> str | None:
    """Leave out the sentence of one response with the main finding, and what follows from it; at severity 3, all."""
    parts = [part for part in sentences(text) if not _is_numbered(part.of(text))]
    weights = [_weight(part.of(text)) if is_finished(part.of(text)) else 0 for part in parts]
    ranked = sorted(
        (place for place in range(len(parts)) if weights[place] > 1), key=lambda place: (-weights[place], place)
    )
    if len(parts) < 2 or not ranked or is_layout(text):
        return None
    said = [Words.of(part.of(text)) for part in parts]
    tried = (_with_what_rests(ranked[:most], said) for most in (1, 3, len(ranked))[severity - 1 :: -1])
    dropped = next((places for places in tried if len(places) < len(parts)), set[int]())
    edits = [Edit(parts[i].start, _next_start(text, parts[i].end), "") for i in sorted(dropped)]
    return in_place(text, edits).strip() if edits else None


def _false_findings(text: str, case: Case) -> list[str]:
    """Findings that fit the organ, or what the response speaks of, and that no text of the case speaks of."""
    organ, known = (case.organ or "").lower(), f"{text} {case.question} {case.reference or ''}".lower()
    spoken = set(Words.of(text).lower) if case.images or case.modality else set()
    table: dict[str, dict[str, str]] = WORDS["added"]
    place = next((name for name in table if (name in organ if organ else name in spoken)), None)
    return [finding for key, finding in table[place].items() if key not in known] if place else []


def _weight(sentence: str) -> int:
    """Return how much a sentence tells of what was found; 0 where that is denied, or only supposed."""
    words = Words.of(sentence)
    lower = [word for i, word in enumerate(words.lower) if word != "can" or words.after(i) != "be"]
    if _SUPPOSED.intersection(lower) or not _OBSERVED.intersection(lower):
        return 0
    weights: dict[str, int] = WORDS["finding"]["weights"]
    return sum(weights[phrase] for _, _, phrase in words.phrases(weights))


def _with_what_rests(places: Sequence[int], said: Sequence[Words]) -> set[int]:
    """Sentences, those that go on from them with "this" or "it", and those that name a finding of theirs as well."""
    weights: dict[str, int] = WORDS["finding"]["weights"]
    named = {word.rstrip("s") for place in places for word in said[place].lower if weights.get(word, 0) > 1}
    out = set(places)
    for i, words in enumerate(said):
        is_named = not named.isdisjoint(word.rstrip("s") for word in words.lower) and _OTHERS.isdisjoint(words.lower)
        if is_named or (i - 1 in out and words.lower[:1] and words.lower[0] in _GOES_ON):
            out.add(i)
    return out


def _is_numbered(sentence: str) -> bool:
    return sentence[:1].isdigit() or sentence[:1] == "(" or sentence[1:2] == ")"


def _next_start(text: str, place: int) -> int:
    while place < len(text) and text[place] in " \t":
        place += 1
    return place
