"""What resampled differences say: their interval, and how surprising the difference would be if there were none.

Means are held as whole numbers of billionths, so that equal means have a difference of exactly 0, and because numpy
selects among whole numbers several times faster than it sorts floats.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.options import FloatArray, IntArray, SingleArray
from mrb_lib.stats.quantiles import TAILS, few, quantiles, select

WholeArray = NDArray[np.int32]

_ONE = 2.0**30
_TIED = 1e-6


def whole_means(sums: SingleArray, divisors: SingleArray, which: IntArray) -> tuple[WholeArray, bool]:
    """The means of scores between -1 and 1 in each resample, in units of 2^-30.

    Parameters
    ----------
    sums : shape (k, resamples)
    divisors : shape (q, resamples); where one is 0 the mean is undefined
    which : shape (k,), the divisor of each row of sums

    Returns
    -------
    means : shape (k, resamples); 0 where undefined
    defined : whether all are defined
    """
    known = divisors > 0
    factors = np.divide(_ONE, divisors.astype(np.float64), out=np.zeros(divisors.shape), where=known)
    means = np.empty(sums.shape, dtype=np.int32)
    for row, (each, at) in enumerate(zip(sums, which, strict=True)):
        means[row] = np.rint(each * factors[at])
    return means, bool(known.all())


def bounds(value: FloatArray) -> WholeArray:
    """What resampled differences must be at most, and at least, to lie as far from the observed as zero, shape (2, p).

    That is zero and its mirror image beyond the observed one, rounding allowed for, in units of 2^-30.
    """
    low, high = _zero_and_twice(value) * _ONE
    return np.stack([np.floor(low), np.ceil(high)]).astype(np.int32)


def of_replicates(found: WholeArray, ends: WholeArray, room: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """The interval and the p of each difference.

    Parameters
    ----------
    found : shape (p, resamples), resampled differences in units of 2^-30, all defined; overwritten
    ends : shape (2, p), see `bounds`
    room : shape (2, p or more, resamples), to work in

    Returns
    -------
    interval : shape (2, p), the ends of the 95% percentile interval
    p : shape (p,), two-sided

    Notes
    -----
    p is (1 + resamples at least as far from the difference as zero is) / (1 + resamples).
    """
    beyond, other = room[:, : len(found)]
    np.less_equal(found, ends[0][:, None], out=beyond)
    np.greater_equal(found, ends[1][:, None], out=other)
    beyond |= other
    p_value = (1.0 + _count(beyond)) / (1.0 + found.shape[1])
    return _interval(found), p_value


def of_partly_defined(found: FloatArray, value: FloatArray) -> FloatArray:
    """As `of_replicates`, from differences of which some are NaN; NaN where more than half of a row are."""
    low, high = _zero_and_twice(value)
    beyond = ((found <= low[:, None]) | (found >= high[:, None])).sum(axis=1)
    defined = np.isfinite(found).sum(axis=1)
    out = np.vstack([quantiles(found.T, TAILS), (1.0 + beyond) / (1.0 + defined)])
    out[:, 2 * defined < found.shape[1]] = np.nan
    return out


def _zero_and_twice(value: FloatArray) -> FloatArray:
    """The lower and the upper of zero and its mirror image beyond the value, shape (2, p), rounding allowed for.

    None above 1 or below -1, which no difference passes.
    """
    twice = np.nan_to_num(2 * value)
    bounds = np.stack([np.minimum(0.0, twice) + _TIED, np.maximum(0.0, twice) - _TIED])
    found: FloatArray = np.clip(bounds, -1.5, 1.5)
    return found


def _count(flags: NDArray[np.bool_]) -> IntArray:
    """How many of each row are true."""
    found: IntArray = np.bitwise_count(np.packbits(flags, axis=1)).sum(axis=1, dtype=np.int64)
    return found


def _interval(found: WholeArray) -> FloatArray:
    """The quantiles of rows, shape (2, p)."""
    if few(found.shape[1]):
        return quantiles(found.T / _ONE, TAILS)
    ends = np.empty((2, len(found)))
    for end, level, (at, above) in zip(ends, TAILS, select(found), strict=True):
        part = level * (found.shape[1] - 1) % 1
        end[:] = at * ((1 - part) / _ONE) + above * (part / _ONE)
    return ends
