"""Intervals of agreement: analytic ones, from how each cluster of cases moves a coefficient, and of few clusters.

A coefficient is a smooth function of sums over cases. Its derivative times what a cluster adds to the sums is the
cluster's influence, and the sum of squared influences estimates the variance. Where every case is a cluster of its
own this is the variance of Gwet (2008, doi:10.1348/000711006X126600; 2021, doi:10.1177/0013164420973080) for percent
agreement, Fleiss' kappa, AC1 and alpha, and that of Fleiss, Cohen & Everitt (1969, doi:10.1037/h0028106) for Cohen's
kappa and its weighted forms. Annotators are taken as they are; only cases are a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtr, ndtri, stdtrit

from mrb_lib.stats.core.options import FloatArray, IntArray, divide
from mrb_lib.stats.resampling.intervals import bca_levels
from mrb_lib.stats.resampling.multi_resample import Sums
from mrb_lib.stats.resampling.quantiles import CONFIDENCE, of_ordered, ordered

_STEP = 1e-5
_UPPER = (1 + CONFIDENCE) / 2
_CERTAIN = 1 - 1e-12


def gradient(statistic: Callable[[FloatArray], FloatArray], sums: FloatArray) -> FloatArray:
    """The derivative of a statistic at some sums, by central differences.

    Parameters
    ----------
    statistic : maps sums of shape (b, k) to estimates of shape (b, m)
    sums : shape (g, k), not negative

    Returns
    -------
    float array, shape (g, k, m); 0 for sums of 0, to which no case adds
    """
    g, k = sums.shape
    step, each = _STEP * sums, np.arange(k)
    moved = np.tile(sums, (2, k, 1, 1))
    moved[0, each, :, each] += step.T
    moved[1, each, :, each] -= step.T
    up, down = statistic(moved.reshape(2 * k * g, k)).reshape(2, k, g, -1).transpose(0, 2, 1, 3)
    slope: FloatArray = np.where(step[:, :, None] > 0, divide(up - down, 2 * step[:, :, None]), 0.0)
    return slope


class Influence(NamedTuple):
    """Sums over clusters of powers of their influence on each of m estimates.

    Attributes
    ----------
    square, cube : shape (m,), or (g, m) of several measures
    """

    square: FloatArray
    cube: FloatArray

    @classmethod
    def of(cls, sums: Sums, slope: Sums) -> Influence:
        """From sums by cluster, shape (c, k), and derivatives, shape (k, m), see `gradient`."""
        found = sparse.csr_array(sums @ slope) if isinstance(slope, sparse.csr_array) else np.asarray(sums @ slope)
        powers = (found**2, found**3) if isinstance(found, np.ndarray) else (found.power(2), found.power(3))
        return cls(*(np.asarray(power.sum(axis=0), dtype=np.float64).ravel() for power in powers))

    @classmethod
    def of_each(cls, sums: Sequence[Sums], slopes: Sequence[Sums] | FloatArray) -> Influence:
        """Of several measures."""
        found = [cls.of(*item) for item in zip(sums, slopes, strict=True)]
        return cls(np.stack([item.square for item in found]), np.stack([item.cube for item in found]))

    @classmethod
    def of_pairs(cls, sums: Sums, slopes: FloatArray) -> Influence:
        """Of m estimates of p pairs, shape (m, p), from their sums side by side and derivatives of shape (m, p, k)."""
        m, p, k = slopes.shape
        known = np.nan_to_num(slopes)
        if isinstance(sums, np.ndarray):
            found = np.matmul(sums.reshape(-1, p, k).transpose(1, 0, 2), known.transpose(1, 2, 0))
            square = found**2
            return cls(square.sum(axis=1).T, (square * found).sum(axis=1).T)
        row, column = np.arange(p * k), np.repeat(np.arange(p), k)
        maps = [sparse.csr_array((slope.ravel(), (row, column)), shape=(p * k, p)) for slope in known]
        return cls.of_each([sums] * m, maps)

    @property
    def acceleration(self) -> FloatArray:
        """How the error changes with the estimate, for the BCa bootstrap (Efron 1987, section 7)."""
        return divide(self.cube, 6 * self.square**1.5)


def bootstrap_bounds(
    replicates: FloatArray, value: FloatArray, acceleration: FloatArray, clusters: FloatArray
) -> FloatArray:
    """The ends of percentile intervals, then those of BCa intervals.

    Parameters
    ----------
    replicates : shape (resamples, m)
    value, acceleration : shape (m,)
    clusters : shape (m,), how many an estimate rests on. The ends are farther out, on the scale of normal quantiles, by
        what Student's t has beyond 1.96 with so few, and since a resample of n varies less than a sample, by n - 1
        over n (Hesterberg 2015, doi:10.1080/00031305.2015.1089789, on the narrowness bias): with 20 clusters the
        percentiles are the 1.6th and 98.4th, with 100 the 2.3rd, with 1,000 the 2.48th.

    Returns
    -------
    float array, shape (4, m)
    """
    if not len(replicates):
        return np.full((4, len(value)), np.nan)
    tails = np.array([[1 - _UPPER], [_UPPER]])
    rows = ordered(replicates)
    levels = bca_levels(rows, value, acceleration)
    wanted: FloatArray = np.vstack([np.broadcast_to(tails, levels.shape), levels])
    beyond = _reach(np.maximum(clusters, 2.0)) - ndtri(_UPPER)
    return of_ordered(rows, np.asarray(ndtr(ndtri(wanted) + np.array([[-1.0], [1.0], [-1.0], [1.0]]) * beyond)))


def _reach(clusters: FloatArray) -> FloatArray:
    """How many large-sample standard errors a 95% interval reaches: Student's t, by sqrt(n / (n - 1))."""
    free = np.maximum(clusters - 1, 1.0)
    return np.asarray(stdtrit(free, _UPPER) * np.sqrt(clusters / free), dtype=np.float64)


def t_interval(
    value: FloatArray, variance: FloatArray, clusters: IntArray | FloatArray, least: FloatArray | float = -1.0
) -> tuple[FloatArray, FloatArray]:
    """A 95% interval by Student's t with a degree of freedom less than there are clusters; at most 1.

    Parameters
    ----------
    value : shape (...), the estimates
    variance : their sums of squared influences, here multiplied by clusters / (clusters - 1)
    clusters : how many clusters there are; NaN for fewer than two
    least : what the coefficients cannot be below
    """
    half = np.where(clusters >= 2, _reach(np.asarray(clusters, dtype=np.float64)) * np.sqrt(variance), np.nan)
    return np.maximum(value - half, least), np.minimum(value + half, 1.0)


def kappa_interval(
    value: FloatArray, variance: FloatArray, clusters: IntArray | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """A 95% interval of a kappa, as `t_interval` but symmetric in its inverse hyperbolic tangent (Fisher's z).

    Notes
    -----
    Kappas near 1 are skewed, and the customary kappa +- 1.96 standard errors covers too little: of a quadratic kappa
    of .81 with 100 cases 92%, this 95%; see `tests/simulation/test_agreement.py`.
    """
    inside = np.abs(value) < _CERTAIN
    known = np.where(inside, value, 0.0)
    half = _reach(np.asarray(clusters, dtype=np.float64)) * np.sqrt(variance) / (1 - known**2)
    ends = (np.where(inside, np.tanh(np.arctanh(known) + sign * half), value) for sign in (-1, 1))
    low, high = (np.where((clusters >= 2) & np.isfinite(variance), end, np.nan) for end in ends)
    return low, high
