"""Many small logistic regressions at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from mrb_lib.stats.estimation import BoolArray, FloatArray

ONE_CHOICE = "undefined: the same on every case"
COLLINEAR = "undefined: a predictor does not vary, or repeats the others"
SEPARATED = "undefined: a predictor decides the choice without exception, so that its log-odds are infinite"
_STEPS, _CLOSE, _LARGEST_STEP, _SINGULAR = 30, 1e-7, 4.0, 1e-9


class Fits(NamedTuple):
    """m logistic regressions with k coefficients, on n cases.

    Attributes
    ----------
    coefficient : shape (m, k); NaN where undefined
    moves : shape (m, n, k), how far each case moves the coefficients; 0 where it is not used or they are undefined
    used : shape (m, n), the cases of each regression
    flaw : shape (m,), why there is no estimate; empty where there is one
    """

    coefficient: FloatArray
    moves: FloatArray
    used: BoolArray
    flaw: list[str]


def fit(predictors: list[FloatArray], y: FloatArray) -> Fits:
    """Regress shares on predictors, one regression per row.

    Parameters
    ----------
    predictors : k arrays of shape (m, n), the constant among them; a case with a NaN is not used
    y : shape (m, n), between 0 and 1, a half for a tie; NaN where a case is not in that regression

    Notes
    -----
    Maximum quasi-likelihood for a mean that is a share (Papke and Wooldridge 1996, Journal of Applied Econometrics
    11:619), by Newton's method on all rows together: a table needs thousands of regressions, and statsmodels, with
    which `tests/stats/tables/bias/test_logistic.py` compares them, fits one at a time.
    """
    x = np.stack([np.broadcast_to(each, y.shape) for each in predictors], axis=2)
    used = np.isfinite(y) & np.isfinite(x).all(axis=2)
    x, y = np.where(used[:, :, None], x, 0.0), np.where(used, y, 0.0)
    varies = (y.sum(axis=1) > 0) & (y.sum(axis=1) < used.sum(axis=1))
    spread = np.linalg.eigvalsh(np.swapaxes(x, 1, 2) @ x) if x.size else np.zeros((len(y), len(predictors)))
    identified = spread[:, 0] > _SINGULAR * np.maximum(spread[:, -1], 1e-300)
    coefficient = np.full((len(y), len(predictors)), np.nan)
    moves = np.zeros(x.shape)
    rows = np.flatnonzero(varies & identified)
    beta, inverse, residual, converged = _newton(x[rows], y[rows], used[rows])
    coefficient[rows[converged]] = beta[converged]
    moves[rows[converged]] = ((x[rows] * residual[:, :, None]) @ inverse)[converged]
    flaw = np.select([~varies, ~identified, np.isnan(coefficient[:, 0])], [ONE_CHOICE, COLLINEAR, SEPARATED], "")
    return Fits(coefficient, moves, used, flaw.tolist())


def _newton(x: FloatArray, y: FloatArray, used: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
    """Return the coefficients, the inverse information, the residuals, and whether it converged."""
    beta, k = np.zeros((len(x), x.shape[2])), x.shape[2]
    step = np.full(beta.shape, np.inf)
    for _ in range(_STEPS + 1):
        mean = expit((x @ beta[:, :, None])[:, :, 0])
        residual = (y - mean) * used
        information = np.swapaxes(x, 1, 2) @ (x * (mean * (1 - mean))[:, :, None])
        scale = np.trace(information, axis1=1, axis2=2)[:, None, None]
        inverse = np.linalg.inv(information + (scale * 1e-13 + 1e-200) * np.eye(k))
        converged = np.abs(step).max(axis=1, initial=0.0) < _CLOSE
        if converged.all():
            break
        step = (inverse @ (np.swapaxes(x, 1, 2) @ residual[:, :, None]))[:, :, 0]
        largest = np.abs(step).max(axis=1, keepdims=True)
        step *= np.minimum(1.0, _LARGEST_STEP / np.maximum(largest, _LARGEST_STEP))
        beta = beta + np.where(converged[:, None], 0.0, step)
    return beta, inverse, residual, converged
