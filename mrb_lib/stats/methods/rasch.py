"""The Rasch model of few judges and many cases: abilities of judges and difficulties of cases on one scale."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, log_softmax, logit, logsumexp, softmax

from mrb_lib.stats.estimation import FloatArray, IntArray, divide, sums_by
from mrb_lib.stats.scoring import BOTH_ORDERS, read_by, score
from mrb_lib.stats.verdicts import Verdicts

ABILITY_PRIOR = 3.0
POSITION_PRIOR = 6.0
LEAST_SPREAD = 0.05
REACH, _NODES, _MORE_NODES, _MANY = 4.5, 35, 71, 40
_STEPS, _CLOSE = 40, 1e-6
_FEWEST_JUDGES = 3
_SHIFT = np.array([0.5, -0.5, 0.0])
"""Effects of position by kind of trial: the gold response was shown first, second, or neither was."""


class Shown(NamedTuple):
    """Verdicts by kind of trial, each array of shape (J, 3, N): J judges, N cases, kinds as in `_SHIFT`.

    Attributes
    ----------
    n_correct, n : sums of the scores of the verdicts, and their numbers
    """

    n_correct: FloatArray
    n: FloatArray


class Trials(NamedTuple):
    """Successes and trials of N cases in C cells; a cell is a judge and a kind of trial.

    Attributes
    ----------
    n_correct, n_trials : shape (N, C)
    design : shape (C, P), a cell's log odds at a difficulty of 0 from P parameters: an ability for each judge, then,
        for those with trials of both orders, by how much the gold response being shown first raises it
    judges : how many
    """

    n_correct: FloatArray
    n_trials: FloatArray
    design: FloatArray
    judges: int


class Posterior(NamedTuple):
    """A posterior distribution by case, each array of shape (N,): its mean, standard deviation and 95% interval."""

    mean: FloatArray
    se: FloatArray
    low: FloatArray
    high: FloatArray


class Rasch(NamedTuple):
    """The Rasch (1PL) model of J judges and N cases.

    Attributes
    ----------
    parameters : shape (P,), of the trials: abilities, in log odds, with mean 0, and effects of position
    covariance : shape (P, P)
    mean, spread : of the normal distribution of difficulties, estimated
    difficulty : the posterior of each case; it is the ability of a judge that is right half of the time
    """

    parameters: FloatArray
    covariance: FloatArray
    mean: float
    spread: float
    difficulty: Posterior
    converged: bool


def shown(verdicts: Verdicts, label: IntArray, policy: str) -> Shown:
    """Score the verdicts on one dimension by kind of trial.

    Parameters
    ----------
    verdicts : cells of one dimension
    label : shape (N,), -1 where a case has none
    policy : `balanced`, `answered` and `official` are applied within an order; `strict` and `net` make one trial of
        both orders, of the last kind
    """
    read, together = read_by(verdicts, policy), policy in BOTH_ORDERS
    labels = np.repeat(label[:, None], len(verdicts.dimensions), axis=1)
    made = np.zeros((2, len(verdicts.cells), len(_SHIFT), verdicts.n_cases))
    for order in range(1 if together else 2):
        own = read if together else read.where(read.order == order)
        value = score(own, labels, policy).score.T
        n = np.ones(value.shape) if together else own.total(own.choice >= 0 if policy == "answered" else None).T
        n = np.where(np.isfinite(value), n, 0.0)
        is_pair = ~together & (verdicts.tie >= 0) & np.isin(label, (0, 1))
        kind = np.where(is_pair, (label != order).astype(np.int64), len(_SHIFT) - 1)
        made[:, :, kind, np.arange(len(label))] += np.stack([np.nan_to_num(value) * n, n])
    return Shown(*made)


def worth(verdicts: Shown, expected: FloatArray | float = 0.0) -> FloatArray:
    """Return what a verdict of each judge counts as, in independent trials, shape (J,), at most 1.

    Verdicts of a judge on a case that go together more than chance would have it - in both orders, in all
    repeats - are fewer trials than they are many: the variance of independent trials over that of the judge's.
    What goes together because of which response was shown first is not counted; a judge that always takes the
    first varies not at all.

    Parameters
    ----------
    expected : shape (J,), the correlation of a judge's verdicts on a case that the cases' difficulty
        explains, which is no dependence
    """
    of_kind, n = verdicts.n.sum(axis=2), verdicts.n.sum(axis=1)
    mean = np.nan_to_num(divide(verdicts.n_correct.sum(axis=2), of_kind))
    surprise = (verdicts.n_correct - verdicts.n * mean[:, :, None]).sum(axis=1)
    chance = (of_kind * mean * (1 - mean)).sum(axis=1)
    further = np.maximum(np.nan_to_num(divide((n**2).sum(axis=1), n.sum(axis=1)), nan=1.0) - 1, 0.0)
    excess = np.nan_to_num(divide((surprise**2).sum(axis=1), chance), nan=1.0) - 1
    alike = (np.nan_to_num(divide(excess, further)) - expected) / (1 - expected)
    return np.asarray(1 / (1 + further * np.clip(alike, 0.0, 1.0)))


def trials(verdicts: Shown, each: FloatArray) -> Trials:
    """Lay out the verdicts by judge and kind of trial.

    A judge with trials of one order only has no effect of position that could be told from its ability.

    Parameters
    ----------
    each : shape (J,), what a verdict counts as, see `worth`
    """
    judges, kinds, n_cases = verdicts.n.shape
    n_correct, n_trials = (
        (counts * each[:, None, None]).swapaxes(0, 1).reshape(kinds * judges, n_cases) for counts in verdicts
    )
    ability = np.tile(np.eye(judges), (kinds, 1))
    has_both = (verdicts.n[:, :2].sum(axis=2) > 0).all(axis=1)
    position = np.repeat(_SHIFT, judges)[:, None] * ability[:, has_both]
    return Trials(n_correct.T, n_trials.T, np.hstack([ability, position]), judges)


def fit(data: Trials) -> Rasch:
    """Fit logit P(right) = ability of the judge + effect of position - difficulty of the case.

    Abilities are estimated by their posterior mode, with difficulties integrated out over a normal distribution
    whose mean and spread are estimated, too; difficulties by their posterior given those estimates.

    Notes
    -----
    The prior of an ability is normal with standard deviation 3 about the mean difficulty, so that a judge
    that is always right has a finite one; that of the effect of position is normal about 0 with standard deviation 6,
    which is as wide: it is halved for each way to show the responses. Marginal estimation as in Bock and Aitkin,
    Psychometrika 46 (1981) 443-459, here with the cases as the random side: there are many of them and few judges.
    Observed information by Louis' identity. Planted values: `tests/simulation/test_difficulty.py`; compared
    with a fit by quadrature of another kind in `tests/stats/tables/test_difficulty.py`.
    """
    judges, more = data.judges, data.design.shape[1] - data.judges
    often = float(data.n_trials.sum(axis=1).max(initial=0.0))
    nodes = np.linspace(-REACH, REACH, _NODES if often <= _MANY else _MORE_NODES)
    of_judge = data.design[:, :judges].T
    share = (of_judge @ data.n_correct.sum(axis=0) + 0.5) / (of_judge @ data.n_trials.sum(axis=0) + 1)
    parameters = np.concatenate([1.2 * logit(share), np.zeros(more), [1.0]])
    prior = np.repeat([ABILITY_PRIOR**-2, POSITION_PRIOR**-2, 0.0], [judges, more, 1])
    step = np.inf
    for _ in range(_STEPS):
        slope, information = _derivatives(data, parameters, nodes)
        change = np.linalg.solve(information + np.diag(prior), slope - prior * parameters)
        parameters = parameters + change / max(1.0, np.abs(change).max())
        if parameters[-1] < LEAST_SPREAD:
            parameters[-1] = LEAST_SPREAD
            change = change[:-1]
        step = float(np.abs(change).max())
        if step < _CLOSE:
            break
    estimates, spread = parameters[:-1], float(parameters[-1])
    logits = (data.design @ estimates)[:, None] + spread * nodes
    posterior, _ = expectation(data.n_correct, data.n_trials, logits, nodes)
    centre = np.eye(judges + more)
    centre[:judges, :judges] -= 1 / judges
    information = _derivatives(data, parameters, nodes)[1] + np.diag(prior)
    covariance = centre @ np.linalg.inv(information)[:-1, :-1] @ centre.T
    mean = -float(estimates[:judges].mean())
    difficulty = summary(posterior[:, ::-1], mean + spread * nodes)
    return Rasch(centre @ estimates, covariance, mean, spread, difficulty, step < 1e-3)


def wrong_gold(model: Rasch, data: Trials, otherwise: Trials, prior: float) -> FloatArray:
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
    logits = (data.design @ model.parameters - model.mean)[:, None] + model.spread * nodes
    of_gold, of_other = (expectation(each.n_correct, each.n_trials, logits, nodes)[1] for each in (data, otherwise))
    return np.where(otherwise.n_trials.any(axis=1), expit(of_other - of_gold + logit(prior)), np.nan)


def expectation(
    n_correct: FloatArray, n_trials: FloatArray, logits: FloatArray, nodes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the posterior of each case over K nodes of a standard normal prior, and its log evidence.

    Parameters
    ----------
    n_correct, n_trials : shape (N, J)
    logits : shape (J, K), the log odds of each judge at each node
    """
    joint = n_correct @ logits - n_trials @ np.logaddexp(0.0, logits) + log_softmax(-(nodes**2) / 2)
    return np.asarray(softmax(joint, axis=1)), np.asarray(logsumexp(joint, axis=1))


