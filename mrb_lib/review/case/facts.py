"""What one of two answers states and the other does not: numbers, sides, denials, organs, and opposites.

A reading aid made by rules, not a judgement: it finds words, not meanings, and only English ones. How well it does on
pairs that were marked by hand is printed by tests/review/case/test_facts.py.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mrb_lib.probes.marking import spans

FactKind = Literal["number", "side", "denial", "anatomy", "opposite"]
FactKey = tuple[str, ...]
Stretch = tuple[int, int]

LONGEST = 100_000
_VOCABULARY: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))


def _any(words: Iterable[str]) -> str:
    """A pattern for one of some words, the longest first."""
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


_UNITS = {
    "nm": (1e-6, "mm"), "µm": (1e-3, "mm"), "mm": (1.0, "mm"), "cm": (10.0, "mm"), "ml": (1.0, "ml"),
    "cc": (1.0, "ml"), "l": (1000.0, "ml"), "mg": (1.0, "mg"), "g": (1000.0, "mg"), "kg": (1e6, "mg"),
}  # fmt: skip
_SPELLED: dict[str, str] = _VOCABULARY["spelled"]
_OTHER_UNITS = ("year", "month", "week", "day", "hour", "minute", "second", "hu", "mmhg", "bpm", "°", "degree")
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_UNIT = rf"(?:{_any([*_UNITS, *_SPELLED, *_OTHER_UNITS])})s?(?!\w)"
_NUMBER = (
    rf"(?<![\w.])(?:(?<!\d)[-\u2212])?\d{{1,9}}(?:,\d{{3}})*(?:[.,]\d{{1,9}})?(?:\s?(?:%|{_UNIT}))?(?![\w]|[.,]\d)"
    rf"|\b(?:{_any(_WORDS[2:])})\b(?:\s{_UNIT})?|\b(?:[CTLS]\d{{1,2}})\b"
)
# The number after a number, whose unit is that of both: the mm of 12 x 8 mm.
_NEXT = re.compile(rf"\s?(?:x|\u00d7|by|to|and|-|\u2013)\s?(?={_NUMBER})[-\u2212]?[\d.,]+\s?(%|{_UNIT})", re.IGNORECASE)

_ORGAN = {word: line.split()[0] for line in _VOCABULARY["organs"] for word in line.split()}
_ANATOMY = rf"(?:gall bladder|{_any(_ORGAN)})s?"
_SIDES = {word: word for word in _VOCABULARY["sides"]} | {"bilaterally": "bilateral", "palmar": "volar"}
_SIDES |= {f"{word}{end}": word for word in _VOCABULARY["sides_ly"] for end in ("", "ly")}
_SIDE = _any(_SIDES)
_STEP = r"[ \t]+[^\W\d_][\w-]*"
_SIDED = re.compile(rf"-?sided?\b|(?:{_STEP}){{0,3}}?[ \t]+(?:to[ \t]the[ \t])?{_ANATOMY}\b", re.IGNORECASE)
_PLACED = re.compile(rf"\b{_ANATOMY}\b(?:{_STEP}){{0,6}}[ \t]+$", re.IGNORECASE)
_ALONE = (
    re.compile(r"(?:^|[.:;])\s*$"),
    re.compile(r"\s*(?:[.;]|$)"),
)  # before and after a side that is the whole answer

_BETWEEN = (
    "evidence of|signs? of|any|an|a|acute|obvious|definite|clear|significant|other|visible|focal|large|enlarged|"
    f"{_SIDE}|{_ANATOMY}"
)
_IDIOM = (
    r"\b(?:goes without saying|not only|no doubt|without (?:a )?doubt|not un\w+|no further|not (?:able|possible)|"
    r"can(?:not|['\u2019]t) (?:be (?:excluded|ruled out)|exclude|rule out|give|say))\b"
)
_NAME = r"[^\W\d_][\w-]{0,40}"
_LIST = rf"(?:(?:, (?:(?:{_BETWEEN}) )*{_NAME}){{0,8}},? (?:or|nor) (?:(?:{_BETWEEN}) )*{_NAME})?"
_DENIAL = (
    r"\b(?:no|not|never|without|denies|absen(?:t|ce of)|negative for|rules? out|can(?:not|['\u2019]t)(?: be)?)\b"
    rf"(?:\s(?:{_BETWEEN}|the)\b)*(?:\s{_NAME})?{_LIST}"
)
_DENIED = re.compile(r"(?:,? (?:or|nor) |, |^)(.+?)(?=,? (?:or|nor) |, |$)", re.DOTALL)
_ABSENT = (
    rf"\b(?P<absent>{_NAME}) (?:is|are|was|were) "
    "(?:absent|not (?:seen|present|visible|identified|evident|demonstrated))\\b"
)

_POLES: dict[str, list[tuple[str, str]]] = {}
for _axis in _VOCABULARY["opposites"]:
    for _pole in _axis.split():
        for _word in _pole.split("|"):
            _POLES.setdefault(_word, []).append((_axis, _pole))
_PREFIX = re.compile("(hyper|hypo|iso)([a-z]{4,})")
_FACT = re.compile(
    rf"(?P<idiom>{_IDIOM})|(?P<number>{_NUMBER})|(?P<denial>{_ABSENT}|{_DENIAL})|\b(?:(?P<side>{_SIDE})"
    rf"|(?P<anatomy>{_ANATOMY})|(?P<opposite>{_any(_POLES)}|{_PREFIX.pattern}))\b",
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
    # An opposite is of interest only where the other text states the contrary.
    axes = [{key[:2] for key in of_text} for of_text in keys]
    only_a, only_b = (
        [mark for mark, key in facts if key not in other and (key[0] != "opposite" or key[:2] in axis)]
        for facts, other, axis in zip(facts_of, keys[::-1], axes[::-1], strict=True)
    )
    return list(dict.fromkeys(only_a)), list(dict.fromkeys(only_b))


def word_differences(a: str, b: str) -> tuple[list[Stretch], list[Stretch]]:
    """The stretches of words of a and of b that are not in the other, in large letters or small."""
    blocks = spans(a.lower(), b.lower())
    return [(i, j) for i, j, _, _ in blocks if i < j], [(k, m) for _, _, k, m in blocks if k < m]


def _facts(text: str) -> Iterator[tuple[FactMark, FactKey]]:
    for match in _FACT.finditer(text):
        kind = next((name for name in _KINDS if match[name] is not None), None)
        if kind == "denial" and match["absent"] is None:
            # Each of a list is denied by itself: what is denied decides, not the word that denies it.
            for part in _DENIED.finditer(match[0]):
                words = part[1].split()
                start, end = (match.start() + at for at in part.span(1))
                yield (
                    FactMark(start, end, kind),
                    (kind, *([] if len(words) == 1 and part.start() == 0 else [_stem(words[-1])])),
                )
        elif kind is not None and (kind != "side" or _is_anatomical(text, match)):
            for key in _keys(kind, text, match):
                yield FactMark(match.start(), match.end(), kind), (kind, *key)


def _is_anatomical(text: str, match: re.Match[str]) -> bool:
    """Return whether a side is that of an organ in the same clause, or the whole answer."""
    before = text[max(0, match.start() - 120) : match.start()]
    is_alone = _ALONE[0].search(before) and _ALONE[1].match(text, match.end())
    return bool(_SIDED.match(text, match.end()) or is_alone or _PLACED.search(before))


def _stem(word: str) -> str:
    return word.casefold().removesuffix("s")


def _keys(kind: FactKind, text: str, match: re.Match[str]) -> list[FactKey]:
    """Return what a match states, so that equal facts have equal keys."""
    fact = " ".join(match[0].casefold().split())
    if kind == "number":
        following = _NEXT.match(text, match.end())
        return [_amount(fact, following[1].casefold() if following else "")]
    if kind == "denial":
        return [(_stem(match["absent"]),)]
    if kind == "side":
        return [(_SIDES[fact],)]
    if kind == "anatomy":
        organ = _ORGAN.get(fact.replace("gall bladder", "gallbladder")) or _ORGAN[fact.removesuffix("s")]
        return [] if organ in _VOCABULARY["parts"] else [(organ,)]
    prefixed = _PREFIX.fullmatch(fact)
    return [prefixed.groups()[::-1]] if prefixed and fact not in _POLES else [*_POLES[fact]]


def _amount(fact: str, shared: str) -> FactKey:
    """The number in the unit that stands for its kind; a comma before three digits parts thousands, else decimals."""
    match = re.match(r"[-\u2212]?[\d.,]+", fact)
    if match is None and fact[1:].isdigit():  # a vertebra
        return (fact, "")
    digits = match[0].replace("\u2212", "-") if match else str(_WORDS.index(fact.split()[0]))
    unit = (fact[match.end() :] if match else fact.partition(" ")[2]).strip() or shared
    is_parted = re.fullmatch(r"-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?", digits)
    value = float(digits.replace(",", "" if is_parted else "."))
    unit = _SPELLED.get(unit, _SPELLED.get(unit.removesuffix("s"), unit))
    factor, base = _UNITS.get(unit, (1.0, unit.removesuffix("s") if len(unit) > 2 else unit))
    return f"{value * factor:.9g}", base
