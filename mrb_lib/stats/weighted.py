"""Coefficients of every two annotators: Cohen's kappa and its weighted forms, AC1, ICC(2,1), and what moves them.

A kappa here is 1 - observed / expected distance between the two labels: 0 and 1 as distances give Cohen's (1960),
positions on a scale and their squares the linear and quadratic kappas of Cohen (1968, doi:10.1037/h0026256).
`tests/stats/test_agreement_weighted.py` compares with scikit-learn, statsmodels and pingouin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.schema import Level
from mrb_lib.stats.icc import Squares
from mrb_lib.stats.options import BoolArray, FloatArray, divide, mean_of_defined

_STEP = 1e-5
KAPPAS = ("cohen_kappa", "linear_kappa", "quadratic_kappa")


def distances(values: FloatArray, level: Level) -> FloatArray:
    """Between the labels, for each of `KAPPAS`, shape (3, K, K); shape (1, K, K) where they have no order."""
    apart = np.abs(values[:, None] - values[None, :])
    differ = 1 - np.eye(len(values))
    return differ[None] if level == "nominal" else np.stack([differ, apart, apart**2])


class Split(NamedTuple):
    """Sums of `pairwise.Pairs` by what they count.

    Attributes
    ----------
    apart : shape (P, W, b), distances between the labels
    first, second : shape (P, K, b), the labels of either annotator
    n : shape (P, b), cases
    """

    apart: FloatArray
    first: FloatArray
    second: FloatArray
    n: FloatArray


class PairKernel(NamedTuple):
    """Maps the sums of pairs of annotators to their coefficients.

    Attributes
    ----------
    level : "nominal", "ordinal" or "interval"
    values : shape (K,), the categories as numbers
    used : shape (K,), the categories that the annotators could use
    """

    level: Level
    values: FloatArray
    used: BoolArray

    @property
    def distances(self) -> FloatArray:
        """Between the labels, shape (W, K, K)."""
        return distances(self.values, self.level)

    @property
    def kappas(self) -> tuple[str, ...]:
        """The kappas that the level allows."""
        return KAPPAS[:1] if self.level == "nominal" else KAPPAS

    @property
    def names(self) -> tuple[str, ...]:
        """The coefficients, in order."""
        scores = ("icc_2_1",) if self.level == "interval" else ()
        return ("percent_agreement", *self.kappas, "gwet_ac1", *scores)

    def split(self, sums: FloatArray) -> Split:
        """Sums of shape (b, P * (W + 2K)) by what they count."""
        k, w = len(self.values), len(self.kappas)
        table = sums.T.reshape(sums.shape[1] // (w + 2 * k), w + 2 * k, len(sums))
        first = table[:, w : w + k]
        return Split(table[:, :w], first, table[:, w + k :], first.sum(axis=1))

    def coefficients(self, sums: FloatArray) -> FloatArray:
        """Each of `names` for all pairs, one name after the other: shape (b, M * P); NaN where undefined."""
        found = self.split(sums)
        rows = [1 - divide(found.apart[:, 0], found.n), *self._kappas(found), self._ac1(found)]
        if self.level == "interval":
            rows.append(self.squares(found).coefficients()[0])
        return np.concatenate(rows).T

    def mean_kappas(self, sums: FloatArray) -> FloatArray:
        """The means of the defined kappas over pairs, shape (b, W); NaN where none is."""
        return np.stack([mean_of_defined(kappa.T)[:, 0] for kappa in self._kappas(self.split(sums))]).T

    def _kappas(self, found: Split) -> list[FloatArray]:
        out = []
        for i, between in enumerate(self.distances):
            if i == 0:
                expected = found.n**2 - (found.first * found.second).sum(axis=1)
            else:
                expected = ((between @ found.first) * found.second).sum(axis=1)
            out.append(1 - divide(found.n * found.apart[:, i], expected))
        return out

    def _ac1(self, found: Split) -> FloatArray:
        q = int(self.used.sum())
        if q < 2:
            return np.full(found.n.shape, np.nan)
        concentration = divide(((found.first + found.second) ** 2).sum(axis=1), 4 * found.n**2)
        return 1 - divide(divide(found.apart[:, 0], found.n), 1 - (1 - concentration) / (q - 1))

    def squares(self, found: Split) -> Squares:
        """The sums of squares of each pair's scores, complete by nature."""
        n = found.n
        first, second = self.values @ found.first, self.values @ found.second
        total = self.values**2 @ (found.first + found.second)
        two = np.full(n.shape, 2.0)
        return Squares(
            n=2 * n,
            cases=n,
            annotators=two,
            total=total,
            by_case=total - found.apart[:, 2] / 2,
            by_annotator=divide(first**2 + second**2, n),
            mean=divide((first + second) ** 2, 2 * n),
            n_by_case=two,
            n_by_annotator=n,
            inverse=n / 2,
        )

    def gradients(self, sums: FloatArray) -> FloatArray:
        """How the coefficients change with each of the sums of the whole, shape (1, P * (W + 2K)).

        Returns
        -------
        float array, shape (M, P, W + 2K), in the order of `names`; NaN where the coefficient is
        """
        found = self.split(sums)
        k, w = len(self.values), len(self.kappas)
        apart, first, second, n = found.apart[:, :, 0], found.first[:, :, 0], found.second[:, :, 0], found.n
        out = np.zeros((len(self.names), len(n), w + 2 * k))
        out[0, :, 0] = -divide(np.ones(len(n)), n[:, 0])
        out[0, :, w : w + k] = divide(apart[:, :1], n**2)
        for i, between in enumerate(self.distances):
            toward_first, toward_second = second @ between.T, first @ between
            expected = (toward_second * second).sum(axis=1, keepdims=True)
            observed = n * apart[:, i : i + 1]
            out[1 + i, :, i] = -divide(n, expected)[:, 0]
            out[1 + i, :, w : w + k] = divide(observed * toward_first, expected**2) - divide(
                apart[:, i : i + 1], expected
            )
            out[1 + i, :, w + k :] = divide(observed * toward_second, expected**2)
        out[w + 1] = self._ac1_gradient(found, out[0])
        if self.level == "interval":
            out[w + 2] = self._icc_gradient(sums)
        return out

    def _icc_gradient(self, sums: FloatArray) -> FloatArray:
        """By central differences, one kind of sum at a time for all pairs at once."""
        width = len(self.kappas) + 2 * len(self.values)
        step = _STEP * sums.reshape(-1, width)
        moved = np.tile(sums.reshape(-1, width), (2 * width, 1, 1))
        each = np.arange(width)
        moved[each, :, each] += step.T
        moved[width + each, :, each] -= step.T
        found = self.squares(self.split(moved.reshape(2 * width, -1))).coefficients()[0]
        slope = divide(found[:, :width] - found[:, width:], 2 * step)
        return np.where(step > 0, slope, 0.0)

    def _ac1_gradient(self, found: Split, of_agreement: FloatArray) -> FloatArray:
        q, k, w = int(self.used.sum()), len(self.values), len(self.kappas)
        if q < 2:
            return np.full(of_agreement.shape, np.nan)
        n = found.n
        shares = divide(found.first[:, :, 0] + found.second[:, :, 0], 2 * n)
        concentration = (shares**2).sum(axis=1, keepdims=True)
        of_chance = np.zeros(of_agreement.shape)
        of_chance[:, w : w + k] = -2 / (q - 1) * divide(shares / 2 - concentration, n)
        of_chance[:, w + k :] = -2 / (q - 1) * divide(shares / 2, n)
        beyond = 1 - (1 - concentration) / (q - 1)
        disagreement = divide(divide(found.apart[:, 0], n), beyond)
        return divide(of_agreement - disagreement * of_chance, beyond)


