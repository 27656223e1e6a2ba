"""Tests of whether a term of a logistic model differs between judges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaincc

from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, sums_by

FEWEST_CLUSTERS = 10
FEW_JUDGES = "no test: fewer than two judges have informative verdicts"
FEW_CLUSTERS = f"no test: fewer than {FEWEST_CLUSTERS} clusters"
SAME_EVERYWHERE = "no test: the term is the same for every verdict"
NOT_FITTED = "no test: the model without the interaction did not converge"
_STEPS, _CLOSE, _MOST_LOG_ODDS, _NOTHING, _UNKNOWN = 40, 3e-8, 15.0, 1e-10, 1e-9


class Interaction(NamedTuple):
    """The test of one term; `statistic` and `p_value` are NaN where `why_not` says why.

    Attributes
    ----------
    n, n_clusters, n_judges : verdicts, clusters and judges that are informative
    df : contrasts tested
    statistic : mean square of what judges' verdicts leave over, in standard errors; 1 on average by chance
    """

    n: int
    n_clusters: int
    n_judges: int
    df: float
    statistic: float
    p_value: float
    why_not: str


def interaction(
    own: FloatArray, shared: FloatArray, right: FloatArray, trials: FloatArray, cluster: IntArray
) -> Interaction:
    """Test whether judges that differ in some covariates have others in common.

    Parameters
    ----------
    own : shape (r, o), covariates of the r settings (a case in an order) whose coefficients each judge has of its own
    shared : shape (r, s), those of the term that is tested
    right, trials : shape (judges, r), verdicts that are right, and all verdicts
    cluster : shape (r,), codes from 0

    Notes
    -----
    A generalised score test (Boos 1992, doi:10.1080/00031305.1992.10475921), since a Wald test of rare levels rejects
    nearly always: the model in which all judges have the term in common, and everything else their own, leaves each
    judge residuals along each shared covariate. Their sums, made orthogonal to what was estimated, are divided by their
    cluster-robust standard errors; the sum of the squares needs no inverse of a covariance, so that judges may be alike
    and levels rare (Friedrich and Pauly 2018, J. Multivar. Anal. 165:166). Its null distribution is that of
    flipping the signs of the clusters (Hemerik, Goeman and Finos 2020, doi:10.1111/rssb.12369), by its first three
    moments, which are exact. A judge that is always right in a level has an infinite coefficient and finite residuals.
    Size: `tests/simulation/test_models.py`. No library fits hundreds of coefficients next to shared ones.
    """
    right, trials = _informative(own, right, trials)
    scores, rank, used, converged = _scores(own, shared, right, trials)
    trials = trials * used[:, None]
    seen = trials.any(axis=0)
    n, clusters, judges = int(trials.sum()), len(np.unique(cluster[seen])), int(trials.any(axis=1).sum())
    why = [
        (judges < 2, FEW_JUDGES),
        (clusters < FEWEST_CLUSTERS, FEW_CLUSTERS),
        (not converged, NOT_FITTED),
        (not rank, SAME_EVERYWHERE),
    ]
    why_not = next((text for applies, text in why if applies), "")
    statistic, p_value = (np.nan, np.nan) if why_not else flipped(sums_by(cluster, scores).T)
    df = np.nan if why_not else float((judges - 1) * rank)
    return Interaction(n, clusters, judges, df, statistic, p_value, why_not)


def _informative(own: FloatArray, right: FloatArray, trials: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Leave out the levels that are always right or wrong for a judge that has a coefficient of its own there."""
    right, trials = right.copy(), trials.copy()
    levels = own[:, np.isin(own, (0.0, 1.0)).all(axis=0)]
    hits, all_of = right @ levels, trials @ levels
    for judge, level in np.argwhere((hits == 0) | (hits == all_of)):
        member = levels[:, level] > 0
        right[judge, member], trials[judge, member] = 0.0, 0.0
    return right, trials


