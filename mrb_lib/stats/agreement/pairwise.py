"""Pairs of annotators: who labelled the same cases as whom, in designs with many annotators and missing annotations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.options import FloatArray, IntArray
from mrb_lib.stats.resampling.resample import Summands, cell_sums


class PairRows(NamedTuple):
    """Every two annotations of the same case: the annotators `first` < `second` and their labels, as codes."""

    case: IntArray
    first: IntArray
    second: IntArray
    choice_first: IntArray
    choice_second: IntArray


def pair_rows(case: IntArray, annotator: IntArray, choice: IntArray) -> PairRows:
    """List every two annotations of the same case, from one entry an annotation."""
    order = np.lexsort((annotator, case))
    case, annotator, choice = case[order], annotator[order], choice[order]
    later = np.searchsorted(case, case, side="right") - np.arange(len(case)) - 1
    one = np.repeat(np.arange(len(case)), later)
    other = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(later) - later, later)
    differ = annotator[one] < annotator[other]
    one, other = one[differ], other[differ]
    return PairRows(case[one], annotator[one], annotator[other], choice[one], choice[other])


class Pairs(NamedTuple):
    """The pairs of annotators that share cases, and what each case adds to their sums.

    Attributes
    ----------
    first, second : shape (P,), the annotators
    n : shape (P,), cases they share
    sums : shape (cases, P * (W + 2K)): for each pair W distances between the two labels,
        the first one's label, the second one's label
    """

    first: IntArray
    second: IntArray
    n: IntArray
    sums: Summands

    def only(self, kept: IntArray) -> Pairs:
        """The pairs at some positions."""
        if len(kept) == len(self.n):
            return self
        width = self.sums.shape[1] // len(self.n)
        columns = (kept[:, None] * width + np.arange(width)).ravel()
        return Pairs(self.first[kept], self.second[kept], self.n[kept], self.sums[:, columns])

    def shared_by(self, n: int) -> Pairs:
        """The pairs that share at least `n` cases."""
        return self.only(np.flatnonzero(self.n >= n))

    def total(self) -> FloatArray:
        """The sums over all cases, shape (1, P * (W + 2K))."""
        return np.asarray(self.sums.sum(axis=0), dtype=np.float64).reshape(1, -1)


def collect(rows: PairRows, position: IntArray, n_cases: int, distances: FloatArray) -> Pairs:
    """Group rows of `pair_rows` by pair of annotators.

    Parameters
    ----------
    position : of each row the row of its case in the sums; below 0 leaves it out
    distances : shape (W, K, K)
    """
    kept = position >= 0
    position = position[kept]
    first, second, choice_1, choice_2 = (values[kept] for values in rows[1:])
    width = int(second.max(initial=0)) + 1
    pairs, pair, n = np.unique(first * width + second, return_inverse=True, return_counts=True)
    n_distances, n_categories, _ = distances.shape
    start = pair * (n_distances + 2 * n_categories)
    apart = distances[:, choice_1, choice_2]
    columns = [*(start + i for i in range(n_distances)), start + n_distances + choice_1]
    columns.append(start + n_distances + n_categories + choice_2)
    values = np.concatenate([*apart, np.ones(2 * len(start))])
    column, row = np.concatenate(columns), np.tile(position, n_distances + 2)
    shape = (n_cases, len(pairs) * (n_distances + 2 * n_categories))
    sums = cell_sums(row[values != 0], column[values != 0], values[values != 0], shape)
    return Pairs(pairs // width, pairs % width, n, sums)
