"""Logistic regression with a random intercept for each case, by adaptive Gauss-Hermite quadrature."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.core.options import BoolArray, FloatArray
from mrb_lib.stats.models.gee import by_cluster, expit
from mrb_lib.stats.models.observations import Design, Observations, identified, restrict

_STEPS, _CLOSE, _NEGLIGIBLE, _FAR = 40, 1e-6, 1e-8, 300.0
_MOST_LOG = 700.0
_MODE_STEPS, _HALVINGS = 30, 12
# How many nodes are enough up to which standard deviation of the random intercept: the log likelihood is then
# within 0.01 of its value. Seven do for cases with many verdicts, whose likelihood is nearly normal.
_MANY, _LADDER = 20, ((7, 1.5), (15, 2.5), (31, 5.0))
_GRID_REACH, _GRID_STEP, _WIDEST = 8.0, 0.5, 40.0
_NO_SPREAD = 1e-3


class Mixed(NamedTuple):
    """A fit by maximum likelihood; the last of p + 1 parameters is the standard deviation of the random intercept.

    Attributes
    ----------
    beta : shape (p,), log odds within a case; 0 for a covariate that is not `kept`
    sigma : the standard deviation of the random intercept; 0 at the boundary
    kept : shape (p + 1,), False for a covariate that the observations do not identify, and for `sigma` at the boundary
    model : shape (p + 1, p + 1), the inverse of the observed information
    influence : shape (p + 1, M), what each of M clusters adds to the error: their outer products are the
        robust covariance
    log_likelihood : up to the binomial coefficients, as verdicts are counted one by one
    """

    beta: FloatArray
    sigma: float
    kept: BoolArray
    model: FloatArray
    influence: FloatArray
    log_likelihood: float
    converged: bool

    @property
    def robust(self) -> FloatArray:
        """The sandwich covariance, shape (p + 1, p + 1)."""
        out: FloatArray = self.influence @ self.influence.T
        return out


class _Point(NamedTuple):
    """The likelihood at some parameters, with its first two derivatives; `mode` warm-starts the next."""

    value: float
    score: FloatArray
    information: FloatArray
    complete: FloatArray
    mode: FloatArray


class _Rule(NamedTuple):
    """A quadrature on each case: nodes and logarithms of their weights, shape (K,).

    `own` nodes are centred and scaled at each case's mode. Others stand still: where the standard deviation is so
    wide that a case with all verdicts alike has no mode to speak of, only a fine grid follows its likelihood.
    """

    z: FloatArray
    log_weight: FloatArray
    own: bool
    widest: float


def fit(design: Design, data: Observations, *, nodes: int | None = None, start: FloatArray | None = None) -> Mixed:
    """Fit a logistic regression with a normal random intercept for each case.

    Parameters
    ----------
    design : the covariates
    data : the observations of one fit (F = 1)
    start : shape (p + 1,), where to begin; None begins at 0 and a standard deviation of 1
    nodes : of the quadrature on each case; None takes as many as the standard deviation asks for

    Notes
    -----
    Quadrature centred and scaled at each case's own mode: Pinheiro and Bates, J. Comput. Graph. Stat.
    4 (1995) 12-35; where the standard deviation passes 5, a trapezoid sum over a grid that is fine enough for
    it. Score and observed information are those of the missing-data identities of Fisher
    and of Louis, J. R. Stat. Soc. B 44 (1982) 226-233, with the random intercept as what is missing.
    The sandwich sums scores over `data.cluster` and is multiplied by M / (M - 1). Compared with
    published fits in `tests/published/test_gee.py`; coverage in `tests/simulation/test_models.py`.
    """
    kept = np.append(identified(design.information(data.n_trials))[0], True)
    parameters = np.append(np.zeros(len(kept) - 1), 1.0) if start is None else start * kept
    if nodes is not None:
        return _climb(design, data, parameters, kept, _centred(nodes, np.inf))
    judged = data.n_trials[0].sum(axis=0)
    first = 0 if judged[judged > 0].mean() >= _MANY else 1
    for count, widest in _LADDER[first:]:
        if abs(parameters[-1]) <= widest:
            fitted = _climb(design, data, parameters, kept, _centred(count, widest))
            if fitted.converged:
                return fitted
            if np.isfinite(fitted.sigma) and fitted.sigma <= _WIDEST:
                parameters = np.append(fitted.beta, max(fitted.sigma, 0.5))
    for _ in range(_HALVINGS):
        rule = _grid(parameters[-1])
        fitted = _climb(design, data, parameters, kept, rule)
        if fitted.sigma <= rule.widest or fitted.sigma > _WIDEST:
            break
        parameters = np.append(fitted.beta, fitted.sigma)
    return fitted


def _centred(nodes: int, widest: float) -> _Rule:
    z, weight = np.polynomial.hermite_e.hermegauss(nodes)
    return _Rule(z, np.log(weight) + z**2 / 2, True, widest)


def _grid(sigma: float) -> _Rule:
    """A trapezoid sum whose steps are half a logistic scale or less, up to a standard deviation of twice `sigma`."""
    widest = 2 * abs(sigma)
    step = min(_GRID_STEP, 1 / widest)
    count = int(np.ceil(_GRID_REACH / step))
    z = step * np.arange(-count, count + 1.0)
    return _Rule(z, np.full(len(z), np.log(step)), False, widest)


def _climb(design: Design, data: Observations, parameters: FloatArray, kept: BoolArray, rule: _Rule) -> Mixed:
    """Newton's method from `parameters`; it stops where the rule is no longer fine enough.

    A last step that changes nothing in the derivatives is made without another look at them.
    """
    n_trials, n_correct = data.n_trials[0], data.n_correct[0]
    parameters, kept = parameters.copy(), kept.copy()
    point = _point_at(design, n_correct, n_trials, parameters, kept, rule, np.zeros(n_trials.shape[1]))
    step = np.inf
    for _ in range(_STEPS):
        change = _direction(point, kept)
        step = float(np.abs(change).max())
        length = min(1.0, 5.0 / max(step, 1e-300))
        if step < _NEGLIGIBLE:
            parameters += change
            break
        for _ in range(_HALVINGS):
            new = _point_at(design, n_correct, n_trials, parameters + length * change, kept, rule, point.mode)
            if new.value >= point.value - 1e-9 * abs(point.value):
                break
            length /= 2
        step = float(np.abs(length * change).max())
        parameters, point = parameters + length * change, new
        if abs(parameters[-1]) < _NO_SPREAD and kept[-1]:
            parameters[-1], kept[-1] = 0.0, False
            point = _point_at(design, n_correct, n_trials, parameters, kept, rule, point.mode)
        elif step < _CLOSE or abs(parameters[-1]) > rule.widest:
            break
    return _finished(point, parameters, kept, data, step if abs(parameters[-1]) <= rule.widest else np.inf)


def _finished(point: _Point, parameters: FloatArray, kept: BoolArray, data: Observations, step: float) -> Mixed:
    sign = -1.0 if parameters[-1] < 0 else 1.0
    turn = np.append(np.ones(len(parameters) - 1), sign)
    bread = np.linalg.inv(restrict(point.information[None], kept[None])[0])
    sums = by_cluster(point.score * kept[:, None], data.cluster)
    n_clusters = sums.shape[1]
    influence = turn[:, None] * (bread @ sums) * np.sqrt(n_clusters / max(n_clusters - 1, 1))
    positive = bool(np.linalg.eigvalsh(bread).min() > 0)
    return Mixed(
        parameters[:-1],
        float(abs(parameters[-1])),
        kept,
        bread * turn * turn[:, None],
        influence,
        point.value,
        step < 100 * _CLOSE and positive,
    )


def _direction(point: _Point, kept: BoolArray) -> FloatArray:
    """Newton's step; where the likelihood is not concave, an EM step, which climbs."""
    score = point.score.sum(axis=1) * kept
    information = restrict(point.information[None], kept[None])[0]
    if np.linalg.eigvalsh(information).min() <= 0:
        information = restrict(point.complete[None], kept[None])[0]
    return np.linalg.solve(information, score)


