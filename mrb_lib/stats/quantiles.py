"""Percentile intervals of many columns of replicates: each is sorted once, two at a time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from mrb_lib.stats import products
from mrb_lib.stats.options import FloatArray, IntArray, SingleArray

CONFIDENCE = 0.95
_TAILS = np.array([(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
_SORTED_AT_ONCE = 2**18
_MULTIPLIED_AT_ONCE = 2**20


def interval(found: FloatArray | SingleArray) -> tuple[FloatArray, FloatArray]:
    """The 95% percentile interval of each column of replicates, shape (resamples, m).

    Replicates in which the statistic is undefined are left out; where they are more
    than half, or there are no replicates, the interval is NaN.
    """
    low, high = quantiles(found, _TAILS)
    return low, high


def quantiles(found: FloatArray | SingleArray, levels: Sequence[float] | FloatArray) -> FloatArray:
    """Quantiles of each column of replicates, by linear interpolation.

    Parameters
    ----------
    found : shape (resamples, m); NaN where undefined
    levels : shape (k,), or (k, m) for levels of each column's own; a level of NaN gives NaN

    Returns
    -------
    float array, shape (k, m); NaN where more than half of a column's replicates are undefined, or there are none
    """
    resamples, m = found.shape
    wanted = np.asarray(levels, dtype=np.float64)
    if wanted.ndim == 1:
        wanted = np.broadcast_to(wanted[:, None], (len(wanted), m))
    out = np.full(wanted.shape, np.nan)
    if not resamples:
        return out
    step = max(1, _SORTED_AT_ONCE // resamples)

    def fill(start: int) -> None:
        columns = slice(start, start + step)
        out[:, columns] = _of_sorted(np.sort(np.asarray(found[:, columns].T), axis=1), wanted[:, columns])

    if m <= step:
        fill(0)
        return out
    with ThreadPoolExecutor(max_workers=2) as pool:  # sorting leaves the interpreter free
        list(pool.map(fill, range(0, m, step)))
    return out


def _of_sorted(ordered: FloatArray | SingleArray, levels: FloatArray) -> FloatArray:
    """Quantiles of rows in ascending order, NaN last: shape (k, m) from (m, resamples) and levels (k, m)."""
    m, resamples = ordered.shape
    defined = resamples - np.isnan(ordered).sum(axis=1) if np.isnan(ordered[:, -1]).any() else np.full(m, resamples)
    known = (2 * defined >= resamples) & np.isfinite(levels)
    place = np.where(known, levels, 0.0) * np.maximum(defined - 1, 0)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(defined - 1, 0))
    rows = np.arange(m)
    low, high = ordered[rows, below], ordered[rows, above]
    return np.where(known, low + (high - low) * (place - below), np.nan)


def ratio_intervals(
    numerators: FloatArray, denominators: FloatArray, which: IntArray, weights: SingleArray, total: int
) -> tuple[FloatArray, FloatArray]:
    """The 95% percentile intervals of ratios of weighted sums, without the replicates ever being in memory together.

    Parameters
    ----------
    numerators : shape (clusters, m)
    denominators : shape (clusters, d)
    which : shape (m,), the denominator of each numerator
    weights : shape (clusters, resamples)
    total : how many clusters a resample draws

    Returns
    -------
    low, high : shape (m,), as `interval` gives them for the replicates
    """
    divisors = products.weighted(denominators.T, weights, exact=products.is_exact(denominators, total))
    divisors[divisors == 0] = np.nan
    exact = products.is_exact(numerators, total)
    factors = weights if exact else weights.astype(np.float64)
    values = np.ascontiguousarray(numerators.T, dtype=np.float32 if exact else np.float64)
    resamples, m = weights.shape[1], numerators.shape[1]
    out = np.full((2, m), np.nan)
    step = max(1, _MULTIPLIED_AT_ONCE // resamples)

    def fill(columns: slice, sums: FloatArray | SingleArray) -> None:
        found = sums / divisors[which[columns]]
        found.sort(axis=1)
        out[:, columns] = _of_sorted(found, np.broadcast_to(_TAILS[:, None], (2, len(found))))

    with ThreadPoolExecutor(max_workers=2) as pool:
        pending: list[Future[None]] = []
        for start in range(0, m, step):
            columns = slice(start, start + step)
            pending.append(pool.submit(fill, columns, np.matmul(values[columns], factors)))
            if len(pending) > 2:
                pending.pop(0).result()
        for rest in pending:
            rest.result()
    return out[0], out[1]
