"""Responses to one question that are nearly the same: they would make a pair with nothing to choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mrb_lib.build.construct.answers.marking import normalised

JACCARD: Final = 0.8
_SHINGLE: Final = 3


def alike_groups(texts: Sequence[str | None]) -> list[int | None]:
    """The group of each text: those that are nearly the same share a number, from 0; None for one like no other.

    Parameters
    ----------
    texts : the responses to one item; None, and a text without words, is like no other

    Notes
    -----
    Two texts are nearly the same where Jaccard's index of their shingles of three words, once normalised, is at least
    `JACCARD` (Broder 1997, doi:10.1109/SEQUEN.1997.666900); a text of fewer words is one shingle, so that short ones
    must be equal. A text joins the group of the first text before it that it is like.
    """
    shingles = [_shingles(text) if text is not None else frozenset() for text in texts]
    first: list[int] = []
    for i, own in enumerate(shingles):
        similar = (first[j] for j in range(i) if own and _jaccard(own, shingles[j]) >= JACCARD)
        first.append(next(similar, i))
    shared = sorted({one for i, one in enumerate(first) if one != i})
    number = {one: group for group, one in enumerate(shared)}
    return [number.get(one) for one in first]


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    smaller, larger = sorted((len(one), len(other)))
    # Of two sets whose index is at least t the smaller has at least t times the size of the larger.
    if smaller < JACCARD * larger or not larger:
        return 0.0
    common = len(one & other)
    return common / (len(one) + len(other) - common)


def _shingles(text: str) -> frozenset[str]:
    words = normalised(text).split()
    return frozenset(" ".join(words[i : i + _SHINGLE]) for i in range(max(len(words) - _SHINGLE + 1, 1))) - {""}
