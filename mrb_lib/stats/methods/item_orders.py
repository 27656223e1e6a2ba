"""Items with several responses, compared in pairs: the orders of the responses, and the choice of the best."""

from itertools import combinations
from math import comb
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.case_digests import item_keys
from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, divide, sums_by
from mrb_lib.stats.methods.rank_agreement import kendall

MOST_SUBSETS: Final = 1000
_ROUNDING: Final = 1e-9


class ItemResponses(NamedTuple):
    """The different responses of each item, and which two of them a case compares.

    Attributes
    ----------
    item : shape (cases,), the item of each case, 0 to the number of items - 1
    a, b : shape (cases,), the two responses of each case, among those of all items
    of_response : shape (responses,), the item of each; ascending
    """

    item: IntArray
    a: IntArray
    b: IntArray
    of_response: IntArray

    @property
    def size(self) -> IntArray:
        """The number of different responses of each item, shape (items,)."""
        return np.bincount(self.of_response).astype(np.int64)

    def means(self, values: FloatArray) -> FloatArray:
        """Return the mean of each response over its cases of two different responses, shape (responses, ...).

        Parameters
        ----------
        values : shape (..., cases, 2), of A and of B; NaN does not count
        """
        own = np.concatenate(np.where((self.a != self.b)[:, None], values, np.nan).T)
        codes = np.concatenate([self.a, self.b])
        return divide(sums_by(codes, np.nan_to_num(own)), sums_by(codes, np.isfinite(own)))


def item_responses(cases: pd.DataFrame) -> ItemResponses:
    """Return the items of a cases table, see `items.item_keys`, and their responses, told apart by their text."""
    item = pd.factorize(item_keys(cases))[0].astype(np.int64)
    texts = pd.factorize(pd.concat([cases["response_a"], cases["response_b"]]).astype("str"))[0]
    distinct, code = np.unique(np.stack([np.tile(item, 2), texts]), axis=1, return_inverse=True)
    a, b = code.reshape(2, -1).astype(np.int64)
    return ItemResponses(item, a, b, distinct[0])


