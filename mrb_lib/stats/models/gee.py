"""Generalised estimating equations for correctness, with intervals that hold for few clusters."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray
from mrb_lib.stats.models.observations import Design, Observations, identified, restrict

Correlation = Literal["independence", "exchangeable"]

_STEPS, _CLOSE, _FAR = 40, 1e-8, 30.0
_TERMS, _NEGLIGIBLE = 200, 1e-9


class Gee(NamedTuple):
    """Fits of one model to F sets of observations.

    Attributes
    ----------
    beta : shape (F, p), log odds; 0 for a covariate that is not `kept`
    kept : shape (F, p), False for a covariate that the observations do not identify
    model : shape (F, p, p), the covariance if the working correlation were true
    influence : shape (F, p, M), what each of M clusters adds to the error of `beta`, corrected for
        the cluster's own pull on the fit (Mancl and DeRouen): their outer products are the
        robust covariance
    alpha : shape (F,), the working correlation of two verdicts on a case
    converged : shape (F,)
    """

    beta: FloatArray
    kept: BoolArray
    model: FloatArray
    influence: FloatArray
    alpha: FloatArray
    converged: BoolArray

    @property
    def robust(self) -> FloatArray:
        """The sandwich covariance, shape (F, p, p)."""
        out: FloatArray = self.influence @ np.swapaxes(self.influence, 1, 2)
        return out


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
    DeRouen, Biometrics 57 (2001) 126-134, eq. 4, its inverse of (I - H) as a series of which
    every term is a product of small matrices. Compared with statsmodels, and with the example of
    a textbook, in `tests/published/test_gee.py`; coverage in `tests/simulation/test_models.py`.
    """
    kept = identified(design.information(data.asked))
    beta, step = np.zeros(kept.shape), np.full(len(kept), np.inf)
    work = _working(design, data, beta, kept)
    for turn in range(_STEPS):
        change = np.linalg.solve(work.information, work.score[:, :, None])[:, :, 0]
        step = np.abs(change).max(axis=1)
        beta = beta + change * np.minimum(1.0, 5.0 / np.maximum(step, 1e-300))[:, None]
        if turn > 1 and (step < _CLOSE).all():
            break
        work = _working(design, data, beta, kept, correlated=correlation == "exchangeable" and turn > 0)
    bread = np.linalg.inv(work.information).astype(np.float64, copy=False)
    influence = _influence(design, data.cluster, work, bread * kept[:, :, None] * kept[:, None, :])
    alpha = work.covariance.alpha
    return Gee(beta, kept, bread * (1 - alpha)[:, None, None], influence, alpha, step < np.sqrt(_CLOSE))


class _Covariance(NamedTuple):
    """The working covariance of C cells and N cases in F fits.

    `weights` are the variances, and `scaled` the standard deviations, of all verdicts of a cell together, shape (F, C,
    N); `pull` (F, N) is the share of a case's sum that the working correlation `alpha` takes away.
    """

    weights: FloatArray
    scaled: FloatArray
    pull: FloatArray
    alpha: FloatArray

    def weighted(self, values: FloatArray, sums: FloatArray) -> FloatArray:
        """Values weighted by the inverse of the covariance; `sums` (F, N) are theirs in standard deviations.

        All weights lack a factor of 1 / (1 - alpha), which changes neither estimates nor influences.
        """
        return values - self.scaled * (self.pull * sums)[:, None, :] if self.alpha.any() else values


class _Work(NamedTuple):
    """The estimating equations at some coefficients: weighted residuals (F, C, N), and their sums over all cases."""

    covariance: _Covariance
    residual: FloatArray
    score: FloatArray
    information: FloatArray


