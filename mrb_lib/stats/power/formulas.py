"""Power of paired comparisons, and the cases they take: arrays in, arrays out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, divide

ALPHA, POWER = 0.05, 0.8
_Z_ALPHA, _Z_POWER = float(special.ndtri(1 - ALPHA / 2)), float(special.ndtri(POWER))
_CELLS_AT_ONCE = 2**21
_NO_SPREAD = 1e-20


class MeanDifferences(NamedTuple):
    """Mean differences of paired scores; every array has shape (pairs,).

    Attributes
    ----------
    n, clusters : cases scored for both, and the clusters they are in
    value : mean difference
    error : its cluster-robust standard error; NaN with fewer than two clusters, 0 where the difference does not vary
    discordance : share of the cases on which the two scores differ
    """

    n: IntArray
    clusters: IntArray
    value: FloatArray
    error: FloatArray
    discordance: FloatArray

    def rows(self, kept: IntArray) -> MeanDifferences:
        return MeanDifferences(
            self.n[kept], self.clusters[kept], self.value[kept], self.error[kept], self.discordance[kept]
        )


def differences(first: FloatArray, second: FloatArray, codes: IntArray) -> MeanDifferences:
    """Compare scores case by case.

    Parameters
    ----------
    first, second : shape (pairs, n), NaN where a case is not scored
    codes : shape (n,), the cluster of each case

    Notes
    -----
    The variance is the between-cluster sandwich with the factor G / (G - 1); where clusters are cases it is the
    sample variance over n.
    """
    step = max(1, _CELLS_AT_ONCE // max(1, first.shape[1]))
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    parts = [
        _differences((first[i : i + step] - second[i : i + step])[:, order], starts)
        for i in range(0, max(len(first), 1), step)
    ]
    return MeanDifferences(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _differences(difference: FloatArray, starts: IntArray) -> MeanDifferences:
    counted = np.isfinite(difference)
    difference = np.where(counted, difference, 0.0)
    n = counted.sum(axis=1)
    value = divide(difference.sum(axis=1), n)
    discordance = divide((np.abs(difference) > 1e-12).sum(axis=1).astype(np.float64), n)
    residual = np.where(counted, difference - np.nan_to_num(value)[:, None], 0.0)
    if len(starts) == difference.shape[1]:
        squares, clusters = (residual**2).sum(axis=1), n
    else:
        squares = (np.add.reduceat(residual, starts, axis=1) ** 2).sum(axis=1)
        clusters = np.logical_or.reduceat(counted, starts, axis=1).sum(axis=1)
    squares = np.where(squares <= _NO_SPREAD * n, 0.0, squares)  # thirds that are all alike leave what rounding leaves
    error = np.sqrt(divide(squares * clusters, clusters - 1.0)) / np.fmax(n, 1)
    return MeanDifferences(n.astype(np.int64), clusters.astype(np.int64), value, error, discordance)


def multiplier(df: FloatArray | IntArray) -> FloatArray:
    """How many standard errors a difference must measure to be found with the power wanted (Bloom 1995)."""
    least_one = np.fmax(df, 1.0)
    sum_of_quantiles = special.stdtrit(least_one, 1 - ALPHA / 2) + special.stdtrit(least_one, POWER)
    return np.where(df > 0, sum_of_quantiles, np.nan)


def detectable(error: FloatArray, clusters: IntArray) -> FloatArray:
    """The smallest true difference that a two-sided t test finds with the power wanted; NaN without variance."""
    return multiplier(clusters - 1) * np.where(error > 0, error, np.nan)


def power_at(difference: FloatArray, error: FloatArray, clusters: IntArray) -> FloatArray:
    """The power of the two-sided t test at a true difference."""
    df = np.fmax(clusters - 1.0, 1.0)
    critical = special.stdtrit(df, 1 - ALPHA / 2)
    size = divide(np.abs(difference), error)
    power = np.asarray(special.stdtr(df, size - critical) + special.stdtr(df, -size - critical))
    return np.where(clusters > 1, power, np.nan)


def cases_needed(
    difference: FloatArray, error: FloatArray, n: IntArray, clusters: IntArray, discordance: FloatArray
) -> FloatArray:
    """The fewest cases, in clusters as large and alike as those seen, that find a difference with the power wanted.

    NaN where the difference is larger than the discordance: two scores that differ on so few cases cannot have it.

    Notes
    -----
    What n cases show falls as n grows, so that halving finds the fewest. There are two clusters at least.
    """
    error = np.where((error > 0) & (difference <= discordance + 1e-12) & (clusters > 1), error, np.nan)
    size = divide(n.astype(np.float64), clusters)
    few = np.floor(2.0 * size) - 1.0 + np.zeros_like(difference)

    def enough(cases: FloatArray) -> BoolArray:
        shown = multiplier(np.fmax(divide(cases, size) - 1.0, 1.0)) * error * np.sqrt(n / cases)
        return np.asarray((shown <= difference * (1 + 1e-9)) & (cases >= 2.0 * size))

    most = np.ceil(np.fmax(n * (multiplier(np.ones(1)) * np.nan_to_num(error) / difference) ** 2, 2.0 * size))
    while (most - few > 1).any():
        half = np.where(most - few > 1, np.floor((few + most) / 2), most)
        reached = enough(half)
        few, most = np.where(reached, few, half), np.where(reached, half, most)
    return np.where(np.isfinite(error), most, np.nan)


def mcnemar_cases(discordance: FloatArray, difference: FloatArray) -> FloatArray:
    """The cases that McNemar's test takes for a difference, given the share of discordant cases.

    NaN where the difference is larger than the discordance, which cannot be.

    Notes
    -----
    Connor (1987), Biometrics 43(1), 207-211, doi:10.2307/2531961, after Miettinen (1968). Published examples:
    `tests/published/test_power.py`.
    """
    rest = discordance - difference**2
    spread = np.sqrt(np.where((rest > 0) & (difference <= discordance), rest, np.nan))
    root: FloatArray = divide(_Z_ALPHA * np.sqrt(discordance) + _Z_POWER * spread, difference)
    return np.asarray(root**2)


def mcnemar_power(n: FloatArray | IntArray, discordance: FloatArray, difference: FloatArray) -> FloatArray:
    """The power of McNemar's test, both tails counted; see `mcnemar_cases`."""
    rest = discordance - difference**2
    spread = np.sqrt(np.where((rest > 0) & (difference <= discordance), rest, np.nan))
    shift, bar = difference * np.sqrt(n), _Z_ALPHA * np.sqrt(discordance)
    return np.asarray(special.ndtr(divide(shift - bar, spread)) + special.ndtr(divide(-shift - bar, spread)))


def mcnemar_detectable(n: FloatArray | IntArray, discordance: FloatArray) -> FloatArray:
    """The difference for which `mcnemar_cases` is n; NaN where there is none."""
    scale, offset = np.sqrt(n).astype(np.float64), _Z_ALPHA * np.sqrt(discordance)
    square: FloatArray = scale**2 + _Z_POWER**2
    root = (offset * scale) ** 2 - square * (offset**2 - _Z_POWER**2 * discordance)
    difference = divide(offset * scale + np.sqrt(np.fmax(root, 0.0)), square)
    return np.where((difference > 0) & (difference <= discordance), difference, np.nan)
