"""What one of two answers states and the other does not: numbers, sides, denials, organs, and opposites.

A reading aid made by rules, not a judgement: it finds words, not meanings, and only English ones. How well it does on
pairs that were marked by hand is printed by tests/review/case/test_facts.py.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Literal

FactKind = Literal["number", "side", "denial", "anatomy", "opposite"]
FactKey = tuple[str, ...]
Stretch = tuple[int, int]

LONGEST = 100_000
MOST_WORDS = 3_000
_VOCABULARY: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
_UNITS = {
    "nm": (1e-6, "mm"), "µm": (1e-3, "mm"), "mm": (1.0, "mm"), "cm": (10.0, "mm"), "ml": (1.0, "ml"),
    "cc": (1.0, "ml"), "l": (1000.0, "ml"), "mg": (1.0, "mg"), "g": (1000.0, "mg"), "kg": (1e6, "mg"),
}  # fmt: skip
_SPELLED: dict[str, str] = _VOCABULARY["spelled"]
_COUNTED = ("year", "month", "week", "day", "hour", "minute", "second")
_MEASURED = ("hu", "mmhg", "bpm", "°", "degree")
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_UNIT = "|".join(
    re.escape(unit) + "s?" for unit in sorted([*_UNITS, *_SPELLED, *_COUNTED, *_MEASURED], key=len, reverse=True)
)
_NUMBER = (
    rf"(?<![\w.])(?:(?<!\d)[-\u2212])?\d{{1,9}}(?:,\d{{3}})*(?:[.,]\d{{1,9}})?(?:\s?(?:%|(?:{_UNIT})(?!\w)))?(?![\w]|[.,]\d)"
    rf"|\b(?:{'|'.join(_WORDS[2:])})\b(?:\s(?:{_UNIT})(?!\w))?"
    r"|\b(?:[CTLS]\d{1,2})\b"
)
_UNIT_AFTER = re.compile(rf"\s?(?:x|\u00d7|by|to|and|-|\u2013)\s?(?=({_NUMBER}))", re.IGNORECASE)

_ORGANS = [line.split() for line in _VOCABULARY["organs"]]
_ORGAN = {word: line[0] for line in _ORGANS for word in line} | {"gall bladder": "gallbladder"}
_ANATOMY = "|".join(f"{word}s?" for word in sorted(_ORGAN, key=len, reverse=True))
_PART = set(_VOCABULARY["parts"])

_SIDES = {word: word for word in _VOCABULARY["sides"]} | {"bilaterally": "bilateral", "palmar": "volar"}
_SIDES |= {f"{word}{end}": word for word in _VOCABULARY["sides_ly"] for end in ("", "ly")}
_SIDE = "|".join(sorted(_SIDES, key=len, reverse=True))
_STEP = r"[ \t]+[^\W\d_][\w-]*"
_SIDED = re.compile(rf"-?sided?\b|(?:{_STEP}){{0,3}}?[ \t]+(?:to[ \t]the[ \t])?(?:{_ANATOMY})\b", re.IGNORECASE)
_PLACED = re.compile(rf"\b(?:{_ANATOMY})\b(?:{_STEP}){{0,4}}[ \t]+$", re.IGNORECASE)
_ALONE = re.compile(r"\s*(?:[.;]|$)")  # a side that is the whole answer
_THERE = re.compile(r"\b(?:on|to|in|at)[ \t]the[ \t]$", re.IGNORECASE)

_BETWEEN = (
    "evidence of|signs? of|any|an|a|acute|obvious|definite|clear|significant|other|visible|focal|large|enlarged|"
    f"{_SIDE}|{_ANATOMY}"
)
_IDIOM = (
    r"\b(?:goes without saying|not only|no doubt|without (?:a )?doubt|not un\w+|no further|not (?:able|possible)|"
    r"can(?:not|['\u2019]t) (?:be (?:excluded|ruled out)|exclude|rule out|give|say))\b"
)  # fmt: skip
_NAME = r"[^\W\d_][\w-]{0,40}"
_LIST = rf"(?:(?:, (?:(?:{_BETWEEN}) )*{_NAME}){{0,8}},? (?:or|nor) (?:(?:{_BETWEEN}) )*{_NAME})?"
_DENIAL = (
    r"\b(?:no|not|never|without|denies|absen(?:t|ce of)|negative for|rules? out|can(?:not|['\u2019]t)(?: be)?)\b"
    rf"(?:\s(?:{_BETWEEN}|the)\b)*(?:\s{_NAME})?{_LIST}"
)
_ABSENT = rf"\b{_NAME} (?:is|are|was|were) (?:absent|not (?:seen|present|visible|identified|evident|demonstrated))\b"

_AXES = [[pole.split("|") for pole in line.split()] for line in _VOCABULARY["opposites"]]
_POLES: dict[str, list[tuple[str, str]]] = {}
for _number, _axis in enumerate(_AXES):
    for _pole in _axis:
        for _word in _pole:
            _POLES.setdefault(_word, []).append((str(_number), _pole[0]))
_OPPOSITE = "|".join(sorted(map(re.escape, _POLES), key=len, reverse=True)) + r"|(?:hyper|hypo|iso)[a-z]{4,}"
_FACT = re.compile(
    rf"(?P<idiom>{_IDIOM})|(?P<number>{_NUMBER})|(?P<denial>{_ABSENT}|{_DENIAL})|(?P<side>\b(?:{_SIDE})\b)"
    rf"|(?P<anatomy>\b(?:{_ANATOMY})\b)|(?P<opposite>\b(?:{_OPPOSITE})\b)",
    re.IGNORECASE,
)
_KINDS: tuple[FactKind, ...] = ("number", "denial", "side", "anatomy", "opposite")


@dataclass(frozen=True)
class FactMark:
    """A stretch of a text, from `start` up to `end`, that states a fact the other text does not."""

    start: int
    end: int
    kind: FactKind


def marks(a: str, b: str) -> tuple[list[FactMark], list[FactMark]]:
    """Find what only one of two texts states.

    Parameters
    ----------
    a, b : the texts; of each the first `LONGEST` characters are looked at

    Returns
    -------
    tuple of list
        The marks of a and of b, in order and without overlap. Lengths, volumes and weights are the same fact in any of
        their units (5 mm, 0.5 cm). A side counts beside an organ only ("the left lung", not "what is left"), or as the
        whole answer. A denial is the denying word with what it denies. An opposite is marked where the other text says
        its contrary and not itself. Validated by tests/review/case/test_facts.py.
    """
    facts_of = [list(_facts(text[:LONGEST])) for text in (a, b)]
    keys = [{key for _, key in facts} for facts in facts_of]
    only_a, only_b = (
        list(dict.fromkeys(mark for mark, key in facts if key not in other and _is_shown(key, other)))
        for facts, other in zip(facts_of, keys[::-1], strict=True)
    )
    return only_a, only_b


def word_differences(a: str, b: str) -> tuple[list[Stretch], list[Stretch]]:
    """The stretches of words of a and of b that are not in the other, by the longest common runs of words.

    Of texts of more than `MOST_WORDS` words together nothing is compared, since the time grows with their product.
    """
    words = [list(re.finditer(r"\S+", text)) for text in (a, b)]
    if sum(map(len, words)) > MOST_WORDS:
        return [], []
    plain = [[word[0].casefold().strip(".,;:()") for word in found] for found in words]
    out: tuple[list[Stretch], list[Stretch]] = ([], [])
    for tag, *ends in SequenceMatcher(None, plain[0], plain[1], autojunk=False).get_opcodes():
        if tag != "equal":
            for stretches, each, start, end in zip(out, words, ends[::2], ends[1::2], strict=True):
                if start < end:
                    stretches.append((each[start].start(), each[end - 1].end()))
    return out


def _is_shown(key: FactKey, other: set[FactKey]) -> bool:
    """Whether the other text states the contrary, where only that is of interest."""
    return key[0] != "opposite" or any(each[:2] == key[:2] for each in other)


def _facts(text: str) -> Iterator[tuple[FactMark, FactKey]]:
    for match in _FACT.finditer(text):
        if match["idiom"] is not None:
            continue
        kind = next(name for name in _KINDS if match[name] is not None)
        if kind == "side" and not _is_anatomical(text, match):
            continue
        if kind == "denial":
            yield from _denied(match)
            continue
        for key in _keys(kind, text, match):
            yield FactMark(match.start(), match.end(), kind), key


def _is_anatomical(text: str, match: re.Match[str]) -> bool:
    if _SIDED.match(text, match.end()):
        return True
    before = text[max(0, match.start() - 120) : match.start()]
    if _ALONE.match(text, match.end()) and (not before.strip() or before.rstrip()[-1] in ".:;"):
        return True
    there = _THERE.search(before)
    adverb = match[0].casefold().endswith("ly")
    return bool((there or adverb) and _PLACED.search(before[: there.start()] if there else before))


def _denied(match: re.Match[str]) -> Iterator[tuple[FactMark, FactKey]]:
    """What a denial denies, one fact each: what is denied decides, not the word that denies it."""
    whole = match[0]
    if re.fullmatch(_ABSENT, whole, re.IGNORECASE):
        yield FactMark(match.start(), match.end(), "denial"), ("denial", _stem(whole.split()[0]))
        return
    start = 0
    for part in re.split(r"(,? (?:or|nor) |, )", whole)[::2]:
        at = whole.index(part, start)
        start = at + len(part)
        words = part.split()
        key = ("denial",) if len(words) == 1 and at == 0 else ("denial", _stem(words[-1]))
        yield FactMark(match.start() + at, match.start() + start, "denial"), key


def _stem(word: str) -> str:
    return word.casefold().removesuffix("s")


def _keys(kind: FactKind, text: str, match: re.Match[str]) -> list[FactKey]:
    fact = " ".join(match[0].casefold().split())
    if kind == "number":
        return [(kind, *_amount(fact, _unit_after(text, match.end())))]
    if kind == "side":
        return [(kind, _SIDES[fact])]
    if kind == "anatomy":
        organ = _ORGAN.get(fact) or _ORGAN[fact.removesuffix("s")]
        return [] if organ in _PART else [(kind, organ)]
    if fact in _POLES:
        return [(kind, *pole) for pole in _POLES[fact]]
    pole = re.match("hyper|hypo|iso", fact)
    return [(kind, fact[pole.end() :], pole[0])] if pole else []


def _unit_after(text: str, end: int) -> str:
    """The unit that a number shares with the next: the mm of 12 x 8 mm."""
    following = _UNIT_AFTER.match(text, end)
    return re.sub(r"^[-\u2212]?[\d.,]+\s?", "", following[1].casefold()) if following else ""


def _amount(fact: str, shared: str) -> FactKey:
    """The number in the unit that stands for its kind; a comma before three digits parts thousands, else decimals."""
    if fact[0] in "ctls" and fact[1:].isdigit():
        return (fact, "")
    match = re.match(r"[-\u2212]?[\d.,]+", fact)
    digits = match[0] if match else fact.split()[0]
    unit = fact.removeprefix(digits).strip() or shared
    if not match:
        value = float(_WORDS.index(digits))
    else:
        plain = digits.replace("\u2212", "-")
        thousands = re.fullmatch(r"-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?", plain)
        value = float(plain.replace(",", "" if thousands else "."))
    unit = _SPELLED.get(unit, _SPELLED.get(unit.removesuffix("s"), unit))
    factor, base = _UNITS.get(unit, (1.0, unit.removesuffix("s") if len(unit) > 2 else unit))
    return f"{value * factor:.9g}", base
