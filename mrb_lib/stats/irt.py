"""Item response models with few judges and many cases: abilities of judges, difficulty and discrimination of cases."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.options import FloatArray, divide
from mrb_lib.stats.resample import CONFIDENCE

ABILITY_PRIOR = 3.0
DISCRIMINATION_PRIOR = 0.5
LEAST_SPREAD = 0.05
_REACH, _NODES, _MORE_NODES, _MANY = 4.5, 35, 71, 40
_STEPS, _CLOSE = 40, 1e-6
_TWO_NODES, _SLOPE_NODES, _TWO_STEPS, _TWO_CLOSE = 23, 7, 40, 2e-3


class Posterior(NamedTuple):
    """A posterior distribution by case, each array of shape (N,): its mean, standard deviation and 95% interval."""

    mean: FloatArray
    se: FloatArray
    low: FloatArray
    high: FloatArray


class OneParameter(NamedTuple):
    """The Rasch (1PL) model of J judges and N cases.

    Attributes
    ----------
    ability : shape (J,), in log odds, with mean 0
    covariance : shape (J, J), of the abilities
    mean, spread : of the normal distribution of difficulties, estimated
    difficulty : the posterior of each case; it is the ability of a judge that is right half of the time
    evidence : shape (N,), the log likelihood of each case, its difficulty integrated out
    """

    ability: FloatArray
    covariance: FloatArray
    mean: float
    spread: float
    difficulty: Posterior
    evidence: FloatArray
    converged: bool


def one_parameter(score: FloatArray, weight: FloatArray | None = None) -> OneParameter:
    """Fit logit P(right) = ability of the judge - difficulty of the case.

    Abilities are estimated by their posterior mode, with difficulties integrated out over a normal distribution
    whose mean and spread are estimated, too; difficulties by their posterior given those estimates.

    Parameters
    ----------
    score : shape (J, N), 0 to 1 (a fraction counts as that share of a success); NaN where there is none
    weight : shape (J,), how many trials a score of each judge is worth, see `trials`; None for one

    Notes
    -----
    The prior of an ability is normal with standard deviation 3 about the mean difficulty, so that a judge
    that is always right has a finite one. Marginal estimation as in Bock and Aitkin, Psychometrika 46 (1981)
    443-459, here with the cases as the random side: there are many of them and few judges. Observed information by
    Louis' identity. Planted values: `tests/simulation/test_difficulty.py`; compared with a fit by
    quadrature of another kind in `tests/stats/test_difficulty.py`.
    """
    right, asked = _counted(score, weight)
    n_judges = len(score)
    nodes = np.linspace(-_REACH, _REACH, _NODES if n_judges <= _MANY else _MORE_NODES)
    parameters = np.append(_start(right, asked), 1.0)
    prior = np.append(np.full(n_judges, ABILITY_PRIOR**-2), 0.0)
    step = np.inf
    for _ in range(_STEPS):
        slope, information = _derivatives(right, asked, parameters, nodes)
        change = np.linalg.solve(information + np.diag(prior), slope - prior * parameters)
        step = float(np.abs(change).max())
        parameters = parameters + change * min(1.0, 1.0 / max(step, 1e-300))
        if parameters[-1] < LEAST_SPREAD:
            parameters[-1] = LEAST_SPREAD
            step = float(np.abs(change[:-1]).max())
        if step < _CLOSE:
            break
    easiness, spread = parameters[:-1], float(parameters[-1])
    posterior, evidence = expectation(right, asked, easiness[:, None] + spread * nodes, -(nodes**2) / 2)
    centre = np.eye(n_judges) - 1 / n_judges
    information = _derivatives(right, asked, parameters, nodes)[1] + np.diag(prior)
    covariance = centre @ np.linalg.inv(information)[:-1, :-1] @ centre.T
    mean = -float(easiness.mean())
    return OneParameter(
        easiness + mean,
        covariance,
        mean,
        spread,
        summary(posterior[:, ::-1], mean + spread * nodes),
        evidence,
        step < 1e-3,
    )


def wrong_gold(
    found: OneParameter,
    score: FloatArray,
    score_otherwise: FloatArray,
    prior: float,
    weight: FloatArray | None = None,
) -> FloatArray:
    """The posterior probability that another label than the gold one is right, shape (N,).

    Parameters
    ----------
    score, score_otherwise : shape (J, N), against the gold label, and against the other one
    prior : the probability before any verdict is seen

    Notes
    -----
    The likelihood of each label is that of the Rasch model with the case's difficulty integrated out, so that
    judges that fail together on a hard case are not counted as independent witnesses, and a judge's
    testimony counts by its ability.
    """
    nodes = np.linspace(-_REACH, _REACH, _MORE_NODES)
    logits = (found.ability - found.mean)[:, None] + found.spread * nodes
    known = np.isfinite(score) & np.isfinite(score_otherwise)
    likelihood = [
        expectation(*_counted(np.where(known, values, np.nan), weight), logits, -(nodes**2) / 2)[1]
        for values in (score, score_otherwise)
    ]
    against = np.clip(likelihood[0] - likelihood[1] + np.log((1 - prior) / prior), -700, 700)
    out: FloatArray = np.where(known.any(axis=0), 1 / (1 + np.exp(against)), np.nan)
    return out


def trials(score: FloatArray, most: int) -> FloatArray:
    """How many independent trials a judge's score on a case is worth, shape (J,), from 1 to `most`.

    A mean over two orders varies as one trial where the judge always answers alike in both, and as two where its
    answers are independent: the variance of a single trial over that of the scores.
    """
    known = np.isfinite(score)
    n = known.sum(axis=1)
    mean = divide(np.where(known, score, 0.0).sum(axis=1), n)
    spread = divide(np.where(known, (score - mean[:, None]) ** 2, 0.0).sum(axis=1), n)
    single = mean * (1 - mean)
    out: FloatArray = np.clip(np.where(single > 0, single / np.maximum(spread, 1e-9), 1.0), 1.0, most)
    return out


def _counted(score: FloatArray, weight: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Successes and trials, shape (N, J)."""
    known = np.isfinite(score)
    each = np.ones(len(score)) if weight is None else weight
    return np.where(known, score, 0.0).T * each, known.T * each


