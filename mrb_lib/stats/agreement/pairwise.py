"""Pairs of annotators: who labelled the same cases as whom, in designs with many annotators and missing annotations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.core.options import FloatArray, IntArray
from mrb_lib.stats.resampling.resample import Summands, cell_sums


class PairRows(NamedTuple):
    """One entry each time two annotators labelled the same case.

    Attributes
    ----------
    case : the case
    first, second : the two annotators, first < second
    choice_first, choice_second : their labels
    """

    case: IntArray
    first: IntArray
    second: IntArray
    choice_first: IntArray
    choice_second: IntArray

    def take(self, kept: IntArray) -> PairRows:
        """The entries at some positions."""
        return PairRows(*(values[kept] for values in self))


def pair_rows(case: IntArray, annotator: IntArray, choice: IntArray) -> PairRows:
    """List every two annotations of the same case, from one entry an annotation; by case."""
    order = np.lexsort((annotator, case))
    case, annotator, choice = case[order], annotator[order], choice[order]
    by_lag = []
    lag = 1
    while True:
        left = np.flatnonzero(case[lag:] == case[:-lag]) if lag < len(case) else np.array([], dtype=np.int64)
        if not len(left):
            break
        right = left + lag
        by_lag.append((case[left], annotator[left], annotator[right], choice[left], choice[right]))
        lag += 1
    if not by_lag:
        return PairRows(*(np.array([], dtype=np.int64) for _ in range(5)))
    joined = PairRows(*(np.concatenate(column) for column in zip(*by_lag, strict=True)))
    return joined.take(np.argsort(joined.case, kind="stable"))


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
    """Group `rows` by pair of annotators.

    Parameters
    ----------
    position : the row of each entry's case in the sums, 0 to n_cases - 1
    distances : shape (W, K, K), between the labels
    """
    annotators = pd.DataFrame({"first": rows.first, "second": rows.second})
    pair = annotators.groupby(["first", "second"]).ngroup().to_numpy()
    pairs = annotators.drop_duplicates().sort_values(["first", "second"])
    n = np.bincount(pair, minlength=len(pairs)).astype(np.int64)
    n_distances, n_categories, _ = distances.shape
    start = pair * (n_distances + 2 * n_categories)
    apart = distances[:, rows.choice_first, rows.choice_second]
    columns = [*(start + i for i in range(n_distances)), start + n_distances + rows.choice_first]
    columns.append(start + n_distances + n_categories + rows.choice_second)
    values = np.concatenate([*apart, np.ones(2 * len(start))])
    column, row = np.concatenate(columns), np.tile(position, n_distances + 2)
    kept = values != 0
    shape = (n_cases, len(pairs) * (n_distances + 2 * n_categories))
    sums = cell_sums(row[kept], column[kept], values[kept], shape)
    return Pairs(pairs["first"].to_numpy(), pairs["second"].to_numpy(), n, sums)
