"""Agreement coefficients from sums over cases, for a whole bootstrap at once.

Each coefficient but Cohen's kappa is a function of a few sums over cases; a resample
weights them. `krippendorff` and `statsmodels` give the point estimates where they
can; `tests/stats/test_agreement_kernel.py` ties this kernel to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mrb_lib.schema import Level
from mrb_lib.stats.options import FloatArray, IntArray, divide

COEFFICIENTS = ("percent_agreement", "fleiss_kappa", "krippendorff_alpha", "gwet_ac1")


def case_statistics(votes: FloatArray) -> FloatArray:
    """What each case adds to the sums.

    Parameters
    ----------
    votes : shape (n, K), how many annotators gave each category; rows may differ in
        their number of annotators

    Returns
    -------
    float array, shape (n, 2 + K + K * K): whether the case has two annotators or more;
    its share of agreeing pairs of annotators; its share of each category; its
    coincidences (Krippendorff), pairs of values from different annotators weighted by
    1 / (annotators - 1).
    """
    total = votes.sum(axis=1)
    paired = (total >= 2).astype(np.float64)
    pairs = np.where(total >= 2, total * (total - 1), 1.0)
    agreeing = (votes * (votes - 1)).sum(axis=1) / pairs * paired
    shares = votes / np.maximum(total, 1)[:, None]
    n_categories = votes.shape[1]
    coincidences = votes[:, :, None] * votes[:, None, :]
    coincidences[:, np.arange(n_categories), np.arange(n_categories)] -= votes
    coincidences *= (paired / np.where(total >= 2, total - 1, 1.0))[:, None, None]
    return np.hstack([paired[:, None], agreeing[:, None], shares, coincidences.reshape(len(votes), n_categories**2)])


class Kernel(NamedTuple):
    """Maps sums of `case_statistics` to the coefficients, in the order of `COEFFICIENTS`.

    Attributes
    ----------
    level : "nominal", "ordinal" or "interval", for alpha
    values : shape (K,), the categories as numbers, for alpha on the interval level
    n_categories : number of categories that the annotators could use, for AC1
    """

    level: Level
    values: FloatArray
    n_categories: int

    def coefficients(self, sums: FloatArray) -> FloatArray:
        """Coefficients, shape (b, 4), of weighted sums, shape (b, 2 + K + K * K); NaN where undefined."""
        k = len(self.values)
        paired, agreeing, shares = sums[:, 0], sums[:, 1], sums[:, 2 : 2 + k]
        observed = divide(agreeing, paired)
        proportions = divide(shares, shares.sum(axis=1, keepdims=True))
        fleiss = _beyond_chance(observed, (proportions**2).sum(axis=1))
        spread = (proportions * (1 - proportions)).sum(axis=1)
        ac1 = (
            _beyond_chance(observed, spread / (self.n_categories - 1))
            if self.n_categories > 1
            else np.full(len(sums), np.nan)
        )
        alpha = self.alpha(sums[:, 2 + k :].reshape(-1, k, k))
        return np.stack([observed, fleiss, alpha, ac1], axis=1)

    def alpha(self, coincidences: FloatArray) -> FloatArray:
        """Krippendorff's alpha of coincidence matrices, shape (b, K, K)."""
        n_v = coincidences.sum(axis=2)
        n = n_v.sum(axis=1)
        delta = self.distances(n_v)
        observed = (coincidences * delta).sum(axis=(1, 2))
        expected = (n_v[:, :, None] * n_v[:, None, :] * delta).sum(axis=(1, 2))
        return 1 - divide((n - 1) * observed, expected)

    def distances(self, n_v: FloatArray) -> FloatArray:
        """Squared distances between categories, shape (b, K, K), given their frequencies, shape (b, K)."""
        if self.level == "interval":
            return ((self.values[:, None] - self.values[None, :]) ** 2)[None]
        if self.level == "nominal":
            return 1 - np.eye(len(self.values))[None]
        middle = np.cumsum(n_v, axis=1) - n_v / 2
        return (middle[:, :, None] - middle[:, None, :]) ** 2


def _beyond_chance(observed: FloatArray, chance: FloatArray) -> FloatArray:
    return divide(observed - chance, 1 - chance)


def category_values(categories: Sequence[str]) -> FloatArray:
    """The categories as numbers: their own where all are numbers, else their positions."""
    try:
        numbers = np.array([float(name) for name in categories])
    except ValueError:
        return np.arange(len(categories), dtype=np.float64)
    return numbers if np.isfinite(numbers).all() else np.arange(len(categories), dtype=np.float64)


def votes_by_case(case: IntArray, choice: IntArray, n_cases: int, n_categories: int) -> FloatArray:
    """Count annotations: shape (n_cases, n_categories)."""
    flat = case * n_categories + choice
    found: FloatArray = np.bincount(flat, minlength=n_cases * n_categories).astype(np.float64)
    return found.reshape(n_cases, n_categories)
