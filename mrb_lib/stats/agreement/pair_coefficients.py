"""Coefficients of every two annotators: kappas, alpha, AC1, AC2 and intraclass correlations, and what moves them.

A kappa here is 1 - observed / expected distance between the two labels: 0 and 1 as distances give Cohen's (1960),
positions on a scale and their squares the linear and quadratic kappas of Cohen (1968, doi:10.1037/h0026256).
`tests/stats/agreement/test_agreement_weighted.py` compares with scikit-learn, statsmodels and pingouin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
import pandas as pd
from scipy import sparse

from mrb_lib.stats.agreement import icc
from mrb_lib.stats.agreement.coefficients import Kernel, alpha, scaled
from mrb_lib.stats.agreement.icc import Squares
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, check_choice, divide, mean_of_defined
from mrb_lib.stats.resampling.resample import Summands
from mrb_lib.tables.schema import CONSENSUS, LEVELS, Level

ENOUGH_SHARED = 20
"""How many cases two annotators must share for their kappa to have an interval."""
MANY_SHARED = 50
"""How many they must share for it not to be called approximate."""
_STEP = 1e-5
KAPPAS = ("cohen_kappa", "linear_kappa", "quadratic_kappa")


def distances(values: FloatArray, level: Level) -> FloatArray:
    """Between the labels, for each of `KAPPAS`, shape (3, K, K); shape (1, K, K) where they have no order."""
    apart = np.abs(values[:, None] - values[None, :])
    differ = 1 - np.eye(len(values))
    return differ[None] if level == "nominal" else np.stack([differ, apart, apart**2])


class Split(NamedTuple):
    """Summands of `pairwise.Pairs` by what they count.

    Attributes
    ----------
    apart : shape (P, D, b), distances between the labels
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
    coincidences : whether the sums hold how often two labels meet, for alpha on the ordinal level, whose
        distances depend on all cases
    """

    level: Level
    values: FloatArray
    used: BoolArray
    coincidences: bool = False

    @property
    def distances(self) -> FloatArray:
        """Between the labels, shape (D, K, K): for each of `kappas`, then 1 where two labels meet for every two."""
        between = distances(self.values, self.level)
        if not self._counts_meetings:
            return between
        low, high = np.triu_indices(len(self.values), k=1)
        meet = np.zeros((len(low), len(self.values), len(self.values)))
        each = np.arange(len(low))
        meet[each, low, high] = meet[each, high, low] = 1
        return np.concatenate([between, meet])

    @property
    def _counts_meetings(self) -> bool:
        return self.coincidences and self.level == "ordinal"

    @property
    def n_distances(self) -> int:
        """D, the number of distances."""
        k = len(self.values)
        return len(self.kappas) + (k * (k - 1) // 2 if self._counts_meetings else 0)

    @property
    def kappas(self) -> tuple[str, ...]:
        """The kappas that the level allows."""
        return KAPPAS[:1] if self.level == "nominal" else KAPPAS

    @property
    def names(self) -> tuple[str, ...]:
        """The coefficients, in order: those whose derivative has a simple formula first."""
        return ("percent_agreement", *self.kappas, "gwet_ac1", *self._others)

    @property
    def _others(self) -> tuple[str, ...]:
        if self.level == "nominal":
            return ("krippendorff_alpha",)
        return ("krippendorff_alpha", "gwet_ac2", *(icc.COEFFICIENTS if self.level == "interval" else ()))

    def split(self, sums: FloatArray) -> Split:
        """Summands of shape (b, P * (D + 2K)) by what they count."""
        k, d = len(self.values), self.n_distances
        table = sums.T.reshape(sums.shape[1] // (d + 2 * k), d + 2 * k, len(sums))
        first = table[:, d : d + k]
        return Split(table[:, :d], first, table[:, d + k :], first.sum(axis=1))

    def coefficients(self, sums: FloatArray) -> FloatArray:
        """Each of `names` for all pairs, one name after the other: shape (b, M * P); NaN where undefined."""
        return np.concatenate(self._all(self.split(sums))).T

    def _all(self, split: Split, *, finite: bool = True) -> list[FloatArray]:
        """Each of `names`, shape (P, b); `finite` is that of `mrb_lib.stats.agreement.coefficients.Kernel`."""
        out = [1 - divide(split.apart[:, 0], split.n), *self._kappas(split), self._ac1(split)]
        out.append(self._alpha(split, finite))
        if self.level != "nominal":
            out.append(self._ac2(split))
        if self.level == "interval":
            out.extend(self.squares(split).coefficients())
        return out

    def _alpha(self, split: Split, finite: bool) -> FloatArray:
        if self.level == "ordinal" and not self.coincidences:
            return np.full(split.n.shape, np.nan)
        votes = (split.first + split.second).transpose(1, 0, 2)
        if self.level == "ordinal":
            disagreement = split.apart[:, len(KAPPAS) :].transpose(1, 0, 2)
        else:
            disagreement = split.apart[None, :, 0 if self.level == "nominal" else 2]
        return alpha(self.level, self.values, votes, disagreement, finite=finite)

    def _ac2(self, split: Split) -> FloatArray:
        q = int(self.used.sum())
        if q < 2:
            return np.full(split.n.shape, np.nan)
        shares = divide(split.first + split.second, 2 * split.n[:, None])
        span = np.ptp(self.values[self.used]) ** 2
        weights = q**2 - self.distances[2][np.ix_(self.used, self.used)].sum() / span
        chance = weights * (1 - (shares**2).sum(axis=1)) / (q * (q - 1))
        return 1 - divide(divide(split.apart[:, 2], split.n) / span, 1 - chance)

    def mean_kappas(self, sums: FloatArray) -> FloatArray:
        """The means of the defined kappas over pairs, shape (b, W); NaN where none is."""
        return np.stack([mean_of_defined(kappa.T)[:, 0] for kappa in self._kappas(self.split(sums))]).T

    def each_kappa(self, sums: FloatArray) -> FloatArray:
        """The kappas of all pairs, shape (W, P), from the sums of the whole, shape (1, P * (D + 2K))."""
        return np.stack(self._kappas(self.split(sums)))[:, :, 0]

    def _kappas(self, split: Split) -> list[FloatArray]:
        out = []
        for i, between in enumerate(self.distances[: len(self.kappas)]):
            if i == 0:
                expected = split.n**2 - (split.first * split.second).sum(axis=1)
            else:
                expected = ((between @ split.first) * split.second).sum(axis=1)
            out.append(1 - divide(split.n * split.apart[:, i], expected))
        return out

    def _ac1(self, split: Split) -> FloatArray:
        q = int(self.used.sum())
        if q < 2:
            return np.full(split.n.shape, np.nan)
        concentration = divide(((split.first + split.second) ** 2).sum(axis=1), 4 * split.n**2)
        return 1 - divide(divide(split.apart[:, 0], split.n), 1 - (1 - concentration) / (q - 1))

    def squares(self, split: Split) -> Squares:
        """The sums of squares of each pair's scores, complete by nature."""
        n = split.n
        first, second = self.values @ split.first, self.values @ split.second
        total = self.values**2 @ (split.first + split.second)
        two = np.full(n.shape, 2.0)
        return Squares(
            n=2 * n,
            cases=n,
            annotators=two,
            total=total,
            by_case=total - split.apart[:, 2] / 2,
            by_annotator=divide(first**2 + second**2, n),
            mean=divide((first + second) ** 2, 2 * n),
            n_by_case=two,
            n_by_annotator=n,
            inverse=n / 2,
        )

    def gradients(self, sums: FloatArray) -> FloatArray:
        """How the coefficients change with each of the sums of the whole, shape (1, P * (D + 2K)).

        By central differences, one kind of sum at a time for all pairs at once.

        Returns
        -------
        float array, shape (M, P, D + 2K), in the order of `names`; NaN where the coefficient is, 0 for sums of 0
        """
        width = self.n_distances + 2 * len(self.values)
        table = sums.reshape(-1, width)
        step, each = _STEP * table, np.arange(width)
        moved = np.tile(table, (2 * width, 1, 1))
        moved[each, :, each] += step.T
        moved[width + each, :, each] -= step.T
        estimates = np.stack(self._all(self.split(moved.reshape(2 * width, -1)), finite=False))
        slope = divide(estimates[:, :, :width] - estimates[:, :, width:], 2 * step)
        return np.where(step > 0, slope, 0.0)


