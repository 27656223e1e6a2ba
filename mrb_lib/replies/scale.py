"""A list of categories as replies name them: by their text, by their mark, by a number of the scale."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final, NamedTuple

from mrb_lib.replies.canonical import STRAIGHT_QUOTES
from mrb_lib.replies.text import plainly_written

_WORDS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER: Final = r"[+-]?\d{1,9}(?:[.,]\d{1,9})*"
_NUMERIC: Final = re.compile(r"[+-]?\d{1,9}(?:\.\d{1,9})?")
_EMPHASIS: Final = re.compile(r"[*`~]+|__+")
_GAP: Final = re.compile(r"(?<=[^\W_])[\s_-]+(?=[^\W_])|\s+")
_OPEN: Final = r"[\s\"'(\[<\u2b50\u2605]{0,8}"
_LEADS: Final = (
    r"(?:(?:(?-i:an?)(?=\s\w)|the|as|at|of|option|category|choice|answer|rating|rated|class|level|grade|score|label|mark"
    r"|clearly|definitely|certainly|probably|likely|simply|best|therefore|thus|overall|it|is|be|to|my|final)"
    r"\b[\s\"'(\[<:#]{1,8}){0,6}?"
)
# What may follow a category that is a verdict: the end, a sign of punctuation, or why it was chosen.
_TAIL: Final = re.compile(
    r"[\s\"')\]>]*(?:\Z|[\"'!.,;:)\]}>|\n]|-+\s|\s-+\s|\((?!s\)))"
    r"|\s+(?:because|since|as|due|given|for|with|on|overall|in|based|considering|though|although|but|while|whereas|when"
    r"|stars?|points?|rating|category|class|label|here|is my)\b",
    re.IGNORECASE,
)
_RETRACTED: Final = re.compile(
    r"[\s\"')\]>,;(\[:-]*(?:(?:incorrect|wrong|ruled out|rejected)\s?(?:\Z|[.,;)\]!])|[\u274c\u2717\u2718\u274e?])"
    r"|[\s\"')\]>:-]*(?:not\b|is not|isn't|doesn't|does not|would be|unlikely)|[\s,;(.-]*no[.,!]",
    re.IGNORECASE,
)
_OR: Final = (
    r"[\s\"')\]>]{0,8}(?:[-~/|&,;+]|\bto\b|\bor\b|\band\b|\bvs\b\.?|\bthrough\b|\n|\.{2,3}|(?:\.\s|\(\s?)(?=maybe|perhaps|or\b))"
    r"[\s\"'(\[<-]{0,8}(?:(?:maybe|perhaps|possibly|even|the|or|and|to|option|(?-i:a)(?=\s\w))\s+[\"'(\[<]{0,4}){0,3}"
)
_HEDGED: Final = re.compile(
    r"[\s,;]{0,3}\b(?:maybe|perhaps|possibly|leaning|bordering|verging|close to|almost|up to|if not)\b", re.IGNORECASE
)
_OUT_OF: Final = re.compile(
    r"(?:\A\s*/|\A\s*\(?\s*(?:out\s+)?of|\bscale\s+(?:of|from)\s+\w+\s*(?:to|-)|\bscale\s+of)\s*(?P<top>\d+(?:\.\d+)?|\w+)"
    r"|\b(?P<points>\d{1,9}|\w{3,5})-point\b",
    re.IGNORECASE,
)
_SHARED: Final = re.compile(r"\s(?:for|in|with|on|when)\s[^.;\n]{0,160}")
_BEYOND: Final = 80  # characters after a number in which its scale is looked for
_LONGEST: Final = 400  # characters of a value that are read, besides the longest name


def marks_of(categories: Sequence[str]) -> tuple[str, ...]:
    """What a prompt names each category by: one character each.

    Returns
    -------
    tuple of str
        The categories themselves where every one is a single ASCII digit or letter; else A, B, C and so on, in order.

    Raises
    ------
    ValueError
        There is no category, one is listed twice or is blank, or there are more than 26 to be marked by letters.
    """
    if not categories or len(set(categories)) < len(categories) or not all(name.strip() for name in categories):
        raise ValueError("categories are listed once each, and none is blank")
    if all(len(name) == 1 and name.isascii() and name.isalnum() for name in categories):
        return tuple(categories)
    if len(categories) > len(string.ascii_uppercase):
        raise ValueError(f"{len(categories)} categories; letters can mark {len(string.ascii_uppercase)}")
    return tuple(string.ascii_uppercase[: len(categories)])


class Stated(NamedTuple):
    """A category at the beginning of a text; None where what stands there names several, or one that is not listed."""

    category: str | None
    end: int


class Scale:
    """The categories of a benchmark, and how to find them in text."""

    def __init__(self, categories: Sequence[str]) -> None:
        self.categories = tuple(categories)
        self.marks = marks_of(categories)
        self.own_marks = self.marks == self.categories
        self.numeric = all(_NUMERIC.fullmatch(name) for name in categories)
        self._top = max(map(Decimal, categories)) if self.numeric else None
        self._exact: dict[str, str | None] = {}
        self._folded: dict[str, str | None] = {}
        for mark, name in zip(self.marks, categories, strict=True):
            for form in {mark, name, name.strip()}:
                _note(self._exact, form, name)
            for form in {mark.casefold(), name.strip().casefold(), _loose(name)}:
                _note(self._folded, form, name)
        self.reach = _LONGEST + 2 * max(map(len, categories))
        self._core = self._compiled()
        self._next = re.compile(_OR + self._core.pattern, re.IGNORECASE)
        self._lead = re.compile(_OPEN + _LEADS + self._core.pattern, re.IGNORECASE)

    def _compiled(self) -> re.Pattern[str]:
        """A mark with its name, a name with its mark, a name, a mark."""
        names = sorted({written for name in self.categories if (written := marked_up(name).strip())}, key=len)
        spelt = "|".join(r"[\s_-]{1,3}".join(map(re.escape, _parts(name))) for name in reversed(names))
        name = rf"(?<!\w)(?:{spelt or '(?!)'})"
        if self.numeric:
            words = f"|{'|'.join(_WORDS)}" if all(text.isdigit() for text in self.categories) else ""
            name = rf"(?<![\d.,/-])(?:{_NUMBER}{words})"
        end = r"(?!\w)(?!'\w)(?!-\w)(?![.,]\d)(?!:\d)(?!%)(?!\s(?:%|percent))"
        if self.own_marks:
            return re.compile(rf"(?P<name>{name}){end}", re.IGNORECASE)
        mark = rf"(?<!\w)[{''.join(self.marks)}]"
        return re.compile(
            rf"(?:(?P<mark1>(?-i:{mark})(?=[^\w+])|{mark}(?=[\"')\].:-]))[\"')\].:,\s=-]{{1,6}}[(\[\"']{{0,2}}(?P<name1>{name}){end}"
            rf"|(?P<name2>{name})\s?[-:,]?\s?[(\[]{{1,2}}(?:option\s|category\s)?(?P<mark2>{mark})[)\]]{{1,2}}"
            rf"|(?P<name>{name}){end}|(?P<mark>(?!(?-i:a)\s\w){mark})(?![\w+*/&]){end})",
            re.IGNORECASE,
        )

    def plain(self, value: object) -> str | None:
        """The category that a value of JSON is: its text or its mark in any case, or its number."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        if isinstance(value, int | float):
            return self._numbered(str(value)) if self.numeric else self._exact.get(str(value))
        text = value.strip()
        return self._exact[text] if text in self._exact else self._folded.get(text.casefold())

    def value(self, text: str) -> str | None:
        """The category that a value in a lenient form states, else None."""
        if "\\u" in text:
            text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda code: chr(int(code[1], 16)), text)
        plain = self.plain(text)
        if plain is not None:
            return plain
        stated = self.at_start(marked_up(text).strip())
        return None if stated is None else stated.category

    def at_start(self, text: str) -> Stated | None:
        """What a text states at its beginning as a verdict; None where it states nothing there."""
        window = text[: self.reach]
        core = self._lead.match(window)
        if core is None:
            return None
        category, end = self._named(core), core.end()
        rest = window[end:]
        if self.numeric:
            scale = _OUT_OF.search(rest[:_BEYOND])
            if scale is not None:
                category = category if self._is_top(scale["top"] or scale["points"]) else None
                if scale.start() == 0:
                    end += scale.end()
                    rest = rest[scale.end() :]
        if _RETRACTED.match(rest) or _HEDGED.match(rest) or self._next.match(rest):
            return Stated(None, end)
        named = core.groupdict()
        if (named.get("mark") and re.match(r"\.\s[a-z]", rest)) or (self.numeric and rest.lstrip().startswith(":")):
            return None  # "C. difficile"; "1: poor" explains a scale
        shared = _SHARED.match(rest)
        if shared is not None and self.named_in(shared.group()) - {category, None}:
            return Stated(None, end)
        return Stated(category, end) if _TAIL.match(rest) else None

    def mentions(self, text: str) -> bool:
        """Whether a category or a number stands near the beginning of a text."""
        return self._core.search(text[:_BEYOND]) is not None or (
            self.numeric and re.search(r"\d", text[:20]) is not None
        )

    def named_in(self, text: str) -> set[str | None]:
        """The categories that stand anywhere in a text."""
        return {self._named(core) for core in self._core.finditer(text)}

    def alone(self, text: str) -> str | None:
        """The category that a text names, and nothing besides."""
        stated = self.at_start(text)
        if stated is None or text[stated.end :].strip(" \t\"'.!)]>;,"):
            return None
        return stated.category

    def _named(self, core: re.Match[str]) -> str | None:
        """The category of a match; None where its mark and its name are of different ones."""
        groups = core.groupdict()
        name = groups.get("name") or groups.get("name1") or groups.get("name2")
        mark = groups.get("mark") or groups.get("mark1") or groups.get("mark2")
        found = {self._lookup(name) if name else None, self._folded.get(mark.casefold()) if mark else None}
        if name and mark:
            return found.pop() if len(found) == 1 else None
        return next(iter(found - {None}), None)

    def _lookup(self, name: str) -> str | None:
        if name in self._exact:
            return self._exact[name]
        if self.numeric:
            return self._numbered(str(_WORDS.index(name.lower())) if name.lower() in _WORDS else name)
        return self._folded.get(_loose(name))

    def _numbered(self, text: str) -> str | None:
        """The category of a number, which no number is rounded to."""
        number = _decimal(text)
        return next((name for name in self.categories if number is not None and Decimal(name) == number), None)

    def _is_top(self, text: str) -> bool:
        """Whether a number is the end of the scale: the 5 of "4 out of 5"."""
        word = text.lower()
        return _decimal(str(_WORDS.index(word)) if word in _WORDS else word) == self._top


@lru_cache(maxsize=64)
def scale_of(categories: tuple[str, ...]) -> Scale:
    """The scale of the categories listed."""
    return Scale(categories)


def marked_up(text: str) -> str:
    """A text in plain characters, without emphasis, with straight quotation marks."""
    return _EMPHASIS.sub("", plainly_written(text).translate(STRAIGHT_QUOTES))


def _note(forms: dict[str, str | None], form: str, name: str) -> None:
    """Note what a form means; one of two categories means neither."""
    forms[form] = name if forms.get(form, name) == name else None


def _loose(name: str) -> str:
    return " ".join(_parts(marked_up(name).strip())).casefold()


def _parts(name: str) -> list[str]:
    """The words of a name; a sign at its beginning or its end is part of them."""
    return [part for part in _GAP.split(name) if part] or [name]


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text) if _NUMERIC.fullmatch(text) else None
    except InvalidOperation:
        return None
