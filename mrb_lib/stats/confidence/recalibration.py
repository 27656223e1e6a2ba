"""Recalibrated probabilities, each from a map that was fitted without the clusters it is applied to.

A map that is judged on the verdicts it was fitted to looks better than it is. Here the clusters are
dealt into folds; the map that recalibrates a fold was fitted to the other folds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from mrb_lib.stats.confidence.confidence import Forecasts
from mrb_lib.stats.confidence.proper_scores import Ranked, weighted_count
from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.robust import Layout, by_group, t_quantile

FOLDS = 5
MOST_CERTAIN = 1e-6
_STEEPEST = 100.0
_TRIED = (0.0, 1.0)
_STEPS = 60
_LARGEST = 700.0
_CLOSE = 1e-5
_DIGITS = 10


class Temperature(NamedTuple):
    """Temperature scaling of each column.

    Attributes
    ----------
    value : shape (columns,), fitted to all of a column; above 1 the judge was too sure. NaN where none is best
    low, high : 95% interval, cluster-robust
    p : shape (n,), the probability of A recalibrated across folds; NaN where a fold of the column had none
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    p: FloatArray


def folds(codes: IntArray, seed: int, count: int = FOLDS) -> IntArray:
    """Deal clusters into folds of equal number, shape (n_cases,): the fold of each case."""
    clusters = int(codes.max()) + 1 if len(codes) else 0
    dealt = np.random.default_rng(seed).permutation(clusters) % count
    out: IntArray = dealt[codes].astype(np.int64)
    return out


def scale_temperature(found: Forecasts, fold: IntArray, columns: int, at: Layout) -> Temperature:
    """Divide the log-odds by one number a judge and dimension, chosen to make the log loss smallest.

    Parameters
    ----------
    fold : shape (n,), the fold of each forecast
    at : the clusters, all in one group

    Notes
    -----
    Guo et al. 2017 (arXiv 1706.04599, section 4.2). The slope 1 / T is at least 0, and at most 100; at a bound no
    temperature is best, and a column of which that is true of any fold is recalibrated nowhere: at slope 0 every
    probability would be one half, which no calibration error can be held against. Probabilities closer to 0 or 1 than
    one in a million are taken as that, before and after. The interval is that of an M-estimator with
    sums by cluster, on the scale of log T. A planted temperature is found again in
    `tests/simulation/test_calibration.py`.
    """
    logit = special.logit(np.clip(found.p, MOST_CERTAIN, 1 - MOST_CERTAIN))
    towards = np.where(found.outcome > 0.5, logit, -logit)
    slope, *others = _slopes(towards, found.column, columns, fold)
    inside = (slope > 0) & (slope < _STEEPEST)
    fitted = np.reshape(others, (-1, columns))
    held = np.bincount(fold * columns + found.column, minlength=fitted.size).reshape(fitted.shape) > 0
    usable = np.all(~held | ((fitted > 0) & (fitted < _STEEPEST)), axis=0)
    own = fitted[fold, found.column]
    p = np.clip(special.expit(own * logit), MOST_CERTAIN, 1 - MOST_CERTAIN)
    value = np.where(inside, divide(np.ones(columns), slope), np.nan)
    error = _log_slope_error(towards, found, np.where(inside, slope, np.nan), at)
    return Temperature(value, value * np.exp(-error), value * np.exp(error), np.where(usable[found.column], p, np.nan))


def _slopes(towards: FloatArray, column: IntArray, columns: int, fold: IntArray) -> FloatArray:
    """The slopes that make the sum of log(1 + exp(-slope * towards)) of each column smallest; NaN for an empty one.

    Where the best slope is at a bound, the bound. Elsewhere Newton's steps begin at the best of those from fixed
    slopes: the derivative is convex, so that each is at most what is sought.

    Parameters
    ----------
    towards : shape (n,), log-odds given to what happened
    column : shape (n,), ascending
    fold : shape (n,)

    Returns
    -------
    float array
        Shape (1 + folds, columns): of all, then without each fold.
    """
    count = int(fold.max(initial=-1)) + 1
    kept = np.vstack([np.ones(count), 1 - np.eye(count)])
    cell = fold * columns + column

    def summed(values: FloatArray | None) -> FloatArray:
        out: FloatArray = kept @ weighted_count(cell, values, count * columns).reshape(count, columns)
        return out

    some, downs, first = summed(None) > 0, [], np.zeros((len(kept), columns))
    for slope in (*_TRIED, _STEEPEST):
        pull = towards / (1 + np.exp(np.minimum(slope * towards, _LARGEST)))
        downs.append(summed(pull))
        if slope < _STEEPEST:
            first = np.fmax(first, slope + divide(downs[-1], summed(pull * (towards - pull))))
    out = np.where(some, np.where(downs[0] <= 0, 0.0, np.where(downs[-1] >= 0, _STEEPEST, np.nan)), np.nan)
    for row, those in enumerate(some & np.isnan(out)):
        used = those[column] & (fold != row - 1)
        if used.any():
            sizes = np.bincount(column[used], minlength=columns)[those]
            out[row, those] = _newton(towards[used], sizes, np.minimum(first[row, those], _STEEPEST))
    return out


