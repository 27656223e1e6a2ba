"""The Rasch model with few judges and many cases: abilities of judges and difficulties of cases."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.difficulty.trials import Trials
from mrb_lib.stats.estimation import FloatArray, divide, sums_by

ABILITY_PRIOR = 3.0
POSITION_PRIOR = 6.0
LEAST_SPREAD = 0.05
REACH, _NODES, _MORE_NODES, _MANY = 4.5, 35, 71, 40
_STEPS, _CLOSE = 40, 1e-6
_FEWEST_JUDGES = 3


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
    parameters : shape (P,), of the trials: abilities, in log odds, with mean 0, and effects of position
    covariance : shape (P, P)
    mean, spread : of the normal distribution of difficulties, estimated
    difficulty : the posterior of each case; it is the ability of a judge that is right half of the time
    evidence : shape (N,), the log likelihood of each case, its difficulty integrated out
    """

    parameters: FloatArray
    covariance: FloatArray
    mean: float
    spread: float
    difficulty: Posterior
    evidence: FloatArray
    converged: bool


def one_parameter(data: Trials, warm_start: OneParameter | None = None) -> OneParameter:
    """Fit logit P(right) = ability of the judge + effect of position - difficulty of the case.

    Abilities are estimated by their posterior mode, with difficulties integrated out over a normal distribution
    whose mean and spread are estimated, too; difficulties by their posterior given those estimates.

    Parameters
    ----------
    warm_start : the model of much the same trials, to start from

    Notes
    -----
    The prior of an ability is normal with standard deviation 3 about the mean difficulty, so that a judge
    that is always right has a finite one; that of the effect of position is normal about 0 with standard deviation 6,
    which is as wide: it is halved for each way to show the responses. Marginal estimation as in Bock and Aitkin,
    Psychometrika 46 (1981) 443-459, here with the cases as the random side: there are many of them and few judges.
    Observed information by Louis' identity. Planted values: `tests/simulation/test_difficulty.py`; compared
    with a fit by quadrature of another kind in `tests/stats/difficulty/test_difficulty.py`.
    """
    n_judges, n = data.n_judges, data.design.shape[1]
    often = float(data.n_trials.sum(axis=1).max(initial=0.0))
    nodes = np.linspace(-REACH, REACH, _NODES if often <= _MANY else _MORE_NODES)
    parameters = np.append(_start(data), 1.0)
    if warm_start is not None:
        parameters = np.append(warm_start.parameters, warm_start.spread)
        parameters[:n_judges] -= warm_start.mean
    prior = np.zeros(n + 1)
    prior[:n_judges], prior[n_judges:n] = ABILITY_PRIOR**-2, POSITION_PRIOR**-2
    step = np.inf
    for _ in range(_STEPS):
        slope, information = _derivatives(data, parameters, nodes)
        change = np.linalg.solve(information + np.diag(prior), slope - prior * parameters)
        step = float(np.abs(change).max())
        parameters = parameters + change * min(1.0, 1.0 / max(step, 1e-300))
        if parameters[-1] < LEAST_SPREAD:
            parameters[-1] = LEAST_SPREAD
            step = float(np.abs(change[:-1]).max())
        if step < _CLOSE:
            break
    estimates, spread = parameters[:-1], float(parameters[-1])
    logits = (data.design @ estimates)[:, None] + spread * nodes
    posterior, evidence = expectation(data.n_correct, data.n_trials, logits, -(nodes**2) / 2)
    centre = np.eye(n)
    centre[:n_judges, :n_judges] -= 1 / n_judges
    information = _derivatives(data, parameters, nodes)[1] + np.diag(prior)
    covariance = centre @ np.linalg.inv(information)[:-1, :-1] @ centre.T
    mean = -float(estimates[:n_judges].mean())
    return OneParameter(
        np.append(estimates[:n_judges] + mean, estimates[n_judges:]),
        covariance,
        mean,
        spread,
        summary(posterior[:, ::-1], mean + spread * nodes),
        evidence,
        step < 1e-3,
    )


