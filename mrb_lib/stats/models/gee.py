"""Generalised estimating equations for correctness, with intervals that hold for few clusters."""

from __future__ import annotations

import warnings
from typing import Literal, NamedTuple

import numpy as np

from mrb_lib.stats.models.observations import Design, Observations, identified, restrict
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray

Correlation = Literal["independence", "exchangeable"]

_STEPS, _CLOSE, _FAR = 100, 1e-8, 30.0
_TERMS, _NEGLIGIBLE = 200, 1e-9


class Gee(NamedTuple):
    """Fits of one model to F sets of observations.

    Attributes
    ----------
    beta : shape (F, p), log odds; 0 for a covariate that is not `kept`
    kept : shape (F, p), False for a covariate that the observations do not identify
    robust : shape (F, p, p), the sandwich covariance, corrected for each cluster's own leverage (Mancl and DeRouen)
    alpha : shape (F,), the working correlation of two verdicts on a case; NaN where the fit is not sound, or too few
        cases have several verdicts for one, in which case it is fitted under independence
    converged : shape (F,)
    """

    beta: FloatArray
    kept: BoolArray
    robust: FloatArray
    alpha: FloatArray
    converged: BoolArray


def fit(design: Design, data: Observations, correlation: Correlation = "exchangeable") -> Gee:
    """Fit logistic marginal models by generalised estimating equations.

    The verdicts on a case are correlated alike (or, under `independence`, not at all) in the
    working model; the robust covariance sums over `data.cluster`, and holds whatever their
    correlation is.

    Parameters
    ----------
    design : the covariates, shared by all F fits
    data : the observations of the fits

    Notes
    -----
    Liang and Zeger, Biometrika 73 (1986) 13-22; the bias-reduced sandwich is that of Mancl and
    DeRouen, Biometrics 57 (2001) 126-134, eq. 4. statsmodels fits: its `GEE` the exchangeable model, and, where each
    case is a cluster, its covariance; its `GLM` the independent one, which is the same estimator 15 times as fast.
    The covariance over clusters that are coarser than cases, which statsmodels has not, and that of the GLMs are
    computed here. Compared with each other and with the example of a textbook in `tests/published/test_gee.py`;
    coverage in `tests/simulation/test_models.py`.
    """
    kept = identified(design.information(data.n_trials))
    beta, alpha, converged = np.zeros(kept.shape), np.zeros(len(kept)), np.ones(len(kept), dtype=bool)
    of_cases: dict[int, FloatArray] = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # a fit that is separated or does not converge is told by its estimates
        for f, columns in enumerate(kept):
            if not columns.any():
                continue
            if correlation == "exchangeable" and _has_pairs(data.n_trials[f], int(columns.sum())):
                fitted = _exchangeable(design, data, f, columns)
                if fitted.robust is not None:
                    of_cases[f] = fitted.robust
            else:
                fitted = _independent(design, data, f, columns)
            alpha[f] = fitted.alpha if correlation == "exchangeable" else 0.0
            beta[f, columns], converged[f] = np.nan_to_num(fitted.beta), fitted.converged
    robust = np.zeros((*kept.shape, kept.shape[1]))
    if len(of_cases) < len(kept):
        robust = _sandwich(design, data, beta, kept, np.nan_to_num(alpha))
    for f, covariance in of_cases.items():
        robust[f][np.ix_(kept[f], kept[f])] = covariance
    return Gee(beta, kept, robust, alpha, converged)


class _Fitted(NamedTuple):
    """One fit to the covariates that are kept; `robust` is None where its clusters are not the cases."""

    beta: FloatArray
    alpha: float
    converged: bool
    robust: FloatArray | None = None


def _has_pairs(n_trials: FloatArray, p: int) -> bool:
    """Whether the verdicts of a case, shape (C, N), come in pairs enough to estimate their correlation."""
    n = n_trials.sum(axis=0)
    return bool(n.sum() > p and (n * (n - 1)).sum() / 2 > p)


