"""Differences of mean scores between all pairs of judges, made from the judges' own sums.

Where two judges are scored on the same cases, their difference in a resample is the
difference of their means in it, so that the matrix products are over judges and not over
pairs. Only a pair that is scored on different cases needs a column of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, SingleArray, divide
from mrb_lib.stats.core.subfields import Group
from mrb_lib.stats.resampling.ahead import ahead
from mrb_lib.stats.resampling.draws import draws
from mrb_lib.stats.resampling.quantiles import TAILS, few, quantiles, select
from mrb_lib.stats.resampling.resample import n_clusters
from mrb_lib.stats.resampling.weighted_sums import cluster_sums, weighted_sums
from mrb_lib.stats.significance.permutation import p_values, units

WholeArray = NDArray[np.int32]

_ONE = 2.0**30
_TIED = 1e-6


def whole_means(sums: SingleArray, divisors: SingleArray, which: IntArray) -> tuple[WholeArray, bool]:
    """The means of scores between -1 and 1 in each resample, in units of 2^-30.

    Parameters
    ----------
    sums : shape (k, resamples)
    divisors : shape (q, resamples); where one is 0 the mean is undefined
    which : shape (k,), the divisor of each row of sums

    Returns
    -------
    means : shape (k, resamples); 0 where undefined
    defined : whether all are defined
    """
    known = divisors > 0
    factors = np.divide(_ONE, divisors.astype(np.float64), out=np.zeros(divisors.shape), where=known)
    means = np.empty(sums.shape, dtype=np.int32)
    for row, (each, at) in enumerate(zip(sums, which, strict=True)):
        means[row] = np.rint(each * factors[at])
    return means, bool(known.all())


def bounds(value: FloatArray) -> WholeArray:
    """What resampled differences must be at most, and at least, to lie as far from the observed as zero, shape (2, p).

    That is zero and its mirror image beyond the observed one, rounding allowed for, in units of 2^-30.
    """
    low, high = _zero_and_twice(value) * _ONE
    return np.stack([np.floor(low), np.ceil(high)]).astype(np.int32)


def of_replicates(found: WholeArray, ends: WholeArray, room: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """The interval and the p of each difference.

    Parameters
    ----------
    found : shape (p, resamples), resampled differences in units of 2^-30, all defined; overwritten
    ends : shape (2, p), see `bounds`
    room : shape (2, p or more, resamples), to work in

    Returns
    -------
    interval : shape (2, p), the ends of the 95% percentile interval
    p : shape (p,), two-sided

    Notes
    -----
    p is (1 + resamples at least as far from the difference as zero is) / (1 + resamples).
    """
    beyond, other = room[:, : len(found)]
    np.less_equal(found, ends[0][:, None], out=beyond)
    np.greater_equal(found, ends[1][:, None], out=other)
    beyond |= other
    p_value = (1.0 + _count(beyond)) / (1.0 + found.shape[1])
    return _interval(found), p_value


def of_partly_defined(found: FloatArray, value: FloatArray) -> FloatArray:
    """As `of_replicates`, from differences of which some are NaN; NaN where more than half of a row are."""
    low, high = _zero_and_twice(value)
    beyond = ((found <= low[:, None]) | (found >= high[:, None])).sum(axis=1)
    defined = np.isfinite(found).sum(axis=1)
    out = np.vstack([quantiles(found.T, TAILS), (1.0 + beyond) / (1.0 + defined)])
    out[:, 2 * defined < found.shape[1]] = np.nan
    return out


def _zero_and_twice(value: FloatArray) -> FloatArray:
    """The lower and the upper of zero and its mirror image beyond the value, shape (2, p), rounding allowed for.

    None above 1 or below -1, which no difference passes.
    """
    twice = np.nan_to_num(2 * value)
    bounds = np.stack([np.minimum(0.0, twice) + _TIED, np.maximum(0.0, twice) - _TIED])
    found: FloatArray = np.clip(bounds, -1.5, 1.5)
    return found


def _count(flags: NDArray[np.bool_]) -> IntArray:
    """How many of each row are true."""
    found: IntArray = np.bitwise_count(np.packbits(flags, axis=1)).sum(axis=1, dtype=np.int64)
    return found


def _interval(found: WholeArray) -> FloatArray:
    """The quantiles of rows, shape (2, p)."""
    if few(found.shape[1]):
        return quantiles(found.T / _ONE, TAILS)
    ends = np.empty((2, len(found)))
    for end, level, (at, above) in zip(ends, TAILS, select(found), strict=True):
        part = level * (found.shape[1] - 1) % 1
        end[:] = at * ((1 - part) / _ONE) + above * (part / _ONE)
    return ends


_PAIRS_AT_ONCE = 16
_FLIPPED_AT_ONCE = 2**22
_NO_VARIANCE = 1e-9


class Columns(NamedTuple):
    """What is summed over cases, and which columns make the difference of which pair.

    Attributes
    ----------
    scores : shape (cases, k), what each case adds; 0 where it does not count
    counted : shape (cases, q), 1 where a case counts, one column for every set of cases that occurs
    which : shape (k,), the column of `counted` of each column of `scores`
    dimension, first, second : shape (p,), the pairs of judges
    plus, minus : shape (p,), the columns of `scores` whose means differ by the pair's difference; `minus` is -1
        where `plus` holds the pair's own differences
    bounds : shape (dimensions + 1,), where the judges' columns of each dimension begin
    """

    scores: FloatArray
    counted: FloatArray
    which: IntArray
    dimension: IntArray
    first: IntArray
    second: IntArray
    plus: IntArray
    minus: IntArray
    bounds: IntArray


class Differences(NamedTuple):
    """The differences of all pairs over one group of cases; every array has shape (p,).

    Attributes
    ----------
    n : cases scored for both
    only_1, only_2 : cases on which the first, the second judge has the higher score
    clusters : clusters with cases scored for both
    value, low, high : the mean difference and its 95% percentile interval
    error : its cluster-robust standard error; 0 where no cluster departs from the mean
    bootstrap_p, permutation_p : two-sided
    alone : whether each cluster of the group holds one case, so that cases are independent
    """

    n: IntArray
    only_1: IntArray
    only_2: IntArray
    clusters: IntArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    error: FloatArray
    bootstrap_p: FloatArray
    permutation_p: FloatArray
    alone: bool


def columns(score: FloatArray, judged: BoolArray) -> Columns:
    """Plan the columns for scores of shape (judges, dimensions, cases).

    Parameters
    ----------
    judged : shape (judges, dimensions), who takes part where
    """
    parts: list[FloatArray] = []
    masks: dict[bytes, int] = {}
    counted: list[FloatArray] = []
    which: list[int] = []
    pairs: list[tuple[int, int, int, int, int]] = []
    own: list[tuple[int, FloatArray]] = []
    bounds = [0]

    def place(mask: BoolArray) -> int:
        key = np.packbits(mask).tobytes()
        if key not in masks:
            masks[key] = len(counted)
            counted.append(mask.astype(np.float64))
        return masks[key]

    for dimension in range(score.shape[1]):
        judges = np.flatnonzero(judged[:, dimension])
        value = score[judges, dimension]
        known = np.isfinite(value)
        start = bounds[-1]
        parts.append(np.where(known, value, 0.0))
        which.extend(place(mask) for mask in known)
        bounds.append(start + len(judges))
        for i, j in combinations(range(len(judges)), 2):
            if which[start + i] == which[start + j]:
                pairs.append((dimension, judges[i], judges[j], start + i, start + j))
            else:
                own.append((len(pairs), np.where(known[i] & known[j], value[i] - value[j], np.nan)))
                pairs.append((dimension, judges[i], judges[j], -1, -1))
    table = np.array(pairs, dtype=np.int64).reshape(-1, 5).T.copy()
    for number, (pair, gain) in enumerate(own):
        known = np.isfinite(gain)
        table[3, pair] = bounds[-1] + number
        which.append(place(known))
    parts.extend(np.nan_to_num(gain)[None] for _, gain in own)
    n = score.shape[2]
    return Columns(
        np.ascontiguousarray(np.concatenate([np.empty((0, n)), *parts]).T),
        np.array(counted).reshape(-1, n).T.copy(),
        np.array(which, dtype=np.int64),
        dimension=table[0],
        first=table[1],
        second=table[2],
        plus=table[3],
        minus=table[4],
        bounds=np.array(bounds, dtype=np.int64),
    )


def differences(
    score: FloatArray, plan: Columns, parts: Sequence[Group], codes: IntArray, *, resamples: int, seed: int
) -> Iterator[Differences]:
    """The differences of all pairs of `plan`, for each group of cases.

    Parameters
    ----------
    score : shape (judges, dimensions, cases), NaN where a case is excluded
    codes : the cluster of every case of the benchmark

    Notes
    -----
    The p of the bootstrap is the share of resampled differences that lie at least as far
    from the observed one as zero does, the bootstrap's distribution standing for the
    one under no difference: Efron and Tibshirani (1993), An Introduction to the Bootstrap,
    section 16.4, and Hall and Wilson (1991), doi:10.2307/2532163. The standard error is that of
    a ratio of sums over clusters, by linearisation.
    """
    total = n_clusters(codes)
    both = np.hstack([plan.scores, plan.counted])
    sums = [cluster_sums(codes[part.cases], both[part.cases]) for part in parts]
    resampled = weighted_sums(sums, partial(draws, total, resamples, seed), total, resamples, np.float32)
    counts = _counts(score, plan, parts)
    unit = units(score)
    for part, item, drawn, (n, only_1, only_2) in zip(parts, sums, resampled, counts, strict=True):
        value, error, clusters = _analytic(item.values, plan)
        low, high, bootstrap_p = _resampled(plan, value, drawn)
        permutation_p = _flipped(plan, item.values, unit)
        unknown = (n < 2) | (clusters < 2)
        for values in (low, high, error, bootstrap_p, permutation_p):
            values[unknown] = np.nan
        alone = len(item.clusters) == len(part.cases)
        yield Differences(n, only_1, only_2, clusters, value, low, high, error, bootstrap_p, permutation_p, alone)


def _counts(score: FloatArray, plan: Columns, parts: Sequence[Group]) -> list[tuple[IntArray, IntArray, IntArray]]:
    """For each group: the cases scored for both judges of each pair, and those that either judge wins."""
    member = np.zeros((score.shape[2], len(parts)), dtype=np.float32)
    for i, part in enumerate(parts):
        member[part.cases, i] = 1
    found = np.zeros((3, len(plan.plus), len(parts)), dtype=np.int64)
    order = np.lexsort((plan.first, plan.dimension))
    starts = np.flatnonzero(np.diff(plan.dimension[order] * len(score) + plan.first[order], prepend=-1))
    for pairs in np.split(order, starts[1:]) if len(order) else ():
        dimension, first = plan.dimension[pairs[0]], plan.first[pairs[0]]
        gain = score[first, dimension] - score[plan.second[pairs], dimension]
        for row, chosen in enumerate((np.isfinite(gain), gain > 0, gain < 0)):
            found[row, pairs] = chosen.astype(np.float32) @ member
    return [(found[0, :, i], found[1, :, i], found[2, :, i]) for i in range(len(parts))]


def _analytic(sums: FloatArray, plan: Columns) -> tuple[FloatArray, FloatArray, IntArray]:
    """The mean difference of each pair, its standard error, and its clusters."""
    k = len(plan.which)
    num, den = sums[:, :k], sums[:, k:]
    total = den.sum(axis=0)[plan.which]
    mean = divide(num.sum(axis=0), total)
    residual = num - np.nan_to_num(mean) * den[:, plan.which]
    square = (residual**2).sum(axis=0)
    own = plan.minus < 0
    value = np.where(own, mean[plan.plus], mean[plan.plus] - mean[plan.minus])
    spread = np.where(own, square[plan.plus], square[plan.plus] + square[plan.minus])
    for dimension, (start, stop) in enumerate(zip(plan.bounds[:-1], plan.bounds[1:], strict=True)):
        cross = residual[:, start:stop].T @ residual[:, start:stop]
        here = (plan.dimension == dimension) & ~own
        spread[here] -= 2 * cross[plan.plus[here] - start, plan.minus[here] - start]
    spread[spread < _NO_VARIANCE * np.maximum(1.0, square[plan.plus])] = 0.0
    clusters = (den > 0).sum(axis=0)[plan.which[plan.plus]]
    counted = total[plan.plus]
    error = np.sqrt(divide(spread, counted**2) * divide(clusters.astype(np.float64), clusters - 1))
    return value, error, clusters.astype(np.int64)


def _resampled(plan: Columns, value: FloatArray, drawn: SingleArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The interval and the p of the bootstrap of each pair."""
    resamples = drawn.shape[1]
    out = np.full((3, len(value)), np.nan)
    if not resamples:
        return out[0], out[1], out[2]
    k = len(plan.which)
    means, defined = whole_means(drawn[:k], drawn[k:], plan.which)
    if not defined:
        return _partly_resampled(plan, value, drawn)
    half, ends = -(-len(value) // 2), bounds(value)

    def work(start: int) -> None:
        room = np.empty((_PAIRS_AT_ONCE, resamples), dtype=np.int32)
        flags = np.empty((2, *room.shape), dtype=np.bool_)
        stop = min(start + half, len(value))
        for first in range(start, stop, _PAIRS_AT_ONCE):
            pairs = slice(first, min(first + _PAIRS_AT_ONCE, stop))
            found = _subtract(means, plan.plus[pairs], plan.minus[pairs], room)
            out[:2, pairs], out[2, pairs] = of_replicates(found, ends[:, pairs], flags)

    for _ in ahead(work, (0, half)):  # selecting leaves the interpreter free
        pass
    return out[0], out[1], out[2]


def _partly_resampled(
    plan: Columns, value: FloatArray, drawn: SingleArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """As `_resampled`, where some resamples hold no case of a pair."""
    k = len(plan.which)
    means = divide(drawn[:k].astype(np.float64), drawn[k:].astype(np.float64)[plan.which])
    out = np.full((3, len(value)), np.nan)
    step = max(1, _FLIPPED_AT_ONCE // drawn.shape[1])
    for first in range(0, len(value), step):
        pairs = slice(first, first + step)
        minus = plan.minus[pairs]
        found = means[plan.plus[pairs]]
        found[minus >= 0] -= means[minus[minus >= 0]]
        out[:, pairs] = of_partly_defined(found, value[pairs])
    return out[0], out[1], out[2]


def _flipped(plan: Columns, sums: FloatArray, unit: int) -> FloatArray:
    """The p of the sign flips of each pair."""
    each = np.rint(sums[:, : len(plan.which)].T * unit).astype(np.int32)
    out = np.full(len(plan.plus), np.nan)
    step = max(1, _FLIPPED_AT_ONCE // max(1, each.shape[1]))
    for first in range(0, len(out), step):
        pairs = slice(first, first + step)
        minus = plan.minus[pairs]
        gains = each[plan.plus[pairs]]
        gains[minus >= 0] -= each[minus[minus >= 0]]
        out[pairs] = p_values(gains)
    return out


def _subtract(each: WholeArray, plus: IntArray, minus: IntArray, room: WholeArray) -> WholeArray:
    """The rows `plus` minus the rows `minus` (or nothing, where it is -1), written into the first rows of `room`."""
    breaks = np.flatnonzero((np.diff(plus) != 0) | (np.diff(minus) != 1)) + 1
    for start, stop in zip([0, *breaks.tolist()], [*breaks.tolist(), len(plus)], strict=True):
        first, second = plus[start], minus[start]
        if second < 0:
            room[start:stop] = each[plus[start:stop]]
        else:
            np.subtract(each[first], each[second : second + stop - start], out=room[start:stop])
    return room[: len(plus)]
