"""Agreement coefficients of many annotators from sums over cases, for a whole bootstrap at once.

Each coefficient here is a smooth function of a few sums over cases; a resample weights them.
`tests/stats/agreement/test_agreement_kernel.py` ties this kernel to `krippendorff` and `statsmodels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import krippendorff
import numpy as np

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.tables.schema import Level

COEFFICIENTS = ("percent_agreement", "fleiss_kappa", "krippendorff_alpha", "gwet_ac1", "gwet_ac2")


class Kernel(NamedTuple):
    """Maps sums of `case_statistics` to the coefficients, in the order of `COEFFICIENTS`.

    Attributes
    ----------
    level : "nominal", "ordinal" or "interval"
    values : shape (K,), the categories as numbers from 0 to 1; see `scaled`
    used : shape (K,), the categories that the annotators could use, for AC1 and AC2
    finite : whether alpha has Krippendorff's correction for small samples; without it alpha
        does not change when all cases are doubled, as its linearisation wants it
    """

    level: Level
    values: FloatArray
    used: BoolArray
    finite: bool = True

    @property
    def n_categories(self) -> int:
        """How many categories the annotators could use."""
        return int(self.used.sum())

    def case_statistics(self, votes: FloatArray) -> FloatArray:
        """What each case adds to the sums.

        Parameters
        ----------
        votes : shape (n, K), how many annotators gave each category; rows may differ in
            their number of annotators

        Returns
        -------
        float array, shape (n, 3 + 2K + D): whether the case has two annotators or more; its
        share of agreeing pairs of annotators; its mean squared distance between two of its
        annotators; its share of each category; its votes for each category, if it has two
        annotators; and its disagreement in Krippendorff's weighting, pairs divided by the
        number of annotators less one: D = 1 sum of half the squared distances, or on the ordinal
        level, where distances depend on all cases, D = K (K - 1) / 2 coincidences of two labels.
        """
        total = votes.sum(axis=1)
        paired = (total >= 2).astype(np.float64)
        others = np.where(total >= 2, total - 1, 1.0)
        pairs = np.where(total >= 2, total * (total - 1), 1.0)
        agreeing = (votes * (votes - 1)).sum(axis=1) / pairs * paired
        squares = (total * (votes @ self.values**2) - (votes @ self.values) ** 2) * paired
        if self.level == "ordinal":
            low, high = np.triu_indices(votes.shape[1], k=1)
            disagreement = votes[:, low] * votes[:, high] * (paired / others)[:, None]
        elif self.level == "interval":
            disagreement = (squares / others)[:, None]
        else:
            disagreement = (total * (paired - agreeing) / 2 * paired)[:, None]
        return np.hstack(
            [
                np.stack([paired, agreeing, 2 * squares / pairs], axis=1),
                votes / np.maximum(total, 1)[:, None],
                votes * paired[:, None],
                disagreement,
            ]
        )

    def coefficients(self, sums: FloatArray) -> FloatArray:
        """Coefficients, shape (b, 5), of weighted sums, shape (b, 3 + 2K + D); NaN where undefined."""
        k = len(self.values)
        (paired, agreeing, squares), shares, rest = np.split(sums.T, [3, 3 + k])
        observed = divide(agreeing, paired)
        concentration = (divide(shares, shares.sum(axis=0)) ** 2).sum(axis=0)
        fleiss = _beyond_chance(observed, concentration)
        krippendorff = alpha(self.level, self.values, rest[:k], rest[k:], finite=self.finite)
        return np.stack(
            [observed, fleiss, krippendorff, *self._gwet(observed, divide(squares, paired), concentration)]
        ).T

    def _gwet(self, observed: FloatArray, squares: FloatArray, concentration: FloatArray) -> list[FloatArray]:
        """AC1, and AC2 with quadratic weights where the labels are ordered."""
        q = self.n_categories
        undefined = np.full(len(observed), np.nan)
        if q < 2:
            return [undefined, undefined]
        spread = (1 - concentration) / (q * (q - 1))
        ac1 = _beyond_chance(observed, q * spread)
        if self.level == "nominal":
            return [ac1, undefined]
        values = self.values[self.used]
        weights = 1 - ((values[:, None] - values[None, :]) / np.ptp(values)) ** 2
        return [ac1, _beyond_chance(1 - squares / np.ptp(values) ** 2, weights.sum() * spread)]


def alpha(
    level: Level, values: FloatArray, votes: FloatArray, disagreement: FloatArray, *, finite: bool = True
) -> FloatArray:
    """Krippendorff's alpha from sums, for a whole bootstrap at once; the estimate itself is `estimated_alpha`.

    Parameters
    ----------
    values : shape (K,), the categories as numbers
    votes : shape (K, ...), votes for each category in cases with two or more
    disagreement : shape (D, ...), as in `Kernel.case_statistics`
    finite : as in `Kernel`

    Returns
    -------
    float array, shape (...); NaN where undefined
    """
    n = votes.sum(axis=0)
    if level == "nominal":
        observed, expected = disagreement[0], (n**2 - (votes**2).sum(axis=0)) / 2
    elif level == "interval":
        observed, expected = disagreement[0], _half_squares(votes, values.reshape(-1, *(1,) * n.ndim))
    else:
        middle = divide(np.cumsum(votes, axis=0) - votes / 2, n)
        low, high = np.triu_indices(len(votes), k=1)
        observed = (disagreement * (middle[low] - middle[high]) ** 2).sum(axis=0)
        expected = _half_squares(votes, middle)
    return 1 - divide((n - finite) * observed, expected)


def estimated_alpha(votes: FloatArray, level: Level, values: FloatArray) -> float:
    """Krippendorff's alpha by the package `krippendorff`; NaN where undefined.

    Parameters
    ----------
    votes : shape (n, K), how many annotators gave each category to each case
    values : shape (K,), the categories as numbers
    """
    paired = votes[votes.sum(axis=1) >= 2]
    if len(np.unique(values[paired.any(axis=0)])) < 2:
        return np.nan
    return float(krippendorff.alpha(value_counts=paired, value_domain=values, level_of_measurement=level))


def _half_squares(n_v: FloatArray, values: FloatArray) -> FloatArray:
    """Half the sum of squared distances between all votes; 0, not nearly 0, where all are for one category."""
    n = n_v.sum(axis=0)
    mean = divide((n_v * values).sum(axis=0), n)
    total: FloatArray = n * (n_v * (values - mean) ** 2).sum(axis=0)
    return total


def _beyond_chance(observed: FloatArray, chance: FloatArray) -> FloatArray:
    return divide(observed - chance, 1 - chance)


def category_values(categories: Sequence[str]) -> FloatArray:
    """The categories as numbers: their own where all are numbers, else their positions."""
    try:
        numbers = np.array([float(name) for name in categories])
    except ValueError:
        return np.arange(len(categories), dtype=np.float64)
    return numbers if np.isfinite(numbers).all() else np.arange(len(categories), dtype=np.float64)


def scaled(categories: Sequence[str], level: Level) -> FloatArray:
    """The categories as numbers from 0 to 1; on the ordinal level, by position only."""
    numbers = category_values(categories) if level == "interval" else np.arange(len(categories), dtype=np.float64)
    span = np.ptp(numbers) if len(numbers) else 0.0
    return (numbers - numbers.min()) / span if span > 0 else np.zeros(len(numbers))


def votes_by_case(case: IntArray, choice: IntArray, n_cases: int, n_categories: int) -> FloatArray:
    """Count annotations: shape (n_cases, n_categories)."""
    votes = np.zeros((n_cases, n_categories))
    np.add.at(votes, (case, choice), 1)
    return votes
