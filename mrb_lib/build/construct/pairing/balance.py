"""Pairs of responders for items so that every two meet as often, overall and within every organ."""

from itertools import pairwise

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray

NONE = -1
SIMILAR_LENGTH = 1.5


def length_band(length: FloatArray, pairs: IntArray) -> IntArray:
    """Return how the lengths of two responses compare: 0 the first is much longer, 1 similar, 2 the second is.

    Parameters
    ----------
    length : shape (n, r), characters; NaN where there is no response
    pairs : shape (p, 2)

    Returns
    -------
    shape (n, p); much longer is by a factor above `SIMILAR_LENGTH`
    """
    ratio = np.nan_to_num((length[:, pairs[:, 0]] + 1) / (length[:, pairs[:, 1]] + 1), nan=1.0)
    return np.where(ratio > SIMILAR_LENGTH, 0, np.where(ratio < 1 / SIMILAR_LENGTH, 2, 1)).astype(np.int64)


def balanced_pairs(
    allowed: BoolArray, per_item: int, strata: IntArray, band: IntArray, rng: np.random.Generator
) -> IntArray:
    """Pairs that meet as equally often as what is allowed lets them.

    Parameters
    ----------
    allowed : shape (n, p), which of the p pairs of responders an item may have
    per_item : pairs an item, at least 1
    strata : shape (n,), the organ of each item, as whole numbers from 0
    band : shape (n, p), see `length_band`

    Returns
    -------
    shape (n, per_item), the pairs of each item, `NONE` where it has no more

    Notes
    -----
    Items are taken organ by organ, in random order, and each gets the pair that met least often in its organ, then
    overall, then with lengths that compare so. Where every item may have every pair, the numbers of meetings differ by
    one at most overall and, with one pair an item, in every organ. Where responses are missing, items then change
    their pair along shortest paths from a pair that meets too often to one that meets too rarely, as long as that
    evens the meetings out.
    Validated in `tests/build/construct/pairing/test_balance.py`.
    """
    n, p = allowed.shape
    chosen = np.full((n, per_item), NONE, dtype=np.int64)
    taken = ~allowed
    in_organ = np.zeros((int(strata.max(initial=0)) + 1, p), dtype=np.int64)
    overall, by_band = np.zeros(p, dtype=np.int64), np.zeros((p, 3), dtype=np.int64)
    every = np.arange(p)
    shuffled = rng.permutation(n)
    for place in range(per_item):
        for item in shuffled[np.argsort(strata[shuffled], kind="stable")]:
            free = every[~taken[item]]
            if not len(free):
                continue
            organ = strata[item]
            for counts in (in_organ[organ], overall, by_band[every, band[item]]):
                free = free[counts[free] == counts[free].min()]
            pair = free[rng.integers(len(free))]
            chosen[item, place], taken[item, pair] = pair, True
            in_organ[organ, pair] += 1
            overall[pair] += 1
            by_band[pair, band[item, pair]] += 1
    return _evened(chosen, allowed, rng)


def first_shown(pair: IntArray, longer: IntArray, rng: np.random.Generator) -> BoolArray:
    """Return which cases have the second responder of their pair as response A.

    Parameters
    ----------
    pair : shape (n,), the pair of each case
    longer : shape (n,), -1 its second response is shorter, 0 as long, 1 longer

    Returns
    -------
    shape (n,); of every pair half (or one more or less), and so among its cases whose second response is longer
    """
    order = np.lexsort((rng.random(len(pair)), longer, pair))
    cases = pd.Series(order).groupby(pair[order])
    place = cases.cumcount().to_numpy() + rng.integers(2, size=cases.ngroups)[cases.ngroup().to_numpy()]
    out = np.zeros(len(pair), dtype=bool)
    out[order] = place % 2 == 1
    return out


def annotation_order(pair: IntArray, rng: np.random.Generator) -> IntArray:
    """A random order, as places from 0, in which each case of a pair waits until every pair had as many."""
    order = np.lexsort((rng.random(len(pair)), pair))
    within = np.empty(len(pair), dtype=np.int64)
    within[order] = pd.Series(order).groupby(pair[order]).cumcount()
    place = np.empty(len(pair), dtype=np.int64)
    place[np.lexsort((rng.random(len(pair)), within))] = np.arange(len(pair))
    return place


def _evened(chosen: IntArray, allowed: BoolArray, rng: np.random.Generator) -> IntArray:
    """Move items from pairs that meet often to pairs that meet rarely, until no path of moves evens them out."""
    p = allowed.shape[1]
    chosen = chosen.copy()
    while True:
        meetings = np.bincount(chosen[chosen != NONE], minlength=p)
        free = allowed.copy()
        rows, places = np.nonzero(chosen != NONE)
        free[rows, chosen[rows, places]] = False
        moves = np.array([free[rows[chosen[rows, places] == pair]].any(axis=0) for pair in range(p)])
        path = _path(moves, meetings)
        if path is None:
            return chosen
        for source, target in pairwise(path):
            movable = np.flatnonzero((chosen[rows, places] == source) & free[rows, target])
            moved = movable[rng.integers(len(movable))]
            chosen[rows[moved], places[moved]] = target
            free[rows[moved], target], free[rows[moved], source] = False, True


def _path(moves: BoolArray, meetings: IntArray) -> list[int] | None:
    """Pairs from one that meets often to one that it meets at least two more often than, by possible moves."""
    graph = sparse.csr_array(moves.astype(np.int8))
    for source in np.argsort(-meetings, kind="stable").tolist():
        if meetings[source] < meetings.min() + 2:
            return None
        reached, before = breadth_first_order(graph, source, directed=True)
        target = int(reached[np.argmin(meetings[reached])])
        if meetings[target] <= meetings[source] - 2:
            path = [target]
            while path[-1] != source:
                path.append(int(before[path[-1]]))
            return path[::-1]
    return None
