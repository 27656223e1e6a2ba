"""Power of paired comparisons, and the cases they take: arrays in, arrays out."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import special

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.power.mcnemar import exact_cases, exact_detectable, exact_power
from mrb_lib.stats.significance.paired import MCNEMAR
from mrb_lib.stats.significance.permutation import FEWEST_MID_P

ALPHA, POWER = 0.05, 0.8
T_TEST = "t"
_CELLS_AT_ONCE = 2**21
_FEW, _MANY = 40, 64
_BITS = 1.8
_FARTHEST, _HALVINGS = 64.0, 40
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


def attainable(level: float, clusters: FloatArray | IntArray, test: str) -> FloatArray:
    """How often a test of so many clusters rejects at most, where nothing differs: the level, but for few clusters.

    Flips of G clusters have 2^G outcomes, so that p takes whole steps, the first of them half where a tie counts half
    (`mrb_lib.stats.significance.permutation.p_values`). 0 where the smallest p is above the level; NaN where G < 1.8
    log2(1 / level), so few that the power is not that of a t test: .80 would be .61 to .77.
    """
    number = np.asarray(clusters, dtype=np.float64)
    if test == T_TEST:
        return np.full(number.shape, level)
    flips = 2.0 ** np.minimum(number, _FEW)
    steps = np.floor((level * flips + (number >= FEWEST_MID_P)) / 2 + 1e-9)
    known = np.where(number < -_BITS * np.log2(level), np.nan, 2 * steps / flips)
    return np.where(number >= _FEW, level, np.where(steps > 0, known, 0.0))


def found(size: FloatArray, clusters: FloatArray | IntArray, level: FloatArray) -> FloatArray:
    """The power of a test of means at a true difference of `size` standard errors, both tails counted.

    Parameters
    ----------
    level : what `attainable` gives

    Notes
    -----
    The sign flips of a sum over clusters reject where the t test of these sums does (Hoeffding 1952,
    doi:10.1214/aoms/1177729436), so that their power is that of the noncentral t. Compared with statsmodels in
    `tests/stats/power/test_power.py`, and with the tests themselves in `tests/simulation/test_power.py`.
    """
    df = np.fmax(clusters - 1.0, 1.0)
    bar = special.stdtrit(df, 1 - np.where(level > 0, level, 0.5) / 2)
    missed = np.nan_to_num(special.nctdtr(df, size, bar))  # scipy has NaN for tails below 1e-9
    wrong_way = np.nan_to_num(1 - special.nctdtr(df, -size, bar))
    power = np.where(np.isfinite(size + level), 1 - missed + wrong_way, np.nan)
    return np.where(np.asarray(clusters) > 1, np.where(level == 0, 0.0, power), np.nan)


def multiplier(clusters: FloatArray | IntArray, level: FloatArray) -> FloatArray:
    """How many standard errors a difference must measure to be found with the power wanted; NaN where none is."""
    each = np.broadcast_arrays(clusters, level)
    kinds, position = np.unique(np.stack([column.ravel() for column in each]), axis=1, return_inverse=True)
    return _multipliers(kinds.tobytes())[position.reshape(each[0].shape)]


@lru_cache(maxsize=1024)
def _multipliers(kinds: bytes) -> FloatArray:
    """Those of numbers of clusters and of levels, which the pairs of a table share; callers do not write into them."""
    count, levels = np.frombuffer(kinds).reshape(2, -1)
    low, high = np.zeros(len(count)), np.full(len(count), _FARTHEST)
    reached = found(high, count, levels) >= POWER
    for _ in range(_HALVINGS):
        half = (low + high) / 2
        enough = found(half, count, levels) >= POWER
        low, high = np.where(enough, low, half), np.where(enough, half, high)
    return np.where(reached, high, np.nan)


def detectable(pairs: MeanDifferences, test: str, level: float) -> FloatArray:
    """The smallest true difference that the test finds with the power wanted, at this variance; NaN where none is."""
    if test == MCNEMAR:
        return np.where(pairs.error > 0, exact_detectable(pairs.n, pairs.discordance, level, POWER), np.nan)
    size = multiplier(pairs.clusters, attainable(level, pairs.clusters, test))
    return size * np.where(pairs.error > 0, pairs.error, np.nan)


def power_at(difference: FloatArray, pairs: MeanDifferences, test: str, level: float) -> FloatArray:
    """The power of the test at some true differences, shape (d,), of each pair: shape (pairs, d)."""
    if test == MCNEMAR:
        n, shares, wanted = np.broadcast_arrays(pairs.n[:, None], pairs.discordance[:, None], np.abs(difference))
        return exact_power(n.ravel(), shares.ravel(), wanted.ravel(), level).reshape(n.shape)
    size = divide(np.abs(difference)[None] + np.zeros((len(pairs.n), 1)), pairs.error[:, None])
    clusters = pairs.clusters[:, None]
    return found(size, clusters, attainable(level, clusters, test))


def cases_needed(difference: FloatArray, pairs: MeanDifferences, test: str, level: float) -> FloatArray:
    """The fewest cases, in clusters as large and alike as those seen, with which the test finds some differences.

    Returns
    -------
    shape (pairs, d); NaN where the difference is larger than the discordance: two scores that differ on so few cases
    cannot have it

    Notes
    -----
    There are two clusters at least. Up to 64 are tried one by one, since few clusters attain only some levels; beyond,
    what clusters show falls as their number grows, so that halving finds the fewest.
    """
    shape = len(pairs.n), len(difference)
    which, wanted = np.repeat(np.arange(len(pairs.n)), len(difference)), np.tile(difference, len(pairs.n))
    each = pairs.rows(which)
    possible = (each.error > 0) & (wanted <= each.discordance + 1e-12) & (each.clusters > 1)
    if test == MCNEMAR:
        needed = exact_cases(each.discordance, wanted, level, POWER)
        return np.where(possible, needed, np.nan).reshape(shape)
    error = np.where(possible, each.error, np.nan) * np.sqrt(each.clusters)

    def enough(clusters: FloatArray) -> BoolArray:
        size = multiplier(clusters, attainable(level, clusters, test))
        return np.asarray(size * error / np.sqrt(clusters) <= wanted * (1 + 1e-9))

    few = np.arange(2.0, _MANY + 1)[:, None]
    tried = enough(few)
    few_do = tried.any(axis=0)
    most = np.where(few_do, few[np.argmax(tried, axis=0), 0], 2.0 * _MANY)
    low = np.where(few_do, most - 1, float(_MANY))
    while (short := possible & ~few_do & ~enough(most)).any():
        low, most = np.where(short, most, low), np.where(short, 2 * most, most)
    while (most - low > 1).any():
        half: FloatArray = np.where(most - low > 1, np.floor((low + most) / 2), most)
        reached = enough(half)
        low, most = np.where(reached, low, half), np.where(reached, half, most)
    cases = np.ceil(most * each.n / np.fmax(each.clusters, 1) - 1e-9)
    return np.where(possible, cases, np.nan).reshape(shape)
