"""Percentile intervals of few clusters, for the tables that are not yet on the one estimator."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, stdtrit

from mrb_lib.stats.options import FloatArray, IntArray
from mrb_lib.stats.resampling.quantiles import CONFIDENCE, quantiles
from mrb_lib.stats.resampling.resample import NO_VARIATION, interval_reason

ALIKE = "no interval: the cases do not differ"
_UPPER = (1 + CONFIDENCE) / 2


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
    """Return the reach of a 95% interval in large-sample standard errors: Student's t, by sqrt(n / (n - 1))."""
    free = np.maximum(clusters - 1, 1.0)
    return np.asarray(stdtrit(free, _UPPER) * np.sqrt(clusters / free), dtype=np.float64)
