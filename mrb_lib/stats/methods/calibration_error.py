"""Expected calibration error: the plain estimate, the debiased one, an interval that covers, and what reduces it.

The plain estimate adds up absolute gaps, so that chance alone makes it positive, and no resampling of it covers the
truth. Here the gap of each bin is normal about its true value, with its error over clusters. The absolute value of a
normal variable has a known mean and variance, and the interval holds the true errors for which the observed sum of gaps
is unsurprising.

A temperature divides the log odds of a judge, so that its probabilities become calibrated (Guo et al. 2017, arXiv
1706.04599, section 4.2). Probabilities closer to 0 or 1 than one in a million are taken as that.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr, stdtrit

from mrb_lib.stats.estimation import Estimate, FloatArray, IntArray, Quantity, by_influence, divide
from mrb_lib.stats.intervals import Interval
from mrb_lib.stats.methods.forecasts import BINS, FOLDS, Forecasts, bin_of

_CLOSE, _FAR, _NEXT_TO_NONE, _NO_SPREAD = 1e-10, 40.0, 1e-12, 1e-18
_CERTAIN, _STEEPEST = 1e-6, 100.0


def expected_error(f: Forecasts) -> Quantity:
    """Return the sum over bins of the absolute gap between confidence and accuracy, as a share of the forecasts.

    Naeini, Cooper and Hauskrecht 2015; Guo et al. 2017, arXiv 1706.04599.
    """
    gap, bins = f.correct - f.confidence, bin_of(f)
    return Quantity(np.stack([*(f.total(gap * (bins == i)) for i in range(BINS)), f.total()], axis=2), _sum_of_gaps)


def _sum_of_gaps(sums: NDArray[Any]) -> NDArray[Any]:
    gaps = sums[..., :-1]
    return divide((gaps * np.sign(np.real(gaps))).sum(axis=-1), sums[..., -1])


def debiased(e: Estimate) -> FloatArray:
    """Return `expected_error` less what chance adds to it, at least 0.

    The bias is that of normal gaps (Kumar, Liang and Ma 2019, arXiv 1909.10155), with errors over clusters.
    """
    gap, covariance = _gaps(e)
    deviation = np.sqrt(np.einsum("mbb->mb", covariance))
    return np.asarray(np.maximum(2 * e.value - _folded(gap, np.nan_to_num(deviation))[0].sum(axis=1), 0.0))


def true_error(e: Estimate) -> Interval:
    """Return the interval of the true error, which may lie below the plain estimate; NaN where cases do not differ.

    It inverts a test along the observed pattern of gaps, scaled. It covers 94 to 96% where gaps are larger than their
    errors, up to 98% of 100 forecasts, and 97 to 98.5% of a calibrated judge, whose true error is the bound itself
    (tests/simulation/test_calibration.py).
    """
    gap, covariance = _gaps(e)
    z = stdtrit(e.df, 0.975)
    varies = np.nan_to_num(np.einsum("mbb->m", covariance)) > _NO_SPREAD
    possible = np.isfinite(z) & (np.nan_to_num(e.value) > 0) & varies
    ends = np.full((2, len(z)), np.nan)
    if possible.any():
        for i, side in enumerate((1, -1)):
            ends[i, possible] = _solved(gap[possible], covariance[possible], side * z[possible])
    return Interval(ends[0], ends[1], np.full(len(z), "test"))


def _gaps(e: Estimate) -> tuple[FloatArray, FloatArray]:
    """Return the signed gap of each bin, shape (m, bins), and their covariance over clusters, (m, bins, bins).

    It is CR2, and where clusters cross as much larger as the error of the sum of gaps.
    """
    total = e.quantity.adds.sum(axis=0)
    gap = np.nan_to_num(divide(total[:, :-1], total[:, -1:]))
    sums = e.sampling.sums(e.quantity.adds)
    residual = sums[..., :-1] - gap * sums[..., -1:]
    share = np.nan_to_num(divide(e.sizes, e.n))
    scaled = residual * np.sqrt(1 / np.where(share < 1, 1 - share, 1.0))[..., None]
    of_cells = np.moveaxis(scaled, 0, 2)
    covariance = (of_cells @ np.swapaxes(of_cells, 1, 2)) / np.maximum(total[:, -1:, None], 1.0) ** 2
    sign = np.sign(gap)
    along = np.einsum("mb,mbc,mc->m", sign, covariance, sign)
    larger = np.where(along > _NO_SPREAD, divide(e.error**2, np.where(along > _NO_SPREAD, along, 1.0)), 1.0)
    return gap, covariance * np.where(np.isnan(e.error), np.nan, larger)[:, None, None]


def _folded(mean: FloatArray, deviation: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean of the absolute value of a normal variable, and its slope in the variable's mean.

    Leone, Nelson and Nottingham 1961.
    """
    varies = deviation > 0
    ratio = np.clip(np.divide(mean, deviation, out=np.zeros_like(mean), where=varies), -_FAR, _FAR)
    slope = np.where(varies, 2 * ndtr(ratio) - 1, np.sign(mean))
    return deviation * np.exp(-(ratio**2) / 2) * np.sqrt(2 / np.pi) + mean * slope, slope


