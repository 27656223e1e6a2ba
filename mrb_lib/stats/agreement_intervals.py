"""Analytic intervals of agreement: the variance of a coefficient from how each cluster of cases moves it.

A coefficient is a smooth function of sums over cases. Its derivative times what a cluster adds to the sums is the
cluster's influence, and the sum of squared influences estimates the variance. Where every case is a cluster of its
own this is the variance of Gwet (2008, doi:10.1348/000711006X126600; 2021, doi:10.1177/0013164420973080) for percent
agreement, Fleiss' kappa, AC1 and alpha, and that of Fleiss, Cohen & Everitt (1969, doi:10.1037/h0028106) for Cohen's
kappa and its weighted forms. Annotators are taken as they are; only cases are a sample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import ndtri, stdtrit

from mrb_lib.stats.intervals import bca_levels
from mrb_lib.stats.measures import Sums
from mrb_lib.stats.options import FloatArray, IntArray, divide
from mrb_lib.stats.quantiles import CONFIDENCE, quantiles

_STEP = 1e-5


def gradient(statistic: Callable[[FloatArray], FloatArray], sums: FloatArray) -> FloatArray:
    """The derivative of a statistic at some sums, by central differences.

    Parameters
    ----------
    statistic : maps sums of shape (b, k) to estimates of shape (b, m)
    sums : shape (k,), not negative

    Returns
    -------
    float array, shape (k, m); 0 for sums of 0, to which no case adds
    """
    moved = np.flatnonzero(sums)
    step = _STEP * sums[moved]
    table = np.tile(sums, (2 * len(moved), 1))
    table[np.arange(len(moved)), moved] += step
    table[len(moved) + np.arange(len(moved)), moved] -= step
    found = statistic(table)
    out = np.zeros((len(sums), found.shape[1]))
    out[moved] = (found[: len(moved)] - found[len(moved) :]) / (2 * step[:, None])
    return out


class Influence(NamedTuple):
    """Sums over clusters of powers of their influence on each of m estimates.

    Attributes
    ----------
    square, cube : shape (m,)
    """

    square: FloatArray
    cube: FloatArray

    @classmethod
    def of(cls, sums: Sums, slope: Sums) -> Influence:
        """From sums by cluster, shape (c, k), and derivatives, shape (k, m), see `gradient`."""
        found = sparse.csr_array(sums @ slope) if isinstance(slope, sparse.csr_array) else np.asarray(sums @ slope)
        powers = (found**2, found**3) if isinstance(found, np.ndarray) else (found.power(2), found.power(3))
        return cls(*(np.asarray(power.sum(axis=0), dtype=np.float64).ravel() for power in powers))

    @property
    def acceleration(self) -> FloatArray:
        """How the error changes with the estimate, for the BCa bootstrap (Efron 1987, section 7)."""
        return divide(self.cube, 6 * self.square**1.5)


def bootstrap_bounds(replicates: FloatArray, value: FloatArray, acceleration: FloatArray) -> FloatArray:
    """The ends of the percentile interval, then those of the BCa interval, shape (4, m), of shape (resamples, m)."""
    if not len(replicates):
        return np.full((4, len(value)), np.nan)
    tails = np.array([[(1 - CONFIDENCE) / 2], [(1 + CONFIDENCE) / 2]])
    levels = bca_levels(np.ascontiguousarray(replicates.T), value, acceleration)
    return quantiles(replicates, np.vstack([np.broadcast_to(tails, levels.shape), levels]))


def t_interval(value: FloatArray, variance: FloatArray, clusters: IntArray) -> tuple[FloatArray, FloatArray]:
    """A 95% interval by Student's t with a degree of freedom less than there are clusters; at most 1, at least -1.

    Parameters
    ----------
    value : shape (m,), the estimates
    variance : shape (m,), their sums of squared influences, here multiplied by clusters / (clusters - 1)
    clusters : shape (m,), how many clusters there are; NaN for fewer than two
    """
    free = np.maximum(clusters - 1, 1).astype(np.float64)
    half = stdtrit(free, (1 + CONFIDENCE) / 2) * np.sqrt(variance * clusters / free)
    return _bounded(value, np.where(clusters >= 2, half, np.nan))


def normal_interval(value: FloatArray, variance: FloatArray, clusters: IntArray) -> tuple[FloatArray, FloatArray]:
    """As `t_interval`, but of the large-sample variance as it is: the custom for kappas of independent cases."""
    half = ndtri((1 + CONFIDENCE) / 2) * np.sqrt(variance)
    return _bounded(value, np.where(clusters >= 2, half, np.nan))


def _bounded(value: FloatArray, half: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.maximum(value - half, -1.0), np.minimum(value + half, 1.0)
