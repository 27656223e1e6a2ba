"""The words that a probe changed."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

_TOKEN: Final = re.compile(r"[^\W_]+(?:['\u2019.,/-][^\W_]+)*|[^\w\s]+|_+")
_MOST_PAIRS: Final = 100_000  # of equal words at any two places; comparing takes about as long, several times over

Block = tuple[int, int, int, int]
"""Places `i:j` of one list against `k:m` of another."""


def changed_words(before: str, after: str) -> list[tuple[str, str]]:
    """Return the runs of words that differ between two texts, in order, as pairs; either of a pair may be empty.

    In a text of thousands of words a run may hold words that are in both.

    Examples
    --------
    >>> changed_words("A nodule in the left lung.", "A nodule in the right lung.")
    [('left', 'right')]
    """
    return [(before[i:j], after[k:m]) for i, j, k, m in spans(before, after)]


def spans(before: str, after: str) -> list[Block]:
    """Return where the runs of words that differ stand in both texts, in characters."""
    old, new = list(_TOKEN.finditer(before)), list(_TOKEN.finditer(after))
    blocks = _blocks([word[0] for word in old], [word[0] for word in new])
    return [(*_span(old, i, j, before), *_span(new, k, m, after)) for i, j, k, m in blocks]


def _blocks(a: Sequence[str], b: Sequence[str]) -> Iterator[Block]:
    most = min(len(a), len(b))
    head = next((place for place in range(most) if a[place] != b[place]), most)
    tail = next((place for place in range(most - head) if a[-1 - place] != b[-1 - place]), most - head)
    old, new = a[head : len(a) - tail], b[head : len(b) - tail]
    counts = Counter(new)
    is_slow = sum(counts[word] for word in old) > _MOST_PAIRS
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=is_slow).get_opcodes():
        if kind != "equal":
            yield i + head, j + head, k + head, m + head


def _span(words: Sequence[re.Match[str]], i: int, j: int, text: str) -> tuple[int, int]:
    if j > i:
        return words[i].start(), words[j - 1].end()
    place = words[i].start() if i < len(words) else len(text)
    return place, place