def _start(right: FloatArray, asked: FloatArray) -> FloatArray:
    share = (right.sum(axis=0) + 0.5) / (asked.sum(axis=0) + 1)
    out: FloatArray = 1.2 * np.log(share / (1 - share))
    return out


def expectation(
    right: FloatArray, asked: FloatArray, logits: FloatArray, log_prior: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The posterior of each case over K nodes, and its log evidence.

    Parameters
    ----------
    right, asked : shape (N, J)
    logits : shape (J, K), the log odds of each judge at each node
    log_prior : shape (K,), up to a constant
    """
    prior = log_prior - np.log(np.exp(log_prior - log_prior.max()).sum()) - log_prior.max()
    joint = right @ logits - asked @ np.logaddexp(0.0, logits) + prior
    top = joint.max(axis=1, keepdims=True)
    weights = np.exp(joint - top)
    total = weights.sum(axis=1, keepdims=True)
    return weights / total, (top + np.log(total))[:, 0]


def _derivatives(
    right: FloatArray, asked: FloatArray, parameters: FloatArray, nodes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The score and the observed information of easiness and spread."""
    n_judges = right.shape[1]
    logits = parameters[:-1, None] + parameters[-1] * nodes
    posterior, _ = expectation(right, asked, logits, -(nodes**2) / 2)
    mean = 1 / (1 + np.exp(-logits))
    scores = np.empty((len(right), len(nodes), n_judges + 1))
    np.multiply(-asked[:, None, :], mean.T, out=scores[:, :, :-1])
    scores[:, :, :-1] += right[:, None, :]
    scores[:, :, -1] = nodes * scores[:, :, :-1].sum(axis=2)
    expected = np.matmul(posterior[:, None, :], scores)
    slope = expected.sum(axis=(0, 1))
    scores -= expected
    scores *= np.sqrt(posterior)[:, :, None]
    flat = scores.reshape(-1, n_judges + 1)
    weights = (asked.T @ posterior) * mean * (1 - mean)
    complete = np.diag(np.append(weights.sum(axis=1), (weights * nodes**2).sum()))
    complete[-1, :-1] = complete[:-1, -1] = weights @ nodes
    information = complete - flat.T @ flat
    if np.linalg.eigvalsh(information).min() <= 0:
        information = complete
    return slope, information


def summary(posterior: FloatArray, values: FloatArray) -> Posterior:
    """Mean, standard deviation and quantiles of distributions over ascending values, from (N, K) and (K,)."""
    mean = posterior @ values
    se = np.sqrt(np.maximum(posterior @ values**2 - mean**2, 0.0))
    # A node stands for the range half-way to its neighbours.
    edges = np.concatenate([[values[0]], (values[1:] + values[:-1]) / 2, [values[-1]]])
    reached = np.hstack([np.zeros((len(posterior), 1)), np.cumsum(posterior, axis=1)])
    ends = []
    for tail in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2):
        place = np.clip((reached < tail).sum(axis=1), 1, len(values))
        rows = np.arange(len(posterior))
        below, above = reached[rows, place - 1], reached[rows, place]
        share = np.nan_to_num(divide(tail - below, above - below))
        ends.append(edges[place - 1] + np.clip(share, 0, 1) * (edges[place] - edges[place - 1]))
    return Posterior(mean, se, *ends)


