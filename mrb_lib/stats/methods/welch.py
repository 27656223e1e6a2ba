"""The difference between the means of two sets of cases that have no case in common."""

from dataclasses import replace

import numpy as np

from mrb_lib.stats.estimation import Estimate, FloatArray, Quantity, Sampling, divide, estimate, mean, ratio

_TINY = 1e-12


def unpaired(first: FloatArray, second: FloatArray, sampling: Sampling) -> Estimate:
    """Estimate the difference of two means over different cases.

    Parameters
    ----------
    first, second : shape (cases, m), NaN where a case is not on that side

    Notes
    -----
    The degrees of freedom are Welch's (1947, doi:10.1093/biomet/34.1-2.28). What a cluster with cases on both sides
    adds to both is taken off, except where two columns cross. The error is NaN where a side does not vary.
    """
    one, other = (estimate(mean(values), sampling) for values in (first, second))
    adds = np.concatenate([one.quantity.adds, other.quantity.adds], axis=2)
    both = estimate(Quantity(adds, lambda sums: ratio(sums[..., :2]) - ratio(sums[..., 2:])), sampling)
    shared = 0.0
    if sampling.crossed is None:
        shared = 2 * (_moves(first, one) * _moves(second, other)).sum(axis=0)
    varies = (one.error > _TINY) & (other.error > _TINY)
    error = np.sqrt(np.where(varies, np.maximum(one.error**2 + other.error**2 - shared, 0.0), np.nan))
    df = divide((one.error**2 + other.error**2) ** 2, one.error**4 / one.df + other.error**4 / other.df)
    return replace(both, error=error, df=np.where(varies, df, np.nan))


def _moves(values: FloatArray, e: Estimate) -> FloatArray:
    """Return how far each cluster moves a mean, as its variance by CR2 counts it, shape (clusters, m)."""
    sums = e.sampling.sums(np.nan_to_num(divide(values - e.value, e.n)))
    share = np.nan_to_num(divide(e.sizes, e.n))
    return np.asarray(sums / np.sqrt(np.where(share < 1, 1 - share, 1.0)))
