"""What is expected of the choice of the best of n responses, drawn at random from all responses to an item."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Final, NamedTuple

import numpy as np

from mrb_lib.stats.options import BoolArray, FloatArray

MOST_SUBSETS: Final = 1000
_ROUNDING: Final = 1e-9
_AT_ONCE: Final = 2**21


class Chosen(NamedTuple):
    """Means over the subsets of n responses, each of shape (items,).

    Attributes
    ----------
    utility : of the response chosen, a mean over those level at the top
    random, best, worst : the utilities of a choice at random, of the best and of the worst response of the subset
    hit : the probability that the choice is a best response
    """

    utility: FloatArray
    random: FloatArray
    best: FloatArray
    worst: FloatArray
    hit: FloatArray


def choose(utility: FloatArray, picked_by: FloatArray, n: int, *, seed: int) -> Chosen:
    """The best of n by scores, or by wins among the n.

    Parameters
    ----------
    utility : shape (items, k), true worth of each response
    picked_by : scores, shape (items, k); or shape (items, k, k), the share of comparisons with each other response that
        the response of the row won, where the diagonal does not count

    Notes
    -----
    Exact over all subsets, or over `MOST_SUBSETS` drawn at random where there are more.
    """
    count, k = utility.shape
    subset = subsets(k, n, seed)
    step = max(1, _AT_ONCE // subset.size)
    parts = []
    for start in range(0, count, step):
        here = slice(start, start + step)
        parts.append(_of_subsets(utility[here], _strength(subset, picked_by[here]), subset))
    return Chosen(*(np.concatenate(field) for field in zip(*parts, strict=True)))


def subsets(k: int, n: int, seed: int) -> BoolArray:
    """The subsets of n of k as members, shape (subsets, k): all, or `MOST_SUBSETS` of them drawn with replacement."""
    if comb(k, n) <= MOST_SUBSETS:
        members = np.array(list(combinations(range(k), n)))
    else:
        members = np.random.default_rng([seed, k, n]).random((MOST_SUBSETS, k)).argsort(axis=1)[:, :n]
    out = np.zeros((len(members), k), dtype=bool)
    np.put_along_axis(out, members, values=True, axis=1)
    return out


def _strength(subset: BoolArray, picked_by: FloatArray) -> FloatArray:
    """What each response of each subset is picked by, shape (items, subsets, k)."""
    if picked_by.ndim == 2:
        return np.repeat(picked_by[:, None, :], len(subset), axis=1)
    diagonal = np.eye(picked_by.shape[1], dtype=bool)
    return np.asarray(subset.astype(np.float64) @ np.where(diagonal, 0.0, picked_by).transpose(0, 2, 1))


def _of_subsets(utility: FloatArray, strength: FloatArray, subset: BoolArray) -> Chosen:
    worth = np.broadcast_to(utility[:, None, :], strength.shape)
    most = np.where(subset, strength, -np.inf).max(axis=2, keepdims=True)
    level = subset & (strength >= most - _ROUNDING * np.maximum(1.0, np.abs(most)))
    best = np.where(subset, worth, -np.inf).max(axis=2)
    worst = np.where(subset, worth, np.inf).min(axis=2)
    chosen = (worth * level).sum(axis=2) / level.sum(axis=2)
    hit = (level & (worth >= best[..., None] - _ROUNDING)).sum(axis=2) / level.sum(axis=2)
    random = (worth * subset).sum(axis=2) / subset.sum(axis=1)
    return Chosen(*(each.mean(axis=1) for each in (chosen, random, best, worst, hit)))
