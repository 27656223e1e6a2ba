"""One number per judge that divides its log odds, so that its probabilities become calibrated.

Guo et al. 2017, arXiv 1706.04599, section 4.2. Probabilities closer to 0 or 1 than one in a million are taken as that.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from mrb_lib.stats.estimation import FloatArray, IntArray, Quantity, by_influence
from mrb_lib.stats.forecasts import FOLDS, Forecasts

_CERTAIN, _STEEPEST = 1e-6, 100.0


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
    fold : shape (cases,), see `mrb_lib.stats.forecasts.folds`

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
