"""Percentile intervals of many columns of replicates: sorted once, or with only what lies at the ends selected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.core.options import FloatArray, IntArray, SingleArray
from mrb_lib.stats.resampling import products
from mrb_lib.stats.resampling.ahead import ahead

CONFIDENCE = 0.95
TAILS = np.array([(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
_ORDERED_AT_ONCE = 2**18
_MULTIPLIED_AT_ONCE = 2**20

WholeArray = NDArray[np.signedinteger[Any]]


def interval(found: FloatArray | SingleArray) -> tuple[FloatArray, FloatArray]:
    """The 95% percentile interval of each column of replicates, shape (resamples, m).

    Replicates in which the statistic is undefined are left out; where they are more
    than half, or there are no replicates, the interval is NaN.
    """
    resamples, m = found.shape
    if not resamples:
        return np.full(m, np.nan), np.full(m, np.nan)
    low, high = _of_parts(lambda part: _ends(_rows(found[:, part])), m, _ORDERED_AT_ONCE // resamples)
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
    return of_ordered(ordered(found), levels)


def ordered(found: FloatArray | SingleArray) -> FloatArray | SingleArray:
    """Each column of replicates in ascending order, as a row, NaN last: shape (m, resamples) from (resamples, m)."""
    out = _rows(found)
    _of_parts(lambda part: out[part].sort(axis=1), len(out), _ORDERED_AT_ONCE // max(1, len(found)))
    return out


def _rows(found: FloatArray | SingleArray) -> FloatArray | SingleArray:
    """A copy with a row a column, each next to each other in memory."""
    return found.T.copy(order="C")


def defined(rows: FloatArray | SingleArray) -> IntArray:
    """How many of each of `ordered` rows are defined, shape (m,)."""
    m, resamples = rows.shape
    if not resamples or not np.isnan(rows[:, -1]).any():
        return np.full(m, resamples, dtype=np.int64)
    return np.asarray(resamples - np.isnan(rows).sum(axis=1), dtype=np.int64)


def of_ordered(rows: FloatArray | SingleArray, levels: Sequence[float] | FloatArray) -> FloatArray:
    """As `quantiles`, of replicates that are `ordered`."""
    wanted = np.asarray(levels, dtype=np.float64)
    m, resamples = rows.shape
    if wanted.ndim == 1:
        wanted = np.broadcast_to(wanted[:, None], (len(wanted), m))
    if not resamples:
        return np.full(wanted.shape, np.nan)
    there = defined(rows)
    known = (2 * there >= resamples) & np.isfinite(wanted)
    place = np.where(known, wanted, 0.0) * np.maximum(there - 1, 0)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(there - 1, 0))
    each = np.arange(m)
    low, high = rows[each, below], rows[each, above]
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
    low, high = _of_parts(
        lambda part: _ends(np.matmul(values[part], factors) / divisors[which[part]]),
        m,
        _MULTIPLIED_AT_ONCE // resamples,
    )
    return low, high


def _of_parts(make: Callable[[slice], FloatArray | None], m: int, at_once: int) -> FloatArray:
    """What `make` gives for parts of m columns, side by side: nothing where it changes them in place."""
    step = max(1, at_once)
    parts = [slice(start, start + step) for start in range(0, m, step)]
    found = [part for part in ahead(make, parts) if part is not None]  # sorting leaves the interpreter free
    return np.concatenate(found, axis=1) if found else np.empty((2, 0))


def _ends(rows: FloatArray | SingleArray) -> FloatArray:
    """The ends of the 95% interval of each row, shape (2, m), from contiguous rows, which are overwritten.

    Selecting is several times quicker among whole numbers than among floats; the bits of floats, read as whole
    numbers, are in the same order once those of negative ones are turned.
    """
    last = rows.shape[1] - 1
    if few(last + 1):
        rows.sort(axis=1)
        return of_ordered(rows, TAILS)
    whole = _turned(rows)
    pairs = select(whole)
    most, least = whole[:, int(TAILS[1] * last) :].max(axis=1), whole[:, : int(TAILS[0] * last) + 1].min(axis=1)
    found = np.empty((2, len(rows)))
    for end, level, pair in zip(found, TAILS, pairs, strict=True):
        at, above = (_turned(part, back=True).astype(np.float64) for part in pair)
        end[:] = at + (above - at) * (level * last - int(level * last))
    lowest, highest = _turned(np.array([-np.inf, np.inf], dtype=rows.dtype))
    undefined = np.flatnonzero((most > highest) | (least < lowest))
    if len(undefined):
        again = np.sort(_turned(whole[undefined], back=True), axis=1)
        found[:, undefined] = of_ordered(again, TAILS)
    return found


def _turned(values: Any, *, back: bool = False) -> Any:
    """The bits of floats as whole numbers in the same order (NaN before or after all others); or `back`; in place."""
    size = 8 * values.dtype.itemsize
    whole = values if back else values.view(f"i{size // 8}")
    whole ^= (whole >> (size - 1)) & np.iinfo(whole.dtype).max
    return whole.view(f"f{size // 8}") if back else whole


def few(resamples: int) -> bool:
    """Whether replicates are too few for `select`: the two ends of an interval would be next to each other."""
    low, high = (int(level * (resamples - 1)) for level in TAILS)
    return low + 2 > high


def select(rows: WholeArray) -> tuple[tuple[WholeArray, WholeArray], tuple[WholeArray, WholeArray]]:
    """The two values of each row on either side of each end of its 95% interval.

    Parameters
    ----------
    rows : shape (m, resamples), enough of them (see `few`); they are left in another order, in which the values from
        the upper end on come last and those up to the lower end first

    Returns
    -------
    For the lower and the upper end, the value at and the one above, each of shape (m,).
    """
    low, high = (int(level * (rows.shape[1] - 1)) for level in TAILS)
    rows.partition(low + 1, axis=1)
    rows[:, low + 2 :].partition(high - low - 2, axis=1)
    lower = rows[:, : low + 1].max(axis=1), rows[:, low + 1].copy()
    return lower, (rows[:, high].copy(), rows[:, high + 1 :].min(axis=1))
