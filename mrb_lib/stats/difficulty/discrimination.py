"""How well each judge tells hard cases from easy ones: its weight where cases are matched by difficulty."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from mrb_lib.stats.difficulty.irt import REACH, expectation
from mrb_lib.stats.estimation import FloatArray

FEWEST_JUDGES = 3
_NODES, _STEPS, _CLOSE = 21, 200, 1e-3
_PRIOR_MEAN, _PRIOR_SHARE = np.array([0.0, 1.0]), np.array([1 / 9, 1.0]) / 2000


def discriminations(value: FloatArray) -> FloatArray | None:
    """Return the discrimination of each judge, relative to their mean; None where it cannot be estimated.

    Parameters
    ----------
    value : shape (J, N), scores from 0 to 1, a fraction being a share of a success; NaN where there is none

    Returns
    -------
    float array, shape (J,), with mean 1 over the judges with a score; 0 for one that is right as often on hard cases as
    on easy ones, or more often on hard ones. None with fewer than three judges, where none is right more often on easy
        cases, and where the algorithm has not converged.

    Notes
    -----
    The two-parameter logistic model with judges in the place of test items and cases in that of persons: logit
    P(right) = intercept + discrimination x ease, the cases' ease standard normal and integrated out, the rest by the EM
    algorithm (Bock and Aitkin, doi:10.1007/BF02293801). Priors keep estimates finite: discriminations normal about 1
    with standard deviation 1, intercepts about 0 with 3, once for every 2,000 cases. The sufficient statistic of a case
    is the sum of its scores weighted by discrimination (Birnbaum 1968, in Lord and Novick, Statistical Theories of
    Mental Test Scores): given that, whether a judge is right does not depend on how easy the case is, nor on its
    subfield. Compared with another implementation in `tests/stats/difficulty/test_discrimination.py`.
    """
    seen = np.isfinite(value)
    judged = seen.any(axis=1)
    if judged.sum() < FEWEST_JUDGES:
        return None
    ease = np.linspace(-REACH, REACH, _NODES)
    n_correct, n_trials = np.where(seen, value, 0.0).T, seen.T.astype(np.float64)
    precision = _PRIOR_SHARE * float(seen.sum() / judged.sum())
    intercept, slope = np.zeros((len(value), 1)), np.ones((len(value), 1))
    for _ in range(_STEPS):
        posterior, _ = expectation(n_correct, n_trials, intercept + slope * ease, -(ease**2) / 2)
        hits, tries = n_correct.T @ posterior, n_trials.T @ posterior
        mean = expit(intercept + slope * ease)
        residual, weight = hits - tries * mean, tries * mean * (1 - mean)
        score = np.stack([residual.sum(axis=1), residual @ ease], axis=1)
        score -= precision * (np.hstack([intercept, slope]) - _PRIOR_MEAN)
        sums = np.stack([weight.sum(axis=1), weight @ ease, weight @ ease**2], axis=1)
        information = sums[:, [0, 1, 1, 2]].reshape(-1, 2, 2) + precision * np.eye(2)
        step = np.clip(np.linalg.solve(information, score[:, :, None])[:, :, 0], -1.0, 1.0)
        intercept, slope = intercept + step[:, :1], slope + step[:, 1:]
        if np.abs(step).max() < _CLOSE:
            break
    else:
        return None
    slopes = np.where(judged, np.maximum(slope[:, 0], 0.0), 0.0)
    total = float(slopes.sum())
    return slopes * judged.sum() / total if total > 0 else None
