"""What log odds mean in probability: average marginal effects and their gradients."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from mrb_lib.stats.models.observations import Design
from mrb_lib.stats.options import FloatArray, divide

_REACH, _COARSE, _FINER = 40.0, 0.05, 20
_TAIL, _STEP = 7.0, 0.25


class Curve(NamedTuple):
    """A function of linear predictors with its derivatives; `by_sigma` is None without a random intercept."""

    value: FloatArray
    slope: FloatArray
    by_sigma: FloatArray | None = None


class Response(Protocol):
    """The probability at linear predictors or, with `derivative` 1, its slope."""

    def __call__(self, eta: FloatArray, derivative: int = 0) -> Curve: ...


def logistic(eta: FloatArray, derivative: int = 0) -> Curve:
    """The probability of a marginal model; see `Response`."""
    odds = np.clip(eta, -_REACH, _REACH)
    np.exp(odds, out=odds)
    mean = odds / (1 + odds)
    slope = mean * (1 - mean)
    return Curve(slope, slope * (1 - 2 * mean)) if derivative else Curve(mean, slope)


def logistic_normal(sigma: float) -> Response:
    """The probability averaged over normal random intercepts with a standard deviation of `sigma`.

    Tabulated once, by a trapezoid sum whose steps are the finer the wider the intercepts, and interpolated: the error
    is below 2e-7 for standard deviations up to 20, see `tests/stats/models/test_models.py`.
    """
    points = np.arange(-_REACH, _REACH + _COARSE / 2, _COARSE)
    step = min(_STEP, 1 / max(sigma, 1.0))
    count = int(np.ceil(_TAIL / step))
    nodes = step * np.arange(-count, count + 1.0)
    weights = np.exp(-(nodes**2) / 2)
    weights /= weights.sum()
    eta = points[:, None] + sigma * nodes
    (mean, slope, _), (_, bend, _) = logistic(eta), logistic(eta, 1)
    scaled = weights * nodes
    third = bend * (1 - 2 * mean) - 2 * slope**2
    sums = [mean @ weights, slope @ weights, bend @ weights, slope @ scaled, bend @ scaled]
    slopes = [*sums[1:3], third @ weights, sums[4], third @ scaled]
    table = _finer(np.stack(sums), np.stack(slopes))
    rise = np.diff(table, append=table[:, -1:])
    each = _FINER / _COARSE

    def curve(eta: FloatArray, derivative: int = 0) -> Curve:
        position = (np.clip(eta, -_REACH, _REACH) + _REACH) * each
        below = position.astype(np.intp)
        position -= below
        rows = (1, 2, 4) if derivative else (0, 1, 3)
        return Curve(*(table[row].take(below) + rise[row].take(below) * position for row in rows))

    return curve


def _finer(values: FloatArray, slopes: FloatArray) -> FloatArray:
    """Functions at finer steps, by the cubic between each two points that has their values and slopes (Hermite's).

    For steps h the error is at most h^4 / 384 times the largest fourth derivative, which is 2e-8 times that here.
    """
    share = np.arange(_FINER) / _FINER
    from_left, from_right = (1 - share) ** 2, share**2
    basis = np.stack(
        [
            from_left * (1 + 2 * share),
            from_right * (3 - 2 * share),
            _COARSE * share * from_left,
            -_COARSE * (1 - share) * from_right,
        ]
    )
    ends = np.stack([values[:, :-1], values[:, 1:], slopes[:, :-1], slopes[:, 1:]], axis=2)
    between = ends.reshape(-1, len(basis)) @ basis
    return np.column_stack([between.reshape(len(values), -1), values[:, -1]])


class Average(NamedTuple):
    """Probabilities (or slopes) averaged over observations, shape (F, L), and their gradients, shape (F, L, q).

    The gradients are by the p coefficients and, where the response has one, by the standard deviation of the random
    intercept. A single effect has shapes (F,) and (F, q).
    """

    value: FloatArray
    gradient: FloatArray


def standardised(
    design: Design, beta: FloatArray, weights: FloatArray, response: Response, columns: slice, settings: FloatArray
) -> Average:
    """The average probabilities when some covariates are the same for every observation.

    Parameters
    ----------
    beta : shape (F, p)
    weights : shape (F, C, N), how often each observation counts
    columns : the k covariates that are set
    settings : shape (L, k), what they are set to
    """
    others = beta.copy()
    others[:, columns] = 0.0
    rest, total = design.linear(others), weights.sum(axis=(1, 2))
    out = []
    for setting in settings:
        curve = response(rest + (beta[:, columns] @ setting)[:, None, None])
        slopes = weights * curve.slope
        gradient = design.total(slopes)
        gradient[:, columns] = slopes.sum(axis=(1, 2))[:, None] * setting
        out.append(_average(curve, weights, gradient, total))
    return Average(*(np.stack(values, axis=1) for values in zip(*out, strict=True)))


def with_cells_of(design: Design, beta: FloatArray, weights: FloatArray, response: Response, levels: int) -> Average:
    """The average probabilities when every observation is in the cells of each level; see `standardised`.

    The cells of a level follow each other, and are in the same order in all L levels.
    """
    f, c, n = weights.shape
    each = (f * levels, c // levels, n)
    every = np.tile(weights.reshape(f, levels, -1, n).sum(axis=1), (1, levels, 1))
    curve = response(design.linear(beta).reshape(each))
    weights = every.reshape(each)
    gradient = design.by_cell((weights * curve.slope).reshape(every.shape)).reshape(*each[:2], -1).sum(axis=1)
    average = _average(curve, weights, gradient, weights.sum(axis=(1, 2)))
    return Average(*(values.reshape(f, levels, *values.shape[1:]) for values in average))


def slope(design: Design, beta: FloatArray, weights: FloatArray, response: Response, column: int) -> Average:
    """The average derivative of the probability by the covariate `column`, shape (F,); see `standardised`."""
    curve = response(design.linear(beta), 1)
    value, gradient = _average(curve, weights, design.total(weights * curve.slope), weights.sum(axis=(1, 2)))
    gradient *= beta[:, column, None]
    gradient[:, column] += value
    return Average(beta[:, column] * value, gradient)


def _average(curve: Curve, weights: FloatArray, gradient: FloatArray, total: FloatArray) -> Average:
    """The weighted average of each fit, shape (F,), and its gradient, shape (F, q)."""
    if curve.by_sigma is not None:
        gradient = np.column_stack([gradient, _summed(weights, curve.by_sigma)])
    return Average(divide(_summed(weights, curve.value), total), divide(gradient, total[:, None]))


def _summed(weights: FloatArray, values: FloatArray) -> FloatArray:
    """The weighted sum of each fit, from (F, C, N) twice to (F,)."""
    sums: FloatArray = np.einsum("fcn,fcn->f", weights, values)
    return sums
