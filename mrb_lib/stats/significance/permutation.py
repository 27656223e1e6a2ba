"""Sign flips: what differences would look like if the two judges could be exchanged, over all flips at once.

Under the null hypothesis a cluster's difference is as likely to have come out the other way round. The sum of the
flipped differences then has the characteristic function prod cos(t |difference|), and its tail is found from
that without drawing any flips: small p values are as exact as large ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.options import FloatArray, IntArray

UnitArray = NDArray[np.int32]

SMALLEST = 1e-12
FEWEST_MID_P = 8
"""With fewer clusters a flip that is as far from 0 as what was observed counts in full, with as many or more half."""
_EVERY_FLIP = 16
_UNITS = (1, 2, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 60, 80, 120, 240)
_TAIL = 8.0
_MOST_POINTS = 2048
_MOST_SIZES = 512
_FEW_SIZES = 12
_COARSE = 1024.0
_AT_ONCE = 2**20


def units(score: FloatArray) -> int:
    """The number of which all scores are whole multiples of its inverse; 240, to which others are rounded.

    Scores over r verdicts are multiples of 1 / (2 r).
    """
    value = score[np.isfinite(score)]
    for unit in _UNITS[:-1]:
        parts = value * unit
        if not np.abs(parts - np.rint(parts)).max(initial=0.0) > 1e-9:
            return unit
    return _UNITS[-1]


def p_values(gains: UnitArray) -> FloatArray:
    """The two-sided p of each sum among all its flips.

    Parameters
    ----------
    gains : shape (p, clusters), the difference of each cluster in whole units

    Returns
    -------
    float array, shape (p,); 1 where the sum is 0, and `SMALLEST` at the least

    Notes
    -----
    The share of flips whose sum is farther from 0, and half of those whose sum is as far. To count ties half (mid-p)
    brings the size, on scores of so few values, up to the level; on scores of 0 and 1 this is McNemar's mid-p. A mid-p
    rejects more often than the level by half the probability of the outcome at most, which is 2^-G where the sums of G
    clusters are all of different size: with 10 clusters up to .051 at .05, and .0020 at .0011, the level of the first
    of 45 tests. With fewer than 8 clusters, where that is .0625 at .05, ties count in full, so that the level is kept.
    Up to 16 clusters all flips are made. Beyond, the method is Pagano and Tritchler's (1983),
    doi:10.1080/01621459.1983.10477990: the tail of a sum of whole numbers from its characteristic function at M equally
    spaced points. M is so large that no sum within 8 standard deviations is taken for another; a sum beyond them has a
    probability below 1e-13 (Hoeffding's inequality). Two things are left to approximation: of more than 2,048 points,
    which only sums in the hundreds need, the first are taken; and differences of more than 512 sizes, as large clusters
    have, are rounded to a thousandth of the standard deviation. They change p by up to a fortieth of itself with 17
    clusters, by less than a hundredth with 20 and more. `tests/stats/significance/test_permutation.py` compares with
    all flips, with scipy, and with McNemar's mid-p; the size is simulated in `tests/simulation/test_size.py`.
    """
    p = np.ones(len(gains))
    clusters = gains.shape[1]
    of_rows = _of_every_flip if clusters <= _EVERY_FLIP else _of_sums
    step = max(1, 2 * _AT_ONCE // max(1, 2**clusters if clusters <= _EVERY_FLIP else clusters))
    for start in range(0, len(gains), step):
        several = gains[start : start + step]
        rows = np.flatnonzero(several.sum(axis=1, dtype=np.int64))
        if len(rows):
            p[start + rows] = of_rows(several[rows])
    return p


def _of_every_flip(gains: UnitArray) -> FloatArray:
    """As `p_values`, where no sum is 0: from the flips that leave the last sign, which those of all signs mirror."""
    clusters = gains.shape[1]
    signs = 1.0 - 2.0 * (np.arange(2 ** (clusters - 1)) >> np.arange(clusters)[:, None] & 1)
    sums, total = np.abs(gains @ signs), np.abs(gains.sum(axis=1, dtype=np.int64))[:, None]
    beyond, as_far = (sums > total).mean(axis=1), (sums == total).mean(axis=1)
    return np.asarray(beyond + as_far * (1.0 if clusters < FEWEST_MID_P else 0.5))


def _of_sums(gains: UnitArray) -> FloatArray:
    """As `p_values`, where no sum is 0."""
    sizes, counts = _histograms(np.abs(gains))
    if len(sizes) > _MOST_SIZES:
        deviation = np.sqrt((gains.astype(np.float64) ** 2).sum(axis=1))
        gains = np.rint(gains * np.minimum(1.0, _COARSE / deviation)[:, None]).astype(np.int32)
        sizes, counts = _histograms(np.abs(gains))
    total = np.abs(gains.sum(axis=1, dtype=np.int64))
    deviation = np.sqrt(counts @ sizes.astype(np.float64) ** 2)
    reach = np.minimum(counts @ sizes, np.ceil(_TAIL * deviation)) + total + 1
    out = np.full(len(gains), SMALLEST)
    power = np.ceil(np.log2(np.maximum(reach, 32))).astype(np.int64)
    power[total > _TAIL * deviation] = 0
    for kind in np.unique(power[power > 0]).tolist():
        rows = np.flatnonzero(power == kind)
        step = max(1, _AT_ONCE >> min(kind - 2, 20))
        for start in range(0, len(rows), step):
            chosen = rows[start : start + step]
            out[chosen] = _tails(counts[chosen], sizes, total[chosen], 2 ** (kind - 1) + 1)
    return out


def _histograms(sizes: UnitArray) -> tuple[IntArray, FloatArray]:
    """The sizes above 0 that occur, shape (k,), and how often each does in each row, shape (p, k)."""
    present = np.zeros(int(sizes.max(initial=0)) + 1, dtype=np.bool_)
    present[sizes] = True
    present[0] = False
    present_sizes = np.flatnonzero(present)
    if len(present_sizes) <= _FEW_SIZES:
        counts = np.stack([np.count_nonzero(sizes == size, axis=1) for size in present_sizes], axis=1)
        return present_sizes, counts.astype(np.float64)
    width = len(present_sizes) + 1
    cell = (np.cumsum(present) * present)[sizes] + np.arange(len(sizes))[:, None] * width
    counts = np.bincount(cell.ravel(), minlength=len(sizes) * width).reshape(len(sizes), width)[:, 1:]
    return present_sizes, counts.astype(np.float64)


def _tails(counts: FloatArray, sizes: IntArray, total: IntArray, period: int) -> FloatArray:
    """P(|sum| > total) + P(|sum| = total) / 2.

    Sums of flips are all odd or all even, so that points up to a quarter of a turn tell all there is.

    Parameters
    ----------
    counts : shape (p, k), how many differences have each of the sizes
    sizes : shape (k,)
    total : shape (p,)
    period : an odd number; twice as much is larger than any sum that matters by `total`
    """
    points = np.arange(1, min((period - 1) // 2, _MOST_POINTS) + 1)
    angle = np.pi / period
    wave = np.cos(angle * (np.outer(sizes, points) % (2 * period)))
    shape = counts @ np.log(np.maximum(np.abs(wave), 1e-300))
    np.exp(np.maximum(shape, -700.0, out=shape), out=shape)
    shape *= np.sin(angle * (np.outer(total, points) % (2 * period)))
    shape *= 1 - 2 * ((counts @ (wave < 0)) % 2)
    inside = (total + 2 * (shape @ (1 / np.tan(angle * points)))) / period
    return np.asarray(np.clip(1 - inside, SMALLEST, 1.0))