def _newton(towards: FloatArray, sizes: IntArray, slope: FloatArray) -> FloatArray:
    """The slopes of columns that have one within the bounds, from a first guess.

    Newton's steps, halved into a bracket where they leave it. Columns that are done leave the sums, half of them at a
    time.
    """
    out = slope.copy()
    live = np.arange(len(slope))
    low, high = np.zeros(len(slope)), np.full(len(slope), _STEEPEST)
    for _ in range(_STEPS):
        wrong = 1 / (1 + np.exp(np.minimum(np.repeat(slope, sizes) * towards, _LARGEST)))
        pull = wrong * towards
        down, curve = _summed(pull, sizes), _summed(pull * (towards - pull), sizes)
        low, high = np.where(down > 0, slope, low), np.where(down > 0, high, slope)
        change = np.divide(down, curve, out=np.full_like(down, np.inf), where=curve > 0)
        step, going = slope + change, np.abs(change) > _CLOSE * slope
        slope = np.where(~going | ((step > low) & (step < high)), step, (low + high) / 2)
        out[live] = slope
        if not going.any():
            break
        if 2 * going.sum() < len(going):
            towards = towards[np.repeat(going, sizes)]
            sizes, live, slope, low, high = sizes[going], live[going], slope[going], low[going], high[going]
    return out


def _summed(values: FloatArray, sizes: IntArray) -> FloatArray:
    """The sum of each run of values, none of them empty."""
    out: FloatArray = np.add.reduceat(values, np.cumsum(sizes) - sizes)
    return out


def _log_slope_error(towards: FloatArray, found: Forecasts, slope: FloatArray, at: Layout) -> FloatArray:
    """Half the width of the interval of the logarithm of each slope."""
    columns, units = len(slope), at.shape[1]
    own = np.nan_to_num(slope)[found.column]
    wrong = special.expit(-own * towards)
    place = found.column * units + at.unit[found.case]
    score = weighted_count(place, towards * wrong, columns * units).reshape(columns, units)
    seen = weighted_count(place, None, columns * units).reshape(columns, units) > 0
    curve = weighted_count(found.column, towards**2 * wrong * (1 - wrong), columns)
    clusters = by_group(seen.astype(np.float64), at)[:, 0]
    inflation = np.where(clusters >= 2, divide(clusters, clusters - 1), np.nan)
    error = divide(np.sqrt(inflation * (score**2).sum(axis=1)), curve)
    return np.where(error > 0, t_quantile(clusters) * divide(error, slope), np.nan)


def isotonic(found: Forecasts, ranked: Ranked, fold: IntArray, columns: int) -> FloatArray:
    """The probability that a forecast is right, from a rising step function of its confidence, across folds.

    Parameters
    ----------
    ranked : the confidences within columns, see `mrb_lib.stats.confidence.proper_scores.rank`
    fold : shape (n,), the fold of each forecast

    Returns
    -------
    float array
        Shape (n,), as confidence in the side the forecast leans to (below 1/2: the other side is more often
        right); NaN where the other folds hold nothing. Between values that were seen it is interpolated;
        it is kept 1 / (m + 2) away from 0 and 1 for m forecasts fitted to, since steps at 0 and 1
        would claim certainty.

    Notes
    -----
    Zadrozny and Elkan 2002 (doi:10.1145/775047.775151). Compared with scikit-learn's
    `IsotonicRegression` in `tests/stats/confidence/test_recalibration.py`.
    """
    order = ranked.order
    confidence, right, fold = found.confidence[order], found.right[order], fold[order]
    if not len(order):
        return np.zeros(0)
    column = ranked.cell[ranked.starts]
    runs, value = len(column), confidence[ranked.starts]
    weight, total = weighted_count(ranked.block, None, runs), weighted_count(ranked.block, right, runs)
    size = np.bincount(ranked.cell, minlength=columns)
    out = np.full(len(order), np.nan)
    for held in np.unique(fold):
        mine = np.flatnonzero(fold == held)
        block = ranked.block[mine]
        rest = weight - weighted_count(block, None, runs)
        seen = np.flatnonzero(rest > 0)
        steps = rising_steps((total - weighted_count(block, right[mine], runs))[seen], rest[seen], column[seen])
        m = (size - np.bincount(ranked.cell[mine], minlength=columns))[ranked.cell[mine]]
        fitted = _between(value, column, rest > 0, steps, block)
        out[order[mine]] = np.clip(fitted, 1 / (m + 2), (m + 1) / (m + 2))
    return out


def rising_steps(total: FloatArray, weight: FloatArray, column: IntArray) -> FloatArray:
    """The rising step function of least squares through means from 0 to 1, within each column, shape (n,).

    Parameters
    ----------
    total, weight : sums and their positive weights, in the order in which the steps must rise
    column : ascending; each is lifted clear of the one before, so that one fit finds all
    """
    lift = 2.0 * column  # costs digits: a step at 1/2 must be at 1/2, or which side it leans to is left to chance
    fitted = optimize.isotonic_regression(total / weight + lift, weights=weight).x
    return np.asarray(np.round(fitted - lift, _DIGITS), dtype=np.float64)


def _between(at: FloatArray, column: IntArray, seen: BoolArray, steps: FloatArray, wanted: IntArray) -> FloatArray:
    """The steps at the places `wanted`, interpolated between those `seen` of the same column, level beyond them.

    NaN where a column has none.
    """
    place = np.flatnonzero(seen)
    if not len(place):
        return np.full(len(wanted), np.nan)
    left: IntArray = np.cumsum(seen)[wanted] - 1
    right: IntArray = left + ~seen[wanted]
    here = column[wanted]
    has_left = (left >= 0) & (column[place[np.maximum(left, 0)]] == here)
    right = np.minimum(right, len(place) - 1)
    has_right = column[place[right]] == here
    left, right = np.where(has_left, left, right), np.where(has_right, right, left)
    width = at[place[right]] - at[place[left]]
    share = np.divide(at[wanted] - at[place[left]], width, out=np.zeros(len(wanted)), where=width > 0)
    found = steps[left] + share * (steps[right] - steps[left])
    return np.where(has_left | has_right, found, np.nan)
