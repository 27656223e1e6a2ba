"""Analytic intervals of agreement: the variance of a coefficient from how each cluster of cases moves it.

A coefficient is a smooth function of sums over cases. Its derivative times what a cluster adds to the sums is the
cluster's influence, and the sum of squared influences estimates the variance. Where every case is a cluster of its
own this is the variance of Gwet (2008, doi:10.1348/000711006X126600; 2021, doi:10.1177/0013164420973080) for percent
agreement, Fleiss' kappa, AC1 and alpha, and that of Fleiss, Cohen & Everitt (1969, doi:10.1037/h0028106) for Cohen's
kappa and its weighted forms. Annotators are taken as they are; only cases are a sample.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.stats import norm, t

from mrb_lib.stats.options import FloatArray, IntArray
from mrb_lib.stats.resample import CONFIDENCE

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


def squared_influence(sums: FloatArray | sparse.csr_array, slope: FloatArray | sparse.csr_array) -> FloatArray:
    """The sum over clusters of squared influences, shape (m,).

    Parameters
    ----------
    sums : shape (c, k), by cluster
    slope : shape (k, m), see `gradient`
    """
    influence = sparse.csr_array(sums @ slope) if sparse.issparse(slope) else np.asarray(sums @ slope)
    squared = influence.multiply(influence) if sparse.issparse(influence) else influence**2
    return np.asarray(squared.sum(axis=0), dtype=np.float64).ravel()


def t_interval(value: FloatArray, variance: FloatArray, clusters: IntArray) -> tuple[FloatArray, FloatArray]:
    """A 95% interval by Student's t with a degree of freedom less than there are clusters; at most 1, at least -1.

    Parameters
    ----------
    value : shape (m,), the estimates
    variance : shape (m,), their sums of squared influences, here multiplied by clusters / (clusters - 1)
    clusters : shape (m,), how many clusters there are; NaN for fewer than two
    """
    free = np.maximum(clusters - 1, 1)
    half = t.ppf((1 + CONFIDENCE) / 2, free) * np.sqrt(variance * clusters / free)
    return _bounded(value, np.where(clusters >= 2, half, np.nan))


def normal_interval(value: FloatArray, variance: FloatArray, clusters: IntArray) -> tuple[FloatArray, FloatArray]:
    """As `t_interval`, but of the large-sample variance as it is: the custom for kappas of independent cases."""
    half = norm.ppf((1 + CONFIDENCE) / 2) * np.sqrt(variance)
    return _bounded(value, np.where(clusters >= 2, half, np.nan))


def _bounded(value: FloatArray, half: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.maximum(value - half, -1.0), np.minimum(value + half, 1.0)
