"""Orders of the responses to an item, from the pairs compared, and how far two of them agree. Arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.benchmarks.items import item_keys
from mrb_lib.stats.estimation import divide
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray
from mrb_lib.stats.panel import TIE
from mrb_lib.tables.schema import CHOICES

_A, _B = CHOICES.index("A"), CHOICES.index("B")
_DIGITS = 9


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
    def n_items(self) -> int:
        """The number of items."""
        return int(self.item.max(initial=-1)) + 1

    @property
    def size(self) -> IntArray:
        """The different responses of each item, shape (items,)."""
        return np.bincount(self.of_response, minlength=self.n_items).astype(np.int64)


class OrderAgreement(NamedTuple):
    """How far two orders of an item's responses agree, each of shape (items,); NaN where one of them is no order.

    Attributes
    ----------
    kendall : tau-b
    edit_distance : Levenshtein distance of the two sequences, divided by their length; the mean of two, in which equal
        responses of one side stand as the other has them, and the other way round, so that a tie is half a swap
    top_1 : share of the responses that the second puts first that the first puts first, too
    is_compared : every response of the item is in a pair that both decide, and there are two at least
    """

    kendall: FloatArray
    edit_distance: FloatArray
    top_1: FloatArray
    is_compared: BoolArray


def item_responses(cases: pd.DataFrame) -> ItemResponses:
    """The items of a cases table, see `items.item_keys`, and their responses, told apart by their text."""
    item = pd.factorize(item_keys(cases))[0].astype(np.int64)
    texts = pd.factorize(pd.concat([cases["response_a"], cases["response_b"]]).astype("str"))[0]
    pairs = np.stack([np.tile(item, 2), texts])
    distinct, code = np.unique(pairs, axis=1, return_inverse=True)
    a, b = np.split(code.ravel().astype(np.int64), 2)
    return ItemResponses(item, a, b, distinct[0])


def win_shares(items: ItemResponses, outcomes: FloatArray, counted: BoolArray) -> FloatArray:
    """The share of its pairs that each response wins, a tie being half a win, shape (responses,); NaN without a pair.

    Parameters
    ----------
    outcomes : shape (cases, 3), how much of each case is a choice of A, of B, and a tie
    counted : shape (cases,), the pairs that count
    """
    used = counted & (items.a != items.b)
    a, b, n = items.a[used], items.b[used], len(items.of_response)
    share = divide(outcomes[used], outcomes[used].sum(axis=1, keepdims=True))
    wins = np.bincount(a, share[:, _A] + share[:, TIE] / 2, n) + np.bincount(b, share[:, _B] + share[:, TIE] / 2, n)
    met = np.bincount(a, minlength=n) + np.bincount(b, minlength=n)
    return divide(wins.astype(np.float64), met.astype(np.int64)).round(_DIGITS)


def compare_orders(items: ItemResponses, first: FloatArray, second: FloatArray) -> OrderAgreement:
    """Compare two orders of the responses of every item.

    Parameters
    ----------
    first, second : comparisons, shape (cases, 3). Pairs that either does not decide count for neither; the order is by
        the share of its pairs that a response wins, and equal shares are equal places
    """
    both = (first.sum(axis=1) > 0) & (second.sum(axis=1) > 0)
    x, y = (win_shares(items, one, both) for one in (first, second))
    lacking = np.bincount(items.of_response, np.isnan(x), minlength=items.n_items)
    is_compared = np.asarray((lacking == 0) & (items.size >= 2), dtype=bool)
    i, j = _pairs_of(items.of_response)
    dx, dy = np.sign(x[i] - x[j]), np.sign(y[i] - y[j])
    sums = [
        np.bincount(items.of_response[i], np.nan_to_num(each), minlength=items.n_items)
        for each in (dx * dy, dx**2, dy**2)
    ]
    kendall = np.where(is_compared, divide(sums[0].astype(np.float64), np.sqrt(sums[1] * sums[2])), np.nan)
    is_order = np.isfinite(kendall)
    bounds = np.searchsorted(items.of_response, np.arange(items.n_items + 1))
    edit = np.full(items.n_items, np.nan)
    top = np.full(items.n_items, np.nan)
    for item in np.flatnonzero(is_order):
        own = slice(bounds[item], bounds[item + 1])
        edit[item], top[item] = _distance_and_top(tuple(x[own].tolist()), tuple(y[own].tolist()))
    return OrderAgreement(kendall, edit, top, is_compared)


@lru_cache(maxsize=100_000)  # most items have few responses, and so few different orders
def _distance_and_top(x: tuple[float, ...], y: tuple[float, ...]) -> tuple[float, float]:
    """Return `edit_distance` and `top_1` of `OrderAgreement` for one item, from the shares that its responses win."""
    distances = [
        edit_distance(_sequence(x, [sign * share for share in y]), _sequence(y, [sign * share for share in x]))
        for sign in (1, -1)
    ]
    best, chosen = ({i for i, share in enumerate(of) if share == max(of)} for of in (x, y))
    return sum(distances) / 2, len(best & chosen) / len(chosen)


def edit_distance(first: Sequence[object], second: Sequence[object]) -> float:
    """The Levenshtein distance of two sequences, divided by the length of the longer one."""
    row = list(range(len(second) + 1))
    for i, one in enumerate(first):
        above, row = row, [i + 1]
        for j, other in enumerate(second):
            row.append(min(above[j + 1] + 1, row[j] + 1, above[j] + (one != other)))
    return row[-1] / max(len(first), len(second))


def _sequence(share: Sequence[float], of_equals: Sequence[float]) -> list[int]:
    """Return the responses from best to worst; of equal ones that first which is better by the second."""
    return sorted(range(len(share)), key=lambda i: (-share[i], -of_equals[i]))


def _pairs_of(of_response: IntArray) -> tuple[IntArray, IntArray]:
    """Each two responses of one item, by their positions."""
    ends = np.searchsorted(of_response, of_response, side="right")
    position = np.arange(len(of_response))
    later = ends - position - 1
    first = np.repeat(position, later)
    step = np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
    return first.astype(np.int64), (first + step + 1).astype(np.int64)
