"""How often a percentile interval covers the truth, in SIMULATED studies drawn from the cases at hand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.distinct import distinct_rows
from mrb_lib.stats.resampling.draws import draws
from mrb_lib.stats.resampling.resample import cluster_sums, interval, ratio

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
    numerator: FloatArray, denominator: FloatArray, codes: IntArray, total: int, *, studies: int, seed: int
) -> Coverage:
    """Draw studies from the cases at hand as if these were all there are, and make the interval of each.

    Parameters
    ----------
    numerator, denominator : shape (n, m), what each case adds to the two sums of a ratio; the second are whole numbers
    codes : shape (n,), the cluster of each case
    total : the number of clusters in the benchmark
    studies : how many to draw; each has as many clusters as there are at hand, drawn with replacement
    seed : of the studies, and of the resamples

    Notes
    -----
    The resamples are those of `mrb_lib.stats.resampling.resample`, the same for every study: an interval here is made
    as the reader's own is made, so that one matrix product makes all resamples of all studies. With 1,001 resamples the
    bounds are the 26th and the 976th value, and counting replaces sorting.
    """
    clusters, sums = cluster_sums(codes, np.hstack([numerator, denominator]))
    top, bottom = np.hsplit(np.asarray(sums), 2)
    truth = ratio(np.hstack([top.sum(axis=0), bottom.sum(axis=0)])[None])[0]
    out = np.full((3, numerator.shape[1]), np.nan)
    spread = [divide(a, b)[b > 0] for a, b in zip(top.T, bottom.T, strict=True)]
    varies = np.array([len(each) > 1 and np.ptp(each) > _ROUNDING for each in spread], dtype=bool)
    usable = np.flatnonzero(varies & np.isfinite(truth))
    if len(usable):
        picked = np.random.default_rng([seed, 1]).integers(0, len(clusters), (len(clusters), studies)).T
        tops, bottoms, weights = top.T[usable], bottom.T[usable], _weights(clusters, total, seed)
        first, which = distinct_rows(bottom.T[usable])  # judges mostly answer the same cases, which are counted once

        for kind, row in enumerate(first):
            alike = np.flatnonzero(which == kind)
            low, high = _sides(tops[alike], bottoms[row], picked, weights, truth[usable[alike]]).mean(axis=2)
            out[:, usable[alike]] = 1.0 - low - high, low, high
    return Coverage(truth, *out)


def _weights(clusters: IntArray, total: int, seed: int) -> FloatArray:
    """How often each resample draws the clusters at hand, shape (clusters, resamples)."""
    chunks = [chunk if len(clusters) == total else chunk[clusters] for chunk in draws(total, RESAMPLES, seed)]
    return np.hstack(chunks).astype(np.float64)


def _sides(tops: FloatArray, bottom: FloatArray, picked: IntArray, weights: FloatArray, truth: FloatArray) -> BoolArray:
    """Whether the interval of each study lies below the truth, and above it: shape (2, m, studies).

    Parameters
    ----------
    tops : shape (m, clusters)
    bottom : shape (clusters,), the cases counted, the same for all `m`
    picked : shape (studies, clusters), the clusters that each study drew
    weights : shape (clusters, resamples)
    truth : shape (m,)
    """
    counts = bottom[picked] @ weights
    none_empty, slack = bool(counts.min() > 0), _ROUNDING * float(counts.max())
    out = np.empty((2, len(tops), len(picked)), dtype=bool)
    for column, (top, value) in enumerate(zip(tops, truth.tolist(), strict=True)):
        sums = top[picked] @ weights
        if none_empty:
            sums -= value * counts
            out[0, column] = np.count_nonzero(sums < -slack, axis=1) > _HIGHEST
            out[1, column] = np.count_nonzero(sums <= slack, axis=1) <= _LOWEST
        else:
            low, high = interval(divide(sums, counts).T)
            out[:, column] = high < value - _ROUNDING, low > value + _ROUNDING
    return out
