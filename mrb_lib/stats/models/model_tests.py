"""Whether a term of the correctness models differs between judges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from mrb_lib.stats.models.effects import Response
from mrb_lib.stats.models.gee import by_cluster, expit
from mrb_lib.stats.models.observations import Design, Observations, identified, restrict
from mrb_lib.stats.models.terms import Covariates, Terms, single
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, join_reasons

INTERACTION = "interaction"
FEWEST_FOR_TEST = 10
FEW_JUDGES = "no test: fewer than two judges have informative verdicts"
FEW_FOR_TEST = f"no test: fewer than {FEWEST_FOR_TEST} clusters"
SAME_EVERYWHERE = "no test: the term is the same for every verdict"
NOT_FITTED = "no test: the model without the interaction did not converge"
_STEPS, _CLOSE, _MOST_LOG_ODDS, _NOTHING = 40, 3e-8, 15.0, 1e-10

Row = dict[str, object]


class Fits(NamedTuple):
    """F fits of one model: p coefficients and, for `mixed`, the standard deviation of the random intercepts together.

    `flaw` says why a fit has no estimate; `cov` has shape (F, q, q).
    """

    terms: Terms
    data: Observations
    beta: FloatArray
    kept: BoolArray
    cov: FloatArray
    flaw: list[str]
    df: FloatArray
    response: Response


def clusters_seen(seen: BoolArray, cluster: IntArray) -> IntArray:
    """How many clusters have a case that is seen, from (F, N) to (F,)."""
    n_clusters = int(cluster.max()) + 1
    if n_clusters == len(cluster):
        return np.asarray(seen.sum(axis=1), dtype=np.int64)
    return np.array([np.count_nonzero(np.bincount(cluster[row], minlength=n_clusters)) for row in seen], np.int64)


def interactions(covariates: Covariates, data: Observations, start: FloatArray) -> list[Row]:
    """Whether a term is the same for all judges, a row a term.

    Parameters
    ----------
    data : the observations of J judges, each a fit
    start : shape (J, p), coefficients of the models of one judge, from which Newton's method starts

    Notes
    -----
    A generalised score test (Boos, Am. Stat. 46 (1992) 327-333): the model in which all judges have the term in common,
    and everything else their own, leaves each judge residuals in each level of the term. Their sums, made orthogonal
    to what was estimated, are divided by their cluster-robust standard errors; the sum of the squares needs no
    inverse of a covariance, so that judges may be alike and levels rare (as the statistic of Friedrich and Pauly, J.
    Multivar. Anal. 165 (2018) 166-179). Its null distribution is that of flipping the signs of the clusters (Hemerik,
    Goeman and Finos, J. R. Stat. Soc. B 82 (2020) 841-864), by its first three moments, which are exact. A
    judge that is always right or wrong in a level is no exception: its coefficient is infinite, its residuals are not.
    Size over 3,000 benchmarks: within 0.04 and 0.06 from 100 clusters, up to 0.075 with fewer;
    `tests/simulation/test_models.py` repeats it with fewer benchmarks.
    """
    base = single(covariates)
    k = len(base.levels["subfield"][1]) if "subfield" in base.levels else 0
    levels, numbers = np.arange(1, 1 + k), np.arange(1 + k, 1 + k + len(base.numbers))
    design, start = base.design, np.where(np.abs(start).max(axis=1, keepdims=True) < _MOST_LOG_ODDS / 2, start, 0.0)
    if k:
        # The levels of the subfield are what a judge has of its own, or, with an intercept, what all have in common.
        design = Design(np.insert(design.cells, 0, 1.0, axis=1), np.insert(design.cases, 0, 1.0, axis=1))
        start = np.insert(start, 0, 0.0, axis=1)
    rows = []
    if k:
        warm_start = start.copy()
        warm_start[:, 0] = start[:, levels].mean(axis=1)
        warm_start[:, levels] = (start[:, levels] - warm_start[:, :1]).mean(axis=0)
        rows.append(_row("subfield", design, levels, np.append(0, numbers), data, warm_start))
    for name, column in zip(base.numbers, numbers, strict=True):
        warm_start = start.copy()
        warm_start[:, column] = start[:, column].mean()
        own = np.append(levels if k else 0, numbers[numbers != column])
        rows.append(_row(name, design, np.array([column]), own, data, warm_start))
    return rows


def _row(name: str, design: Design, shared: IntArray, own: IntArray, data: Observations, warm_start: FloatArray) -> Row:
    n_correct, n_trials = _informative(design, own, data)
    fit = _common(design, shared, own, n_correct, n_trials, warm_start)
    n_trials = np.where(fit.used[:, None, None], n_trials, 0.0)
    judged = int((data.n_trials.sum(axis=(1, 2)) > 0).sum())
    n_judges = int((n_trials.sum(axis=(1, 2)) > 0).sum())
    seen = clusters_seen(n_trials.sum(axis=(0, 1))[None] > 0, data.cluster)
    row: Row = {"part": INTERACTION, "model": "gee", "term": f"judge:{name}", "level": None}
    row |= {"n": n_trials.sum(), "n_clusters": int(seen[0])}
    silent = data.n_trials.sum() - n_trials.sum()
    left_out = (
        f"{silent:,.0f} verdicts are uninformative: always right or wrong whatever the term does" if silent else ""
    )
    if n_judges < judged:
        left_out += f", {judged - n_judges} judges among them"
    reason = ""
    if n_judges < 2:
        reason = FEW_JUDGES
    elif seen[0] < FEWEST_FOR_TEST:
        reason = FEW_FOR_TEST
    elif not fit.converged:
        reason = NOT_FITTED
    elif not fit.rank:
        reason = SAME_EVERYWHERE
    if not reason:
        statistic, p_value = flipped(by_cluster(fit.scores, data.cluster))
        row |= {"statistic": statistic, "df": (n_judges - 1) * fit.rank, "p_value": p_value}
    return {**row, "reason": join_reasons(reason, left_out)}


def _informative(design: Design, own: IntArray, data: Observations) -> tuple[FloatArray, FloatArray]:
    """Without the levels that are always right or wrong for a judge that has a coefficient of its own there."""
    n_correct, n_trials = data.n_correct.copy(), data.n_trials.copy()
    cells, cases = design.cells[:, own], design.cases[:, own]
    is_level = np.isin(cells, (0.0, 1.0)).all(axis=0) & np.isin(cases, (0.0, 1.0)).all(axis=0)
    hits, all_of = (design.total(values)[:, own] for values in (n_correct, n_trials))
    for judge, level in np.argwhere(((hits == 0) | (hits == all_of)) & is_level):
        member = np.outer(cells[:, level], cases[:, level]) > 0
        n_correct[judge][member], n_trials[judge][member] = 0.0, 0.0
    return n_correct, n_trials


class _Common(NamedTuple):
    """The model in which J judges share some covariates.

    Attributes
    ----------
    scores : shape (J, s, N), what each case adds to the residuals of each judge along each shared
        covariate, made orthogonal to all that is estimated
    rank : how many shared covariates are identified
    used : shape (J,), False for a judge without informative verdicts
    """

    scores: FloatArray
    rank: int
    used: BoolArray
    converged: bool


def _common(
    design: Design, shared: IntArray, own: IntArray, n_correct: FloatArray, n_trials: FloatArray, warm_start: FloatArray
) -> _Common:
    """Newton's method with an information that is block diagonal but for the shared covariates."""
    used: BoolArray = n_trials.sum(axis=(1, 2)) > 0
    kept = identified(design.information(n_trials)[:, own[:, None], own])
    beta, step = warm_start.copy(), np.inf
    beta[:, own] *= kept
    mean, parts = _parts(design, shared, own, beta, n_correct, n_trials, kept)
    for _ in range(_STEPS):
        change = np.zeros_like(beta)
        common = np.linalg.pinv(parts.rest.sum(axis=0), rcond=1e-9, hermitian=True) @ parts.score.sum(axis=0)
        change[:, shared] = common
        residual = parts.own_score - parts.cross @ common
        change[:, own] = np.linalg.solve(parts.own_information, residual[:, :, None])[:, :, 0] * kept
        size = np.abs(change).max(axis=1)
        step = float(size[used].max(initial=0.0))
        beta += change * min(1.0, 5.0 / max(step, 1e-300))
        far = used & (np.abs(beta[:, own]).max(axis=1, initial=0.0) > _MOST_LOG_ODDS)
        if far.any():
            used &= ~far
            n_trials, n_correct = (np.where(used[:, None, None], values, 0.0) for values in (n_trials, n_correct))
            beta[far] = 0.0
        elif step < _CLOSE:
            break
        mean, parts = _parts(design, shared, own, beta, n_correct, n_trials, kept)
    residual = n_correct - n_trials * mean
    scores = np.empty((len(n_correct), len(shared), n_correct.shape[2]))
    for i, column in enumerate(shared):
        along = np.zeros_like(beta)
        along[:, own], along[:, column] = -parts.slope[:, i] * kept, 1.0
        scores[:, i] = np.einsum("jcn,jcn->jn", residual, design.linear(along))
    total = parts.rest.sum(axis=0)
    share = np.linalg.pinv(total, rcond=1e-9, hermitian=True) @ parts.rest
    rank = int(np.linalg.matrix_rank(total, tol=1e-9 * max(float(np.abs(total).max(initial=0.0)), 1e-300)))
    scores -= np.swapaxes(share, 1, 2) @ scores.sum(axis=0)
    return _Common(scores, rank if used.any() else 0, used, step < np.sqrt(_CLOSE))


