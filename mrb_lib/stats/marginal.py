"""Marginal logistic models: whether a verdict is right, averaged over cases, with errors over clusters."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from mrb_lib.stats.estimation import FloatArray, IntArray, sums_by

SEPARATED = "no finite estimate: the covariates tell right from wrong without error, or the fit did not converge"
_STEPS, _CLOSE, _MOST_LOG_ODDS, _TINY = 100, 1e-8, 15.0, 1e-9


class Fit(NamedTuple):
    """A marginal model of v verdicts with p coefficients.

    Attributes
    ----------
    beta : shape (p,), log odds
    covariances : shape (p, p) each, over clusters; where two columns of clusters cross, by the one, the other and both
    correlation : the working correlation of two verdicts on a case; NaN where it is not estimated
    flaw : why there is no estimate; empty where there is
    """

    beta: FloatArray
    covariances: list[FloatArray]
    correlation: float
    flaw: str = ""

    def error(self, contrasts: FloatArray) -> FloatArray:
        """Return the standard errors of contrasts of the coefficients, from shape (m, p) to (m,).

        Of clusters that cross, the variance is that by the one column and that by the other less that by both, and no
        less than the larger of them (Cameron, Gelbach and Miller 2011, doi:10.1198/jbes.2010.07136).
        """
        variance = [np.einsum("mp,pq,mq->m", contrasts, each, contrasts) for each in self.covariances]
        larger = np.max(variance[:2], axis=0)
        if len(variance) > 1:
            larger = np.maximum(variance[0] + variance[1] - variance[2], larger)
        return np.asarray(np.sqrt(np.maximum(larger, 0.0)))


def fit(
    x: FloatArray, right: FloatArray, case: IntArray, clusters: Sequence[IntArray], *, exchangeable: bool = True
) -> Fit:
    """Fit a logistic model by generalised estimating equations.

    Parameters
    ----------
    x : shape (v, p), the covariates of v verdicts
    right : shape (v,), 1 or 0
    case : shape (v,), codes from 0; verdicts on a case are correlated alike in the working model
    clusters : shape (v,) each, codes from 0; a case lies in one. The covariance sums over them, whatever the working
        model is: one column of clusters, or two that cross and both together
    exchangeable : False takes verdicts as independent in the working model

    Notes
    -----
    Liang and Zeger 1986, doi:10.1093/biomet/73.1.13; the covariance is the bias-reduced one of Mancl and DeRouen 2001,
    doi:10.1111/j.0006-341X.2001.00126.x. statsmodels fits; its own covariance is the same where each case is a cluster,
    see `tests/published/test_gee.py`, but it has none over coarser ones that leaves the estimate as it is.
    """
    from statsmodels.discrete.discrete_model import Logit  # takes two seconds to import
    from statsmodels.genmod.cov_struct import Exchangeable
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_estimating_equations import GEE

    p, n, correlation = x.shape[1], np.bincount(case), np.nan
    none = Fit(np.zeros(p), [], np.nan, SEPARATED)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # a fit that is separated or does not converge is told by its estimates
        try:
            alone = Logit(right, x, check_rank=False, hasconst=False).fit(disp=0, maxiter=_STEPS, skip_hessian=True)
            beta = np.asarray(alone.params)
            if not (alone.mle_retvals["converged"] and np.abs(beta).max() < _MOST_LOG_ODDS):
                return none
            if exchangeable and len(right) > p and (n * (n - 1)).sum() / 2 > p:
                model = GEE(right, x, case, family=Binomial(), cov_struct=Exchangeable(), hasconst=False)
                close = _CLOSE * max(1.0, len(x) / 100)  # of the score, which is a sum over verdicts
                together = model.fit(maxiter=_STEPS, ctol=close, cov_type="naive", start_params=beta)
                correlation = float(model.cov_struct.dep_params)
                if together is None or not (together.converged and -1 / max(n.max() - 1, 1) < correlation < 1):
                    return none
                beta = np.asarray(together.params)
        except np.linalg.LinAlgError:
            return none
    if not np.abs(beta).max() < _MOST_LOG_ODDS:
        return none
    working = float(np.nan_to_num(correlation))
    return Fit(beta, [covariance(x, right, beta, working, case, each) for each in clusters], correlation)


def covariance(
    x: FloatArray, right: FloatArray, beta: FloatArray, correlation: float, case: IntArray, cluster: IntArray
) -> FloatArray:
    """Return the bias-reduced covariance of the coefficients over clusters, shape (p, p); parameters as in `fit`.

    With B the inverse of the whole information, A that of a cluster and g its score, the cluster moves the coefficients
    by B (I - A B)^-1 g, in which (I - A B)^-1 takes away its leverage. All lack a factor of 1 / (1 - correlation),
    which cancels.
    """
    mean = expit(x @ beta)
    spread = np.maximum(np.sqrt(mean * (1 - mean)), _TINY)
    scaled, residual = x * spread[:, None], (right - mean) / spread
    shrinkage = correlation / (1 + (np.bincount(case) - 1) * correlation)
    of_case = sums_by(case, scaled)
    score = sums_by(case, scaled * residual[:, None])
    score -= of_case * (shrinkage * np.bincount(case, residual))[:, None]
    where = np.zeros(len(of_case), dtype=np.int64)
    where[case] = cluster
    informations = _products(scaled, scaled, cluster)
    if correlation:
        informations -= _products(of_case * shrinkage[:, None], of_case, where)
    half = np.linalg.cholesky(np.linalg.inv(informations.sum(axis=0)))
    leverage = half.T @ informations @ half
    # A cluster that alone determines a coefficient has a leverage of 1 there, and no residual.
    kept = (1 + _TINY) * np.eye(x.shape[1]) - leverage
    moves = np.linalg.solve(kept, (sums_by(where, score) @ half)[:, :, None])[:, :, 0] @ half.T
    return np.asarray(moves.T @ moves)


def _products(left: FloatArray, right: FloatArray, codes: IntArray) -> FloatArray:
    """Return the products of the rows of each code, from shape (n, p) twice to (codes, p, p)."""
    rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    return np.stack([left[own].T @ right[own] for own in rows])


def probabilities(
    x: FloatArray, beta: FloatArray, columns: slice, settings: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the average probability of being right if some covariates were the same for every verdict.

    Parameters
    ----------
    columns : the k covariates that are set
    settings : shape (m, k), what they are set to, one setting after another

    Returns
    -------
    The averages, shape (m,), and their gradients by the coefficients, shape (m, p)
    """
    rest = x @ beta - x[:, columns] @ beta[columns]
    chance = expit(rest + (settings @ beta[columns])[:, None])
    slope = chance * (1 - chance)
    gradient = slope @ x / len(x)
    gradient[:, columns] = slope.mean(axis=1)[:, None] * settings
    return chance.mean(axis=1), gradient


def derivative(x: FloatArray, beta: FloatArray, column: int) -> tuple[FloatArray, FloatArray]:
    """Return the average derivative of the probability of being right by one covariate, shapes (1,) and (1, p)."""
    chance = expit(x @ beta)
    slope = chance * (1 - chance)
    gradient = beta[column] * ((slope * (1 - 2 * chance)) @ x) / len(x)
    gradient[column] += slope.mean()
    return np.array([beta[column] * slope.mean()]), gradient[None]
