"""What resampled differences say: their interval, and how surprising the difference would be if there were none."""

from __future__ import annotations

import numpy as np

from mrb_lib.stats.options import FloatArray, IntArray, SingleArray
from mrb_lib.stats.quantiles import CONFIDENCE

_TIED = 1e-6


def of_sorted(ordered: SingleArray, value: FloatArray) -> FloatArray:
    """The interval and the p of each difference.

    Parameters
    ----------
    ordered : shape (p, resamples), resampled differences, each row ascending, NaN (undefined) last
    value : shape (p,), the differences as they were

    Returns
    -------
    float array, shape (3, p): the ends of the 95% percentile interval, and the two-sided p; NaN where more than
    half of the resamples are undefined

    Notes
    -----
    p is (1 + resamples at least as far from the difference as zero is) / (1 + resamples).
    """
    resamples = ordered.shape[1]
    defined = np.full(len(ordered), resamples)
    if np.isnan(ordered[:, -1]).any():
        defined = resamples - np.isnan(ordered).sum(axis=1)
    low = _quantile(ordered, defined, (1 - CONFIDENCE) / 2)
    high = _quantile(ordered, defined, (1 + CONFIDENCE) / 2)
    ends = np.stack([np.minimum(0.0, 2 * value) + _TIED, np.maximum(0.0, 2 * value) - _TIED])
    below, above = _at_most(ordered, defined, ends.astype(np.float32))
    far = np.minimum(below + defined - above, defined)
    out = np.stack([low, high, (1.0 + far) / (1.0 + defined)])
    out[:, 2 * defined < resamples] = np.nan
    return out


def _quantile(ordered: SingleArray, defined: IntArray, level: float) -> FloatArray:
    last = np.maximum(defined - 1, 0)
    place = level * last
    below = place.astype(np.int64)
    rows = np.arange(len(ordered))
    low = ordered[rows, below].astype(np.float64)
    return low + (ordered[rows, np.minimum(below + 1, last)] - low) * (place - below)


def _at_most(ordered: SingleArray, defined: IntArray, bounds: SingleArray) -> IntArray:
    """How many entries of each row are at most its bounds, shape (k, p), by bisection in all rows at once."""
    flat, width = ordered.ravel(), ordered.shape[1]
    offset = np.arange(len(ordered)) * width
    found = np.zeros(bounds.shape, dtype=np.int64)
    step = 1 << (width - 1).bit_length()
    while step:
        ahead = found + step
        under = ahead <= defined
        under &= flat[offset + np.minimum(ahead, width) - 1] <= bounds
        found += step * under
        step >>= 1
    return found