def _working(
    design: Design, data: Observations, beta: FloatArray, kept: BoolArray, *, correlated: bool = False
) -> _Work:
    mean = expit(design.linear(beta))
    variance = mean * (1 - mean)
    residual, judged = data.right - data.asked * mean, data.asked.sum(axis=1)
    weights, root = data.asked * variance, np.sqrt(variance)
    alpha, sums = np.zeros(len(beta)), np.zeros(judged.shape)
    if correlated:
        sums = (residual / root).sum(axis=1)
        # Of each verdict the square, (y - mean)^2, is (y - mean) (1 - 2 mean) + variance, as y is 0 or 1.
        squares = np.einsum("fcn,fcn->f", residual / variance, 1 - 2 * mean) + judged.sum(axis=1)
        alpha = _exchangeable(sums, squares, judged, kept.sum(axis=1))
    pull = alpha[:, None] / (1 + (judged - 1) * alpha[:, None])
    covariance = _Covariance(weights, data.asked * root, pull, alpha)
    residual = covariance.weighted(residual, sums)
    information = design.information(weights)
    if alpha.any():
        by_case = design.by_case(covariance.scaled)
        information -= (by_case * pull[:, None, :]) @ np.swapaxes(by_case, 1, 2)
    return _Work(covariance, residual, design.total(residual) * kept, restrict(information, kept))


def expit(eta: FloatArray) -> FloatArray:
    """The probability at log odds, which are cut where nothing is left to tell."""
    odds = np.clip(eta, -_FAR, _FAR)
    np.exp(odds, out=odds)
    return odds / (1 + odds)


def _exchangeable(sums: FloatArray, squares: FloatArray, judged: FloatArray, p: IntArray) -> FloatArray:
    """The moment estimate of the correlation of two verdicts on a case, less a degree of freedom a covariate.

    Parameters
    ----------
    sums, judged : shape (F, N), of each case the sum of its residuals in standard deviations, and its verdicts
    squares : shape (F,), the sum of all squared residuals
    p : shape (F,), the covariates that are estimated
    """
    n, pairs = judged.sum(axis=1), (judged * (judged - 1)).sum(axis=1) / 2
    usable = (n > p) & (pairs > p)
    scale = squares / np.where(usable, n - p, 1)
    found = (((sums**2).sum(axis=1) - squares) / 2) / np.where(usable, (pairs - p) * scale, 1)
    most = np.maximum(judged.max(axis=1), 2)
    return np.where(usable, np.clip(found, -0.99 / (most - 1), 0.99), 0.0)


def by_cluster(values: FloatArray, cluster: IntArray) -> FloatArray:
    """Sums over the cases of each cluster, from (..., N) to (..., M)."""
    if _alone(cluster):
        return values
    order = np.argsort(cluster, kind="stable")
    starts = np.searchsorted(cluster[order], np.arange(int(cluster.max()) + 1))
    found: FloatArray = np.add.reduceat(values[..., order], starts, axis=-1)
    return found


def _alone(cluster: IntArray) -> bool:
    """Whether each case is a cluster of its own, in their order."""
    return bool((np.diff(cluster) > 0).all())


def _influence(design: Design, cluster: IntArray, work: _Work, bread: FloatArray) -> FloatArray:
    """What each cluster adds to the error of the coefficients, as if it had no pull on the fit: B (I - A B)^-1 g.

    A is the cluster's information, g its score and B the inverse of everybody's information. The series ends when a
    term changes nothing; where a cluster alone determines a coefficient it would not, and is cut.
    """
    covariance, term = work.covariance, work.residual
    total = term.copy()
    for _ in range(_TERMS):
        vectors = bread @ by_cluster(design.by_case(term), cluster)
        eta = design.linear_by_case(vectors if _alone(cluster) else vectors[..., cluster])
        term = covariance.weighted(covariance.weights * eta, (covariance.scaled * eta).sum(axis=1))
        total += term
        if np.abs(term).max(initial=0.0) <= _NEGLIGIBLE * max(np.abs(total).max(initial=0.0), 1e-300):
            break
    return bread @ by_cluster(design.by_case(total), cluster)