def compare_orders(items: ItemResponses, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return Kendall's tau-b of two orders of the responses to every item, shape (items, m).

    An order is by the share of its pairs that a response wins. Pairs that only one side decides do not count.

    Parameters
    ----------
    first, second : shapes (cases, 2) and (m, cases, 2), `shares` of the comparisons of one side and of m others

    Returns
    -------
    NaN where an item has a response in no pair that both sides decide, and where a side puts all on one place
    """
    both = np.isfinite(first + second)
    x, y = (items.means(np.where(both, side, np.nan)) for side in (first, second))
    start, out = np.cumsum(items.size) - items.size, np.empty((len(items.size), x.shape[1]))
    for size in np.unique(items.size):
        alike = np.flatnonzero(items.size == size)
        own = start[alike] + np.arange(size)[:, None]
        out[alike] = kendall(x[own], y[own])
    return out


def picks(
    items: ItemResponses, label: FloatArray, said: FloatArray, judged: BoolArray, scores: FloatArray | None, seed: int
) -> pd.DataFrame:
    """Let a judge pick the best of n responses to each item, for every n.

    Parameters
    ----------
    label, said : shape (cases, 2), `shares` of the gold labels and of the verdicts
    judged : shape (cases,), whether there is a verdict
    scores : shape (cases, 2), what the judge scored A and B; None picks by what the verdicts say

    Returns
    -------
    DataFrame
        One row per item and n: `item`, `best_of`, `is_complete` (every pair of its responses has a label, every case a
        verdict, and where the judge scores every response a score), `coverage` (the share of its cases with a choice),
        and the columns of `choose`, null where it is not complete. The utility of a response is the share of its pairs
        that it wins by the labels; an unanswered pair is a tie
    """
    start, size = np.cumsum(items.size) - items.size, items.size[items.item]
    score, frames = None if scores is None else items.means(scores), []
    for k in np.unique(size[items.a != items.b]).tolist():
        case = np.flatnonzero((size == k) & (items.a != items.b))
        names, item = np.unique(items.item[case], return_inverse=True)
        a, b = (side[case] - start[items.item[case]] for side in (items.a, items.b))
        place = np.concatenate([(item, a, b), (item, b, a)], axis=1)
        labelled, wins = (_beside(place, side[case], (len(names), k, k)) for side in (label, said))
        wins = np.nan_to_num(wins, nan=0.5)
        if score is not None:
            wins = np.repeat(score[start[names, None] + np.arange(k)][:, :, None], k, axis=2)
        kept = (np.isfinite(labelled).sum(axis=(1, 2)) == k * (k - 1)) & np.isfinite(wins).all(axis=(1, 2))
        kept &= np.bincount(item, ~judged[case]) == 0
        coverage = np.bincount(item, np.isfinite(said[case, 0])) / np.bincount(item)
        rows = pd.DataFrame({"item": names, "is_complete": kept, "coverage": coverage})
        utility = np.nansum(labelled, axis=2) / (k - 1)
        for n in range(2, k + 1):
            chosen = choose(utility[kept], wins[kept], n, seed=seed).set_index(rows.index[kept])
            frames.append(rows.assign(best_of=n).join(chosen))
    return pd.concat(frames, ignore_index=True)


def _beside(place: IntArray, values: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Return the mean of what responses (rows) gain beside others (columns), NaN without any.

    Parameters
    ----------
    place : shape (3, 2 cases), item, response and the one beside it, of A of each case, then B
    values : shape (cases, 2)
    """
    sums, counts = np.zeros((2, *shape))
    np.add.at(sums, tuple(place), np.nan_to_num(values.T.ravel()))
    np.add.at(counts, tuple(place), np.isfinite(values.T.ravel()))
    return divide(sums, counts)


def choose(utility: FloatArray, wins: FloatArray, n: int, *, seed: int) -> pd.DataFrame:
    """Choose the response that wins most among the n: exactly over all subsets, or over `MOST_SUBSETS` random ones.

    Parameters
    ----------
    utility : shape (items, k), true worth of each response
    wins : shape (items, k, k), what the response of the row gains from meeting each other one; its score where the
        judge scores responses. The diagonal does not count

    Returns
    -------
    DataFrame
        One row per item, of means over the subsets: `utility` of the response chosen, a mean over those level at the
        top; `random` and `best`, the utilities of a random choice and of the best response; `hit`, the probability that
        the choice is a best response
    """
    drawn = subsets(utility.shape[1], n, seed) if len(utility) else np.zeros((1, n), dtype=np.int64)
    sums = np.zeros((4, len(utility)))
    for members in drawn:
        worth, won = utility[:, members], (wins[:, members[:, None], members] * ~np.eye(n, dtype=bool)).sum(axis=2)
        most, best = won.max(axis=1, keepdims=True), worth.max(axis=1, keepdims=True)
        level = won >= most - _ROUNDING * np.maximum(1.0, np.abs(most))
        hit = level & (worth >= best - _ROUNDING)
        of_chosen = [(each * level).sum(axis=1) / level.sum(axis=1) for each in (worth, hit)]
        sums += [of_chosen[0], worth.mean(axis=1), best[:, 0], of_chosen[1]]
    return pd.DataFrame(sums.T / len(drawn), columns=["utility", "random", "best", "hit"])


def subsets(k: int, n: int, seed: int) -> IntArray:
    """Return the subsets of n of k, shape (subsets, n): all, or `MOST_SUBSETS` of them, drawn."""
    if comb(k, n) <= MOST_SUBSETS:
        return np.array(list(combinations(range(k), n)))
    return np.random.default_rng([seed, k, n]).random((MOST_SUBSETS, k)).argsort(axis=1)[:, :n]
