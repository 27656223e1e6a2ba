"""Quantiles of many columns of replicates, which may be undefined in some resamples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.options import FloatArray

CONFIDENCE = 0.95
_MANY, _TAIL, _EVERY = 4000, 20, 16
_AT_ONCE = 8  # rows that stay in the cache while all their quantiles are taken
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
    rows = np.ascontiguousarray(estimates.T)
    m, resamples = rows.shape
    out = np.full((len(levels), m), np.nan)
    if not resamples:
        return out
    left = np.ones(m, dtype=bool)
    if levels.ndim == 1 and np.isfinite(levels).all():
        left = np.isnan(rows.max(axis=1))
        whole = rows[~left] if left.any() else rows
        some = [whole[start : start + _AT_ONCE] for start in range(0, len(whole), _AT_ONCE)]
        each = [[selected(few, level) for level in levels.tolist()] for few in some]
        out[:, ~left] = np.concatenate(each, axis=1) if each else 0.0
    levels = np.broadcast_to(levels.reshape(len(levels), -1), out.shape)
    for j in np.flatnonzero(left).tolist():
        row = rows[j][~np.isnan(rows[j])]
        if 2 * len(row) >= resamples:
            own = (selected(row[None], level)[0] if np.isfinite(level) else np.nan for level in levels[:, j].tolist())
            out[:, j] = list(own)
    return out


def selected(rows: FloatArray | NDArray[np.int32], level: float) -> FloatArray:
    """One quantile of each row, shape (m,), by linear interpolation, of rows of shape (m, resamples).

    numpy selects a single position five times as fast as several in one call, and in a tail alone twice as fast again.
    """
    last = rows.shape[1] - 1
    below = min(int(level * last), last)
    if last >= _MANY and min(below, last - below) * _TAIL <= last and below < last:
        low, high = _in_tail(rows, below)
    else:
        parted = np.asarray(np.partition(rows, below, axis=1), dtype=np.float64)
        low = parted[:, below]
        high = parted[:, below + 1 :].min(axis=1) if below < last else low
    return np.asarray(low + (high - low) * (level * last - below))


def _in_tail(rows: FloatArray | NDArray[np.int32], below: int) -> FloatArray:
    """The values at a position of each sorted row and the next, shape (2, m), where that is in a tail.

    A few of the replicates tell beyond which bound about twice as many lie as are wanted; if fewer do, all are taken.
    """
    n, upper = rows.shape[1], 2 * below > rows.shape[1]
    few = rows[:, ::_EVERY]
    place = 2 * (n - 1 - below if upper else below) // _EVERY + 2
    place = few.shape[1] - 1 - place if upper else place
    bounds = np.partition(few, place, axis=1)[:, place]
    out = np.empty((2, len(rows)))
    for i, (row, bound) in enumerate(zip(rows, bounds, strict=True)):
        tail = row[row >= bound] if upper else row[row <= bound]
        position = below - (n - len(tail)) if upper else below
        if not 0 <= position < len(tail) - 1:
            tail, position = row.copy(), below
        tail.partition(position)
        out[:, i] = tail[position], tail[position + 1 :].min()
    return out
