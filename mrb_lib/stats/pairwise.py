"""Pairs of annotators: who agrees with whom, in designs with many annotators and missing annotations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from mrb_lib.stats import confusion
from mrb_lib.stats.options import FloatArray, IntArray, divide, mean_of_defined


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
    found = []
    lag = 1
    while True:
        left = np.flatnonzero(case[lag:] == case[:-lag]) if lag < len(case) else np.array([], dtype=np.int64)
        if not len(left):
            break
        right = left + lag
        found.append((case[left], annotator[left], annotator[right], choice[left], choice[right]))
        lag += 1
    if not found:
        return PairRows(*(np.array([], dtype=np.int64) for _ in range(5)))
    joined = PairRows(*(np.concatenate(column) for column in zip(*found, strict=True)))
    return joined.take(np.argsort(joined.case, kind="stable"))


class Pairs(NamedTuple):
    """The pairs of annotators that share cases, and what each case adds to their sums.

    Attributes
    ----------
    first, second : shape (P,), the annotators
    n : shape (P,), cases they share
    sums : sparse, shape (cases, P * (1 + 2K)): for each pair whether the labels agree, the
        first one's label, the second one's label
    """

    first: IntArray
    second: IntArray
    n: IntArray
    sums: sparse.csr_array

    def shared_by(self, n: int, n_categories: int) -> Pairs:
        """The pairs that share at least `n` cases."""
        kept = np.flatnonzero(self.n >= n)
        if len(kept) == len(self.n):
            return self
        width = 1 + 2 * n_categories
        columns = (kept[:, None] * width + np.arange(width)).ravel()
        return Pairs(self.first[kept], self.second[kept], self.n[kept], self.sums[:, columns])


def collect(rows: PairRows, position: IntArray, n_cases: int, n_categories: int) -> Pairs:
    """Group `rows` by pair of annotators.

    Parameters
    ----------
    position : the row of each entry's case in the sums, 0 to n_cases - 1
    """
    stride = int(rows.second.max()) + 1 if len(rows.second) else 1
    keys, pair, n = np.unique(rows.first * stride + rows.second, return_inverse=True, return_counts=True)
    width = 1 + 2 * n_categories
    agree = rows.choice_first == rows.choice_second
    column = np.concatenate(
        [
            (pair * width)[agree],
            pair * width + 1 + rows.choice_first,
            pair * width + 1 + n_categories + rows.choice_second,
        ]
    )
    row = np.concatenate([position[agree], position, position])
    sums = sparse.csr_array((np.ones(len(row)), (row, column)), shape=(n_cases, len(keys) * width))
    return Pairs(keys // stride, keys % stride, n.astype(np.int64), sums)


def total(pairs: Pairs) -> FloatArray:
    """The sums over all cases, shape (1, P * (1 + 2K))."""
    return np.asarray(pairs.sums.sum(axis=0), dtype=np.float64)[None, :]


def agreement_and_kappa(sums: FloatArray, n_categories: int) -> FloatArray:
    """Share of agreement and Cohen's kappa of each pair, from weighted sums.

    Parameters
    ----------
    sums : shape (b, P * (1 + 2K))

    Returns
    -------
    float array, shape (b, 2P): the shares, then the kappas; NaN where undefined
    """
    width = 1 + 2 * n_categories
    split = sums.reshape(len(sums), sums.shape[1] // width, width)
    agreeing, first, second = split[:, :, 0], split[:, :, 1 : 1 + n_categories], split[:, :, 1 + n_categories :]
    n = first.sum(axis=2)
    return np.hstack([divide(agreeing, n), confusion.kappa(agreeing, first, second)])


def mean_kappa(sums: FloatArray, n_categories: int) -> FloatArray:
    """The mean of the defined kappas over pairs, shape (b, 1); NaN where none is."""
    kappas = agreement_and_kappa(sums, n_categories)
    return mean_of_defined(kappas[:, kappas.shape[1] // 2 :])
