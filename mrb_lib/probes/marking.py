"""Which words a probe changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final

_TOKEN: Final = re.compile(r"[^\W_]+(?:['\u2019.,/-][^\W_]+)*|[^\w\s]+|_+")
_MOST_PAIRS: Final = 100_000  # equal words at different places; comparing takes about this long, several times over

Block = tuple[int, int, int, int]
"""Places `i:j` of one list against `k:m` of another."""


def changed_words(before: str, after: str) -> list[tuple[str, str]]:
    """Return the runs of words that differ between two texts, in order, as pairs; either of a pair may be empty.

    A long text is compared sentence by sentence, and then the words of those that changed. Where too much changed for
    that, a run may hold words that are in both.

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
    for i, j, k, m in _inner_blocks(a[head : len(a) - tail], b[head : len(b) - tail]):
        yield i + head, j + head, k + head, m + head


def _inner_blocks(a: Sequence[str], b: Sequence[str]) -> Iterator[Block]:
    """Yield the blocks of two texts without the words that both begin and end with."""
    if _is_quick(a, b):
        yield from _different(a, b)
        return
    old, new = _sentences(a), _sentences(b)
    texts, others = ([tuple(words[i:j]) for i, j in pairwise(ends)] for words, ends in ((a, old), (b, new)))
    for first, last, start, stop in _different(texts, others):
        i, j, k, m = old[first], old[last], new[start], new[stop]
        inside = _different(a[i:j], b[k:m]) if _is_quick(a[i:j], b[k:m]) else [(0, j - i, 0, m - k)]
        yield from ((i + p, i + q, k + r, k + s) for p, q, r, s in inside)


def _is_quick(a: Sequence[str], b: Sequence[str]) -> bool:
    counts = Counter(b)
    return sum(counts[word] for word in a) <= _MOST_PAIRS


def _different(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Block]:
    # What repeats a hundred times among sentences would take its square of time; words are few where they come here.
    matcher = SequenceMatcher(None, a, b, autojunk=bool(a) and isinstance(a[0], tuple))
    return [(i, j, k, m) for kind, i, j, k, m in matcher.get_opcodes() if kind != "equal"]


def _sentences(words: Sequence[str]) -> list[int]:
    """Return where sentences begin, and the end of the words."""
    return sorted({0, *(i + 1 for i, word in enumerate(words) if word[0] in ".!?"), len(words)})


def _span(words: Sequence[re.Match[str]], i: int, j: int, text: str) -> tuple[int, int]:
    if j > i:
        return words[i].start(), words[j - 1].end()
    place = words[i].start() if i < len(words) else len(text)
    return place, place
