"""Which words a probe changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final

_TOKEN: Final = re.compile(r"[^\W_]+(?:['\u2019.,/-][^\W_]+)*|[^\w\s]+|_+")
_MOST_WORDS: Final = 2000
_MOST_PAIRS: Final = 100_000  # equal words at different places; comparing takes about this long, several times over

Block = tuple[int, int, int, int]
"""Places `i:j` of one list against `k:m` of another."""


def changed_words(before: str, after: str) -> list[tuple[str, str]]:
    """The runs of words that differ between two texts, in order: what was there and what is; either may be empty.

    Texts are compared word by word as far as that is quick. In a long one each sentence that changed is then compared
    with the sentence in its place, and where much of it changed a run may hold words that are in both.

    Examples
    --------
    >>> changed_words("A nodule in the left lung.", "A nodule in the right lung.")
    [('left', 'right')]
    """
    return [(before[i:j], after[k:m]) for i, j, k, m in spans(before, after)]


def marked(before: str, after: str) -> str:
    """The text after a change, with what was taken out in [-brackets-] and what was put in as {+these+}."""
    pieces, place = [], 0
    for i, j, k, m in spans(before, after):
        pieces.append(after[place:k])
        pieces += [f"[-{before[i:j]}-]"] if j > i else []
        pieces += [f"{{+{after[k:m]}+}}"] if m > k else []
        place = m
    return "".join([*pieces, after[place:]])


def spans(before: str, after: str) -> list[Block]:
    """Where the runs of words that differ stand in both texts, in characters."""
    if before == after:
        return []
    head = _shared(before, after, 1)
    tail = _shared(before[head:], after[head:], -1)
    before, after = before[head : len(before) - tail], after[head : len(after) - tail]
    old, new = list(_TOKEN.finditer(before)), list(_TOKEN.finditer(after))
    blocks = _blocks([word[0] for word in old], [word[0] for word in new])
    spans = [(*_span(old, i, j, before), *_span(new, k, m, after)) for i, j, k, m in blocks]
    return [(i + head, j + head, k + head, m + head) for i, j, k, m in spans]


def _shared(a: str, b: str, step: int) -> int:
    """How many letters of whole words both texts begin with; end with, for a step of -1."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        is_same = a[:middle] == b[:middle] if step > 0 else a[-middle:] == b[-middle:]
        low, high = (middle, high) if is_same else (low, middle - 1)
    while low and not (a[low - 1] if step > 0 else a[-low]).isspace():
        low -= 1
    return low


def _blocks(a: Sequence[str], b: Sequence[str]) -> list[Block]:
    i, j, k, m = _trimmed(a, b)
    if i == j and k == m:
        return []
    a, b = a[i:j], b[k:m]
    if not a or not b:
        return [(i, j, k, m)]
    found = _matched(a, b) if _is_quick(a, b) else _by_sentence(a, b)
    return [(i + first, i + last, k + start, k + stop) for first, last, start, stop in found]


def _trimmed(a: Sequence[str], b: Sequence[str]) -> Block:
    """What is left of both without the words that both begin and end with."""
    most = min(len(a), len(b))
    head = next((place for place in range(most) if a[place] != b[place]), most)
    tail = next((place for place in range(most - head) if a[-1 - place] != b[-1 - place]), most - head)
    return head, len(a) - tail, head, len(b) - tail


def _is_quick(a: Sequence[str], b: Sequence[str]) -> bool:
    if max(len(a), len(b)) >= _MOST_WORDS:
        return False
    counts = Counter(b)
    return sum(counts[word] for word in a) <= _MOST_PAIRS


def _matched(a: Sequence[str], b: Sequence[str]) -> list[Block]:
    codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return [(i, j, k, m) for kind, i, j, k, m in codes if kind != "equal"]


def _by_sentence(a: Sequence[str], b: Sequence[str]) -> list[Block]:
    """Sentences that occur once in both texts stay in place; what lies between two of them is compared by itself."""
    old, new = _sentences(a), _sentences(b)
    out: list[Block] = []
    for first, last, start, stop in _between_anchors(a, b, old, new):
        pairs = [(first, last, start, stop)]
        if last - first == stop - start:
            pairs = [(i, i + 1, start + i - first, start + i - first + 1) for i in range(first, last)]
        for i, j, k, m in pairs:
            out += _inside(a, b, (old[i], old[j], new[k], new[m]))
    return out


def _inside(a: Sequence[str], b: Sequence[str], block: Block) -> Iterator[Block]:
    i, j, k, m = block
    part, other = a[i:j], b[k:m]
    first, last, start, stop = _trimmed(part, other)
    if first == last and start == stop:
        return
    part, other = part[first:last], other[start:stop]
    found = _matched(part, other) if _is_quick(part, other) else [(0, len(part), 0, len(other))]
    for p, q, r, s in found:
        yield i + first + p, i + first + q, k + start + r, k + start + s


def _sentences(words: Sequence[str]) -> list[int]:
    """Where sentences begin, and the end of the words."""
    ends = [i + 1 for i, word in enumerate(words) if word[0] in ".!?"]
    return sorted({0, *ends, len(words)})


def _between_anchors(a: Sequence[str], b: Sequence[str], old: list[int], new: list[int]) -> Iterator[Block]:
    """The runs of sentences that are not the same in both, as places in `old` and `new`."""
    texts = [tuple(a[i:j]) for i, j in pairwise(old)]
    others = [tuple(b[i:j]) for i, j in pairwise(new)]
    counts, seen = Counter(texts), Counter(others)
    place = {text: i for i, text in enumerate(others)}
    i = k = 0
    for j, text in enumerate(texts):
        if counts[text] == 1 and seen[text] == 1 and place[text] >= k:
            if j > i or place[text] > k:
                yield i, j, k, place[text]
            i, k = j + 1, place[text] + 1
    if i < len(texts) or k < len(others):
        yield i, len(texts), k, len(others)


def _span(words: Sequence[re.Match[str]], i: int, j: int, text: str) -> tuple[int, int]:
    if j > i:
        return words[i].start(), words[j - 1].end()
    place = words[i].start() if i < len(words) else len(text)
    return place, place