def wrong_gold(model: OneParameter, data: Trials, otherwise: Trials, prior: float) -> FloatArray:
    """Return the posterior probability that another label than the gold one is right, shape (N,).

    Parameters
    ----------
    data, otherwise : the verdicts against the gold label, and against the other one, in the same cells; a case
        without any trial of the latter has no such probability
    prior : the probability before any verdict is seen

    Notes
    -----
    The likelihood of each label is that of the Rasch model with the case's difficulty integrated out, so that
    judges that fail together on a hard case are not counted as independent witnesses, a judge's
    testimony counts by its ability, and that of one which takes what it is shown first for what it is.
    """
    nodes = np.linspace(-REACH, REACH, _MORE_NODES)
    likelihood = []
    for those in (data, otherwise):
        ability = those.design @ model.parameters - those.design[:, : those.n_judges].sum(axis=1) * model.mean
        logits = ability[:, None] + model.spread * nodes
        likelihood.append(expectation(those.n_correct, those.n_trials, logits, -(nodes**2) / 2)[1])
    against = np.clip(likelihood[0] - likelihood[1] + np.log((1 - prior) / prior), -700, 700)
    out: FloatArray = np.where(otherwise.n_trials.any(axis=1), 1 / (1 + np.exp(against)), np.nan)
    return out


def _start(data: Trials) -> FloatArray:
    """Return abilities from the shares of right verdicts; no effect of position."""
    judge = data.design[:, : data.n_judges].T
    share = (judge @ data.n_correct.sum(axis=0) + 0.5) / (judge @ data.n_trials.sum(axis=0) + 1)
    out: FloatArray = np.append(1.2 * np.log(share / (1 - share)), np.zeros(data.design.shape[1] - data.n_judges))
    return out


