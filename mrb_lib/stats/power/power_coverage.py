"""How often a percentile interval covers the truth, in SIMULATED studies drawn from the cases at hand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, SingleArray, divide
from mrb_lib.stats.resampling import products
from mrb_lib.stats.resampling.distinct import distinct_rows
from mrb_lib.stats.resampling.draws import draws
from mrb_lib.stats.resampling.resample import interval, ratio
from mrb_lib.stats.resampling.threads import threaded_map

RESAMPLES = 1001
STUDIES, STUDIES_OF_PART = 500, 200
_LOWEST, _HIGHEST = 25, 975
_ROUNDING = 1e-12
_SINGLE_ROUNDING = 1e-6

Values = FloatArray | SingleArray


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
    clusters, position = np.unique(codes, return_inverse=True)
    top, bottom = (_by_cluster(values, position.reshape(-1), len(clusters)) for values in (numerator, denominator))
    truth = ratio(np.hstack([top.sum(axis=0), bottom.sum(axis=0)])[None])[0]
    out = np.full((3, numerator.shape[1]), np.nan)
    spread = [divide(a, b)[b > 0] for a, b in zip(top.T, bottom.T, strict=True)]
    varies = np.array([len(each) > 1 and np.ptp(each) > _ROUNDING for each in spread], dtype=bool)
    usable = np.flatnonzero(varies & np.isfinite(truth))
    if len(usable):
        picked = np.random.default_rng([seed, 1]).integers(0, len(clusters), (len(clusters), studies)).T
        exact = products.is_exact(top, total) and products.is_exact(bottom, total)
        values = (top.T[usable], bottom.T[usable], _weights(clusters, total, seed))
        tops, bottoms, weights = (_in_precision(each, exact) for each in values)
        first, which = distinct_rows(bottom.T[usable])  # judges mostly answer the same cases, which are counted once

        def sides(place: int) -> BoolArray:
            alike = np.flatnonzero(which == place)
            return _sides(tops[alike], bottoms[first[place]], picked, weights, truth[usable[alike]])

        for place, found in enumerate(threaded_map(sides, range(len(first)))):
            low, high = found.mean(axis=2)
            out[:, usable[which == place]] = 1.0 - low - high, low, high
    return Coverage(truth, *out)


def _by_cluster(values: FloatArray, position: IntArray, clusters: int) -> FloatArray:
    if clusters == len(values):
        return values[np.argsort(position)]
    out = np.zeros((clusters, values.shape[1]))
    np.add.at(out, position, values)
    return out


def _weights(clusters: IntArray, total: int, seed: int) -> SingleArray:
    """How often each resample draws the clusters at hand, shape (clusters, resamples)."""
    chunks = [chunk if len(clusters) == total else chunk[clusters] for chunk in draws(total, RESAMPLES, seed)]
    return chunks[0] if len(chunks) == 1 else np.hstack(chunks)


def _in_precision(values: Values, exact: bool) -> Values:
    return values.astype(np.float32, copy=False) if exact else values.astype(np.float64, copy=False)


def _sides(tops: Values, bottom: Values, picked: IntArray, weights: Values, truth: FloatArray) -> BoolArray:
    """Whether the interval of each study lies below the truth, and above it: shape (2, m, studies).

    Parameters
    ----------
    tops : shape (m, clusters), in single precision where sums of them are exact in it
    bottom : shape (clusters,), the cases counted, the same for all `m`
    picked : shape (studies, clusters), the clusters that each study drew
    weights : shape (clusters, resamples), in the same precision
    truth : shape (m,)
    """
    counts = (bottom[picked] @ weights).astype(np.int64)
    largest, none_empty = int(counts.max()), bool(counts.min() > 0)
    slack = _ROUNDING * largest
    out = np.empty((2, len(tops), len(picked)), dtype=bool)
    for column, (top, value) in enumerate(zip(tops, truth.tolist(), strict=True)):
        sums = top[picked] @ weights
        if none_empty:
            sums -= _bars(value, largest, exact=sums.dtype == np.float32).astype(sums.dtype)[counts]
            out[0, column] = np.count_nonzero(sums < -slack, axis=1) > _HIGHEST
            out[1, column] = np.count_nonzero(sums <= slack, axis=1) <= _LOWEST
        else:
            low, high = interval(divide(sums.astype(np.float64), counts).T)
            out[:, column] = high < value - _SINGLE_ROUNDING, low > value + _SINGLE_ROUNDING
    return out


def _bars(truth: float, largest: int, *, exact: bool) -> FloatArray:
    """What the sum over each number of cases, 0 to the largest, is below or above where its ratio is.

    Exact sums are quarters: a bar that is none itself is moved to the middle of the two beside it, which single
    precision holds.
    """
    bars: FloatArray = truth * np.arange(largest + 1.0)
    if not exact:
        return bars
    quarters = np.rint(4 * bars)
    is_quarter = np.abs(4 * bars - quarters) <= 4 * _ROUNDING * largest
    return np.where(is_quarter, quarters, np.floor(4 * bars) + 0.5) / 4
