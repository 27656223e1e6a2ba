"""How often the recommended interval covers the truth, in SIMULATED studies drawn from the cases at hand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.distinct import distinct_rows
from mrb_lib.stats.resampling.draws import draws
from mrb_lib.stats.resampling.resample import cluster_sums, ratio
from mrb_lib.stats.resampling.robust import (
    Estimate,
    effective_clusters,
    few_clusters,
    layout,
    ratio_of_sums,
    t_interval,
)
from mrb_lib.stats.resampling.shares import share_intervals
from mrb_lib.stats.subfields import Group

RESAMPLES = 1001
STUDIES, STUDIES_OF_PART = 500, 200
_LOWEST, _HIGHEST = 25, 975
_ROUNDING = 1e-12


class Coverage(NamedTuple):
    """What simulated studies say of an interval; every array has shape (m,).

    Attributes
    ----------
    truth : the value in the cases at hand, which is the truth of the simulated studies
    covered : share of the studies whose interval holds it; NaN where the interval is undefined
    too_low, too_high : shares of the studies whose interval lies below it, or above it
    """

    truth: FloatArray
    covered: FloatArray
    too_low: FloatArray
    too_high: FloatArray


def coverage(
    value: FloatArray, is_share: BoolArray, codes: IntArray, total: int, *, studies: int, seed: int
) -> Coverage:
    """Draw studies from the cases at hand as if these were all there are, and make the interval of each.

    Parameters
    ----------
    value : shape (n, m), scores, or differences of two; NaN where a case does not count
    is_share : shape (m,), which columns are scores from 0 to 1
    codes : shape (n,), the cluster of each case
    total : the number of clusters in the benchmark
    studies : how many to draw; each has as many clusters as there are at hand, drawn with replacement
    seed : of the studies, and of the resamples

    Notes
    -----
    The interval of each study is made as the tables `accuracy` and `significance` make it, by the same rule: Wilson's
    or Student's t where it says so, else percentiles. The resamples are those of
    `mrb_lib.stats.resampling.resample`, the same for every study, so that one matrix product makes all
    resamples of all studies. With 1,001 resamples the bounds are the 26th and the 976th value, and counting replaces
    sorting. Compared with both tables in `tests/stats/power/test_power.py`.
    """
    there = np.isfinite(value)
    value = np.where(there, value, 0.0)
    clusters, sums = cluster_sums(codes, np.hstack([value, value**2, there.astype(np.float64)]))
    top, square, bottom = np.split(np.asarray(sums), 3, axis=1)
    truth = ratio(np.hstack([top.sum(axis=0), bottom.sum(axis=0)])[None])[0]
    out = np.full((3, value.shape[1]), np.nan)
    spread = [divide(a, b)[b > 0] for a, b in zip(top.T, bottom.T, strict=True)]
    varies = np.array([len(each) > 1 and np.ptp(each) > _ROUNDING for each in spread], dtype=bool)
    usable = np.flatnonzero(varies & np.isfinite(truth))
    if len(usable):
        picked = np.random.default_rng([seed, 1]).integers(0, len(clusters), (len(clusters), studies)).T
        weights = _weights(clusters, total, seed)
        first, which = distinct_rows(bottom.T[usable])  # judges mostly answer the same cases, which are counted once
        for kind, row in enumerate(first):
            alike, den = usable[which == kind], bottom[:, usable[row]]
            sides, by_percentiles = np.empty((2, len(alike), studies)), np.empty((len(alike), studies), dtype=bool)
            for i, column in enumerate(alike.tolist()):
                ends = _of_share if is_share[column] else _of_difference
                sums_of = top[picked, column].T, den[picked].T, square[picked, column].sum(axis=1)
                low, high, by_percentiles[i] = ends(*sums_of)
                sides[:, i] = high < truth[column] - _ROUNDING, low > truth[column] + _ROUNDING
            if by_percentiles.any():
                resampled = _sides(top.T[alike], den, picked, weights, truth[alike])
                sides = np.where(by_percentiles, resampled, sides)
            low, high = sides.mean(axis=2)
            out[:, alike] = 1.0 - low - high, low, high
    return Coverage(truth, *out)


def _of_share(num: FloatArray, den: FloatArray, square: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """The ends of the interval of each study, and whether they are the percentiles', which are then not made here.

    Parameters
    ----------
    num, den : shape (clusters, studies), the sums of the scores of each cluster, and its cases
    square : shape (studies,), the sum of the squared scores
    """
    ends = share_intervals(num, den, square, np.empty((0, len(square))))
    return ends.recommended.low, ends.recommended.high, np.asarray(ends.method == "percentile")


def _of_difference(num: FloatArray, den: FloatArray, square: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """As `_of_share`, of a mean difference; where all clusters are alike the interval has no width."""
    units = np.arange(len(num))
    estimates = ratio_of_sums(num.T, den.T, layout([Group(None, None, units, 0)], units))
    value, error, n = estimates.value[:, 0], estimates.error[:, 0], den.sum(axis=0)
    over_cases = divide(np.maximum(divide(square, n) - value**2, 0.0), n - 1)
    estimate = Estimate(value, error, effective_clusters(den, divide(error**2, over_cases)))
    few, alike = few_clusters(estimate), ~(error > _ROUNDING)
    low, high = np.where(alike, value, t_interval(estimate, -1.0, 1.0))
    return low, high, ~few & ~alike


def _weights(clusters: IntArray, total: int, seed: int) -> FloatArray:
    """How often each resample draws the clusters at hand, shape (clusters, resamples)."""
    chunks = [chunk if len(clusters) == total else chunk[clusters] for chunk in draws(total, RESAMPLES, seed)]
    return np.hstack(chunks).astype(np.float64)


def _sides(tops: FloatArray, bottom: FloatArray, picked: IntArray, weights: FloatArray, truth: FloatArray) -> BoolArray:
    """Whether the percentile interval of each study lies below the truth, and above it: shape (2, m, studies).

    Parameters
    ----------
    tops : shape (m, clusters)
    bottom : shape (clusters,), the cases counted, the same for all `m`
    picked : shape (studies, clusters), the clusters that each study drew
    weights : shape (clusters, resamples)
    truth : shape (m,)
    """
    counts = bottom[picked] @ weights
    slack = _ROUNDING * float(counts.max())
    out = np.empty((2, len(tops), len(picked)), dtype=bool)
    for column, (top, value) in enumerate(zip(tops, truth.tolist(), strict=True)):
        sums = top[picked] @ weights - value * counts
        out[0, column] = np.count_nonzero(sums < -slack, axis=1) > _HIGHEST
        out[1, column] = np.count_nonzero(sums <= slack, axis=1) <= _LOWEST
    return out