class TwoParameter(NamedTuple):
    """The 2PL model: the posterior of each case's difficulty and of its discrimination; abilities, shape (J,)."""

    ability: FloatArray
    difficulty: Posterior
    discrimination: Posterior


def two_parameter(score: FloatArray, first: OneParameter, weight: FloatArray | None = None) -> TwoParameter:
    """Fit logit P(right) = discrimination of the case x (ability of the judge - difficulty of the case).

    Discriminations are log-normal about 1 with standard deviation 0.5 of the logarithm: the stated prior,
    without which a handful of judges could not tell one. Abilities by the EM algorithm, begun at the Rasch model's.
    """
    right, asked = _counted(score, weight)
    z = np.linspace(-_REACH, _REACH, _TWO_NODES)
    log_slope = DISCRIMINATION_PRIOR * np.linspace(-3, 3, _SLOPE_NODES)
    slopes = np.repeat(np.exp(log_slope), _TWO_NODES)
    log_prior = (-(z**2) / 2 - (log_slope[:, None] / DISCRIMINATION_PRIOR) ** 2 / 2).ravel()
    ability, mean, spread = first.ability, first.mean, first.spread
    posterior = np.empty((0, 0))
    for _ in range(_TWO_STEPS):
        difficulty = np.tile(mean + spread * z, _SLOPE_NODES)
        posterior, _ = expectation(right, asked, slopes * (ability[:, None] - difficulty), log_prior)
        new = _abilities(right, asked, posterior, slopes, difficulty, ability, mean)
        marginal = posterior.mean(axis=0) @ np.stack([difficulty, difficulty**2], axis=1)
        spread = max(float(np.sqrt(max(marginal[1] - marginal[0] ** 2, 0.0))), LEAST_SPREAD)
        shift = float(new.mean())
        moved = float(np.abs(new - shift - ability).max())
        ability, mean = new - shift, float(marginal[0]) - shift
        if moved < _TWO_CLOSE:
            break
    by_slope = posterior.reshape(len(posterior), _SLOPE_NODES, _TWO_NODES)
    logs = summary(by_slope.sum(axis=2), log_slope)
    middle = summary(by_slope.sum(axis=2), np.exp(log_slope))
    return TwoParameter(
        ability,
        summary(by_slope.sum(axis=1), mean + spread * z),
        Posterior(middle.mean, middle.se, np.exp(logs.low), np.exp(logs.high)),
    )


def _abilities(
    right: FloatArray,
    asked: FloatArray,
    posterior: FloatArray,
    slopes: FloatArray,
    difficulty: FloatArray,
    ability: FloatArray,
    mean: float,
) -> FloatArray:
    """The abilities that maximise the expected likelihood with their prior: two steps of Newton's method."""
    hits, tries = right.T @ posterior, asked.T @ posterior
    for _ in range(2):
        chance = 1 / (1 + np.exp(-slopes * (ability[:, None] - difficulty)))
        slope = ((hits - tries * chance) * slopes).sum(axis=1) - (ability - mean) / ABILITY_PRIOR**2
        curvature = (tries * chance * (1 - chance) * slopes**2).sum(axis=1) + ABILITY_PRIOR**-2
        ability = ability + np.clip(slope / curvature, -1, 1)
    return ability
