"""The words that a probe changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

_TOKEN: Final = re.compile(r"[^\W_]+(?:['\u2019.,/-][^\W_]+)*|[^\w\s]+|_+")

Block = tuple[int, int, int, int]
"""Places `i:j` of one list against `k:m` of another."""


def changed_words(before: str, after: str) -> list[tuple[str, str]]:
    """Return the runs of words that differ between two texts, in order, as pairs; either of a pair may be empty.

    In a long text a run may hold words that are in both.

    Examples
    --------
    >>> changed_words("A nodule in the left lung.", "A nodule in the right lung.")
    [('left', 'right')]
    """
    return [(before[i:j], after[k:m]) for i, j, k, m in spans(before, after)]


def marked(before: str, after: str) -> str:
    """Return the changed text, with what was taken out in [-brackets-] and what was put in as {+these+}."""
    pieces, place = [], 0
    for i, j, k, m in spans(before, after):
        pieces.append(after[place:k])
        pieces += [f"[-{before[i:j]}-]"] if j > i else []
        pieces += [f"{{+{after[k:m]}+}}"] if m > k else []
        place = m
    return "".join([*pieces, after[place:]])


def spans(before: str, after: str) -> list[Block]:
    """Return where the runs of words that differ stand in both texts, in characters."""
    old, new = list(_TOKEN.finditer(before)), list(_TOKEN.finditer(after))
    blocks = _blocks([word[0] for word in old], [word[0] for word in new])
    return [(*_span(old, i, j, before), *_span(new, k, m, after)) for i, j, k, m in blocks]


def _blocks(a: Sequence[str], b: Sequence[str]) -> Iterator[Block]:
    most = min(len(a), len(b))
    head = next((place for place in range(most) if a[place] != b[place]), most)
    tail = next((place for place in range(most - head) if a[-1 - place] != b[-1 - place]), most - head)
    for kind, i, j, k, m in SequenceMatcher(None, a[head : len(a) - tail], b[head : len(b) - tail]).get_opcodes():
        if kind != "equal":
            yield i + head, j + head, k + head, m + head


def _span(words: Sequence[re.Match[str]], i: int, j: int, text: str) -> tuple[int, int]:
    if j > i:
        return words[i].start(), words[j - 1].end()
    place = words[i].start() if i < len(words) else len(text)
    return place, place
