"""Errors planted in a response, each of which a judge that reads it against the picture should notice.

Severity 1 plants one error, 2 up to three, and 3 one wherever the rule finds a place.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

import numpy as np

from mrb_lib.probes.probe import Case, register_response
from mrb_lib.probes.wording import WORDS, Edit, Words, in_place, like, some_of

_SIDES: Final[dict[str, str]] = WORDS["side"]["other"]
_SITED: Final = frozenset(WORDS["side"]["sited"])
_SIDE_LEADS: Final = frozenset(("on", "to", "in", "of", "from", "toward", "towards"))
_JOINING: Final = frozenset(("and", "or", "to", "versus", "vs", "than"))
_COUNTED: Final = frozenset(WORDS["number"]["counted"])
_NEGATION: Final = WORDS["negation"]
_TURNED: Final = frozenset(("no", "not", "without", "is", "are", *_NEGATION["verbs"]))
_LEFT_ALONE: Final = frozenset(_NEGATION["left_alone"])
_SHARED: Final = frozenset(WORDS["drug"]["shared"])
_POSSIBLY: Final = frozenset(("may", "might", "can", "could", "sometimes", "often", "some"))
_BESIDE_NOUNS: Final = frozenset(_NEGATION["beside_nouns"])
_DIRECTIONS: Final = frozenset(word for pair in WORDS["anatomy"]["paired"] for word in pair)
_NORMAL: Final = frozenset(WORDS["anatomy"]["normal"])
_OPTION: Final = re.compile(r"[\s*-]*\(?[A-Z]\)[^.:;\u2013\u2014]*")
_LONGEST_OPTION: Final = 300
_AGE_ENDS: Final = ("-old", " old", " of age")
_NUMBER: Final = r"\d{1,7}(?:,\d{3}){0,3}(?:\.\d{1,4})?"


def _any_of(words: Sequence[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_UNITS: Final = _any_of(WORDS["number"]["units"])
_MEASURE: Final = re.compile(
    rf"(?<![\w.,/:\u2013-])({_NUMBER})(?:([ ]?(?:-|\u2013|to)[ ]?)({_NUMBER}))?([ -]?)({_UNITS})(?!\w)"
)


@register_response("response/side", expected="flips", severities=3)
def side(text: str, severity: int, rng: np.random.Generator, case: Case) -> str | None:
    """Put left for right, bilateral for unilateral, or the other way round, in one response."""
    words = Words.of(text)
    edits = [
        Edit(words.spans[i].start, words.spans[i].end, like(_SIDES[word], words.spans[i].of(text)))
        for i, word in enumerate(words.lower)
        if word in _SIDES and (word not in ("left", "right") or _is_side(words, i)) and _is_finding(words, i)
    ]
    return _planted(text, edits, severity, rng)


@register_response("response/number", expected="flips", severities=3)
def number(text: str, severity: int, rng: np.random.Generator, case: Case) -> str | None:
    """Make a measurement, a dose or a count in one response about three times as large or as small."""
    found = [match for match in _MEASURE.finditer(text) if not text.startswith(_AGE_ENDS, match.end())]
    grows = (rng.random(len(found)) < 0.5).tolist()
    edits = [edit for match, up in zip(found, grows, strict=True) if (edit := _measured(match, up)) is not None]
    words = Words.of(text)
    for i, word in enumerate(words.lower):
        other = WORDS["number"]["words"].get(word)
        if other is not None and _is_count(words, i):
            edits.append(Edit(words.spans[i].start, words.spans[i].end, like(other, words.spans[i].of(text))))
    return _planted(text, sorted(edits, key=lambda edit: edit.start), severity, rng)


@register_response("response/negation", expected="flips", severities=3)
def negation(text: str, severity: int, rng: np.random.Generator, case: Case) -> str | None:
    """Take a "no", "not" or "without" out of one response, or put one in."""
    words = Words.of(text)
    edits: dict[int, Edit] = {}
    for i in range(len(words.lower)):
        edit = _negated(words, i)
        if edit is not None:
            edits.setdefault(words.marks[i][0], edit)  # one in a sentence: two may cancel out
    return _planted(text, list(edits.values()), severity, rng)


@register_response("response/anatomy", expected="flips", severities=3)
def anatomy(text: str, severity: int, rng: np.random.Generator, case: Case) -> str | None:
    """Name another organ, lobe or part of it in one response: the spleen for the liver, lower for upper."""
    words, others = Words.of(text), _anatomy()
    places = [place for place in words.phrases(others) if _is_anatomy(words, *place)]
    return _planted(text, _replaced(words, places, others, rng), severity, rng)


@register_response("response/drug", expected="flips", severities=3)
def drug(text: str, severity: int, rng: np.random.Generator, case: Case) -> str | None:
    """Name a drug of another class in one response."""
    words, others = Words.of(text), _drugs()
    places = [place for place in words.phrases(others) if _is_about_drug(words, place[0])]
    return _planted(text, _replaced(words, places, others, rng), severity, rng)


def _planted(text: str, edits: Sequence[Edit], severity: int, rng: np.random.Generator) -> str | None:
    return in_place(text, some_of(edits, severity, rng)) if edits else None


def _is_finding(words: Words, i: int) -> bool:
    """Return whether something is said to be there; what is denied, or normal, may be as true of another place."""
    return not words.is_denied(i) and _NORMAL.isdisjoint((*words.clause(i, 12), *words.rest(i, 12)))


def _is_side(words: Words, i: int) -> bool:
    """Return whether `left` or `right` is a side here, and not what somebody left or what is right."""
    here, following = words.lower[i], words.after(i)
    if following in _JOINING or (words.before(i) in _JOINING and words.before(i, 2) in _SITED | {_SIDES[here]}):
        return False
    if following in _SITED:
        return True
    if words.before(i) != "the" or words.before(i, 2) not in _SIDE_LEADS:
        return False
    return following in ("", "of", "with", "where", "which") and _SIDES[here] not in words.lower[i + 1 : i + 4]


def _measured(match: re.Match[str], is_larger: bool) -> Edit | None:
    """A measurement of about three times or a quarter of the size, in the same way of writing."""
    low, high = match[1], match[3]
    is_share = match[5] in ("%", "percent")
    values = [float(value.replace(",", "")) for value in (low, high) if value]
    if not all(values):
        return None
    grows = max(values) * 3 <= 100 if is_share and is_larger else is_larger
    grows = grows or (min(values) < 4 and "." not in low and not (is_share and max(values) * 3 > 100))
    factor = 3.0 if grows else 0.25
    new = [_written(value, factor, model) for value, model in zip(values, (low, high), strict=False)]
    if len(set(new)) < len(values):  # a range that came out as one number
        new = [_written(value, 3.0, model) for value, model in zip(values, (low, high), strict=False)]
    if [value.replace(",", "") for value in new] == [value.replace(",", "") for value in (low, high) if value]:
        return None
    middle = f"{match[2]}{new[1]}" if high else ""
    return Edit(match.start(1), match.end(3) if high else match.end(1), f"{new[0]}{middle}")


def _written(value: float, factor: float, model: str) -> str:
    digits = len(model.partition(".")[2])
    comma = "," if "," in model else ""
    return f"{max(value * factor, 10.0**-digits):{comma}.{digits}f}"


def _is_count(words: Words, i: int) -> bool:
    if words.lower[i] == "twice":
        return words.after(i) in ("a", "daily", "per")
    return any(words.after(i, step) in _COUNTED for step in (1, 2, 3, 4)) and words.before(i) not in _JOINING


def _negated(words: Words, i: int) -> Edit | None:
    """The edit that turns what is said at a word into its opposite; None where it is no place for that."""
    here = words.lower[i]
    following = words.after(i) if here in _TURNED else ""
    if not following or words.is_denied(i) or _is_open(words, i):
        return None
    span = words.spans[i]
    if here == "no":
        is_plain = following not in _NEGATION["no_idioms"] and words.before(i) != "or"
        return Edit(span.start, span.end, like("some", span.of(words.text))) if is_plain else None
    if here == "without":
        is_plain = following not in _NEGATION["without_idioms"] and not following.endswith("ing")
        is_plain = is_plain and _POSSIBLY.isdisjoint(words.clause(i, 12))  # what may come without may come with it
        return Edit(span.start, span.end, like("with", span.of(words.text))) if is_plain else None
    if here == "not":
        is_plain = words.before(i) in _NEGATION["auxiliaries"] and following not in _NEGATION["not_idioms"]
        return Edit(span.start, words.spans[i + 1].start, "") if is_plain else None
    if here in _NEGATION["verbs"] and words.before(i) and _is_verb(words, i):
        return Edit(span.start, span.end, f"does not {_NEGATION['verbs'][here]}")
    if here in ("is", "are") and following in _NEGATION["stated"]:
        return Edit(span.end, span.end, " not")
    if here in ("is", "are") and words.before(i) == "there" and following in ("evidence", "signs"):
        return Edit(span.end, span.end, " no")
    return None


def _is_verb(words: Words, i: int) -> bool:
    """Return whether a word such as "causes" says what something does, and does not name several causes."""
    return not {words.before(i), words.after(i)} & _BESIDE_NOUNS and words.before(i) != ""


def _is_open(words: Words, i: int) -> bool:
    """Return whether what is said at a word is a condition, a choice or a question, or the wording of an option."""
    before = words.clause(i, 12)
    asks = "which" in before[:-1] and before[-1] != "which"  # "which test is", but not "which is"
    return words.marks[i][1] == "?" or asks or not _LEFT_ALONE.isdisjoint(before) or _is_option(words, i)


def _is_option(words: Words, i: int) -> bool:
    """Return whether a word is in the first part of a line such as "(B) It is normal"."""
    start = words.spans[i].start
    line = words.text.rfind("\n", max(0, start - _LONGEST_OPTION), start) + 1
    is_whole = line > 0 or start <= _LONGEST_OPTION
    return is_whole and _OPTION.fullmatch(words.text, line, start) is not None


@cache
def _anatomy() -> dict[str, tuple[str, ...]]:
    """Return what may stand in place of each part of the body, from the first class that has it."""
    out: dict[str, tuple[str, ...]] = {}
    for group in [*WORDS["anatomy"]["paired"], *WORDS["anatomy"]["classes"]]:
        for word in group:
            out.setdefault(word, tuple(other for other in group if other != word))
    return out


@cache
def _drugs() -> dict[str, tuple[str, ...]]:
    """Return what may stand in place of each drug: one for quite another purpose, or another kind of drug."""
    groups: list[list[str]] = WORDS["drug"]["names"]
    strangers = WORDS["drug"]["strangers"]
    out = {name: tuple(other for other in strangers if other not in group) for group in groups for name in group}
    for group in WORDS["drug"]["kinds"]:
        for word in group:
            out.setdefault(word.lower(), tuple(other for other in group if other != word))
    return out


def _is_anatomy(words: Words, i: int, size: int, phrase: str) -> bool:
    if not _is_finding(words, i) or _is_option(words, i):
        return False
    if phrase in _DIRECTIONS:
        return words.after(i) in WORDS["anatomy"]["before"]
    following, previous = words.after(i + size - 1), words.before(i)
    if phrase in ("heart", "brain", "back"):
        return following not in ("of", "attack", "attacks", "rate", "failure") and previous not in ("by", "my", "your")
    return previous != "upset" and not following.startswith(("vision", "bug", "flu", "ache", "upset", "plateau"))


def _is_about_drug(words: Words, i: int) -> bool:
    """Return whether a statement is of one drug alone: many share side effects, and not to take one may be right."""
    around = (*words.clause(i, 12), *words.rest(i, 12))
    return not words.is_denied(i) and not _is_option(words, i) and _SHARED.isdisjoint(around)


def _replaced(
    words: Words, places: Sequence[tuple[int, int, str]], others: Mapping[str, Sequence[str]], rng: np.random.Generator
) -> list[Edit]:
    """A replacement for each phrase, drawn from what may stand for it and is not in the text yet where that can be."""
    draws = rng.random(len(places)).tolist()
    known = set(words.lower)
    edits = []
    for (i, size, phrase), draw in zip(places, draws, strict=True):
        fresh = [other for other in others[phrase] if other not in known] or list(others[phrase])
        edits.append(_swap(words, i, size, fresh[int(draw * len(fresh))], words.text))
    return edits


def _swap(words: Words, i: int, size: int, other: str, text: str) -> Edit:
    """Puts another phrase in place of one, with the article that it needs."""
    first, last = words.spans[i], words.spans[i + size - 1]
    old = text[first.start : last.end]
    new = other if other.isupper() or old[:1] == "X" else like(other, old)
    if words.before(i) not in ("a", "an"):
        return Edit(first.start, last.end, new)
    article = words.spans[i - 1]
    vowel = "an" if new[0].lower() in "aeiou" or new.startswith("MRI") else "a"
    return Edit(article.start, last.end, f"{like(vowel, article.of(text))} {new}")
