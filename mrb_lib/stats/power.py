"""The power of the tests that compare two judges, and how many cases a difference takes."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

import numpy as np
from scipy import special
from scipy.optimize import elementwise
from scipy.stats import binom

from mrb_lib.stats.contrasts import ALPHA as ALPHA
from mrb_lib.stats.contrasts import BY_T, MCNEMAR
from mrb_lib.stats.estimation import FloatArray, IntArray, divide
from mrb_lib.stats.flips import FEWEST_MID_P

POWER = 0.8
_FARTHEST, _FEW, _MOST_CASES = 64.0, 64, 10**9
_EXACT_FLIPS, _BITS, _WINDOW, _SMOOTH, _ROUNDING = 40, 1.8, 6.0, 3.0, 1e-12


class Pairs(NamedTuple):
    """How paired differences vary; each array has shape (pairs,).

    Attributes
    ----------
    n, clusters : cases scored for both, and the clusters they are in; of a t test its degrees of freedom plus one
    error : standard error of the mean difference; NaN where it is unknown
    discordance : share of the cases on which the two scores differ
    """

    n: FloatArray
    clusters: FloatArray
    error: FloatArray
    discordance: FloatArray


def attainable(level: float, clusters: FloatArray | IntArray, test: str) -> FloatArray:
    """Return how often a test of so many clusters rejects at most, where nothing differs.

    Flips of G clusters have 2^G outcomes, so that p takes whole steps, the first of them half where a tie counts half
    (`mrb_lib.stats.flips`). 0 where the smallest p is above the level; NaN where G < 1.8 log2(1 / level), so few that
    the power is not that of a t test: .80 would be .61 to .77.
    """
    number = np.asarray(clusters, dtype=np.float64)
    if test == BY_T:
        return np.full(number.shape, level)
    flips = 2.0 ** np.minimum(number, _EXACT_FLIPS)
    steps = np.floor((level * flips + (number >= FEWEST_MID_P)) / 2 + 1e-9)
    known = np.where(number < -_BITS * np.log2(level), np.nan, 2 * steps / flips)
    return np.where(number >= _EXACT_FLIPS, level, np.where(steps > 0, known, 0.0))


def found(size: FloatArray, clusters: FloatArray | IntArray, level: FloatArray) -> FloatArray:
    """Return the power of a test of means at a true difference of `size` standard errors, both tails counted.

    Parameters
    ----------
    level : what `attainable` gives

    Notes
    -----
    Sign flips of sums over clusters reject where the t test of these sums does (Hoeffding 1952,
    doi:10.1214/aoms/1177729436), so that their power is that of the noncentral t.
    """
    df = np.maximum(np.asarray(clusters) - 1.0, 1.0)
    bar = special.stdtrit(df, 1 - np.where(level > 0, level, 0.5) / 2)
    missed = np.nan_to_num(special.nctdtr(df, size, bar))  # scipy has NaN for tails below 1e-9
    wrong_way = np.nan_to_num(1 - special.nctdtr(df, -size, bar))
    power = np.where(np.isfinite(size + level), 1 - missed + wrong_way, np.nan)
    return np.where(np.asarray(clusters) > 1, np.where(level == 0, 0.0, power), np.nan)


def multiplier(clusters: FloatArray | IntArray, level: FloatArray) -> FloatArray:
    """Return how many standard errors a difference must measure to be found with power .8; NaN where none is."""
    each = np.broadcast_arrays(np.asarray(clusters, dtype=np.float64), level)
    kinds, place = np.unique(np.stack([column.ravel() for column in each]), axis=1, return_inverse=True)
    sizes = elementwise.find_root(lambda size, *kind: found(size, *kind) - POWER, (0.0, _FARTHEST), args=tuple(kinds)).x
    return np.asarray(sizes[place.ravel()].reshape(each[0].shape))


def detectable(pairs: Pairs, test: str, level: float) -> FloatArray:
    """Return the smallest true difference that a test finds with power .8, at this variance; NaN where none is."""
    error = np.where(pairs.error > 0, pairs.error, np.nan)
    if test == MCNEMAR:
        return np.where(error > 0, mcnemar_detectable(pairs.n, pairs.discordance, level), np.nan)
    return multiplier(pairs.clusters, attainable(level, pairs.clusters, test)) * error


def power_at(difference: FloatArray, pairs: Pairs, test: str, level: float) -> FloatArray:
    """Return the power at true differences of shape (d,), of shape (pairs, d); NaN where a pair differs on too few."""
    n, clusters, error, discordance = (column[:, None] for column in pairs)
    if test == MCNEMAR:
        n, discordance, wanted = np.broadcast_arrays(n, discordance, difference)
        return mcnemar_power(n.ravel(), discordance.ravel(), wanted.ravel(), level).reshape(n.shape)
    power = found(divide(difference[None], error), clusters, attainable(level, clusters, test))
    return np.where(difference <= discordance + _ROUNDING, power, np.nan)


def cases_needed(difference: float, pair: Pairs, test: str, level: float) -> float:
    """Return the fewest cases with which a test finds a difference, in clusters as large and alike as those at hand.

    NaN where the difference is larger than the discordance: two scores that differ on so few cases cannot have it. Up
    to 64 clusters are tried one by one, since few clusters attain only some levels.

    Parameters
    ----------
    pair : of one pair
    """
    n, clusters, error, discordance = (float(column[0]) for column in pair)
    if not (error > 0 and clusters > 1 and difference <= discordance + _ROUNDING):
        return np.nan
    if test == MCNEMAR:
        return mcnemar_cases(discordance, difference, level)
    size = difference / error / np.sqrt(clusters)

    def power(number: FloatArray) -> FloatArray:
        return found(size * np.sqrt(number), number, attainable(level, number, test))

    few = np.flatnonzero(power(np.arange(2.0, _FEW + 1)) >= POWER)
    more = range(_FEW + 1, _MOST_CASES)
    needed = few[0] + 2 if len(few) else more[bisect_left(more, POWER, key=lambda n: float(power(np.array(float(n)))))]
    return float(np.ceil(needed * n / clusters - 1e-9))


def connors_cases(discordance: float, difference: float, level: float) -> float:
    """Return the cases that McNemar's test takes by its normal approximation; NaN where the difference cannot be.

    Connor (1987), doi:10.2307/2531961, after Miettinen (1968).
    """
    if difference > discordance:
        return np.nan
    spread = np.sqrt(max(discordance - difference**2, 0.0))
    root = special.ndtri(1 - level / 2) * np.sqrt(discordance) + special.ndtri(POWER) * spread
    return float((root / difference) ** 2)


def mcnemar_power(n: FloatArray, discordance: FloatArray, difference: FloatArray, level: float) -> FloatArray:
    """Return the power of McNemar's exact test, each array of shape (m,); NaN where the difference cannot be.

    The number of discordant cases is binomial; given it, the test is of a coin. The power is the mean over that number,
    within six standard deviations.
    """
    middle, spread = n * discordance, np.sqrt(n * discordance * (1 - discordance))
    width = int(np.ceil(2 * _WINDOW * spread.max(initial=0.0))) + 2
    number = np.maximum(middle - _WINDOW * spread, 0.0).astype(np.int64)[:, None] + np.arange(width)
    counts, place = np.unique(number, return_inverse=True)
    most = np.asarray(binom.ppf(level / 2, counts, 0.5))
    most = (most - (binom.cdf(most, counts, 0.5) > level / 2 * (1 + _ROUNDING)))[place.reshape(number.shape)]
    share = ((1 + divide(difference, discordance)) / 2)[:, None]
    tails = [special.bdtr(np.maximum(most, 0), number, chance) for chance in (share, 1 - share)]
    rejects = np.where(most >= 0, tails[0] + tails[1], 0.0)
    weight = np.asarray(binom.pmf(number, n[:, None], discordance[:, None]))
    return np.where(difference <= discordance, divide((weight * rejects).sum(axis=1), weight.sum(axis=1)), np.nan)


def mcnemar_detectable(n: FloatArray, discordance: FloatArray, level: float) -> FloatArray:
    """Return the smallest difference that McNemar's exact test finds with power .8, shape (m,); NaN where none is."""
    kinds, place = np.unique(np.stack([n, discordance]), axis=1, return_inverse=True)

    def surplus(difference: FloatArray, cases: FloatArray, share: FloatArray) -> FloatArray:
        return np.nan_to_num(mcnemar_power(cases, share, np.minimum(difference, share), level)) - POWER

    ends = np.zeros(kinds.shape[1]), kinds[1]
    found_there = elementwise.find_root(surplus, ends, args=tuple(kinds), tolerances={"xatol": 1e-6}).x
    return np.asarray(found_there[place.ravel()])


def mcnemar_cases(discordance: float, difference: float, level: float) -> float:
    """Return the fewest cases from which on McNemar's exact test finds a difference with power .8.

    The power rises in saw teeth, since the losses that the test allows are whole numbers. Where the discordant cases
    vary by more than three the teeth are smoothed out; elsewhere the last number of cases that falls short is sought.
    """

    def power(n: FloatArray) -> FloatArray:
        return mcnemar_power(n, np.full(n.shape, discordance), np.full(n.shape, difference), level)

    start = connors_cases(discordance, difference, level)
    if np.isnan(start):
        return np.nan
    some = range(1, int(2 * start + 2 / difference) + 20)
    needed = some[bisect_left(some, POWER, key=lambda n: power(np.array([float(n)]))[0])]
    if np.sqrt(needed * discordance * (1 - discordance)) > _SMOOTH:
        return float(needed)
    near = np.arange(needed, 1.5 * needed + 30)
    return float(near[power(near) < POWER].max(initial=needed - 1) + 1)
