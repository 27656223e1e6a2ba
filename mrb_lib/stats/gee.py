"""Generalised estimating equations for correctness, with intervals that hold for few clusters."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from mrb_lib.stats.observations import Design, Observations, identified, restrict
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray

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
    influence : shape (F, M, p), what each of M clusters adds to the error of `beta`, corrected for
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
        out: FloatArray = np.swapaxes(self.influence, 1, 2) @ self.influence
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
    beta, alpha = np.zeros(kept.shape), np.zeros(len(kept))
    step = np.full(len(kept), np.inf)
    total = data.asked.sum(axis=1)
    work = _working(design, data, beta, alpha, kept)
    for turn in range(_STEPS):
        change = np.linalg.solve(work.information, work.score[:, :, None])[:, :, 0]
        step = np.abs(change).max(axis=1)
        beta = beta + change * np.minimum(1.0, 5.0 / np.maximum(step, 1e-300))[:, None]
        if correlation == "exchangeable" and turn > 1:
            alpha = _exchangeable(design, data, beta, total, kept)
        work = _working(design, data, beta, alpha, kept)
        if turn > 2 and (step < _CLOSE).all():
            break
    bread = np.linalg.inv(work.information).astype(np.float64, copy=False)
    cluster = by_cluster(_scores(design, data, beta, work), data.cluster)
    influence = _leverage_corrected(design, data, work, bread, cluster) @ bread
    return Gee(beta, kept, bread, influence, alpha, step < np.sqrt(_CLOSE))


class _Work(NamedTuple):
    """The estimating equations at some coefficients; C cells, N cases.

    `score` is that of all cases together, shape (F, p), `root` is the square root of the variance of one
    verdict, `pull` the share of a case's sum that the working correlation takes away.
    """

    root: FloatArray
    pull: FloatArray
    alpha: FloatArray
    score: FloatArray
    information: FloatArray
    kept: BoolArray


def _working(design: Design, data: Observations, beta: FloatArray, alpha: FloatArray, kept: BoolArray) -> _Work:
    mean = expit(design.linear(beta))
    root = np.sqrt(mean * (1 - mean))
    pull = alpha[:, None] / (1 + (data.asked.sum(axis=1) - 1) * alpha[:, None])
    residual = data.right - data.asked * mean
    score, information = design.total(residual), design.information(data.asked * root**2)
    if alpha.any():
        sums = design.by_case(data.asked * root)
        shared = pull * (residual / root).sum(axis=1)
        score -= np.einsum("fnp,fn->fp", sums, shared)
        information -= np.swapaxes(sums * pull[:, :, None], 1, 2) @ sums
        score /= (1 - alpha)[:, None]
        information /= (1 - alpha)[:, None, None]
    return _Work(root, pull, alpha, score * kept, restrict(information, kept), kept)


def _scores(design: Design, data: Observations, beta: FloatArray, work: _Work) -> FloatArray:
    """What each case adds to the estimating equations, shape (F, N, p)."""
    residual = data.right - data.asked * expit(design.linear(beta))
    shared = work.pull * (residual / work.root).sum(axis=1)
    scores: FloatArray = design.by_case(residual) - design.by_case(data.asked * work.root) * shared[:, :, None]
    scores *= work.kept[:, None, :] / (1 - work.alpha)[:, None, None]
    return scores


def expit(eta: FloatArray) -> FloatArray:
    """The probability at log odds, which are cut where nothing is left to tell."""
    out: FloatArray = 1 / (1 + np.exp(-np.clip(eta, -_FAR, _FAR)))
    return out


def _exchangeable(
    design: Design, data: Observations, beta: FloatArray, total: FloatArray, kept: BoolArray
) -> FloatArray:
    """The moment estimate of the correlation of two verdicts on a case, less a degree of freedom a covariate."""
    mean = expit(design.linear(beta))
    variance = mean * (1 - mean)
    sums = ((data.right - data.asked * mean) / np.sqrt(variance)).sum(axis=1)
    squares = ((data.right * (1 - mean) ** 2 + (data.asked - data.right) * mean**2) / variance).sum(axis=1)
    n, p = total.sum(axis=1), kept.sum(axis=1)
    pairs = (total * (total - 1)).sum(axis=1) / 2
    usable = (n > p) & (pairs > p)
    scale = squares.sum(axis=1) / np.where(usable, n - p, 1)
    found = ((sums**2 - squares).sum(axis=1) / 2) / np.where(usable, (pairs - p) * scale, 1)
    most = np.maximum(total.max(axis=1), 2)
    return np.where(usable, np.clip(found, -0.99 / (most - 1), 0.99), 0.0)


def by_cluster(values: FloatArray, cluster: IntArray) -> FloatArray:
    """Sums over the cases of each cluster, from (F, N, p) to (F, M, p)."""
    n_clusters = int(cluster.max()) + 1 if len(cluster) else 0
    if n_clusters == len(cluster):
        out = np.empty_like(values)
        out[:, cluster] = values
        return out
    order = np.argsort(cluster, kind="stable")
    starts = np.searchsorted(cluster[order], np.arange(n_clusters))
    found: FloatArray = np.add.reduceat(values[:, order], starts, axis=1)
    return found


def _leverage_corrected(
    design: Design, data: Observations, work: _Work, bread: FloatArray, score: FloatArray
) -> FloatArray:
    """Each cluster's score as it would be without the cluster's own pull on the fit: (I - A B)^-1 g.

    A is the cluster's information and B the inverse of everybody's. The series ends when a term
    changes nothing; where a cluster alone determines a coefficient it would not, and is cut.
    """
    weights, scaled = data.asked * work.root**2, data.asked * work.root
    out, term = score.copy(), score
    for _ in range(_TERMS):
        vectors = (term @ bread)[:, data.cluster]
        eta = design.linear_by_case(vectors)
        moved = weights * eta
        if work.alpha.any():
            moved -= scaled * (work.pull * (scaled * eta).sum(axis=1))[:, None, :]
        product = design.by_case(moved) / (1 - work.alpha)[:, None, None]
        term = by_cluster(product * work.kept[:, None, :], data.cluster)
        out += term
        if np.abs(term).max(initial=0.0) <= _NEGLIGIBLE * max(np.abs(out).max(initial=0.0), 1e-300):
            break
    return out
