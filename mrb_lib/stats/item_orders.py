"""Items with several responses, compared in pairs: the orders of the responses, and the choice of the best."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from math import comb, prod
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from mrb_lib.benchmarks.items import item_keys
from mrb_lib.stats.comparisons import shares
from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, divide

MOST_SUBSETS: Final = 1000
_DIGITS, _ROUNDING = 9, 1e-9


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


def item_responses(cases: pd.DataFrame) -> ItemResponses:
    """Return the items of a cases table, see `items.item_keys`, and their responses, told apart by their text."""
    item = pd.factorize(item_keys(cases))[0].astype(np.int64)
    texts = pd.factorize(pd.concat([cases["response_a"], cases["response_b"]]).astype("str"))[0]
    distinct, code = np.unique(np.stack([np.tile(item, 2), texts]), axis=1, return_inverse=True)
    a, b = code.reshape(2, -1).astype(np.int64)
    return ItemResponses(item, a, b, distinct[0])


def compare_orders(items: ItemResponses, first: FloatArray, second: FloatArray) -> FloatArray:
    """Compare two orders of the responses of every item, each by the share of its pairs that a response wins.

    Parameters
    ----------
    first, second : comparisons, shape (cases, 3). Pairs that either does not decide count for neither

    Returns
    -------
    Array of shape (3, items): Kendall's tau-b; `edit_distance`, the mean of two, in which equal responses of one side
        stand as the other has them, and the other way round, so that a tie is half a swap; and the share of the
        responses that the second puts first that the first puts first, too. NaN where an item has a response in no pair
        that both decide, and where a side puts all on one place
    """
    used = first.any(axis=1) & second.any(axis=1) & (items.a != items.b)
    x, y = (_win_shares(items, each, used) for each in (first, second))
    size = items.size
    ends = np.cumsum(size)
    complete = (size > 1) & (np.bincount(items.of_response, np.isnan(x)) == 0)
    out = np.full((3, len(size)), np.nan)
    for item in np.flatnonzero(complete):
        own = slice(ends[item] - size[item], ends[item])
        out[:, item] = _compare(tuple(x[own].tolist()), tuple(y[own].tolist()))
    return out


def _win_shares(items: ItemResponses, outcomes: FloatArray, used: BoolArray) -> FloatArray:
    """Return the share of its pairs that each response wins, a tie being half a win; NaN without a pair."""
    a, b, won, n = items.a[used], items.b[used], shares(outcomes[used]), len(items.of_response)
    wins = np.bincount(a, won[:, 0], n) + np.bincount(b, won[:, 1], n)
    return divide(wins, np.bincount(a, minlength=n) + np.bincount(b, minlength=n)).round(_DIGITS)


@lru_cache(maxsize=100_000)  # most items have few responses, and so few different orders
def _compare(x: tuple[float, ...], y: tuple[float, ...]) -> tuple[float, float, float]:
    """Compare the shares that the responses to one item win by two sides, as `compare_orders` does."""
    if min(x) == max(x) or min(y) == max(y):
        return np.nan, np.nan, np.nan
    distance = 0.0
    for sign in (1, -1):  # equals of one side as the other has them, then the other way round
        one = sorted(range(len(x)), key=lambda i: (-x[i], -sign * y[i]))
        other = sorted(range(len(x)), key=lambda i: (-y[i], -sign * x[i]))
        distance += edit_distance(one, other) / 2
    best, chosen = ({i for i, share in enumerate(side) if share == max(side)} for side in (x, y))
    return round(float(kendalltau(x, y).statistic), _DIGITS), distance, len(best & chosen) / len(chosen)


def edit_distance(first: Sequence[object], second: Sequence[object]) -> float:
    """Return the Levenshtein distance of two sequences, divided by the length of the longer one."""
    row = list(range(len(second) + 1))
    for i, one in enumerate(first):
        above, row = row, [i + 1]
        for j, other in enumerate(second):
            row.append(min(above[j + 1] + 1, row[j] + 1, above[j] + (one != other)))
    return row[-1] / max(len(first), len(second))


class CompleteItems(NamedTuple):
    """Items of one size in which every pair of responses is labelled, and every case judged.

    Attributes
    ----------
    size, n_excluded : how many responses each item has, and how many items of that size are not complete
    items, coverage : shape (n,), the items, and the share of the cases of each to which the judge gave a choice
    utility : shape (n, size), the share of its pairs that each response wins by the gold labels
    wins : shape (n, size, size), as in `choose`; 1/2 where a pair is unanswered
    """

    size: int
    n_excluded: int
    items: IntArray
    coverage: FloatArray
    utility: FloatArray
    wins: FloatArray


def complete_items(
    items: ItemResponses, label: FloatArray, said: FloatArray, judged: BoolArray, scores: FloatArray | None
) -> list[CompleteItems]:
    """Return the items that count for a judge, those of one size together, fewer responses first.

    Parameters
    ----------
    label, said : shape (cases, 2), `shares` of the gold labels and of the verdicts
    judged : shape (cases,), whether there is a verdict
    scores : shape (cases, 2), what the judge scored A and B; None takes what the verdicts say
    """
    start, size = np.cumsum(items.size) - items.size, items.size[items.item]
    found = []
    for k in np.unique(size[items.a != items.b]).tolist():
        case = np.flatnonzero((size == k) & (items.a != items.b))
        names, item = np.unique(items.item[case], return_inverse=True)
        a, b = (side[case] - start[items.item[case]] for side in (items.a, items.b))
        pair = np.concatenate([(item * k + a) * k + b, (item * k + b) * k + a])  # A beside B, then B beside A
        shape = len(names), k, k
        labelled = divide(*_totals(pair, label[case], shape))
        won, counted = _totals(pair, (said if scores is None else scores)[case], shape)
        if scores is None:
            wins = np.nan_to_num(divide(won, counted), nan=0.5)
        else:
            wins = np.repeat(divide(won.sum(axis=2), counted.sum(axis=2))[:, :, None], k, axis=2)
        n_cases = np.bincount(item)
        kept = (np.isfinite(labelled).sum(axis=(1, 2)) == k * (k - 1)) & np.isfinite(wins).all(axis=(1, 2))
        kept &= np.bincount(item, judged[case]) == n_cases
        coverage = np.bincount(item, np.isfinite(said[case, 0])) / n_cases
        utility = np.nansum(labelled, axis=2) / (k - 1)
        found.append(CompleteItems(k, int((~kept).sum()), names[kept], coverage[kept], utility[kept], wins[kept]))
    return found


def _totals(pair: IntArray, values: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Sum what responses (rows) gain beside others (columns), and count it; of A, then B, of each case."""
    gained, out = values.T.ravel(), np.zeros((2, prod(shape)))
    np.add.at(out[0], pair, np.nan_to_num(gained))
    np.add.at(out[1], pair, np.isfinite(gained))
    return out.reshape(2, *shape)


