"""Wilson's interval of a mean score, with a design effect."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri, stdtrit

from mrb_lib.stats.options import FloatArray, IntArray, divide
from mrb_lib.stats.resampling.quantiles import CONFIDENCE

_UPPER = (1 + CONFIDENCE) / 2
_Z = float(ndtri(_UPPER))
_NO_SPREAD = 1e-12


def wilson(
    value: FloatArray, n: FloatArray | IntArray, z2: FloatArray | float = _Z**2
) -> tuple[FloatArray, FloatArray]:
    """Wilson's 95% score interval of a proportion.

    Parameters
    ----------
    value : the proportions, any shape
    n : what they rest on, the same shape; need not be whole (an effective number of cases)
    z2 : the squared quantile of the standardised proportion, the normal one if not another's

    Returns
    -------
    low, high : the same shape; NaN where n is 0

    Notes
    -----
    Wilson (1927), doi:10.1080/01621459.1927.10502953; it has width where the proportion
    is 0 or 1. Published examples: `tests/published/test_wilson.py`.
    """
    share = divide(np.broadcast_to(np.float64(z2), np.shape(n)), np.asarray(n, dtype=np.float64))
    centre = (value + share / 2) / (1 + share)
    half = np.sqrt(value * (1 - value) * share + share**2 / 4) / (1 + share)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def equivalent_size(value: FloatArray, variance: FloatArray, n: FloatArray) -> FloatArray:
    """How many right-or-wrong cases tell as much about a mean score as the n cases do.

    Parameters
    ----------
    value, variance, n : the mean of scores between 0 and 1, their variance (divided by n), and their number

    Returns
    -------
    float array: n for scores of 0 and 1; more where halves make the mean surer; n where the scores do not vary
    """
    binomial = value * (1 - value)
    varies = variance > _NO_SPREAD
    size: FloatArray = np.where(varies, n * binomial / np.where(varies, variance, 1.0), n)
    return size


def design_effect(error: FloatArray, variance: FloatArray, n: FloatArray) -> FloatArray:
    """How many times larger the variance of a mean over clusters is than that of the same mean over independent cases.

    Parameters
    ----------
    error : shape (m,), the cluster-robust standard error of the mean; NaN with fewer than two clusters
    variance : shape (m,), of the scores, divided by n
    n : shape (m,), the cases

    Returns
    -------
    float array, shape (m,); 1 where every case is its own cluster, NaN where the scores do not vary or there is no
        error

    Notes
    -----
    Kish (1965), Survey Sampling, section 8.2.
    """
    return divide(error**2 * (n - 1), np.where(variance > _NO_SPREAD, variance, 0.0))


def effective_size(size: FloatArray, deff: FloatArray, counted: FloatArray, clusters: FloatArray) -> FloatArray:
    """The number of independent cases that clustered ones are worth, for a Wilson interval with few clusters.

    Parameters
    ----------
    size : shape (m,), see `equivalent_size`
    deff : shape (m,), see `design_effect`
    counted : shape (clusters, m), the cases of each cluster that count
    clusters : shape (m,), the clusters that count, as `mrb_lib.stats.resampling.robust.effective_clusters` gives them

    Returns
    -------
    float array, shape (m,); at most `size`. Where the design effect is unknown because the scores do not
    vary, cases of a cluster are taken to be alike altogether. NaN where fewer than two clusters count.

    Notes
    -----
    Korn and Graubard (1998), Survey Methodology 24:193: n over the design effect, times the square of the
    t quantile with cases - 1 over that with clusters - 1 degrees of freedom.
    """
    n = counted.sum(axis=0)
    some = clusters >= 2
    t_cases = np.asarray(stdtrit(np.maximum(n - 1, 1.0), _UPPER))
    t_clusters = np.asarray(stdtrit(np.where(some, clusters - 1, 1.0), _UPPER))
    alike = divide((counted**2).sum(axis=0), n)
    found = divide(size, np.where(np.isfinite(deff), deff, alike)) * (t_cases / t_clusters) ** 2
    # A design effect of nearly 0 is chance, as one below 1 is: neither adds cases.
    found = np.where(np.isnan(found), size, np.minimum(found, size))
    return np.where(some, found, np.nan)
