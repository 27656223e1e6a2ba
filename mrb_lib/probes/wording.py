"""Finding words and sentences in a text that nobody has checked, in time that grows with its length only."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

WORDS: Final[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
"""The word lists of the probes that change responses."""

_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?|\d+")
_END: Final = re.compile(r"[.!?][\"')\]*_]{0,4}(?=\s|\Z)|\n")
_PART_END: Final = re.compile(r"[.;:!?\n]")
_SENTENCE_END: Final = re.compile(r"[.!?\n]")
_SHORT: Final = frozenset(
    ("dr", "mr", "mrs", "ms", "prof", "st", "vs", "etc", "approx", "fig", "no", "e.g", "i.e", "al", "cf", "ca", "u.s")
)
_DENIALS: Final = frozenset(("no", "not", "without", "never", "cannot", "neither", "against"))
_LONGEST: Final = 4  # words of a phrase in a word list


class Span(NamedTuple):
    """A part of a text: from `start` to before `end`."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """The part itself."""
        return text[self.start : self.end]


class Edit(NamedTuple):
    """A part of a text and what takes its place."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Words:
    """The words of a text in order, in lower case, and where they are."""

    text: str
    spans: list[Span]
    lower: list[str]

    @classmethod
    def of(cls, text: str) -> Words:
        """Split a text; a hyphen or a digit ends a word, an apostrophe does not."""
        found = list(_WORD.finditer(text))
        return cls(text, [Span(word.start(), word.end()) for word in found], [word[0].lower() for word in found])

    def after(self, i: int, step: int = 1) -> str:
        """The word some places on; empty if anything but single spaces or hyphens lies between."""
        first, last = (i, i + step) if step > 0 else (i + step, i)
        if first < 0 or last >= len(self.spans):
            return ""
        return self.lower[i + step] if all(gap in (" ", "-") for gap in self._gaps[first:last]) else ""

    def before(self, i: int, step: int = 1) -> str:
        """The word some places back; see `after`."""
        return self.after(i, -step)

    def clause(self, i: int, most: int = 8) -> list[str]:
        """Up to `most` words before a place, as far as its part of the sentence goes."""
        return self.lower[max(self._clauses[i][0], i - most) : i]

    def rest(self, i: int, most: int = 8) -> list[str]:
        """Up to `most` words after a place, as far as its part of the sentence goes."""
        return self.lower[i + 1 : min(self._clauses[i][1], i + 1 + most)]

    def is_denied(self, i: int, most: int = 12) -> bool:
        """Return whether a "no", "not" or the like stands in the same part of the sentence, up to `most` words away."""
        start, end = self._clauses[i]
        counts, first, last = self._denials, max(start, i - most), min(end, i + 1 + most)
        return counts[i] > counts[first] or counts[last] > counts[i + 1]

    @cached_property
    def _gaps(self) -> list[str]:
        """The text that follows each word, up to the next one."""
        starts = [*(span.start for span in self.spans[1:]), len(self.text)]
        return [self.text[span.end : start] for span, start in zip(self.spans, starts, strict=True)]

    @cached_property
    def _clauses(self) -> list[tuple[int, int]]:
        """For each word where its part of the sentence begins, and ends."""
        ends = [i + 1 for i, gap in enumerate(self._gaps) if gap != " " and _PART_END.search(gap)]
        bounds = sorted({0, *ends, len(self.spans)})
        return [(start, end) for start, end in pairwise(bounds) for _ in range(start, end)]

    @cached_property
    def _denials(self) -> list[int]:
        """The number of words that deny before each place."""
        return list(accumulate((word in _DENIALS for word in self.lower), initial=0))

    @cached_property
    def marks(self) -> list[tuple[int, str]]:
        """The last word of the sentence of each word, and the mark after it; empty where there is none."""
        out: list[tuple[int, str]] = []
        here = (len(self.spans) - 1, "")
        for i in range(len(self.spans) - 1, -1, -1):
            found = _SENTENCE_END.search(self._gaps[i]) if self._gaps[i] != " " else None
            here = (i, found[0]) if found else here
            out.append(here)
        return out[::-1]

    def phrases(self, known: Mapping[str, object]) -> Iterator[tuple[int, int, str]]:
        """Each phrase of a list that the text holds, longest first: its first word, how many words, and the phrase."""
        heads = {phrase.split(" ")[0] for phrase in known}
        i = 0
        while i < len(self.lower):
            size = self._longest(i, known) if self.lower[i] in heads else 0
            if size:
                yield i, size, " ".join(self.lower[i : i + size])
            i += size or 1

    def _longest(self, i: int, known: Mapping[str, object]) -> int:
        most = 1
        while most < _LONGEST and i + most < len(self.lower) and self._gaps[i + most - 1] == " ":
            most += 1
        return next((size for size in range(most, 0, -1) if " ".join(self.lower[i : i + size]) in known), 0)


def sentences(text: str) -> list[Span]:
    """The sentences and unfinished lines of a text, without the spaces around them."""
    out: list[Span] = []
    start = 0
    for found in _END.finditer(text):
        if found[0] != "\n" and _is_abbreviation(text, start, found.start()):
            continue
        _add(out, text, start, found.end())
        start = found.end()
    _add(out, text, start, len(text))
    return out


def is_finished(sentence: str) -> bool:
    """Return whether a sentence ends with a full stop and begins like one; a heading or a list item does not."""
    return sentence.endswith(".") and len(sentence) > 10 and sentence[0].isalpha() and sentence[0].isupper()


def is_layout(text: str) -> bool:
    """Return whether a text is more than prose: code, a table or a list that words cannot be moved about in."""
    return "```" in text or "\n|" in text or text.startswith("|") or "</" in text


def like(word: str, model: str) -> str:
    """A word in the capitals of another."""
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def in_place(text: str, edits: Sequence[Edit]) -> str:
    """A text with parts replaced; the parts are in order and do not overlap."""
    out: list[str] = []
    start = 0
    for edit in edits:
        out += [text[start : edit.start], edit.text]
        start = edit.end
    return "".join([*out, text[start:]])


def some_of(
    edits: Sequence[Edit], severity: int, rng: np.random.Generator, counts: tuple[int, ...] = (1, 3)
) -> list[Edit]:
    """As many of the edits as a severity wants, all of them at the last; each severity's are among the next one's."""
    order = rng.permutation(len(edits))
    kept = order[: counts[severity - 1]] if severity <= len(counts) else order
    return [edits[i] for i in sorted(kept)]


def _add(out: list[Span], text: str, start: int, end: int) -> None:
    part = text[start:end]
    if part.strip():
        out.append(Span(start + len(part) - len(part.lstrip()), start + len(part.rstrip())))


def _is_abbreviation(text: str, start: int, stop: int) -> bool:
    """Return whether the mark at `stop` ends an abbreviation, an initial or the number of a list item."""
    if text[stop] != ".":
        return False
    piece = text[max(start, stop - 12) : stop]
    last = piece.split()[-1] if piece.split() and not piece[-1].isspace() else ""
    word = last.lstrip("([\"'*").lower()
    if word in _SHORT:
        return True
    is_first = text[start:stop].strip() == last if stop - start < 40 else False
    return is_first and (word.isdigit() or len(word) == 1)
