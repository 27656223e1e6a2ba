"""What log odds mean in probability: average marginal effects and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mrb_lib.stats.observations import Design
from mrb_lib.stats.options import FloatArray, divide

_REACH, _COARSE, _FINER = 40.0, 0.05, 20
_TAIL, _STEP = 7.0, 0.25


class Curve(NamedTuple):
    """A probability and its derivatives at linear predictors; those by `sigma` are None without a random intercept."""

    mean: FloatArray
    slope: FloatArray
    bend: FloatArray
    by_sigma: FloatArray | None = None
    slope_by_sigma: FloatArray | None = None


Response = Callable[[FloatArray], Curve]


def logistic(eta: FloatArray) -> Curve:
    """The probability of a marginal model."""
    mean = 1 / (1 + np.exp(-np.clip(eta, -_REACH, _REACH)))
    slope = mean * (1 - mean)
    return Curve(mean, slope, slope * (1 - 2 * mean))


def logistic_normal(sigma: float) -> Response:
    """The probability averaged over normal random intercepts with a standard deviation of `sigma`.

    Tabulated once, by a trapezoid sum whose steps are the finer the wider the intercepts, and interpolated: the error
    is below 2e-7 for standard deviations up to 20, see `tests/stats/test_models.py`.
    """
    points = np.arange(-_REACH, _REACH + _COARSE / 2, _COARSE)
    step = min(_STEP, 1 / max(sigma, 1.0))
    count = int(np.ceil(_TAIL / step))
    nodes = step * np.arange(-count, count + 1.0)
    weights = np.exp(-(nodes**2) / 2)
    weights /= weights.sum()
    at, scaled = logistic(points[:, None] + sigma * nodes), weights * nodes
    third = at.bend * (1 - 2 * at.mean) - 2 * at.slope**2
    sums = [at.mean @ weights, at.slope @ weights, at.bend @ weights, at.slope @ scaled, at.bend @ scaled]
    slopes = [*sums[1:3], third @ weights, sums[4], third @ scaled]
    table = _finer(np.stack(sums), np.stack(slopes))
    rise = np.diff(table, append=table[:, -1:])
    each = _FINER / _COARSE

    def curve(eta: FloatArray) -> Curve:
        place = (np.clip(eta, -_REACH, _REACH) + _REACH) * each
        below = place.astype(np.int32)
        place -= below
        return Curve(
            *(values.take(below) + steps.take(below) * place for values, steps in zip(table, rise, strict=True))
        )

    return curve


def _finer(values: FloatArray, slopes: FloatArray) -> FloatArray:
    """Functions at finer steps, by the cubic between each two points that has their values and slopes (Hermite's).

    For steps h the error is at most h^4 / 384 times the largest fourth derivative, which is 2e-8 times that here.
    """
    share = np.arange(_FINER) / _FINER
    from_left, from_right = (1 - share) ** 2, share**2
    between = (
        values[:, :-1, None] * (from_left * (1 + 2 * share))
        + values[:, 1:, None] * (from_right * (3 - 2 * share))
        + slopes[:, :-1, None] * (_COARSE * share * from_left)
        - slopes[:, 1:, None] * (_COARSE * (1 - share) * from_right)
    )
    return np.column_stack([between.reshape(len(values), -1), values[:, -1]])


class Average(NamedTuple):
    """A probability (or a slope) averaged over observations, shape (F,), and its gradient, shape (F, q)."""

    value: FloatArray
    gradient: FloatArray


def standardised(design: Design, beta: FloatArray, weights: FloatArray, response: Response) -> Average:
    """The average probability when every observation has the covariates of `design`.

    Parameters
    ----------
    beta : shape (F, p)
    weights : shape (F, C, N), how often each observation counts

    Returns
    -------
    Average, its gradient by the p coefficients and, where the response has one, by the standard deviation
    of the random intercept.
    """
    at = response(design.linear(beta))
    total = weights.sum(axis=(1, 2))
    gradient = design.total(weights * at.slope)
    if at.by_sigma is not None:
        gradient = np.column_stack([gradient, _summed(weights, at.by_sigma)])
    return Average(divide(_summed(weights, at.mean), total), divide(gradient, total[:, None]))


def _summed(weights: FloatArray, values: FloatArray) -> FloatArray:
    """The weighted sum of each fit, from (F, C, N) twice to (F,)."""
    found: FloatArray = np.einsum("fcn,fcn->f", weights, values)
    return found


def slope(design: Design, beta: FloatArray, weights: FloatArray, response: Response, column: int) -> Average:
    """The average derivative of the probability by the covariate `column`; see `standardised`."""
    eta = design.linear(beta)
    at = response(eta)
    total = weights.sum(axis=(1, 2))
    average = _summed(weights, at.slope)
    gradient = beta[:, column, None] * design.total(weights * at.bend)
    gradient[:, column] += average
    if at.slope_by_sigma is not None:
        by_sigma = beta[:, column] * _summed(weights, at.slope_by_sigma)
        gradient = np.column_stack([gradient, by_sigma])
    return Average(divide(beta[:, column] * average, total), divide(gradient, total[:, None]))


def replaced(design: Design, columns: slice | int, cells: FloatArray | float, cases: FloatArray | float) -> Design:
    """The design with the factors of some covariates set for all cells and cases."""
    new_cells, new_cases = design.cells.copy(), design.cases.copy()
    new_cells[:, columns], new_cases[:, columns] = cells, cases
    return Design(new_cells, new_cases)