class SharedClusters(NamedTuple):
    """Of each of P pairs.

    Attributes
    ----------
    number : shape (P,), how many clusters hold cases that both annotators labelled
    independent : shape (P,), whether each of them holds one such case only
    """

    number: IntArray
    independent: BoolArray

    @classmethod
    def of(cls, sums: Summands, kernel: PairKernel, n_pairs: int) -> SharedClusters:
        """From sums by cluster, shape (c, P * (D + 2K))."""
        if not n_pairs:
            return cls(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool))
        k, skipped = len(kernel.values), kernel.n_distances
        if isinstance(sums, np.ndarray):
            shared = sums.reshape(len(sums), n_pairs, skipped + 2 * k)[:, :, skipped : skipped + k].sum(axis=2)
            number = (shared > 0).sum(axis=0).astype(np.int64)
            return cls(number, number == shared.sum(axis=0))
        first = (np.arange(n_pairs)[:, None] * (skipped + 2 * k) + skipped + np.arange(k)).ravel()
        each = np.ones(len(first)), (first, np.repeat(np.arange(n_pairs), k))
        cases = sparse.csr_array(sums @ sparse.csr_array(each, (sums.shape[1], n_pairs)))
        number = np.bincount(cases.nonzero()[1], minlength=n_pairs).astype(np.int64)
        return cls(number, number == np.bincount(cases.indices, cases.data, minlength=n_pairs))


