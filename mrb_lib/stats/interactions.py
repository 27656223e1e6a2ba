"""Tests of whether a term of a logistic model differs between judges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaincc

from mrb_lib.stats.estimation import FloatArray, IntArray, sums_by

FEWEST_CLUSTERS = 10
FEW_JUDGES = "no test: fewer than two judges have informative verdicts"
FEW_CLUSTERS = f"no test: fewer than {FEWEST_CLUSTERS} clusters"
SAME_EVERYWHERE = "no test: the term is the same for every verdict"
NOT_FITTED = "no test: the model without the interaction did not converge"
_STEPS, _CLOSE, _MOST_LOG_ODDS, _NOTHING, _UNKNOWN = 40, 3e-8, 15.0, 1e-10, 1e-9


class Interaction(NamedTuple):
    """The test of one term; `df` and `p_value` are NaN where `why_not` says why.

    Attributes
    ----------
    n, n_clusters : verdicts and clusters that are informative
    df : contrasts tested
    """

    n: int
    n_clusters: int
    df: float
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
    right, trials = right.copy(), trials.copy()
    levels = own[:, np.isin(own, (0.0, 1.0)).all(axis=0)]
    hits = right @ levels
    for judge, level in np.argwhere((hits == 0) | (hits == trials @ levels)):  # its coefficient there is infinite
        right[judge, levels[:, level] > 0] = trials[judge, levels[:, level] > 0] = 0.0
    scores, rank, converged = _scores(own, shared, right, trials)
    judges, clusters = int(trials.any(axis=1).sum()), len(np.unique(cluster[trials.any(axis=0)]))
    why = {
        FEW_JUDGES: judges < 2,
        FEW_CLUSTERS: clusters < FEWEST_CLUSTERS,
        NOT_FITTED: not converged,
        SAME_EVERYWHERE: not rank,
    }
    why_not = next((text for text, applies in why.items() if applies), "")
    df, p_value = (np.nan, np.nan) if why_not else ((judges - 1.0) * rank, flipped(sums_by(cluster, scores).T))
    return Interaction(int(trials.sum()), clusters, df, p_value, why_not)


def _scores(own: FloatArray, shared: FloatArray, right: FloatArray, trials: FloatArray) -> tuple[FloatArray, int, bool]:
    """Fit the model in which judges share some covariates, by Newton's method with a block for each judge.

    A judge whose coefficients grow without end is left out: its verdicts become 0 in `right` and `trials`.

    Returns
    -------
    What each setting adds to the residuals of each judge along each shared covariate, shape (r, judges * s), made
    orthogonal to all that is estimated; how many shared covariates are identified; and whether the fit converged
    """
    x, o, s = np.hstack([own, shared]), own.shape[1], shared.shape[1]
    beta, common, step = np.zeros((len(right), o)), np.zeros(s), np.inf
    for _ in range(_STEPS):
        mean = expit(beta @ own.T + shared @ common)
        residual, weight = right - trials * mean, trials * mean * (1 - mean)
        information = np.stack([x.T @ (each[:, None] * x) for each in weight])
        gradient = residual @ x
        inverse = np.linalg.pinv(information[:, :o, :o], rcond=_NOTHING, hermitian=True)
        slope = inverse @ information[:, :o, o:]
        rest = information[:, o:, o:] - information[:, o:, :o] @ slope
        values, vectors = np.linalg.eigh(rest.sum(axis=0))
        size = information[:, o:, o:].diagonal(axis1=1, axis2=2).max(axis=1).sum()
        known = values > _UNKNOWN * size  # of what there is before own covariates take theirs
        inverse_of_all = (vectors[:, known] / values[known]) @ vectors[:, known].T
        if step < _CLOSE:
            break
        change = inverse_of_all @ (gradient[:, o:].sum(axis=0) - np.einsum("jos,jo->s", slope, gradient[:, :o]))
        changes = np.einsum("jab,jb->ja", inverse, gradient[:, :o]) - slope @ change
        step = float(max(np.abs(changes).max(), np.abs(change).max()))
        length = min(1.0, 5.0 / max(step, 1e-300))
        common, beta = common + length * change, beta + length * changes
        far = np.abs(beta).max(axis=1) > _MOST_LOG_ODDS
        if far.any():
            right[far], trials[far], beta[far], step = 0.0, 0.0, 0.0, np.inf
    each = (shared - own @ slope) * residual[:, :, None]
    scores = each - each.sum(axis=0) @ (inverse_of_all @ rest)
    return np.hstack(list(scores)), int(known.sum()), bool(step < np.sqrt(_CLOSE))


def flipped(scores: FloatArray) -> float:
    """Return the p value of the sum of squares of standardised sums, when the signs of clusters are flipped.

    It is that of the gamma distribution with the mean, variance and skewness of all flips; NaN where nothing varies.

    Parameters
    ----------
    scores : shape (k, m), what each of m clusters adds to k sums
    """
    square = np.einsum("in,in->i", scores, scores)
    some = square > _NOTHING * square.max(initial=1e-300)
    z = scores[some] / np.sqrt(square[some])[:, None]
    statistic, products, own = (z.sum(axis=1) ** 2).sum(), z @ z.T, np.einsum("in,in->n", z, z)
    # A flip leaves the products of a cluster with itself alone: only those of two clusters vary.
    variance = 2 * ((products**2).sum() - (own**2).sum())
    by_own = ((z * own) @ z.T * products).sum()
    third = 8 * ((products @ products.T * products).sum() - 3 * by_own + 2 * (own**3).sum())
    if variance <= _NOTHING or third <= 0:
        return np.nan
    shape = 4 * variance**3 / third**2
    position = shape + (statistic - len(z)) / np.sqrt(variance) * np.sqrt(shape)
    return float(gammaincc(shape, max(position, 0.0)))