class Chosen(NamedTuple):
    """Means over the subsets of n responses, each of shape (items,).

    Attributes
    ----------
    utility : of the response chosen, a mean over those level at the top
    random, best : the utilities of a choice at random, and of the best response of the subset
    hit : the probability that the choice is a best response
    """

    utility: FloatArray
    random: FloatArray
    best: FloatArray
    hit: FloatArray


def choose(utility: FloatArray, wins: FloatArray, n: int, *, seed: int) -> Chosen:
    """Choose the response that wins most among the n: exactly over all subsets, or over `MOST_SUBSETS` random ones.

    Parameters
    ----------
    utility : shape (items, k), true worth of each response
    wins : shape (items, k, k), what the response of the row gains from meeting each other one; its score where the
        judge scores responses. The diagonal does not count
    """
    drawn = subsets(utility.shape[1], n, seed)
    sums = np.zeros((4, len(utility)))
    for members in drawn:
        worth, won = utility[:, members], (wins[:, members[:, None], members] * ~np.eye(n, dtype=bool)).sum(axis=2)
        most, best = won.max(axis=1, keepdims=True), worth.max(axis=1, keepdims=True)
        level = won >= most - _ROUNDING * np.maximum(1.0, np.abs(most))
        hit = level & (worth >= best - _ROUNDING)
        sums += [
            (worth * level).sum(axis=1) / level.sum(axis=1),
            worth.mean(axis=1),
            best[:, 0],
            hit.sum(axis=1) / level.sum(axis=1),
        ]
    return Chosen(*(sums / len(drawn)))


def subsets(k: int, n: int, seed: int) -> IntArray:
    """Return the subsets of n of k, shape (subsets, n): all, or `MOST_SUBSETS` of them, drawn."""
    if comb(k, n) <= MOST_SUBSETS:
        return np.array(list(combinations(range(k), n)))
    return np.random.default_rng([seed, k, n]).random((MOST_SUBSETS, k)).argsort(axis=1)[:, :n]