def expectation(
    n_correct: FloatArray, n_trials: FloatArray, logits: FloatArray, log_prior: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the posterior of each case over K nodes, and its log evidence.

    Parameters
    ----------
    n_correct, n_trials : shape (N, J)
    logits : shape (J, K), the log odds of each judge at each node
    log_prior : shape (K,), up to a constant
    """
    prior = log_prior - np.log(np.exp(log_prior - log_prior.max()).sum()) - log_prior.max()
    joint = n_correct @ logits
    joint -= n_trials @ np.logaddexp(0.0, logits)
    joint += prior
    top = joint.max(axis=1, keepdims=True)
    joint -= top
    weights = np.exp(joint, out=joint)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    return weights, (top + np.log(total))[:, 0]


def _derivatives(data: Trials, parameters: FloatArray, nodes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the score and the observed information of the parameters and of the spread.

    Louis' identity: what the data completed by the difficulties would say, less the variance of its score over the
    difficulties that are possible. Every sum over cases and nodes is a product of matrices.
    """
    n_correct, n_trials = data.n_correct, data.n_trials
    logits = (data.design @ parameters[:-1])[:, None] + parameters[-1] * nodes
    posterior, _ = expectation(n_correct, n_trials, logits, -(nodes**2) / 2)
    mean = 1 / (1 + np.exp(-logits))
    tries = n_trials.T @ posterior
    along = nodes * (n_correct.sum(axis=1)[:, None] - n_trials @ mean)
    by_spread = (posterior * along).sum(axis=1)
    slope = np.append(n_correct.sum(axis=0) - (tries * mean).sum(axis=1), by_spread.sum())
    weights = tries * mean * (1 - mean)
    complete = np.diag(np.append(weights.sum(axis=1), (weights * nodes**2).sum()))
    complete[-1, :-1] = complete[:-1, -1] = weights @ nodes
    off = posterior * (along - by_spread[:, None])
    missing = np.empty_like(complete)
    missing[:-1, :-1] = _variance(n_trials, posterior, mean)
    missing[-1, :-1] = missing[:-1, -1] = -((n_trials.T @ off) * mean).sum(axis=1)
    missing[-1, -1] = (off * along).sum()
    wide = np.zeros((len(complete), len(parameters)))
    wide[:-1, :-1], wide[-1, -1] = data.design, 1.0
    information = wide.T @ (complete - missing) @ wide
    if np.linalg.eigvalsh(information).min() <= 0:
        information = wide.T @ complete @ wide
    return slope @ wide, information


def _variance(n_trials: FloatArray, posterior: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the variance over possible difficulties of what is expected of each cell, summed over cases, (C, C)."""
    expected = n_trials * (posterior @ mean.T)
    squares = np.zeros((len(mean), len(mean)))
    rows, which = np.unique(n_trials, axis=0, return_inverse=True)  # few: most cases have the same verdicts
    for row, weight in zip(rows, sums_by(which.ravel(), posterior), strict=True):
        weighted = row[:, None] * mean
        squares += (weighted * weight) @ weighted.T
    return np.asarray(squares - expected.T @ expected)


def agreement(model: OneParameter, data: Trials) -> FloatArray:
    """Return the correlation of two verdicts of a judge on a case that its difficulty explains, shape (J,).

    The two are one of each kind where a judge has both.
    """
    nodes = np.linspace(-REACH, REACH, _NODES)
    weight = np.exp(-(nodes**2) / 2)
    weight /= weight.sum()
    judge = data.design[:, : data.n_judges]
    logits = (data.design @ model.parameters - model.mean)[:, None] + model.spread * nodes
    chance = 1 / (1 + np.exp(-logits))
    share = judge * data.n_trials.sum(axis=0)[:, None]
    share = np.nan_to_num(divide(share, share.sum(axis=0)))
    mean = chance @ weight
    off = chance - mean[:, None]
    single = share.T @ (mean * (1 - mean))
    together = (off * weight) @ off.T
    between = share.T @ together @ share
    own = (share**2).T @ np.diag(together)
    several = 1 - (share**2).sum(axis=0)
    pair = np.where(several > 1e-6, np.diag(between) - own, share.T @ np.diag(together))
    out: FloatArray = np.nan_to_num(divide(pair, np.where(several > 1e-6, several, 1.0) * single))
    return np.clip(out, 0.0, 0.99)


def summary(posterior: FloatArray, values: FloatArray) -> Posterior:
    """Return means, standard deviations and quantiles of distributions over ascending values, from (N, K) and (K,)."""
    mean = posterior @ values
    se = np.sqrt(np.maximum(posterior @ values**2 - mean**2, 0.0))
    # A node stands for the range half-way to its neighbours.
    edges = np.concatenate([[values[0]], (values[1:] + values[:-1]) / 2, [values[-1]]])
    reached = np.hstack([np.zeros((len(posterior), 1)), np.cumsum(posterior, axis=1)])
    ends = []
    for tail in (0.025, 0.975):
        node = np.clip((reached < tail).sum(axis=1), 1, len(values))
        rows = np.arange(len(posterior))
        below, above = reached[rows, node - 1], reached[rows, node]
        share = np.nan_to_num(divide(tail - below, above - below))
        ends.append(edges[node - 1] + np.clip(share, 0, 1) * (edges[node] - edges[node - 1]))
    return Posterior(mean, se, *ends)


def item_rest_correlation(score: FloatArray) -> FloatArray:
    """Return how well each case tells able judges from weak ones, shape (N,): 1 at best, below 0 at worst.

    The correlation over judges of the score on the case with the mean score on all other cases, the discrimination of
    classical test theory (Henrysson 1963, doi:10.1007/BF02289618). NaN with fewer than three judges, or where they do
    not differ.

    Parameters
    ----------
    score : shape (J, N), from 0 to 1; NaN where there is none
    """
    seen = np.isfinite(score)
    value = np.where(seen, score, 0.0)
    total, n = value.sum(axis=1, keepdims=True), seen.sum(axis=1, keepdims=True)
    rest = divide(total - value, n - seen.astype(np.float64))
    used = seen & np.isfinite(rest)
    judges = used.sum(axis=0)
    off = [np.where(used, each - divide(np.where(used, each, 0.0).sum(axis=0), judges), 0.0) for each in (value, rest)]
    spread = np.sqrt((off[0] ** 2).sum(axis=0) * (off[1] ** 2).sum(axis=0))
    return np.where(judges >= _FEWEST_JUDGES, divide((off[0] * off[1]).sum(axis=0), spread), np.nan)
