"""Logistic models of whether a verdict is right: averaged over cases, and tests of what differs between judges."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, gammaincc

from mrb_lib.stats.estimation import FloatArray, IntArray, sums_by

SEPARATED = "no finite estimate: the covariates tell right from wrong without error, or the fit did not converge"
FEWEST = 10
FEW_JUDGES = "no test: fewer than two judges have informative verdicts"
FEW_CLUSTERS = f"no test: fewer than {FEWEST} clusters"
SAME_EVERYWHERE = "no test: the term is the same for every verdict"
UNINFORMATIVE = "{:,} verdicts are uninformative: always right or wrong whatever the term does"
NOT_FITTED = "no test: the model without the interaction did not converge"
_STEPS, _CLOSE, _TINY = 100, 1e-8, 1e-9
MOST_LOG_ODDS = 15.0
"""A larger coefficient is taken for an infinite one: its predictor decides all but every choice."""
_NEWTON_STEPS, _CLOSE_STEP, _NOTHING, _UNKNOWN = 40, 3e-8, 1e-10, 1e-9


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
            if not (alone.mle_retvals["converged"] and np.abs(beta).max() < MOST_LOG_ODDS):
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
    if not np.abs(beta).max() < MOST_LOG_ODDS:
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
    mean, n = expit(x @ beta), np.bincount(case)[case]
    spread = np.maximum(np.sqrt(mean * (1 - mean)), _TINY)
    rows = np.column_stack([x * spread[:, None], (right - mean) / spread])
    part = 1 - np.sqrt((1 - correlation) / (1 + (n - 1) * correlation))
    rows -= (part / n)[:, None] * sums_by(case, rows)[case]  # so that the verdicts on a case are uncorrelated
    members = np.split(np.argsort(cluster, kind="stable"), np.cumsum(np.bincount(cluster))[:-1])
    products = np.stack([rows[own, :-1].T @ rows[own] for own in members])
    informations, score = products[:, :, :-1], products[:, :, -1]
    half = np.linalg.cholesky(np.linalg.inv(informations.sum(axis=0)))
    leverage = half.T @ informations @ half
    # A cluster that alone determines a coefficient has a leverage of 1 there, and no residual.
    kept = (1 + _TINY) * np.eye(x.shape[1]) - leverage
    moves = np.linalg.solve(kept, (score @ half)[:, :, None])[:, :, 0] @ half.T
    return np.asarray(moves.T @ moves)


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


def interaction(
    own: FloatArray, shared: FloatArray, right: FloatArray, trials: FloatArray, cluster: IntArray
) -> dict[str, Any]:
    """Test whether judges that differ in some covariates have others in common.

    Parameters
    ----------
    own : shape (r, o), covariates of the r settings (a case in an order) whose coefficients each judge has of its own
    shared : shape (r, s), those of the term that is tested
    right, trials : shape (judges, r), verdicts that are right, and all verdicts
    cluster : shape (r,), codes from 0

    Returns
    -------
    `n` and `n_clusters` that are informative; `df`, the contrasts tested, and `p_value`, which are NaN where `reason`
    says why

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
    right, trials, n = right.copy(), trials.copy(), int(trials.sum())
    levels = own[:, np.isin(own, (0.0, 1.0)).all(axis=0)]
    hits = right @ levels
    for judge, level in np.argwhere((hits == 0) | (hits == trials @ levels)):  # its coefficient there is infinite
        right[judge, levels[:, level] > 0] = trials[judge, levels[:, level] > 0] = 0.0
    scores, rank, converged = _scores(own, shared, right, trials)
    judges, clusters = int(trials.any(axis=1).sum()), len(np.unique(cluster[trials.any(axis=0)]))
    why = {FEW_JUDGES: judges < 2, FEW_CLUSTERS: clusters < FEWEST, NOT_FITTED: not converged}
    why[SAME_EVERYWHERE] = not rank
    reasons = [text for text, applies in why.items() if applies][:1]
    df, p_value = (np.nan, np.nan) if reasons else ((judges - 1.0) * rank, flipped(sums_by(cluster, scores).T))
    if silent := n - int(trials.sum()):
        reasons.append(UNINFORMATIVE.format(silent))
    made = {"n": n - silent, "n_clusters": clusters, "df": df, "p_value": p_value}
    return made | {"reason": "; ".join(reasons)}


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
    for _ in range(_NEWTON_STEPS):
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
        if step < _CLOSE_STEP:
            break
        change = inverse_of_all @ (gradient[:, o:].sum(axis=0) - np.einsum("jos,jo->s", slope, gradient[:, :o]))
        changes = np.einsum("jab,jb->ja", inverse, gradient[:, :o]) - slope @ change
        step = float(max(np.abs(changes).max(), np.abs(change).max()))
        length = min(1.0, 5.0 / max(step, 1e-300))
        common, beta = common + length * change, beta + length * changes
        far = np.abs(beta).max(axis=1) > MOST_LOG_ODDS
        if far.any():
            right[far], trials[far], beta[far], step = 0.0, 0.0, 0.0, np.inf
    each = (shared - own @ slope) * residual[:, :, None]
    scores = each - each.sum(axis=0) @ (inverse_of_all @ rest)
    return np.hstack(list(scores)), int(known.sum()), bool(step < np.sqrt(_CLOSE_STEP))


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