def _point_at(
    design: Design,
    n_correct: FloatArray,
    n_trials: FloatArray,
    parameters: FloatArray,
    kept: BoolArray,
    rule: _Rule,
    mode: FloatArray,
) -> _Point:
    """The likelihood and its derivatives; K nodes, C cells, N cases."""
    sigma, p = parameters[-1], len(parameters) - 1
    eta = np.clip(design.linear(parameters[None, :-1])[0], -_FAR, _FAR)
    spread = np.ones(mode.shape)
    if rule.own:
        mode, spread = _modes(n_correct, n_trials, eta, sigma, mode)
    z = mode + spread * rule.z[:, None]
    intercept = np.clip(sigma * z, -_FAR, _FAR)
    odds = np.exp(eta) * (n_trials > 0) * np.exp(intercept)[:, None, :]
    whole = 1 + odds
    likelihood = (n_correct * eta).sum(axis=0) + intercept * n_correct.sum(axis=0) - _logarithms(whole, n_trials)
    joint = likelihood - z**2 / 2 + rule.log_weight[:, None] + np.log(spread)
    top = joint.max(axis=0)
    posterior = np.exp(joint - top)
    evidence = posterior.sum(axis=0)
    posterior /= evidence
    value = float((top + np.log(evidence / np.sqrt(2 * np.pi))).sum())

    mean = np.divide(odds, whole, out=odds)
    mean *= n_trials
    variance = np.divide(mean, whole, out=whole)
    complete = _complete(design, variance, z, posterior)
    residual = np.subtract(n_correct, mean, out=mean)
    scores = np.empty((len(z), p + 1, mode.size))
    scores[:, :p] = design.by_case(residual)
    scores[:, p] = z * residual.sum(axis=1)
    score = np.einsum("kn,kan->an", posterior, scores)
    scores -= score
    scores *= np.sqrt(posterior)[:, None, :]
    between = (scores @ np.swapaxes(scores, 1, 2)).sum(axis=0)
    return _Point(value, score, complete - between, complete, mode)


