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
from scipy.special import ndtr, stdtrit

from mrb_lib.stats.options import FloatArray, IntArray, divide
from mrb_lib.stats.resampling.quantiles import CONFIDENCE, quantiles
from mrb_lib.stats.resampling.resample import NO_VARIATION, Resampled, Summands, interval_reason

ALIKE = "no interval: the cases do not differ"

_STEP = 1e-5
_UPPER = (1 + CONFIDENCE) / 2
_CERTAIN = 1 - 1e-12


class Interval(NamedTuple):
    """An estimate with the ends of its intervals, of the cluster bootstrap and an analytic one; NaN for none."""

    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    analytic_low: float = np.nan
    analytic_high: float = np.nan

    def columns(self, name: str) -> dict[str, float]:
        """As columns of a table."""
        return {name: self.value} | {f"{name}_{end}": getattr(self, end) for end in BOUNDS}


BOUNDS = Interval._fields[1:]


def bounded(
    drawn: Sequence[Resampled],
    value: FloatArray,
    analytic: Sequence[FloatArray] | FloatArray,
    clusters: FloatArray | IntArray,
) -> list[list[Interval]]:
    """The intervals of g measures with m estimates each, from their replicates and the ends of the analytic ones.

    Parameters
    ----------
    value, analytic, clusters : shape (g, m); the last is how many clusters each estimate rests on
    """
    replicates = np.concatenate([item.replicates.T for item in drawn]).T
    ends = bootstrap_bounds(replicates, clusters.astype(np.float64).ravel())
    table = np.stack([value, *ends.reshape(2, *value.shape), *analytic])
    table[:, np.isnan(value)] = np.nan
    return [[Interval(*column) for column in row] for row in table.transpose(1, 2, 0).tolist()]


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


def squared_influence(sums: Summands, slope: FloatArray) -> FloatArray:
    """The sum over clusters of their squared influence on each of m estimates, shape (m,).

    Parameters
    ----------
    sums : shape (c, k), by cluster
    slope : shape (k, m), see `gradient`
    """
    return np.asarray(np.square(sums @ slope).sum(axis=0), dtype=np.float64).ravel()


def squared_influence_of_pairs(sums: Summands, slopes: FloatArray) -> FloatArray:
    """As `squared_influence`, of m estimates of p pairs, shape (m, p).

    Parameters
    ----------
    sums : shape (c, p * k), those of the pairs side by side
    slopes : shape (m, p, k)
    """
    _, p, k = slopes.shape
    slopes = np.nan_to_num(slopes)
    if isinstance(sums, np.ndarray):
        by_pair = sums.reshape(-1, p, k).transpose(1, 0, 2)
        return np.asarray(np.square(by_pair @ slopes.transpose(1, 2, 0)).sum(axis=1).T, dtype=np.float64)
    row, column = np.arange(p * k), np.repeat(np.arange(p), k)
    maps = [sparse.csr_array((slope.ravel(), (row, column)), shape=(p * k, p)) for slope in slopes]
    return np.stack([np.asarray((sums @ each).power(2).sum(axis=0)).ravel() for each in maps])


def bootstrap_bounds(replicates: FloatArray, clusters: FloatArray) -> FloatArray:
    """The ends of percentile intervals, shape (2, m).

    Parameters
    ----------
    replicates : shape (resamples, m)
    clusters : shape (m,), how many an estimate rests on. The ends are farther out, on the scale of normal quantiles, by
        what Student's t has beyond 1.96 with so few, and since a resample of n varies less than a sample, by n - 1
        over n (Hesterberg 2015, doi:10.1080/00031305.2015.1089789, on the narrowness bias): with 20 clusters the
        percentiles are the 1.6th and 98.4th, with 100 the 2.3rd, with 1,000 the 2.48th.
    """
    beyond = _reach(np.maximum(clusters, 2.0))
    return quantiles(replicates, np.asarray(ndtr(np.stack([-beyond, beyond]))))


def reasoned_bounds(
    replicates: FloatArray, value: FloatArray, n: IntArray, clusters: IntArray
) -> tuple[FloatArray, list[str]]:
    """As `bootstrap_bounds`, but NaN where fewer than two clusters count or the ends would meet; and why.

    Parameters
    ----------
    replicates : shape (resamples, m)
    value, n, clusters : shape (m,), the estimates, and the cases and clusters that each rests on

    Returns
    -------
    Both ends, shape (2, m), and m reasons why they are NaN; empty where they are not or the estimate is undefined.
    """
    ends = bootstrap_bounds(replicates, clusters.astype(np.float64))
    ends[:, np.isnan(value) | (clusters < 2)] = np.nan
    reasons = []
    for at, known in enumerate(np.isfinite(value).tolist()):
        why = interval_reason(int(n[at]), int(clusters[at]), len(replicates), *ends[:, at].tolist()) if known else ""
        if why == NO_VARIATION:
            ends[:, at], why = np.nan, ALIKE
        reasons.append(why)
    return ends, reasons


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
    kappa = np.where(inside, value, 0.0)
    half = _reach(np.asarray(clusters, dtype=np.float64)) * np.sqrt(variance) / (1 - kappa**2)
    ends = (np.where(inside, np.tanh(np.arctanh(kappa) + sign * half), value) for sign in (-1, 1))
    low, high = (np.where((clusters >= 2) & np.isfinite(variance), end, np.nan) for end in ends)
    return low, high