def _solved(gap: FloatArray, covariance: FloatArray, z: FloatArray) -> FloatArray:
    """Return the true error whose mean is `z` deviations below the observed one, above it where z is negative.

    It is found on the scale of the observed gaps, in which the surplus falls; at least 0, at most 1.
    """
    from scipy.optimize.elementwise import find_root  # slow to load

    seen = np.abs(gap).sum(axis=1)
    deviation = np.sqrt(np.einsum("mbb->mb", covariance))

    def surplus(scale: FloatArray, row: FloatArray) -> FloatArray:
        i = row.astype(np.int64)
        mean, spread = _moments(gap[i] * scale[:, None], covariance[i], deviation[i])
        return np.asarray(seen[i] - mean - z[i] * spread, dtype=np.float64)

    rows = np.arange(len(seen), dtype=np.float64)
    start, end = np.full(len(seen), _NEXT_TO_NONE), 1 + 2 * np.abs(z) * deviation.sum(axis=1) / seen
    by_chance = deviation * np.sqrt(2 / np.pi)
    above = seen - by_chance.sum(axis=1) > z * np.sqrt((deviation**2 - by_chance**2).sum(axis=1))
    # NaN where it does not cross 0
    scale = find_root(surplus, (start, end), args=(rows,), tolerances={"xatol": _CLOSE}).x
    return np.asarray(np.minimum(np.where(above, np.nan_to_num(scale), 0.0) * seen, 1.0))


def _moments(gap: FloatArray, covariance: FloatArray, deviation: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the sum of absolute observed gaps, from the true ones, shape (m, bins).

    The deviation is taken at slightly larger gaps: the pattern of gaps is itself observed, and one that chance made
    small would seem to vary less than it does.
    """
    folded, _ = _folded(gap, deviation)
    wider = np.sign(gap) * np.hypot(gap, deviation)
    about, slope = _folded(wider, deviation)
    own = np.maximum(wider**2 + deviation**2 - about**2, 0.0) - (slope * deviation) ** 2
    across = np.einsum("mb,mbc,mc->m", slope, covariance, slope)
    return folded.sum(axis=1), np.sqrt(np.maximum(own.sum(axis=1) + across, 0.0))


def log_odds(p: FloatArray) -> FloatArray:
    """Return the log odds of probabilities."""
    return np.asarray(logit(np.clip(p, _CERTAIN, 1 - _CERTAIN)))


def fitted(towards: FloatArray) -> float:
    """Return the slope, 1 over the temperature, that makes the log loss smallest; NaN where none from 0 to 100 does.

    Parameters
    ----------
    towards : the log odds that were given to what happened
    """
    from scipy.optimize import brentq  # slow to load

    def descent(slope: float) -> float:
        return float((towards * expit(-slope * towards)).sum())

    if not len(towards) or descent(0.0) <= 0 or descent(_STEEPEST) >= 0:
        return np.nan
    return float(brentq(descent, 0.0, _STEEPEST, xtol=1e-12))


def temperature(f: Forecasts, towards: FloatArray, cases: IntArray) -> Quantity:
    """Return the temperature of each cell on some cases; above 1 the judge was too sure."""
    value, moves = np.full(f.shape[1], np.nan), np.zeros(len(towards))
    inside = np.isin(f.case, cases)
    for cell, own in enumerate(f.cells()):
        each = np.where(inside[own], towards[own], 0.0)  # log odds of 0 move no slope
        slope = fitted(each)
        wrong = expit(-np.nan_to_num(slope) * each)
        value[cell] = 1 / slope
        moves[own] = -np.nan_to_num(each * wrong / ((each**2 * wrong * (1 - wrong)).sum() * slope**2))
    counted = (f.total() > 0).astype(np.float64)[cases]
    return by_influence(value, f.total(moves)[cases], np.where(np.isnan(value), 0.0, counted))


def recalibrated(f: Forecasts, odds: FloatArray, towards: FloatArray, fold: IntArray) -> FloatArray:
    """Return probabilities whose log odds are divided by the temperature that was fitted to the other folds.

    Parameters
    ----------
    odds, towards : the log odds of the event, and those given to what happened
    fold : shape (cases,), see `stats.methods.forecasts.folds`

    Returns
    -------
    float array
        One entry per forecast; NaN in cells where any fold has no temperature.
    """
    out = np.full(len(odds), np.nan)
    held = fold[f.case]
    for own in f.cells():
        slopes = np.array([fitted(towards[own][held[own] != number]) for number in range(FOLDS)])[held[own]]
        if not np.isnan(slopes).any():
            out[own] = np.clip(expit(slopes * odds[own]), _CERTAIN, 1 - _CERTAIN)
    return out
