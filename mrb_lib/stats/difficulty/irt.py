"""Item response models with few judges and many cases: abilities of judges, difficulty and discrimination of cases."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.difficulty.trials import Trials
from mrb_lib.stats.options import FloatArray, IntArray, divide
from mrb_lib.stats.resampling.distinct import distinct_rows
from mrb_lib.stats.resampling.resample import CONFIDENCE

ABILITY_PRIOR = 3.0
POSITION_PRIOR = 6.0
LEAST_SPREAD = 0.05
REACH, _NODES, _MORE_NODES, _MANY = 4.5, 35, 71, 40
_STEPS, _CLOSE = 40, 1e-6
_FEW_PATTERNS = 8
DISCRIMINATION_PRIOR = 0.5
_TWO_NODES, _SLOPE_NODES, _TWO_STEPS, _TWO_CLOSE = 23, 7, 400, 2e-3


class TrialCounts(NamedTuple):
    """The numbers of trials, shape (N, C), for products with them: of which there are few different rows, or many.

    Attributes
    ----------
    rows : shape (k, C), the different rows; all N where they are many
    which : shape (N,), the row of each case; None where they are many
    """

    rows: FloatArray
    which: IntArray | None

    @classmethod
    def of(cls, numbers: FloatArray) -> TrialCounts:
        """Find the different rows of numbers of trials."""
        first, which = distinct_rows(numbers)
        return cls(numbers[first], which) if len(first) <= _FEW_PATTERNS else cls(numbers, None)

    def by_case(self, values: FloatArray) -> FloatArray:
        """The numbers times values of cells, shape (C, K) to (N, K)."""
        products: FloatArray = self.rows @ values
        return products if self.which is None else products[self.which]

    def by_row(self, values: FloatArray) -> FloatArray:
        """The sums of values of cases over those with each row, shape (N, K) to (k, K)."""
        if self.which is None:
            return values
        member = self.which == np.arange(len(self.rows))[:, None]
        out: FloatArray = member.astype(np.float64) @ values
        return out

    def by_cell(self, values: FloatArray) -> FloatArray:
        """The numbers times values of cases, summed over cases, shape (N, K) to (C, K)."""
        out: FloatArray = self.rows.T @ self.by_row(values)
        return out


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
    n_trials : the numbers of trials
    """

    parameters: FloatArray
    covariance: FloatArray
    mean: float
    spread: float
    difficulty: Posterior
    evidence: FloatArray
    n_trials: TrialCounts
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
    step, n_trials = np.inf, TrialCounts.of(data.n_trials)
    for _ in range(_STEPS):
        slope, information = _derivatives(data, parameters, nodes, n_trials)
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
    posterior, evidence = expectation(data.n_correct, n_trials, logits, -(nodes**2) / 2)
    centre = np.eye(n)
    centre[:n_judges, :n_judges] -= 1 / n_judges
    information = _derivatives(data, parameters, nodes, n_trials)[1] + np.diag(prior)
    covariance = centre @ np.linalg.inv(information)[:-1, :-1] @ centre.T
    mean = -float(estimates[:n_judges].mean())
    return OneParameter(
        np.append(estimates[:n_judges] + mean, estimates[n_judges:]),
        covariance,
        mean,
        spread,
        summary(posterior[:, ::-1], mean + spread * nodes),
        evidence,
        n_trials,
        step < 1e-3,
    )