class _Parts(NamedTuple):
    """The information of J judges taken apart; o covariates of their own and s shared ones.

    `slope` (J, s, o) regresses the shared on the own ones; `rest` (J, s, s) is the information on the shared ones
    that the own ones leave, and `score` (J, s) their score without it.
    """

    own_information: FloatArray
    own_score: FloatArray
    cross: FloatArray
    slope: FloatArray
    rest: FloatArray
    score: FloatArray


def _parts(
    design: Design,
    shared: IntArray,
    own: IntArray,
    beta: FloatArray,
    n_correct: FloatArray,
    n_trials: FloatArray,
    kept: BoolArray,
) -> tuple[FloatArray, _Parts]:
    mean = expit(design.linear(beta))
    expected = n_trials * mean
    score = design.total(n_correct - expected)
    information = design.information(expected - expected * mean)
    unit = 1e-10 * np.eye(len(own))
    inner = restrict(information[:, own[:, None], own], kept) + unit
    cross = information[:, own[:, None], shared] * kept[:, :, None]
    by_own = np.swapaxes(np.linalg.solve(inner, cross), 1, 2)
    own_score = score[:, own] * kept
    rest = information[:, shared[:, None], shared] - by_own @ cross
    left = score[:, shared] - np.einsum("jso,jo->js", by_own, own_score)
    return mean, _Parts(inner, own_score, cross, by_own, rest, left)