def _logarithms(whole: FloatArray, n_trials: FloatArray) -> FloatArray:
    """The sum over cells of `n_trials` logarithms each, from (K, C, N) to (K, N); `whole` is 1 without a trial."""
    if n_trials.max(initial=0.0) > 1:
        sums: FloatArray = np.einsum("cn,kcn->kn", n_trials, np.log(whole))
        return sums
    # One logarithm will do for as many cells as have a product that is finite.
    several = max(1, int(_MOST_LOG / np.log(whole.max(initial=2.0))))
    products = np.multiply.reduceat(whole, np.arange(0, whole.shape[1], several), axis=1)
    return np.asarray(np.log(products).sum(axis=1))


def _complete(design: Design, weights: FloatArray, z: FloatArray, posterior: FloatArray) -> FloatArray:
    """The expected information of the data completed by the random intercepts, shape (p + 1, p + 1)."""
    p = design.cells.shape[1]
    out = np.empty((p + 1, p + 1))
    out[:p, :p] = design.information(np.einsum("kn,kcn->cn", posterior, weights)[None])[0]
    out[p, :p] = out[:p, p] = design.total(np.einsum("kn,kcn->cn", posterior * z, weights)[None])[0]
    out[p, p] = (posterior * z**2 * weights.sum(axis=1)).sum()
    return out


def _modes(
    n_correct: FloatArray, n_trials: FloatArray, eta: FloatArray, sigma: float, mode: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The most likely random intercept of each case, in standard deviations, and the width of its likelihood."""
    curvature, hits = np.ones(mode.shape), n_correct.sum(axis=0)
    for _ in range(_MODE_STEPS):
        mean = expit(eta + sigma * mode)
        expected = n_trials * mean
        slope = sigma * (hits - expected.sum(axis=0)) - mode
        curvature = 1 + sigma**2 * (expected.sum(axis=0) - np.einsum("cn,cn->n", expected, mean))
        change = np.clip(slope / curvature, -2.0, 2.0)
        if np.abs(change).max(initial=0.0) < 1e-4:
            break
        mode = mode + change
    return mode, 1 / np.sqrt(curvature)
