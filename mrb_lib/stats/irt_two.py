"""The item response model of two parameters a case: its difficulty, and how well it tells judges apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.irt import (
    ABILITY_PRIOR,
    LEAST_SPREAD,
    POSITION_PRIOR,
    REACH,
    OneParameter,
    Posterior,
    expectation,
    summary,
)
from mrb_lib.stats.options import FloatArray
from mrb_lib.stats.trials import Trials

DISCRIMINATION_PRIOR = 0.5
_TWO_NODES, _SLOPE_NODES, _TWO_STEPS, _TWO_CLOSE = 23, 7, 400, 2e-3


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
        posterior, _ = expectation(data.right, first.asked, slopes * (ability - difficulty), log_prior)
        counts = data.right.T @ posterior, first.asked.by_cell(posterior)
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