def _scores(
    own: FloatArray, shared: FloatArray, right: FloatArray, trials: FloatArray
) -> tuple[FloatArray, int, BoolArray, bool]:
    """Fit the model in which judges share some covariates, by Newton's method with a block for each judge.

    Returns
    -------
    What each setting adds to the residuals of each judge along each shared covariate, shape (r, judges * s), made
    orthogonal to all that is estimated; how many shared covariates are identified; whether each judge has informative
    verdicts; and whether the fit converged
    """
    n_judges, o, s = len(right), own.shape[1], shared.shape[1]
    used: BoolArray = np.asarray(trials.any(axis=1))
    common, beta, step = np.zeros(s), np.zeros((n_judges, o)), np.inf
    size, inverse_of_all, rank = np.zeros(n_judges), np.zeros((s, s)), 0
    x, residual, slope = np.hstack([own, shared]), np.zeros(right.shape), np.zeros((n_judges, o, s))
    own_step, rest, score = np.zeros((n_judges, o)), np.zeros((n_judges, s, s)), np.zeros((n_judges, s))
    for _ in range(_STEPS):
        for j in np.flatnonzero(used):
            mean = expit(x @ np.append(beta[j], common))
            residual[j] = right[j] - trials[j] * mean
            information, gradient = x.T @ ((trials[j] * mean * (1 - mean))[:, None] * x), x.T @ residual[j]
            inverse = np.linalg.pinv(information[:o, :o], rcond=_NOTHING, hermitian=True)
            slope[j], own_step[j] = inverse @ information[:o, o:], inverse @ gradient[:o]
            rest[j] = information[o:, o:] - information[o:, :o] @ slope[j]
            size[j] = information[o:, o:].diagonal().max()
            score[j] = gradient[o:] - slope[j].T @ gradient[:o]
        values, vectors = np.linalg.eigh(rest[used].sum(axis=0))
        known = values > _UNKNOWN * max(size[used].sum(), 1e-300)  # of what there is before own covariates take theirs
        rank, vectors = int(known.sum()), vectors[:, known]
        inverse_of_all = (vectors / values[known]) @ vectors.T
        if step < _CLOSE:
            break
        change = inverse_of_all @ score[used].sum(axis=0)
        changes = (own_step - slope @ change) * used[:, None]
        step = float(max(np.abs(changes).max(initial=0.0), np.abs(change).max(initial=0.0)))
        length = min(1.0, 5.0 / max(step, 1e-300))
        common, beta = common + length * change, beta + length * changes
        far = used & (np.abs(beta).max(axis=1, initial=0.0) > _MOST_LOG_ODDS)
        used, step = np.asarray(used & ~far), np.inf if far.any() else step
    share = inverse_of_all @ rest
    each = [(shared - own @ slope[j]) * residual[j][:, None] * used[j] for j in range(n_judges)]
    whole = np.sum(each, axis=0)
    scores = [one - whole @ share[j] * used[j] for j, one in enumerate(each)]
    return np.hstack(scores), rank if used.any() else 0, used, bool(step < np.sqrt(_CLOSE))


def flipped(scores: FloatArray) -> tuple[float, float]:
    """Return the mean square of standardised sums of scores, and its p value when the signs of clusters are flipped.

    Parameters
    ----------
    scores : shape (k, m), what each of m clusters adds to k sums

    Returns
    -------
    statistic : 1 on average where nothing but chance is in the scores
    p_value : by the gamma distribution that has the mean, variance and skewness of all flips
    """
    square = np.einsum("in,in->i", scores, scores)
    some = square > _NOTHING * max(float(square.max(initial=0.0)), 1e-300)
    if not some.any():
        return np.nan, np.nan
    z = scores[some] / np.sqrt(square[some])[:, None]
    statistic = float((z.sum(axis=1) ** 2).sum())
    mean, products, own = len(z), z @ z.T, np.einsum("in,in->n", z, z)
    # A flip leaves the products of a cluster with itself alone: only those of two clusters vary.
    variance = 2 * float((products**2).sum() - (own**2).sum())
    by_own = float(((z * own) @ z.T * products).sum())
    third = 8 * (float((products @ products.T * products).sum()) - 3 * by_own + 2 * float((own**3).sum()))
    if variance <= _NOTHING or third <= 0:
        return statistic / mean, np.nan
    shape = 4 * variance**3 / third**2
    position = shape + (statistic - mean) / np.sqrt(variance) * np.sqrt(shape)
    return statistic / mean, float(gammaincc(shape, max(position, 0.0)))
