"""How often a percentile interval covers the truth, in SIMULATED studies drawn from the cases at hand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.options import FloatArray, IntArray, divide
from mrb_lib.stats.resample import Block, Statistic, interval, ratio, replicates

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
    varies = np.array([len(each) > 1 and np.ptp(each) > 0 for each in spread], dtype=bool)
    usable = np.flatnonzero(varies & np.isfinite(truth))
    if len(usable):
        picked = np.random.default_rng([seed, 1]).integers(0, len(clusters), (len(clusters), studies))
        drawn = Block(clusters, *_studies(top[:, usable], bottom[:, usable], picked))
        found = replicates([drawn], total, resamples=RESAMPLES, seed=seed)[0]
        for i, column in enumerate(usable):
            out[:, column] = _shares(found[:, i * studies : (i + 1) * studies], float(truth[column]))
    return Coverage(truth, *out)


def _by_cluster(values: FloatArray, position: IntArray, clusters: int) -> FloatArray:
    if clusters == len(values):
        return values[np.argsort(position)]
    out = np.zeros((clusters, values.shape[1]))
    np.add.at(out, position, values)
    return out


def _studies(top: FloatArray, bottom: FloatArray, picked: IntArray) -> tuple[FloatArray, Statistic]:
    """The sums of each study's clusters; where all denominators are 1 one column of them does for all."""
    rows = len(picked)
    drawn = np.swapaxes(top[picked], 1, 2).reshape(rows, -1)
    if (bottom == 1).all():
        return np.hstack([drawn, np.ones((rows, 1))]), _mean
    return np.hstack([drawn, np.swapaxes(bottom[picked], 1, 2).reshape(rows, -1)]), ratio


def _mean(sums: FloatArray) -> FloatArray:
    count = sums[:, -1:]
    return np.asarray(sums[:, :-1] / np.where(count > 0, count, np.nan))


def _shares(found: FloatArray, truth: float) -> tuple[float, float, float]:
    """Shares of studies whose interval covers, is too low, and is too high, from replicates (resamples, studies)."""
    if np.isnan(found).any():
        low, high = interval(found)
        too_high, too_low = low > truth + _ROUNDING, high < truth - _ROUNDING
    else:
        too_high = (found <= truth + _ROUNDING).sum(axis=0) <= _LOWEST
        too_low = (found < truth - _ROUNDING).sum(axis=0) > _HIGHEST
    return float((~too_high & ~too_low).mean()), float(too_low.mean()), float(too_high.mean())
