"""How often a percentile interval covers the truth, in SIMULATED studies drawn from the cases at hand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats import products
from mrb_lib.stats.ahead import ahead
from mrb_lib.stats.draws import draws
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, SingleArray, divide
from mrb_lib.stats.resample import interval, ratio

RESAMPLES = 1001
STUDIES, STUDIES_OF_PART = 500, 200
_LOWEST, _HIGHEST = 25, 975
_ROUNDING = 1e-12
_SINGLE_ROUNDING = 1e-6
_CELLS_AT_ONCE = 2**20

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
    numerator, denominator : shape (n, m), what each case adds to the two sums of a ratio
    codes : shape (n,), the cluster of each case
    total : the number of clusters in the benchmark
    studies : how many to draw; each has as many clusters as there are at hand, drawn with replacement
    seed : of the studies, and of the resamples

    Notes
    -----
    The resamples are those of `mrb_lib.stats.resample`, the same for every study: an interval here is made as the
    reader's own is made, so that one matrix product makes all resamples of all studies. With 1,001 resamples the
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
        weights = _weights(clusters, total, seed)
        exact = products.is_exact(top, total) and products.is_exact(bottom, total)
        kind = np.float32 if exact else np.float64
        columns = (np.ascontiguousarray(values.T, dtype=kind) for values in (top, bottom))
        weights, (tops, bottoms) = weights.astype(kind, copy=False), columns
        at_once = max(1, _CELLS_AT_ONCE // RESAMPLES)

        def sides(column: int) -> FloatArray:
            top_of, bottom_of, value = tops[column], bottoms[column], float(truth[column])
            parts = range(0, studies, at_once)
            found = [_sides(top_of, bottom_of, picked[at : at + at_once], weights, value) for at in parts]
            return np.asarray(np.hstack(found).mean(axis=1), dtype=np.float64)

        for column, (low, high) in zip(usable, ahead(sides, usable.tolist()), strict=True):
            out[:, column] = 1.0 - low - high, low, high
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


def _sides(top: Values, bottom: Values, picked: IntArray, weights: Values, truth: float) -> BoolArray:
    """Whether the interval of each study lies below the truth, and above it: shape (2, studies).

    Parameters
    ----------
    top, bottom : shape (clusters,), in single precision where sums of them are exact in it
    picked : shape (studies, clusters), the clusters that each study drew
    weights : shape (clusters, resamples), in the same precision
    """
    sums = top[picked] @ weights
    # Where all clusters count alike, the number drawn is the same in every study.
    alike = bool((bottom == bottom[0]).all())
    counts = ((bottom[picked[:1]] if alike else bottom[picked]) @ weights).astype(np.float64)
    if not (counts > 0).all():
        low, high = interval(divide(sums.astype(np.float64), counts).T)
        return np.stack([high < truth - _SINGLE_ROUNDING, low > truth + _SINGLE_ROUNDING])
    slack = _ROUNDING * np.fmax(1.0, counts)
    most, least = truth * counts + slack, truth * counts - slack
    if sums.dtype == np.float32:  # exact sums are quarters: bars rounded to quarters are exact, too
        most, least = (np.floor(4 * most) / 4).astype(np.float32), (np.ceil(4 * least) / 4).astype(np.float32)
    below = np.count_nonzero(sums < least, axis=1) > _HIGHEST
    above = np.count_nonzero(sums <= most, axis=1) <= _LOWEST
    return np.stack([below, above])
