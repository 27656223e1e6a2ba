"""Quantiles of many columns of replicates, which may be undefined in some resamples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.core.options import FloatArray

CONFIDENCE = 0.95
TAILS = np.array([(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])


def interval(estimates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The 95% percentile interval of each column of replicates, shape (resamples, m).

    Replicates in which the statistic is undefined are left out; where they are more
    than half, or there are no replicates, the interval is NaN.
    """
    low, high = quantiles(estimates, TAILS)
    return low, high


def quantiles(estimates: FloatArray, levels: Sequence[float] | FloatArray) -> FloatArray:
    """Quantiles of each column of replicates, by linear interpolation.

    Parameters
    ----------
    estimates : shape (resamples, m); NaN where undefined
    levels : shape (k,), or (k, m) for levels of each column's own; a level of NaN gives NaN

    Returns
    -------
    float array, shape (k, m); NaN where more than half of a column's replicates are undefined, or there are none
    """
    levels = np.asarray(levels, dtype=np.float64)
    rows = estimates.T.copy(order="C")
    m, resamples = rows.shape
    if not resamples:
        return np.full((len(levels), m), np.nan)
    if levels.ndim == 1 and not np.isnan(rows).any():
        return np.stack([selected(rows, level) for level in levels.tolist()])
    rows.sort(axis=1)  # puts NaN last
    n_defined = resamples - np.isnan(rows).sum(axis=1)
    levels = np.broadcast_to(levels if levels.ndim > 1 else levels[:, None], (len(levels), m))
    usable = (2 * n_defined >= resamples) & np.isfinite(levels)
    last = np.maximum(n_defined - 1, 0)
    position = np.where(usable, levels, 0.0) * last
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, last)
    row = np.arange(m)
    low, high = rows[row, below], rows[row, above]
    return np.where(usable, low + (high - low) * (position - below), np.nan)


def selected(rows: FloatArray | NDArray[np.int32], level: float) -> FloatArray:
    """One quantile of each row, shape (m,), by linear interpolation; the rows, shape (m, resamples), are reordered.

    numpy selects a single position five times as fast as several in one call.
    """
    last = rows.shape[1] - 1
    below = min(int(level * last), last)
    rows.partition(below, axis=1)
    low = rows[:, below].astype(np.float64)
    high = rows[:, below + 1 :].min(axis=1) if below < last else low
    return np.asarray(low + (high - low) * (level * last - below))