def wrong_gold(model: OneParameter, data: Trials, otherwise: Trials, prior: float) -> FloatArray:
    """The posterior probability that another label than the gold one is right, shape (N,).

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
        likelihood.append(expectation(those.n_correct, TrialCounts(those.n_trials, None), logits, -(nodes**2) / 2)[1])
    against = np.clip(likelihood[0] - likelihood[1] + np.log((1 - prior) / prior), -700, 700)
    out: FloatArray = np.where(otherwise.n_trials.any(axis=1), 1 / (1 + np.exp(against)), np.nan)
    return out


def _start(data: Trials) -> FloatArray:
    """Abilities from the shares of right verdicts; no effect of position."""
    judge = data.design[:, : data.n_judges].T
    share = (judge @ data.n_correct.sum(axis=0) + 0.5) / (judge @ data.n_trials.sum(axis=0) + 1)
    out: FloatArray = np.append(1.2 * np.log(share / (1 - share)), np.zeros(data.design.shape[1] - data.n_judges))
    return out


def expectation(
    n_correct: FloatArray, n_trials: TrialCounts, logits: FloatArray, log_prior: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The posterior of each case over K nodes, and its log evidence.

    Parameters
    ----------
    n_correct : shape (N, J)
    n_trials : the numbers of trials, (N, J)
    logits : shape (J, K), the log odds of each judge at each node
    log_prior : shape (K,), up to a constant
    """
    prior = log_prior - np.log(np.exp(log_prior - log_prior.max()).sum()) - log_prior.max()
    joint = n_correct @ logits
    joint -= n_trials.by_case(np.logaddexp(0.0, logits))
    joint += prior
    top = joint.max(axis=1, keepdims=True)
    joint -= top
    weights = np.exp(joint, out=joint)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    return weights, (top + np.log(total))[:, 0]


def _derivatives(
    data: Trials, parameters: FloatArray, nodes: FloatArray, n_trials: TrialCounts
) -> tuple[FloatArray, FloatArray]:
    """The score and the observed information of the parameters and of the spread.

    Louis' identity: what the data completed by the difficulties would say, less the variance of its score over the
    difficulties that are possible. Every sum over cases and nodes is a product of matrices.
    """
    n_correct = data.n_correct
    logits = (data.design @ parameters[:-1])[:, None] + parameters[-1] * nodes
    posterior, _ = expectation(n_correct, n_trials, logits, -(nodes**2) / 2)
    mean = 1 / (1 + np.exp(-logits))
    tries = n_trials.by_cell(posterior)
    along = nodes * (n_correct.sum(axis=1)[:, None] - n_trials.by_case(mean))
    by_spread = (posterior * along).sum(axis=1)
    slope = np.append(n_correct.sum(axis=0) - (tries * mean).sum(axis=1), by_spread.sum())
    weights = tries * mean * (1 - mean)
    complete = np.diag(np.append(weights.sum(axis=1), (weights * nodes**2).sum()))
    complete[-1, :-1] = complete[:-1, -1] = weights @ nodes
    off = posterior * (along - by_spread[:, None])
    missing = np.empty_like(complete)
    missing[:-1, :-1] = _variance(data.n_trials, posterior, mean, n_trials)
    missing[-1, :-1] = missing[:-1, -1] = -(n_trials.by_cell(off) * mean).sum(axis=1)
    missing[-1, -1] = (off * along).sum()
    wide = np.zeros((len(complete), len(parameters)))
    wide[:-1, :-1], wide[-1, -1] = data.design, 1.0
    information = wide.T @ (complete - missing) @ wide
    if np.linalg.eigvalsh(information).min() <= 0:
        information = wide.T @ complete @ wide
    return slope @ wide, information


def _variance(numbers: FloatArray, posterior: FloatArray, mean: FloatArray, n_trials: TrialCounts) -> FloatArray:
    """The variance of what is expected of each cell over the possible difficulties, summed over cases, (C, C)."""
    expected = numbers * (posterior @ mean.T)
    squares = np.zeros((len(mean), len(mean)))
    if n_trials.which is None:
        for node, chance in enumerate(mean.T):
            squares += np.outer(chance, chance) * ((numbers.T * posterior[:, node]) @ numbers)
    else:
        for row, weights in zip(n_trials.rows, n_trials.by_row(posterior), strict=True):
            weighted = row[:, None] * mean
            squares += (weighted * weights) @ weighted.T
    out: FloatArray = squares - expected.T @ expected
    return out


def agreement(model: OneParameter, data: Trials) -> FloatArray:
    """The correlation of two verdicts of a judge on a case that its difficulty explains, shape (J,).

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
    """Mean, standard deviation and quantiles of distributions over ascending values, from (N, K) and (K,)."""
    mean = posterior @ values
    se = np.sqrt(np.maximum(posterior @ values**2 - mean**2, 0.0))
    # A node stands for the range half-way to its neighbours.
    edges = np.concatenate([[values[0]], (values[1:] + values[:-1]) / 2, [values[-1]]])
    reached = np.hstack([np.zeros((len(posterior), 1)), np.cumsum(posterior, axis=1)])
    ends = []
    for tail in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2):
        node = np.clip((reached < tail).sum(axis=1), 1, len(values))
        rows = np.arange(len(posterior))
        below, above = reached[rows, node - 1], reached[rows, node]
        share = np.nan_to_num(divide(tail - below, above - below))
        ends.append(edges[node - 1] + np.clip(share, 0, 1) * (edges[node] - edges[node - 1]))
    return Posterior(mean, se, *ends)


class TwoParameter(NamedTuple):
    """The 2PL model: the posterior of each case's difficulty and of its discrimination; parameters as of the 1PL."""

    parameters: FloatArray
    difficulty: Posterior
    discrimination: Posterior
    converged: bool


