"""Logistic regression with a random intercept for each case and for each judge on a case, by nested quadrature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mrb_lib.stats.models.gee import by_cluster
from mrb_lib.stats.models.observations import Design, Observations, identified, restrict
from mrb_lib.stats.models.quadrature import ONE_NODE, Rule, centred, for_judges, grid
from mrb_lib.stats.options import BoolArray, FloatArray

_STEPS, _CLOSE, _NEGLIGIBLE, _FAR = 40, 1e-6, 1e-8, 600.0
_MODE_STEPS, _HALVINGS, _MOST_RULES = 30, 12, 20
# How many nodes are enough up to which standard deviation of cases: the log likelihood is then within 0.01 of its
# value. Seven do for cases with many verdicts, whose likelihood is nearly normal.
_MANY, _OF_CASES = 20, ((7, 1.5), (15, 2.5), (31, 5.0))
_OF_JUDGES = (3.0, 6.0, 12.0)
_WIDEST, _NESTED = 40.0, 5.0
_NO_SPREAD, _FLAT = 1e-3, 1e-12
_AT_ONCE = 2**19


class Mixed(NamedTuple):
    """A fit by maximum likelihood; the last two of p + 2 parameters are the standard deviations.

    Attributes
    ----------
    beta : shape (p,), log odds within a case and judge; 0 for a covariate that is not `kept`
    case_sd, judge_case_sd : the standard deviations of the random intercepts of cases and of judges on a case; 0 at the
        boundary. The latter is NaN where the model is without it: there is one judge, none has two verdicts on a case,
        or they differ so seldom that its standard deviation passes 12 or that of cases 5, or that both cannot be fitted
    kept : shape (p + 2,), False for a covariate that the observations do not identify, and for a standard deviation
        that is 0
    model : shape (p + 2, p + 2), the inverse of the observed information
    influence : shape (p + 2, M), what each of M clusters adds to the error: their outer products are the
        robust covariance
    log_likelihood : up to the binomial coefficients, as verdicts are counted one by one
    """

    beta: FloatArray
    case_sd: float
    judge_case_sd: float
    kept: BoolArray
    model: FloatArray
    influence: FloatArray
    log_likelihood: float
    converged: bool

    @property
    def robust(self) -> FloatArray:
        """The sandwich covariance, shape (p + 2, p + 2)."""
        out: FloatArray = self.influence @ self.influence.T
        return out

    @property
    def spread(self) -> float:
        """The standard deviation of both random intercepts together."""
        return float(np.hypot(self.case_sd, np.nan_to_num(self.judge_case_sd)))

    @property
    def robust_with_spread(self) -> FloatArray:
        """The sandwich covariance of the coefficients and of `spread`, shape (p + 1, p + 1)."""
        share = np.nan_to_num([self.case_sd, self.judge_case_sd]) / max(self.spread, _NO_SPREAD)
        influence = np.vstack([self.influence[:-2], share @ self.influence[-2:]])
        out: FloatArray = influence @ influence.T
        return out


class _Verdicts(NamedTuple):
    """Verdicts one by one; J judges, at most V verdicts of each on a case, N cases.

    Attributes
    ----------
    cells : shape (J, V, p), what a design has of cells
    cases : shape (N, p)
    sign : shape (J, V, N), 1 where right, -1 where wrong, 0 where there is none
    """

    cells: FloatArray
    cases: FloatArray
    sign: FloatArray


class _Point(NamedTuple):
    """The likelihood at some parameters, with its first two derivatives; `mode` warm-starts the next."""

    value: float
    score: FloatArray
    information: FloatArray
    mode: FloatArray


class _JudgeOnCase(NamedTuple):
    """The log likelihood of a judge's verdicts on a case, its own random intercept integrated out; over (K, J, n).

    Attributes
    ----------
    value : shape (K, J, n)
    by_eta, by_sd : its gradient by the linear predictors of the verdicts, (K, J, V, n), and the standard deviation
    by_etas, by_eta_sd, by_sds : its second derivatives, (K, J, V, V, n), (K, J, V, n), (K, J, n)
    """

    value: FloatArray
    by_eta: FloatArray
    by_sd: FloatArray
    by_etas: FloatArray
    by_eta_sd: FloatArray
    by_sds: FloatArray


def fit(
    design: Design,
    data: Observations,
    judges: int | None = None,
    *,
    nodes: int | None = None,
    start: FloatArray | None = None,
) -> Mixed:
    """Fit a logistic regression with normal random intercepts.

    Parameters
    ----------
    design : the covariates
    data : the observations of one fit (F = 1)
    judges : how many judges have the cells, each as many, one after the other; each then has a random intercept on each
        case, if one has two verdicts on a case. None fits a random intercept of cases only
    start : shape (p + 1,), where to begin without judges; None begins at 0 and a standard deviation of 1
    nodes : of the quadrature over cases; None takes as many as the standard deviation asks for

    Notes
    -----
    Quadrature over cases is centred and scaled at each case's own mode: Pinheiro and Bates, J. Comput. Graph. Stat.
    4 (1995) 12-35; within it, a sum over each judge on the case (Rabe-Hesketh, Skrondal and Pickles
    2005, doi:10.1016/j.jeconom.2004.08.017, on nested random effects). Where a standard deviation is wide, a trapezoid
    sum over a grid that is fine enough for it. Score and observed information are those of the missing-data identities
    of Fisher and of Louis, J. R. Stat. Soc. B 44 (1982) 226-233, with the intercepts as what is missing.
    The sandwich sums scores over `data.cluster` and is multiplied by M / (M - 1). Compared with
    published fits in `tests/published/test_gee.py`; coverage in `tests/simulation/test_models.py`.
    """
    verdicts, several = _one_by_one(design, data, judges)
    kept = np.append(identified(design.information(data.n_trials))[0], [True, False])
    parameters = np.append(np.zeros(design.cells.shape[1]), [1.0, 0.0]) if start is None else np.append(start, 0.0)
    judged = data.n_trials[0].sum(axis=0)
    of_cases: Sequence[tuple[int, float]] = _OF_CASES if judged[judged > 0].mean() >= _MANY else _OF_CASES[1:]
    if nodes is not None:
        of_cases = ((nodes, np.inf),)
    if several:
        both = np.append(kept[:-1], True)
        nested = _fit(verdicts, data, np.append(parameters[:-1], 1.0) * both, both, of_cases, _OF_JUDGES)
        if nested.converged and nested.case_sd <= _NESTED and nested.judge_case_sd <= _OF_JUDGES[-1]:
            return nested
    return _fit(verdicts, data, parameters * kept, kept, of_cases, (np.inf,))


def _fit(
    verdicts: _Verdicts,
    data: Observations,
    parameters: FloatArray,
    kept: BoolArray,
    of_cases: Sequence[tuple[int, float]],
    of_judges: Sequence[float],
) -> Mixed:
    """Fit with as many nodes as the standard deviations ask for, so far as there are rules for them."""
    for _ in range(_MOST_RULES):
        case_sd, judge_case_sd = np.abs(parameters[-2:])
        cases = next((centred(*step) for step in of_cases if case_sd <= step[1]), None) or grid(case_sd)
        judges = for_judges(next(step for step in of_judges if judge_case_sd <= step)) if kept[-1] else ONE_NODE
        fitted = _climb(verdicts, data, parameters, kept, cases, judges)
        spreads = np.nan_to_num([fitted.case_sd, fitted.judge_case_sd])
        most = np.array([_NESTED, of_judges[-1]]) if kept[-1] else np.array([_WIDEST, np.inf])
        if (spreads <= [cases.widest, judges.widest]).all() or not (spreads <= most).all():
            break
        # Not far beyond what the nodes are good for, since a leap may pass the maximum.
        parameters = np.append(fitted.beta, np.clip(spreads, 0.5, [2 * cases.widest, 2 * judges.widest])) * kept
    return fitted


def _one_by_one(design: Design, data: Observations, judges: int | None) -> tuple[_Verdicts, bool]:
    """Each verdict as an observation, and whether there are several judges, one of which has several on a case."""
    n_correct, n_trials = data.n_correct[0], data.n_trials[0]
    count = len(n_trials) if judges is None else judges
    number = np.arange(int(n_trials.max(initial=1.0)))[:, None]
    sign = np.where(number < n_trials[:, None], np.where(number < n_correct[:, None], 1.0, -1.0), 0.0)
    sign = sign.reshape(count, -1, n_trials.shape[1])
    cells = np.repeat(design.cells, len(number), axis=0).reshape(count, -1, design.cells.shape[1])
    judged = np.abs(sign).sum(axis=1)
    several = judges is not None and bool((judged > 1).any()) and int(judged.any(axis=1).sum()) > 1
    return _Verdicts(cells, design.cases, sign), several


def _climb(
    verdicts: _Verdicts, data: Observations, parameters: FloatArray, kept: BoolArray, cases: Rule, judges: Rule
) -> Mixed:
    """Newton's method from `parameters`; it stops where a rule is no longer fine enough.

    A last step that changes nothing in the derivatives is made without another look at them.
    """
    parameters, kept, with_judges = parameters.copy(), kept.copy(), bool(kept[-1])
    widest = np.array([cases.widest, judges.widest])
    point = _point_at(verdicts, parameters, kept, cases, judges, np.zeros(verdicts.sign.shape[2]))
    for _ in range(_STEPS):
        change = _direction(point, kept)
        step = float(np.abs(change).max())
        length = min(1.0, 5.0 / max(step, 1e-300))
        if step < _NEGLIGIBLE:
            parameters += change
            break
        for _ in range(_HALVINGS):
            new = _point_at(verdicts, parameters + length * change, kept, cases, judges, point.mode)
            if new.value >= point.value - 1e-9 * abs(point.value):
                break
            length /= 2
        else:
            break
        parameters, point = parameters + length * change, new
        gone = (np.abs(parameters[-2:]) < _NO_SPREAD) & kept[-2:]
        if gone.any():
            parameters[-2:][gone], kept[-2:][gone] = 0.0, False
            point = _point_at(verdicts, parameters, kept, cases, judges, point.mode)
        elif length * step < _CLOSE or (np.abs(parameters[-2:]) > widest).any():
            break
    fine = bool((np.abs(parameters[-2:]) <= widest).all())
    return _finished(point, parameters, kept, data, step if fine else np.inf, with_judges=with_judges)


def _finished(
    point: _Point, parameters: FloatArray, kept: BoolArray, data: Observations, step: float, *, with_judges: bool
) -> Mixed:
    turn = np.append(np.ones(len(parameters) - 2), np.where(parameters[-2:] < 0, -1.0, 1.0))
    bread = np.linalg.pinv(restrict(point.information[None], kept[None])[0], hermitian=True)
    sums = by_cluster(point.score * kept[:, None], data.cluster)
    n_clusters = sums.shape[1]
    influence = turn[:, None] * (bread @ sums) * np.sqrt(n_clusters / max(n_clusters - 1, 1))
    positive = bool(np.linalg.eigvalsh(bread).min() > 0)
    return Mixed(
        parameters[:-2],
        abs(float(parameters[-2])),
        abs(float(parameters[-1])) if with_judges else np.nan,
        kept,
        bread * turn * turn[:, None],
        influence,
        point.value,
        step < 100 * _CLOSE and positive,
    )


def _direction(point: _Point, kept: BoolArray) -> FloatArray:
    """Newton's step with curvatures taken by their size, so that it climbs also where the likelihood is not concave.

    As at a standard deviation of 0, about which the likelihood is symmetric: its slope is none there, maximum or not.
    Directions without curvature, as where right and wrong are separated, are left alone.
    """
    score = point.score.sum(axis=1) * kept
    values, vectors = np.linalg.eigh(restrict(point.information[None], kept[None])[0])
    size = np.abs(values)
    curved = size > _FLAT * size.max()
    return np.asarray(vectors[:, curved] @ ((vectors[:, curved].T @ score) / size[curved]))


def _point_at(
    verdicts: _Verdicts, parameters: FloatArray, kept: BoolArray, cases: Rule, judges: Rule, mode: FloatArray
) -> _Point:
    """The likelihood and its derivatives, a batch of cases at a time."""
    if not kept[-1]:
        judges = ONE_NODE
    n_cases, p = mode.size, len(parameters) - 2
    step = max(1, _AT_ONCE // (len(cases.z) * len(judges.z) * max(1, verdicts.sign[..., 0].size)))
    value, mode = 0.0, mode.copy()
    score, information = np.empty((p + 2, n_cases)), np.zeros((p + 2, p + 2))
    for first in range(0, n_cases, step):
        here = slice(first, first + step)
        some = verdicts._replace(cases=verdicts.cases[here], sign=verdicts.sign[..., here])
        each = _some_cases(some, parameters, cases, judges, mode[here])
        value += each.value
        score[:, here], mode[here] = each.score, each.mode
        information += each.information
    return _Point(value, score, information, mode)


def _some_cases(verdicts: _Verdicts, parameters: FloatArray, cases: Rule, judges: Rule, mode: FloatArray) -> _Point:
    """The likelihood of n cases and its derivatives; K nodes of cases."""
    case_sd, judge_case_sd = parameters[-2:]
    (j, v, n), p = verdicts.sign.shape, len(parameters) - 2
    cells = verdicts.cells.reshape(j * v, p)
    eta = ((cells * parameters[:-2]) @ verdicts.cases.T).reshape(j, v, n)
    spread = np.ones(n)
    if cases.own:
        mode, spread = _modes(verdicts.sign, eta, case_sd, judge_case_sd, judges, mode)
    z = mode + spread * cases.z[:, None]
    each = _judges_on_cases(verdicts.sign, eta + (case_sd * z)[:, None, None], judge_case_sd, judges)
    joint = each.value.sum(axis=1) - z**2 / 2 + cases.log_weight[:, None] + np.log(spread)
    top = joint.max(axis=0)
    posterior = np.exp(joint - top)
    evidence = posterior.sum(axis=0)
    posterior /= evidence
    value = float((top + np.log(evidence / np.sqrt(2 * np.pi))).sum())

    scores = np.empty((len(z), p + 2, n))
    scores[:, :p] = (cells.T @ each.by_eta.reshape(len(z), j * v, n)) * verdicts.cases.T
    scores[:, p] = z * each.by_eta.sum(axis=(1, 2))
    scores[:, p + 1] = each.by_sd.sum(axis=1)
    score = np.einsum("kn,kan->an", posterior, scores)
    scores -= score
    scores *= np.sqrt(posterior)[:, None, :]
    between = (scores @ np.swapaxes(scores, 1, 2)).sum(axis=0)
    return _Point(value, score, _complete(verdicts, each, z, posterior) - between, mode)


def _complete(verdicts: _Verdicts, each: _JudgeOnCase, z: FloatArray, posterior: FloatArray) -> FloatArray:
    """The expected information of the data completed by the random intercepts of cases, shape (p + 2, p + 2)."""
    p = verdicts.cells.shape[2]
    out = np.empty((p + 2, p + 2))
    products = verdicts.cases[:, :, None] * verdicts.cases[:, None, :]
    by_etas = np.einsum("kn,kjvwn->jvwn", posterior, each.by_etas)
    weights = np.tensordot(by_etas, products, axes=1)
    out[:p, :p] = np.einsum("jva,jwb,jvwab->ab", verdicts.cells, verdicts.cells, weights, optimize=True)
    by_eta_case = np.einsum("kn,kjvwn->jvn", posterior * z, each.by_etas)
    by_eta_sd = np.einsum("kn,kjvn->jvn", posterior, each.by_eta_sd)
    for place, weight in ((p, by_eta_case), (p + 1, by_eta_sd)):
        out[:p, place] = out[place, :p] = (np.tensordot(weight, verdicts.cases, axes=1) * verdicts.cells).sum(
            axis=(0, 1)
        )
    out[p, p] = np.einsum("kn,kjvwn->", posterior * z**2, each.by_etas)
    out[p, p + 1] = out[p + 1, p] = np.einsum("kn,kjvn->", posterior * z, each.by_eta_sd)
    out[p + 1, p + 1] = np.einsum("kn,kjn->", posterior, each.by_sds)
    return -out


def _judges_on_cases(sign: FloatArray, eta: FloatArray, sd: float, rule: Rule) -> _JudgeOnCase:
    """Integrate over the random intercept of each judge on each case.

    Parameters
    ----------
    sign : shape (J, V, n)
    eta : shape (K, J, V, n)
    """
    density = np.exp(rule.log_weight - rule.z**2 / 2) / np.sqrt(2 * np.pi)
    powers = rule.z[:, None] ** np.arange(3)
    far = _FAR / sign.shape[1]  # a product of such probabilities is still a number
    odds = np.clip((sign * eta)[..., None] + (sd * sign)[..., None] * rule.z, -far, far)
    np.exp(odds, out=odds)
    miss = 1 / (1 + odds)  # the probability of the other outcome; 1/2 where there is no verdict
    hit = np.multiply(odds, miss, out=odds)
    joint = hit.prod(axis=2)
    joint *= density
    total = joint.sum(axis=-1)
    joint /= total[..., None]
    v = sign.shape[1]
    # Expectations of `miss`, and of products of two, times powers of the node: shape (K, J, n, 3).
    once = [((joint * miss[:, :, i]) @ powers) for i in range(v)]
    by_eta = np.stack([sign[:, i] * once[i][..., 0] for i in range(v)], axis=2)
    with_node = [sign[:, i] * once[i][..., 1] for i in range(v)]
    by_sd = np.sum(with_node, axis=0)
    by_etas = np.empty((*eta.shape[:2], v, v, eta.shape[-1]))
    by_eta_sd, by_sds = np.zeros(eta.shape), -(by_sd**2)
    for i in range(v):
        for k in range(i + 1):
            both = ((joint * (miss[:, :, i] * miss[:, :, k])) @ powers) * (sign[:, i] * sign[:, k])[..., None]
            if i == k:  # less the variance of the outcome, miss * hit
                both -= (once[i] - both) * (sign[:, i] ** 2)[..., None]
            by_etas[:, :, i, k] = by_etas[:, :, k, i] = both[..., 0] - by_eta[:, :, i] * by_eta[:, :, k]
            by_eta_sd[:, :, i] += both[..., 1]
            by_sds += both[..., 2]
            if i != k:
                by_eta_sd[:, :, k] += both[..., 1]
                by_sds += both[..., 2]
    by_eta_sd -= by_eta * by_sd[:, :, None]
    absent = (sign == 0).sum(axis=1) * np.log(2.0)
    return _JudgeOnCase(np.log(total) + absent, by_eta, by_sd, by_etas, by_eta_sd, by_sds)


def _modes(
    sign: FloatArray, eta: FloatArray, case_sd: float, judge_case_sd: float, judges: Rule, mode: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The most likely random intercept of each case, in standard deviations, and the width of its likelihood."""
    curvature = np.ones(mode.shape)
    for _ in range(_MODE_STEPS):
        each = _judges_on_cases(sign, (eta + case_sd * mode)[None], judge_case_sd, judges)
        slope = case_sd * each.by_eta.sum(axis=(0, 1, 2)) - mode
        curvature = np.maximum(1 - case_sd**2 * each.by_etas.sum(axis=(0, 1, 2, 3)), 1.0)
        change = np.clip(slope / curvature, -2.0, 2.0)
        if np.abs(change).max(initial=0.0) < 1e-4:
            break
        mode = mode + change
    return mode, 1 / np.sqrt(curvature)
