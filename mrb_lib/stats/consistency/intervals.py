"""The score interval of a difference of two shares of the same cases, which keeps its width at the ends."""

from __future__ import annotations

import numpy as np

from mrb_lib.stats.options import FloatArray, divide
from mrb_lib.stats.resampling.robust import (
    Estimate,
    independent_size,
)

_HALVINGS = 45


def signed_interval(difference: Estimate, forward: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The 95% interval of a difference of two shares of the same cases, never without width.

    Parameters
    ----------
    difference : with its cluster-robust standard error
    forward : the first of the two shares, of the shape of the difference: the mean of what lies above 0

    Returns
    -------
    low, high : float arrays, within -1 and 1

    Notes
    -----
    The values whose score test is not rejected: Tango, Statistics in Medicine 1998, 17:891, for the number of
    independent cases that lean wholly one way, the other way or not at all and would have the standard error
    given, with Student's t. Where all cases lean alike there is no error to go by: that number is then the number
    of clusters, and the quantile the normal one. Compared with the score statistic in
    `tests/stats/consistency/test_signed_share.py`; coverage in `tests/simulation/test_position_bias.py`.
    """
    backward = forward - difference.value
    size, z2 = independent_size(difference, forward + backward - difference.value**2)
    return score_interval(forward, backward, divide(z2, size))


def score_interval(forward: FloatArray, backward: FloatArray, allowed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The differences between two shares of the same n cases that a score test does not reject.

    Parameters
    ----------
    forward, backward : the shares that lean one way and the other, at most 1 together
    allowed : the largest squared score, over n; NaN gives NaN
    """
    low, high = (_last_kept(forward, backward, allowed, end) for end in (-1.0, 1.0))
    return low, high


def _last_kept(forward: FloatArray, backward: FloatArray, allowed: FloatArray, end: float) -> FloatArray:
    """The farthest difference towards `end` whose squared score is allowed; by halving the distance."""
    difference: FloatArray = forward - backward
    kept, lost = difference, np.full(difference.shape, end)
    for _ in range(_HALVINGS):
        middle = (kept + lost) / 2
        inside = (difference - middle) ** 2 <= allowed * variance(middle, forward, backward)
        kept, lost = np.where(inside, middle, kept), np.where(inside, lost, middle)
    return np.where(np.isnan(allowed), np.nan, kept)


def variance(difference: FloatArray, forward: FloatArray, backward: FloatArray) -> FloatArray:
    """The variance of one case's lean if the shares truly differed by so much, at the likeliest such shares.

    Parameters
    ----------
    difference : what the first share minus the second is supposed to be
    forward, backward : the two shares observed
    """
    linear = (2 - forward + backward) * difference - forward - backward
    constant = -backward * difference * (1 - difference)
    likeliest = (np.sqrt(np.maximum(linear**2 - 8 * constant, 0.0)) - linear) / 4
    out: FloatArray = np.maximum(2 * likeliest + difference * (1 - difference), 0.0)
    return out
