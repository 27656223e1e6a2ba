"""Expected worth of the best of n responses, drawn at random from all responses to an item."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Final, NamedTuple

import numpy as np

from mrb_lib.stats.estimation import BoolArray, FloatArray

MOST_SUBSETS: Final = 1000
_ROUNDING, _AT_ONCE = 1e-9, 2**21


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


def choose(utility: FloatArray, wins: FloatArray, n: int, *, seed: int) -> Chosen:
    """Choose the response that wins most among the n: exactly over all subsets, or over `MOST_SUBSETS` random ones.

    Parameters
    ----------
    utility : shape (items, k), true worth of each response
    wins : shape (items, k, k), what the response of the row gains from meeting each other one; its score where the
        judge scores responses. The diagonal does not count
    """
    members = subsets(utility.shape[1], n, seed)
    of_others = np.where(np.eye(utility.shape[1], dtype=bool), 0.0, wins).transpose(0, 2, 1)
    step = max(1, _AT_ONCE // members.size)
    parts = []
    for start in range(0, len(utility), step):
        strength = members.astype(np.float64) @ of_others[start : start + step]
        worth = np.broadcast_to(utility[start : start + step, None, :], strength.shape)
        most = np.where(members, strength, -np.inf).max(axis=2, keepdims=True)
        level = members & (strength >= most - _ROUNDING * np.maximum(1.0, np.abs(most)))
        best = np.where(members, worth, -np.inf).max(axis=2)
        is_best, count = worth >= best[..., None] - _ROUNDING, level.sum(axis=2)
        of_subsets = (
            (worth * level).sum(axis=2) / count,
            (worth * members).sum(axis=2) / n,
            best,
            np.where(members, worth, np.inf).min(axis=2),
            (level & is_best).sum(axis=2) / count,
        )
        parts.append([each.mean(axis=1) for each in of_subsets])
    return Chosen(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def subsets(k: int, n: int, seed: int) -> BoolArray:
    """Return the subsets of n of k as members, shape (subsets, k): all, or `MOST_SUBSETS` of them, drawn."""
    if comb(k, n) <= MOST_SUBSETS:
        members = np.array(list(combinations(range(k), n)))
    else:
        members = np.random.default_rng([seed, k, n]).random((MOST_SUBSETS, k)).argsort(axis=1)[:, :n]
    out = np.zeros((len(members), k), dtype=bool)
    np.put_along_axis(out, members, values=True, axis=1)
    return out