def kernels(annotations: pd.DataFrame, categories: Sequence[str], level: str) -> tuple[Kernel, PairKernel]:
    """The kernels of many annotators and of pairs for a level of measurement.

    Raises
    ------
    InputError
        The level is unknown.
    """
    check_choice("level", level, LEVELS)
    measured = cast(Level, level)
    labels = set(annotations.loc[annotations["annotator"] != CONSENSUS, "choice"].unique())
    used = np.array([name in labels for name in categories], dtype=bool)
    values = scaled(categories, measured)
    return Kernel(measured, values, used), PairKernel(measured, values, used)


def prevalence_index(shares: FloatArray, q: int) -> FloatArray:
    """How unevenly q categories are used, shape (..., K) of shares to (...): 0 evenly, 1 one category only.

    With two categories it is the absolute difference of their shares, the prevalence index of
    Byrt, Bishop & Carlin (1993, doi:10.1016/0895-4356(93)90018-V); with more, the square root of
    (q sum p^2 - 1) / (q - 1), by which their decomposition of kappa holds for any q; see `bias_index`.
    """
    if q < 2:
        return np.full(shares.shape[:-1], np.nan)
    index: FloatArray = np.sqrt(np.maximum((q * (shares**2).sum(axis=-1) - 1) / (q - 1), 0.0))
    return index


def bias_index(first: FloatArray, second: FloatArray, q: int) -> FloatArray:
    """How differently two annotators use q categories, from their shares of shape (..., K): 0 alike, 1 never the same.

    With two categories it is the absolute difference of the annotators' shares of either, the bias index of Byrt,
    Bishop & Carlin (1993); with more, the square root of q / (q - 1) times the sum of ((p - p') / 2)^2. Cohen's
    kappa is then (PABAK - PI^2 + BI^2) / (1 - PI^2 + BI^2), PI being the `prevalence_index` of the mean shares.
    """
    if q < 2:
        return np.full(first.shape[:-1], np.nan)
    index: FloatArray = np.sqrt(q / (q - 1) * (((first - second) / 2) ** 2).sum(axis=-1))
    return index


def adjusted(percent: FloatArray, q: int) -> FloatArray:
    """PABAK, agreement beyond that of q categories used evenly by both (Byrt et al. 1993; Brennan & Prediger 1981)."""
    return (q * percent - 1) / (q - 1) if q >= 2 else np.full(percent.shape, np.nan)
