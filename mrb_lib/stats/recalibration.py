"""Recalibrated probabilities, each from a map that was fitted without the clusters it is applied to.

A map that is judged on the verdicts it was fitted to looks better than it is. Here the clusters are
dealt into folds; the map that recalibrates a fold was fitted to the other folds.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import optimize, special

from mrb_lib.stats.confidence import Forecasts
from mrb_lib.stats.options import FloatArray, IntArray, divide
from mrb_lib.stats.proper_scores import Ranked, weighted_count
from mrb_lib.stats.robust import Layout, by_group, t_quantile

FOLDS = 5
MOST_CERTAIN = 1e-6
_STEEPEST = 100.0
_STEPS = 60
_LARGEST = 700.0
_CLOSE = 1e-8


class Temperature(NamedTuple):
    """Temperature scaling of each column.

    Attributes
    ----------
    value : shape (columns,), fitted to all of a column; above 1 the judge was too sure. NaN where none is best
    low, high : 95% interval, cluster-robust
    p : shape (n,), the probability of A recalibrated across folds; NaN where it could not be
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
    temperature is best. Probabilities closer to 0 or 1 than one in a million are taken as that, before and after. The
    interval is that of an M-estimator with sums by cluster, on the scale of log T. A planted
    temperature is found again in `tests/simulation/test_calibration.py`.
    """
    logit = special.logit(np.clip(found.p, MOST_CERTAIN, 1 - MOST_CERTAIN))
    towards = np.where(found.outcome > 0.5, logit, -logit)
    slope, p = np.full(columns, np.nan), np.full(len(logit), np.nan)
    held = np.unique(fold)
    bounds = np.searchsorted(found.column, np.arange(columns + 1))
    for column, (start, end) in enumerate(pairwise(bounds)):
        if start == end:
            continue
        part = slice(start, end)
        mine = fold[part]
        kept = np.vstack([np.ones(end - start, dtype=bool), mine != held[:, None]])
        fitted = _slopes(towards[part], kept.astype(np.float64))
        slope[column] = fitted[0]
        own = fitted[1 + np.searchsorted(held, mine)]
        p[part] = np.clip(special.expit(own * logit[part]), MOST_CERTAIN, 1 - MOST_CERTAIN)
    inside = (slope > 0) & (slope < _STEEPEST)
    value = np.where(inside, divide(np.ones(columns), slope), np.nan)
    error = _log_slope_error(towards, found, np.where(inside, slope, np.nan), at)
    return Temperature(value, value * np.exp(-error), value * np.exp(error), p)


def _slopes(towards: FloatArray, weights: FloatArray) -> FloatArray:
    """The slopes that make the weighted sums of log(1 + exp(-slope * towards)) smallest; NaN where nothing has weight.

    Newton's steps, halved into a bracket where they leave it. Where the best slope is at a bound, the bound.

    Parameters
    ----------
    towards : shape (n,), log-odds given to what happened
    weights : shape (fits, n)
    """
    seen = weights.any(axis=1)
    low, high = np.zeros(len(weights)), np.full(len(weights), _STEEPEST)
    at_zero = weights @ towards <= 0
    at_most = weights @ (towards * special.expit(-_STEEPEST * towards)) >= 0
    slope = np.where(at_zero, low, np.where(at_most, high, 1.0))
    free = seen & ~at_zero & ~at_most
    square = towards**2
    for _ in range(_STEPS if free.any() else 0):
        wrong = 1 / (1 + np.exp(np.minimum(slope[:, None] * towards, _LARGEST)))
        wrong *= weights
        down = wrong @ towards
        curve = (wrong * (1 - wrong)) @ square
        low, high = np.where(down > 0, slope, low), np.where(down > 0, high, slope)
        step = slope + np.divide(down, curve, out=np.zeros_like(down), where=curve > 0)
        moved = np.where((step > low) & (step < high), step, (low + high) / 2)
        moved = np.where(free, moved, slope)
        settled = np.abs(moved - slope) <= _CLOSE * slope
        slope = moved
        if settled.all():
            break
    return np.where(seen, slope, np.nan)


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
    out: FloatArray = t_quantile(clusters) * divide(error, slope)
    return out


def isotonic(found: Forecasts, ranked: Ranked, fold: IntArray, columns: int) -> FloatArray:
    """The probability that a forecast is right, from a rising step function of its confidence, across folds.

    Parameters
    ----------
    ranked : the confidences within columns, see `mrb_lib.stats.proper_scores.rank`
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
    `IsotonicRegression` in `tests/stats/test_recalibration.py`.
    """
    order = ranked.order
    confidence, right, fold = found.confidence[order], found.right[order], fold[order]
    bounds = np.searchsorted(ranked.cell, np.arange(columns + 1))
    out = np.full(len(order), np.nan)
    for start, end in pairwise(bounds):
        part = slice(start, end)
        out[order[part]] = _isotonic_column(confidence[part], right[part], fold[part])
    return out


def _isotonic_column(confidence: FloatArray, right: FloatArray, fold: IntArray) -> FloatArray:
    """One column, sorted by confidence."""
    out = np.full(len(confidence), np.nan)
    if not len(out):
        return out
    runs = np.flatnonzero(np.append(True, confidence[1:] > confidence[:-1]))
    at = confidence[runs]
    for held in np.unique(fold):
        kept = fold != held
        m = int(kept.sum())
        if m == 0:
            continue
        weight = np.add.reduceat(kept.astype(np.float64), runs)
        seen = weight > 0
        mean = np.add.reduceat(np.where(kept, right, 0.0), runs)[seen] / weight[seen]
        steps = optimize.isotonic_regression(mean, weights=weight[seen]).x
        value = np.interp(confidence[~kept], at[seen], steps)
        out[~kept] = np.clip(value, 1 / (m + 2), (m + 1) / (m + 2))
    return out
