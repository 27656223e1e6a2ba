"""Verdicts as the observations of a regression: a grid of cells by cases, and covariates that are products.

Every judge answers every case in the same few settings, so that a covariate is a factor of
the cell (who judged, which response was shown first) times a factor of the case (its
subfield, which response is longer). Sums over observations are then products of small
matrices, and no table with a row an observation is ever made.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.core.panel import ABSENT, Panel
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray
from mrb_lib.stats.resampling.distinct import distinct_rows

_ALIASED = 1e-8


@dataclass(frozen=True)
class Design:
    """Covariates that are products of a factor of the cell and a factor of the case.

    Attributes
    ----------
    cells : shape (C, p)
    cases : shape (N, p); covariate `a` of the observation in cell `c` of case `n` is `cells[c, a] * cases[n, a]`
    """

    cells: FloatArray
    cases: FloatArray

    def linear(self, beta: FloatArray) -> FloatArray:
        """The linear predictor of each cell and case, from (F, p) to (F, C, N)."""
        cases, kind = self._case_kinds
        member = np.eye(len(cases))[kind]
        coefficients = (self.cells * beta[:, None, :]).reshape(-1, len(kind)) @ member
        eta: FloatArray = (coefficients @ cases).reshape(len(beta), len(self.cells), len(self.cases))
        return eta

    def linear_by_case(self, vectors: FloatArray) -> FloatArray:
        """As `linear`, with coefficients of its own for each case: from (F, p, N) to (F, C, N)."""
        return np.asarray(self.cells @ (vectors * self._cases_last))

    def by_case(self, values: FloatArray) -> FloatArray:
        """The sums over cells of a value times the covariates, from (F, C, N) to (F, p, N)."""
        sums: FloatArray = self.cells.T @ values
        sums *= self._cases_last
        return sums

    def total(self, values: FloatArray) -> FloatArray:
        """The sums over cells and cases of a value times the covariates, from (F, C, N) to (F, p)."""
        return np.asarray(self.by_cell(values).sum(axis=1))

    def by_cell(self, values: FloatArray) -> FloatArray:
        """The sums over cases of a value times the covariates, from (F, C, N) to (F, C, p)."""
        cases, kind = self._case_kinds
        return np.asarray(_over_cases(values, cases.T)[:, :, kind] * self.cells)

    def information(self, weights: FloatArray) -> FloatArray:
        """The weighted cross-products of the covariates, from (F, C, N) to (F, p, p)."""
        (cell_products, cell_index), (case_products, case_index) = self._cell_pairs, self._case_pairs
        sums = cell_products.T @ _over_cases(weights, case_products)
        return np.asarray(sums[:, cell_index, case_index])

    @cached_property
    def _cases_last(self) -> FloatArray:
        return np.ascontiguousarray(self.cases.T)

    @cached_property
    def _case_kinds(self) -> tuple[FloatArray, IntArray]:
        """The different factors of the case, shape (kinds, N), and which of them each covariate has."""
        first, kind = distinct_rows(self._cases_last)
        return self._cases_last[first], kind

    @cached_property
    def _cell_pairs(self) -> tuple[FloatArray, IntArray]:
        return _pairs(self.cells)

    @cached_property
    def _case_pairs(self) -> tuple[FloatArray, IntArray]:
        return _pairs(self.cases)


def _over_cases(values: FloatArray, columns: FloatArray) -> FloatArray:
    """Weighted sums over cases, all in one product: from (F, C, N) and (N, k) to (F, C, k)."""
    sums = values.reshape(-1, len(columns)) @ columns
    return sums.reshape(*values.shape[:2], columns.shape[1])


def _pairs(factors: FloatArray) -> tuple[FloatArray, IntArray]:
    """The different products of two columns, and the position of each pair of columns among them."""
    columns, where = distinct_rows(factors.T)
    first, second = np.triu_indices(len(columns))
    products = factors[:, columns[first]] * factors[:, columns[second]]
    kinds, kind = distinct_rows(products.T)
    index = np.empty((len(columns),) * 2, dtype=np.int64)
    index[first, second] = index[second, first] = kind
    return products[:, kinds], index[where[:, None], where[None, :]]


class Observations(NamedTuple):
    """How many verdicts of each cell on each case are correct; a verdict is an observation.

    Attributes
    ----------
    n_correct, n_trials : shape (F, C, N): verdicts that are correct, and all verdicts, in each of
        the F fits, C cells and N cases
    cluster : shape (N,), the cluster of each case, 0 to the number of clusters - 1
    """

    n_correct: FloatArray
    n_trials: FloatArray
    cluster: IntArray


def identified(information: FloatArray) -> BoolArray:
    """Which covariates are no linear combination of those before them, from (F, p, p) to (F, p)."""
    left = information.copy()
    scale = np.einsum("fpp->fp", information).copy()
    kept = np.zeros(scale.shape, dtype=bool)
    for column in range(left.shape[1]):
        pivot = left[:, column, column]
        kept[:, column] = pivot > _ALIASED * np.maximum(scale[:, column], 1.0)
        row = np.where(kept[:, column, None], left[:, column], 0.0)
        left -= row[:, :, None] * row[:, None, :] / np.where(kept[:, column], pivot, 1.0)[:, None, None]
    return kept


def restrict(information: FloatArray, kept: BoolArray) -> FloatArray:
    """Information with a unit in place of each covariate that is not estimated, so that it can be inverted."""
    both = kept[:, :, None] & kept[:, None, :]
    out: FloatArray = np.where(both, information, 0.0) + np.eye(kept.shape[1]) * ~kept[:, None, :]
    return out


def counts(panel: Panel, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """Verdicts with the gold label, and all verdicts, by judge, order and case of one dimension, shape (J, 2, N).

    Parameters
    ----------
    panel : the verdicts of one dimension
    labels : shape (N,), the gold labels; cases without a label, or whose label is a tie, have no observation
    """
    choice = panel.choice[:, 0]
    decisive = (labels >= 0) & ((labels != panel.tie) | (panel.tie < 0))
    n_correct = ((choice == labels[:, None, None]) & decisive[:, None, None]).sum(axis=-1, dtype=np.float64)
    n_trials = ((choice != ABSENT) & decisive[:, None, None]).sum(axis=-1, dtype=np.float64)
    return np.ascontiguousarray(np.swapaxes(n_correct, 1, 2)), np.ascontiguousarray(np.swapaxes(n_trials, 1, 2))


def log_length_ratio(cases: pd.DataFrame) -> FloatArray:
    """By how much response A is longer than B, in standard deviations about equal length, shape (N,).

    The logarithm of the ratio of their lengths in characters (an empty response has length 1),
    divided by its root mean square over the cases of the benchmark: swapping A and B changes
    the sign and nothing else. NaN where a response is missing, 0 everywhere where all are alike.
    """
    if not {"response_a", "response_b"} <= set(cases.columns):
        return np.full(len(cases), np.nan)
    lengths = [
        cases[name].str.len().clip(lower=1).to_numpy(dtype=np.float64, na_value=np.nan)
        for name in ("response_a", "response_b")
    ]
    ratio = np.log(lengths[0]) - np.log(lengths[1])
    finite = ratio[np.isfinite(ratio)]
    spread = float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0
    out: FloatArray = ratio / spread if spread > 0 else np.where(np.isfinite(ratio), 0.0, np.nan)
    return out