def _exchangeable(design: Design, data: Observations, f: int, columns: BoolArray) -> _Fitted:
    from statsmodels.genmod.cov_struct import Exchangeable  # takes two seconds to import
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_estimating_equations import GEE

    case, cell = np.nonzero(data.n_trials[f].T)
    repeats = data.n_trials[f, cell, case].astype(np.int64)
    first = np.repeat(np.cumsum(repeats) - repeats, repeats)
    case, cell = np.repeat(case, repeats), np.repeat(cell, repeats)
    correct = np.arange(len(case)) - first < data.n_correct[f, cell, case]
    covariates = design.cells[cell][:, columns] * design.cases[case][:, columns]
    model = GEE(correct.astype(np.float64), covariates, case, family=Binomial(), cov_struct=Exchangeable())
    alone = _alone(data.cluster)
    try:
        result = model.fit(maxiter=_STEPS, ctol=_CLOSE, cov_type="bias_reduced" if alone else "naive")
    except np.linalg.LinAlgError:
        return _Fitted(np.zeros(int(columns.sum())), np.nan, converged=False)
    alpha = float(model.cov_struct.dep_params)
    sound = bool(result.converged) and -1 / max(np.bincount(case).max() - 1, 1) < alpha < 1
    robust = np.asarray(result.cov_params()) if alone and sound else None
    return _Fitted(np.asarray(result.params), alpha if sound else np.nan, sound, robust)


def _independent(design: Design, data: Observations, f: int, columns: BoolArray) -> _Fitted:
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    case, cell = np.nonzero(data.n_trials[f].T)
    n_correct, n_trials = data.n_correct[f, cell, case], data.n_trials[f, cell, case]
    covariates = design.cells[cell][:, columns] * design.cases[case][:, columns]
    model = GLM(np.column_stack([n_correct, n_trials - n_correct]), covariates, family=Binomial())
    result = model.fit(maxiter=_STEPS, tol=1e-12)
    return _Fitted(np.asarray(result.params), np.nan, bool(result.converged))


def _sandwich(design: Design, data: Observations, beta: FloatArray, kept: BoolArray, alpha: FloatArray) -> FloatArray:
    """The bias-reduced covariance of F fits over clusters: the sum of squares of B (I - A B)^-1 g, shape (F, p, p).

    A is a cluster's information, g its score and B the inverse of everybody's information; (I - A B)^-1 takes away
    the cluster's leverage. Its series ends when a term changes nothing; where a cluster alone determines a
    coefficient it would not, and is cut. All weights lack a factor of 1 / (1 - alpha), which cancels.
    """
    mean = expit(design.linear(beta))
    variance = mean * (1 - mean)
    weights, deviations = data.n_trials * variance, data.n_trials * np.sqrt(variance)
    shrinkage = alpha[:, None] / (1 + (data.n_trials.sum(axis=1) - 1) * alpha[:, None])

    def decorrelated(values: FloatArray, standardised: FloatArray) -> FloatArray:
        """Values weighted by the inverse of the covariance; `standardised` (F, N) are their sums in deviations."""
        return np.asarray(values - deviations * (shrinkage * standardised)[:, None, :])

    by_case = design.by_case(deviations)
    information = design.information(weights) - (by_case * shrinkage[:, None, :]) @ np.swapaxes(by_case, 1, 2)
    bread = np.linalg.inv(restrict(information, kept)) * kept[:, :, None] * kept[:, None, :]
    residual = data.n_correct - data.n_trials * mean
    standardised = np.divide(residual, np.sqrt(variance), out=np.zeros(residual.shape), where=variance > 0)
    term = decorrelated(residual, standardised.sum(axis=1))
    total, cluster = term.copy(), data.cluster
    for _ in range(_TERMS):
        vectors = bread @ by_cluster(design.by_case(term), cluster)
        eta = design.linear_by_case(vectors if _alone(cluster) else vectors[..., cluster])
        term = decorrelated(weights * eta, (deviations * eta).sum(axis=1))
        total += term
        if np.abs(term).max(initial=0.0) <= _NEGLIGIBLE * max(np.abs(total).max(initial=0.0), 1e-300):
            break
    influence = bread @ by_cluster(design.by_case(total), cluster)
    return np.asarray(influence @ np.swapaxes(influence, 1, 2))


def expit(eta: FloatArray) -> FloatArray:
    """The probability at log odds, which are cut where no probability differs from 0 or 1."""
    odds = np.clip(eta, -_FAR, _FAR)
    np.exp(odds, out=odds)
    return odds / (1 + odds)


def by_cluster(values: FloatArray, cluster: IntArray) -> FloatArray:
    """Sums over the cases of each cluster, from (..., N) to (..., M)."""
    if _alone(cluster):
        return values
    order = np.argsort(cluster, kind="stable")
    starts = np.searchsorted(cluster[order], np.arange(int(cluster.max()) + 1))
    return np.asarray(np.add.reduceat(values[..., order], starts, axis=-1))


def _alone(cluster: IntArray) -> bool:
    """Whether each case is a cluster of its own, in their order."""
    return bool((np.diff(cluster) > 0).all())