def _derivatives(data: Trials, parameters: FloatArray, nodes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the score and the observed information of the parameters and of the spread.

    Louis' identity: what the data completed by the difficulties would say, less the variance of its score over the
    difficulties that are possible. Every sum over cases and nodes is a product of matrices.
    """
    n_correct, n_trials = data.n_correct, data.n_trials
    logits = (data.design @ parameters[:-1])[:, None] + parameters[-1] * nodes
    posterior, _ = expectation(n_correct, n_trials, logits, nodes)
    mean, tries = expit(logits), n_trials.T @ posterior
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


def agreement(model: Rasch, data: Trials) -> FloatArray:
    """Return the correlation of two verdicts of a judge on a case that its difficulty explains, shape (J,).

    The two are one of each kind where a judge has both.
    """
    nodes = np.linspace(-REACH, REACH, _NODES)
    weight = softmax(-(nodes**2) / 2)
    judge = data.design[:, : data.judges]
    chance = expit((data.design @ model.parameters - model.mean)[:, None] + model.spread * nodes)
    share = judge * data.n_trials.sum(axis=0)[:, None]
    share = np.nan_to_num(divide(share, share.sum(axis=0)))
    mean = chance @ weight
    off = chance - mean[:, None]
    single = share.T @ (mean * (1 - mean))
    together = (off * weight) @ off.T
    between = np.diag(share.T @ together @ share) - (share**2).T @ np.diag(together)
    several = 1 - (share**2).sum(axis=0)
    pair = np.where(several > 1e-6, between, share.T @ np.diag(together))
    alike: FloatArray = np.nan_to_num(divide(pair, np.where(several > 1e-6, several, 1.0) * single))
    return np.clip(alike, 0.0, 0.99)


def summary(posterior: FloatArray, values: FloatArray) -> Posterior:
    """Return means, standard deviations and quantiles of distributions over ascending values, from (N, K) and (K,)."""
    mean = posterior @ values
    se = np.sqrt(np.maximum(posterior @ values**2 - mean**2, 0.0))
    # A node stands for the range half-way to its neighbours.
    edges = np.concatenate([[values[0]], (values[1:] + values[:-1]) / 2, [values[-1]]])
    reached = np.hstack([np.zeros((len(posterior), 1)), np.cumsum(posterior, axis=1)])
    ends = np.array([np.interp([0.025, 0.975], row, edges) for row in reached]).reshape(-1, 2)
    return Posterior(mean, se, ends[:, 0], ends[:, 1])


def item_rest_correlation(score: FloatArray) -> FloatArray:
    """Return how well each case tells able judges from weak ones, shape (N,): 1 at best, below 0 at worst.

    The correlation over judges of the score on the case with the mean score on all other cases, the discrimination of
    classical test theory (Henrysson 1963, doi:10.1007/BF02289618). NaN with fewer than three judges, or where they do
    not differ.

    Parameters
    ----------
    score : shape (J, N), from 0 to 1; NaN where there is none
    """
    value = pd.DataFrame(score)
    rest = value.rsub(value.sum(axis=1), axis=0).div(value.notna().sum(axis=1) - 1, axis=0)
    value = value.where(rest.notna())
    differ = (value.count() >= _FEWEST_JUDGES) & (value.std() > 1e-9) & (rest.std() > 1e-9)
    return np.asarray(value.corrwith(rest).where(differ), dtype=np.float64)
