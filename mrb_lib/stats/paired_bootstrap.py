"""What resampled differences say: their interval, and how surprising the difference would be if there were none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.options import FloatArray, IntArray, SingleArray
from mrb_lib.stats.quantiles import CONFIDENCE, quantiles

_TIED = 1e-6
_TAILS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)


def of_replicates(found: SingleArray, value: FloatArray, *, whole: bool) -> FloatArray:
    """The interval and the p of each difference.

    Parameters
    ----------
    found : shape (p, resamples), resampled differences, NaN where undefined; overwritten
    value : shape (p,), the differences as they were
    whole : whether none of them is undefined, which saves time

    Returns
    -------
    float array, shape (3, p): the ends of the 95% percentile interval, and the two-sided p; NaN where more than
    half of the resamples are undefined

    Notes
    -----
    p is (1 + resamples at least as far from the difference as zero is) / (1 + resamples).
    """
    bounds = np.stack([np.minimum(0.0, 2 * value) + _TIED, np.maximum(0.0, 2 * value) - _TIED]).astype(np.float32)
    beyond = found <= bounds[0][:, None]
    beyond |= found >= bounds[1][:, None]
    if whole:
        return np.vstack([_ends(found), (1.0 + _count(beyond)) / (1.0 + found.shape[1])])
    defined = _count(~np.isnan(found))
    out = np.vstack([quantiles(found.astype(np.float64).T, _TAILS), (1.0 + _count(beyond)) / (1.0 + defined)])
    out[:, 2 * defined < found.shape[1]] = np.nan
    return out


def _count(flags: NDArray[np.bool_]) -> IntArray:
    """How many of each row are true."""
    found: IntArray = np.bitwise_count(np.packbits(flags, axis=1)).sum(axis=1, dtype=np.int64)
    return found


def _ends(found: SingleArray) -> FloatArray:
    """The quantiles of rows without NaN, shape (2, p).

    The bits of single precision, read as whole numbers, are in the order of the values once those of negative values
    are flipped, and whole numbers are selected several times faster than floats are sorted.
    """
    last = found.shape[1] - 1
    at = np.array(_TAILS) * last
    low, high = at.astype(np.int64).tolist()
    if low + 1 >= high:
        return quantiles(found.astype(np.float64).T, _TAILS)
    keys = found.view(np.int32)
    _flip(keys)
    keys.partition(low, axis=1)
    rest = keys[:, low + 1 :]
    rest.partition(high - low - 1, axis=1)
    four = np.stack([keys[:, low], rest[:, : high - low].min(axis=1), keys[:, high], keys[:, high + 1 :].min(axis=1)])
    _flip(four)
    values = four.view(np.float32).astype(np.float64)
    chosen: FloatArray = values[::2] + (values[1::2] - values[::2]) * (at - [low, high])[:, None]
    return chosen


def _flip(keys: NDArray[np.int32]) -> None:
    """Turn bits of floats into whole numbers in the order of the floats, or back."""
    negative = keys >> 31
    negative &= 0x7FFFFFFF
    keys ^= negative