def two_parameter(data: Trials, first: OneParameter) -> TwoParameter:
    """Fit logit P(right) = discrimination of the case x (ability + effect of position - difficulty of the case).

    `first` is the Rasch model of the same trials.

    Discriminations are log-normal about 1 with standard deviation 0.5 of the logarithm: the stated prior,
    without which a handful of judges could not tell one. Abilities by the EM algorithm, begun at the Rasch model's.
    """
    z = np.linspace(-REACH, REACH, _TWO_NODES)
    log_slope = DISCRIMINATION_PRIOR * np.linspace(-3, 3, _SLOPE_NODES)
    slopes = np.repeat(np.exp(log_slope), _TWO_NODES)
    log_prior = (-(z**2) / 2 - (log_slope[:, None] / DISCRIMINATION_PRIOR) ** 2 / 2).ravel()
    parameters, mean, spread = first.parameters, first.mean, first.spread
    posterior, moved = np.empty((0, 0)), np.inf
    for _ in range(_TWO_STEPS):
        difficulty = np.tile(mean + spread * z, _SLOPE_NODES)
        ability = (data.design @ parameters)[:, None]
        posterior, _ = expectation(data.n_correct, first.n_trials, slopes * (ability - difficulty), log_prior)
        counts = data.n_correct.T @ posterior, first.n_trials.by_cell(posterior)
        new = _maximised(data, counts, slopes, difficulty, parameters, mean)
        marginal = posterior.mean(axis=0) @ np.stack([difficulty, difficulty**2], axis=1)
        spread = max(float(np.sqrt(max(marginal[1] - marginal[0] ** 2, 0.0))), LEAST_SPREAD)
        shift = float(new[: data.n_judges].mean())
        new[: data.n_judges] -= shift
        moved = float(np.abs(new - parameters).max())
        parameters, mean = new, float(marginal[0]) - shift
        if moved < _TWO_CLOSE:
            break
    by_slope = posterior.reshape(len(posterior), _SLOPE_NODES, _TWO_NODES)
    logs = summary(by_slope.sum(axis=2), log_slope)
    middle = summary(by_slope.sum(axis=2), np.exp(log_slope))
    return TwoParameter(
        parameters,
        summary(by_slope.sum(axis=1), mean + spread * z),
        Posterior(middle.mean, middle.se, np.exp(logs.low), np.exp(logs.high)),
        moved < _TWO_CLOSE,
    )


def _maximised(
    data: Trials,
    counts: tuple[FloatArray, FloatArray],
    slopes: FloatArray,
    difficulty: FloatArray,
    parameters: FloatArray,
    mean: float,
) -> FloatArray:
    """The parameters that maximise the expected likelihood with their prior: two steps of Newton's method.

    Parameters
    ----------
    counts : the successes and trials that are expected of each cell at each node, shape (C, K) each
    """
    hits, tries = counts
    n_judges, n = data.n_judges, len(parameters)
    prior = np.repeat([ABILITY_PRIOR**-2, POSITION_PRIOR**-2], [n_judges, n - n_judges])
    about = np.repeat([mean, 0.0], [n_judges, n - n_judges])
    for _ in range(2):
        chance = 1 / (1 + np.exp(-slopes * ((data.design @ parameters)[:, None] - difficulty)))
        slope = data.design.T @ ((hits - tries * chance) * slopes).sum(axis=1) - prior * (parameters - about)
        weights = (tries * chance * (1 - chance) * slopes**2).sum(axis=1)
        curvature = (data.design.T * weights) @ data.design + np.diag(prior)
        parameters = parameters + np.clip(np.linalg.solve(curvature, slope), -1, 1)
    return parameters