def flipped(scores: FloatArray) -> tuple[float, float]:
    """The mean square of the standardised sums of scores, and its p value when the signs of clusters are flipped.

    Parameters
    ----------
    scores : shape (J, s, M), what each of M clusters adds

    Returns
    -------
    statistic : 1 on average where nothing but chance is in the scores
    p_value : by the gamma distribution that has the mean, variance and skewness of all flips
    """
    rows = scores.reshape(-1, scores.shape[2])
    square = np.einsum("in,in->i", rows, rows)
    some = square > _NOTHING * max(float(square.max(initial=0.0)), 1e-300)
    if not some.any():
        return np.nan, np.nan
    z = rows[some] / np.sqrt(square[some])[:, None]
    statistic = float((z.sum(axis=1) ** 2).sum())
    mean = len(z)
    products = z @ z.T
    own = np.einsum("in,in->n", z, z)
    # A flip leaves the products of a cluster with itself alone: only those of two clusters vary.
    variance = 2 * float((products**2).sum() - (own**2).sum())
    z *= np.sqrt(own)
    by_own = float((z @ z.T * products).sum())
    third = 8 * (float((products @ products.T * products).sum()) - 3 * by_own + 2 * float((own**3).sum()))
    if variance <= _NOTHING or third <= 0:
        return statistic / mean, np.nan
    shape = 4 * variance**3 / third**2
    position = shape + (statistic - mean) / np.sqrt(variance) * np.sqrt(shape)
    return statistic / mean, float(special.gammaincc(shape, max(position, 0.0)))
