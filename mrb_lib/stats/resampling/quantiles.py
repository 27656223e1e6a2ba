"""Quantiles of many columns of replicates, which may be undefined in some resamples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mrb_lib.stats.core.options import FloatArray, IntArray

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
    return of_ordered(ordered(estimates), levels)


def ordered(estimates: FloatArray) -> FloatArray:
    """Each column of replicates in ascending order, as a row, NaN last: shape (m, resamples) from (resamples, m)."""
    rows = estimates.T.copy(order="C")
    rows.sort(axis=1)
    return rows


def defined(rows: FloatArray) -> IntArray:
    """How many of each of `ordered` rows are defined, shape (m,)."""
    return np.asarray(rows.shape[1] - np.isnan(rows).sum(axis=1), dtype=np.int64)


def of_ordered(rows: FloatArray, levels: Sequence[float] | FloatArray) -> FloatArray:
    """As `quantiles`, of replicates that are `ordered`."""
    levels = np.asarray(levels, dtype=np.float64)
    m, resamples = rows.shape
    if levels.ndim == 1:
        levels = np.broadcast_to(levels[:, None], (len(levels), m))
    if not resamples:
        return np.full(levels.shape, np.nan)
    n_defined = defined(rows)
    usable = (2 * n_defined >= resamples) & np.isfinite(levels)
    position = np.where(usable, levels, 0.0) * np.maximum(n_defined - 1, 0)
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(n_defined - 1, 0))
    row = np.arange(m)
    low, high = rows[row, below], rows[row, above]
    return np.where(usable, low + (high - low) * (position - below), np.nan)
