"""Whether two judges are as good as each other, up to a margin stated beforehand.

A test that finds no difference does not show that there is none. These tests turn the
question around: their null hypothesis is that the judges differ by the margin or more.
"""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr

from mrb_lib.errors import InputError
from mrb_lib.stats.options import FloatArray, divide

MARGIN = 0.05


def check_margin(margin: float) -> None:
    """Raise `InputError` if the margin is not a difference of accuracy that can be tested against."""
    if not 0 < margin < 1:
        raise InputError(f"margin {margin}: must be above 0 and below 1; 0.05 is five percentage points of accuracy.")


def noninferiority(difference: FloatArray, error: FloatArray, df: FloatArray, margin: float) -> FloatArray:
    """The one-sided p of "the first is worse than the second by the margin or more".

    Parameters
    ----------
    difference : the first minus the second, as fractions, any shape
    error : its standard error, the same shape; where it is 0 or NaN the test is undefined
    df : degrees of freedom of the error, clusters minus one
    margin : the largest difference that does not matter, as a fraction

    Returns
    -------
    float array of the same shape; small values show that the first is not worse by the
    margin; NaN where undefined

    Notes
    -----
    A t test with the cluster-robust error of the paired difference. Its size at the
    margin is simulated in `tests/simulation/test_size.py`.
    """
    return np.asarray(stdtr(df, -divide(difference + margin, error)), dtype=np.float64)


def equivalence(first: FloatArray, second: FloatArray) -> FloatArray:
    """The p of the two one-sided tests: small values show that the two differ by less than the margin.

    Parameters
    ----------
    first, second : what `noninferiority` gives for the difference, and for the difference with its sign turned

    Notes
    -----
    Schuirmann (1987), doi:10.1007/BF01068419: the larger of the two one-sided p values. It is at most
    0.05 exactly where the 90% t interval of the difference lies within the margin.
    """
    found: FloatArray = np.maximum(first, second)
    return found
