"""The interval of a share or a mean score: percentiles, Student's t or Wilson's, by one rule for all tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.options import FloatArray, IntArray, divide
from mrb_lib.stats.resampling.intervals import design_effect, effective_size, equivalent_size, wilson
from mrb_lib.stats.resampling.quantiles import interval
from mrb_lib.stats.resampling.robust import ENOUGH_CLUSTERS, Estimate, effective_clusters, few_clusters, t_interval

_FEW_OUTCOMES = 10
_NO_SPREAD = 1e-12


class Interval(NamedTuple):
    """Both ends of an interval, each of shape (m,); NaN where undefined."""

    low: FloatArray
    high: FloatArray


class ShareIntervals(NamedTuple):
    """The intervals of m shares or mean scores; every array has shape (m,).

    Attributes
    ----------
    clusters : those with a case that counts
    error, df : the cluster-robust standard error and degrees of freedom; NaN with fewer than two clusters
    percentile : the interval of the cluster bootstrap
    design_effect : how many times clusters enlarge the variance
    deff : Wilson's interval with the design effect
    method : the name of the recommended interval: "deff" where right or wrong answers are few or the scores do not
        vary, else "t" where clusters are few, else "percentile"
    recommended : that interval
    """

    clusters: IntArray
    error: FloatArray
    df: FloatArray
    percentile: Interval
    design_effect: FloatArray
    deff: Interval
    method: NDArray[np.str_]
    recommended: Interval


def share_intervals(num: FloatArray, den: FloatArray, square: FloatArray, replicates: FloatArray) -> ShareIntervals:
    """The recommended interval of shares, and those that it is chosen from; the one place that decides.

    Parameters
    ----------
    num, den : shape (clusters, m), the sums over each cluster's cases of weight times score and of the weight; scores
        are from 0 to 1, weights not negative (0 and 1 in a plain mean) and add up to the number of cases
    square : shape (m,), the sum over all cases of weight times squared score
    replicates : shape (resamples, m), the estimates of the cluster bootstrap

    Notes
    -----
    Percentiles have no width where all cases are right, and cover too little where nearly all are or clusters are few.
    Coverage: `tests/simulation/test_coverage.py`; with few clusters `tests/simulation/test_dependence.py`.
    """
    n, clusters = den.sum(axis=0), (den > 0).sum(axis=0)
    value = divide(num.sum(axis=0), n)
    mean = np.nan_to_num(value)
    variance = np.nan_to_num(np.maximum(divide(square, n) - mean**2, 0.0))
    inflated = ((num - mean * den) ** 2).sum(axis=0) * divide(clusters.astype(np.float64), clusters - 1)
    error = np.sqrt(divide(inflated, n**2))
    effect = design_effect(error, variance, n)
    estimate = Estimate(value, error, effective_clusters(den, effect))
    effective = effective_size(equivalent_size(mean, variance, n), effect, den, estimate.clusters)
    percentile = np.array(interval(replicates))
    percentile[:, (n < 2) | (clusters < 2)] = np.nan
    deff = np.array(wilson(value, np.nan_to_num(effective)))
    few = few_clusters(estimate)
    rare = ~(np.minimum(mean, 1 - mean) * effective >= _FEW_OUTCOMES) | ((estimate.clusters < ENOUGH_CLUSTERS) & ~few)
    rare |= variance <= _NO_SPREAD
    low, high = np.where(rare, deff, np.where(few, t_interval(estimate, 0.0, 1.0), percentile))
    method = np.select([rare, few], ["deff", "t"], "percentile")
    return ShareIntervals(
        clusters, estimate.error, estimate.clusters - 1, Interval(*percentile), effect, Interval(*deff), method,
        Interval(low, high),
    )  # fmt: skip
