"""Recalibrated probabilities, each from a map that was fitted without the clusters it is applied to.

A map that is judged on the verdicts it was fitted to looks better than it is. Here the clusters are
dealt into folds; the map that recalibrates a fold was fitted to the other folds.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import special

from mrb_lib.stats.confidence.forecasts import Forecasts, grid, weighted_count
from mrb_lib.stats.options import FloatArray, IntArray, divide
from mrb_lib.stats.resampling.robust import Layout, by_group, standard_error, t_quantile

FOLDS = 5
MOST_CERTAIN = 1e-6
_STEEPEST = 100.0
_TOLERANCE = 1e-10  # of the slope, relative
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


def folds(codes: IntArray, seed: int) -> IntArray:
    """Deal clusters into folds of equal number, shape (n_cases,): the fold of each case."""
    clusters = int(codes.max()) + 1 if len(codes) else 0
    dealt = np.random.default_rng(seed).permutation(clusters) % FOLDS
    out: IntArray = dealt[codes].astype(np.int64)
    return out


def scale_temperature(forecasts: Forecasts, fold: IntArray, columns: int, grouping: Layout) -> Temperature:
    """Divide the log-odds by one number a judge and dimension, chosen to make the log loss smallest.

    All is NaN for ratings: the log-odds of one category of several do not shrink towards one half.

    Parameters
    ----------
    fold : shape (n,), the fold of each forecast
    grouping : the clusters, all in one group

    Notes
    -----
    Guo et al. 2017 (arXiv 1706.04599, section 4.2). The slope 1 / T is at least 0, and at most 100; at a bound no
    temperature is best, and a column of which that is true of any fold is recalibrated nowhere: at slope 0 every
    probability would be one half, which no calibration error can be held against. Probabilities closer to 0 or 1 than
    one in a million are taken as that, before and after. The interval is that of an M-estimator with
    sums by cluster, on the scale of log T. A planted temperature is recovered in
    `tests/simulation/test_calibration.py`.
    """
    if forecasts.of_choice:
        nothing = np.full(columns, np.nan)
        return Temperature(nothing, nothing, nothing, np.full(len(forecasts.p), np.nan))
    logit = special.logit(np.clip(forecasts.p, MOST_CERTAIN, 1 - MOST_CERTAIN))
    towards = np.where(forecasts.outcome > 0.5, logit, -logit)
    size = np.bincount(forecasts.column, minlength=columns)
    row = np.arange(len(towards)) - np.repeat(np.cumsum(size) - size, size)
    table, dealt = np.zeros((columns, size.max(initial=0))), np.full((columns, size.max(initial=0)), -1)
    table[forecasts.column, row], dealt[forecasts.column, row] = towards, fold
    slope, *fitted = (_slopes(np.where(dealt == held, 0.0, table)) for held in (-1, *range(FOLDS)))
    inside = (slope > 0) & (slope < _STEEPEST)
    usable = np.ones(columns, dtype=bool)
    for held, without in enumerate(fitted):
        usable &= ~(dealt == held).any(axis=1) | ((without > 0) & (without < _STEEPEST))
    own = np.reshape(fitted, (FOLDS, columns))[fold, forecasts.column]
    p = np.clip(special.expit(own * logit), MOST_CERTAIN, 1 - MOST_CERTAIN)
    value = np.where(inside, divide(np.ones(columns), slope), np.nan)
    reach = _log_slope_reach(towards, forecasts, np.where(inside, slope, np.nan), grouping)
    p = np.where(usable[forecasts.column], p, np.nan)
    return Temperature(value, value * np.exp(-reach), value * np.exp(reach), p)


def _slopes(towards: FloatArray) -> FloatArray:
    """The slope, 0 to 100, that makes the sum of log(1 + exp(-slope * towards)) of each row smallest.

    Parameters
    ----------
    towards : shape (columns, n), log-odds of what happened; 0, which no slope changes, where there is none
    """
    from scipy.optimize.elementwise import find_root  # slow to load

    def descent(slope: FloatArray, row: FloatArray) -> FloatArray:
        values = towards[row.astype(np.int64)]
        out: FloatArray = (values * special.expit(-slope[:, None] * values)).sum(axis=1)
        return out

    rows = np.arange(len(towards), dtype=np.float64)
    at_least, at_most = np.zeros(len(rows)), np.full(len(rows), _STEEPEST)
    out = np.where(descent(at_least, rows) <= 0, at_least, np.where(descent(at_most, rows) >= 0, at_most, np.nan))
    between = np.isnan(out)
    ends = at_least[between], at_most[between]
    out[between] = find_root(descent, ends, args=(rows[between],), tolerances={"xrtol": _TOLERANCE}).x
    return out


def _log_slope_reach(towards: FloatArray, forecasts: Forecasts, slope: FloatArray, grouping: Layout) -> FloatArray:
    """Half the width of the interval of the logarithm of each slope."""
    places = grid(forecasts.column, forecasts.case, len(slope), grouping)
    wrong = special.expit(-np.nan_to_num(slope)[forecasts.column] * towards)
    curvature = weighted_count(forecasts.column, towards**2 * wrong * (1 - wrong), len(slope))
    clusters = by_group(places.by_unit() > 0, grouping)
    error = divide(standard_error(places.by_unit(towards * wrong), clusters, grouping)[:, 0], curvature)
    return np.where(error > 0, t_quantile(clusters[:, 0]) * divide(error, slope), np.nan)


def isotonic(forecasts: Forecasts, fold: IntArray, columns: int) -> FloatArray:
    """The probability that a forecast is correct, from a rising step function of its confidence, across folds.

    Parameters
    ----------
    forecasts : by column
    fold : shape (n,), the fold of each forecast

    Returns
    -------
    float array
        Shape (n,), as confidence in the side the forecast leans to (below 1/2: the other side is more often
        correct); NaN where the other folds hold nothing. Between values that were seen it is interpolated;
        it is kept 1 / (m + 2) away from 0 and 1 for m forecasts fitted to, since steps at 0 and 1
        would claim certainty.

    Notes
    -----
    Zadrozny and Elkan 2002 (doi:10.1145/775047.775151). Compared with scikit-learn's `IsotonicRegression`, which takes
    five times as long, in `tests/stats/confidence/test_recalibration.py`.
    """
    from scipy.optimize import isotonic_regression  # slow to load

    confidence, correct = forecasts.confidence, forecasts.correct
    out = np.full(len(confidence), np.nan)
    for start, stop in pairwise(np.searchsorted(forecasts.column, np.arange(columns + 1)).tolist()):
        of_column = np.arange(start, stop)
        for held in np.unique(fold[start:stop]):
            mine, rest = of_column[fold[start:stop] == held], of_column[fold[start:stop] != held]
            if not len(rest):
                continue
            seen, position, times = np.unique(confidence[rest], return_inverse=True, return_counts=True)
            rising = isotonic_regression(np.bincount(position, correct[rest]) / times, weights=times).x
            steps = np.round(rising, _DIGITS)  # a step at 1/2 leans to neither side, and rounding must not move it
            margin = 1 / (len(rest) + 2)
            out[mine] = np.clip(np.interp(confidence[mine], seen, steps), margin, 1 - margin)
    return out