def prevalence_index(shares: FloatArray, q: int) -> FloatArray:
    """How unevenly q categories are used, shape (..., K) of shares to (...): 0 evenly, 1 one category only.

    With two categories it is the absolute difference of their shares, the prevalence index of
    Byrt, Bishop & Carlin (1993, doi:10.1016/0895-4356(93)90018-V); with more, the square root of
    (q sum p^2 - 1) / (q - 1), by which their decomposition of kappa holds for any q; see `bias_index`.
    """
    if q < 2:
        return np.full(shares.shape[:-1], np.nan)
    found: FloatArray = np.sqrt(np.maximum((q * (shares**2).sum(axis=-1) - 1) / (q - 1), 0.0))
    return found


def bias_index(first: FloatArray, second: FloatArray, q: int) -> FloatArray:
    """How differently two annotators use q categories, from their shares of shape (..., K): 0 alike, 1 never the same.

    With two categories it is the absolute difference of the annotators' shares of either, the bias index of Byrt,
    Bishop & Carlin (1993); with more, the square root of q / (q - 1) times the sum of ((p - p') / 2)^2. Cohen's
    kappa is then (PABAK - PI^2 + BI^2) / (1 - PI^2 + BI^2), PI being the `prevalence_index` of the mean shares.
    """
    if q < 2:
        return np.full(first.shape[:-1], np.nan)
    found: FloatArray = np.sqrt(q / (q - 1) * (((first - second) / 2) ** 2).sum(axis=-1))
    return found


def adjusted(percent: FloatArray, q: int) -> FloatArray:
    """PABAK, agreement beyond that of q categories used evenly by both (Byrt et al. 1993; Brennan & Prediger 1981)."""
    return (q * percent - 1) / (q - 1) if q >= 2 else np.full(percent.shape, np.nan)
