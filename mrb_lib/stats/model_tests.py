"""Whether a term of the correctness models differs between judges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import stats

from mrb_lib.stats.effects import Response
from mrb_lib.stats.observations import Observations
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray
from mrb_lib.stats.terms import Terms, deviations

INTERACTION = "interaction"
FEW_FOR_TEST = "no test: too few judges or clusters for its degrees of freedom"

Row = dict[str, object]


class Fits(NamedTuple):
    """F fits of one model: p coefficients and, for `mixed`, the standard deviation of the random intercept.

    `good` tells the fits that converged to something finite; `cov` has shape (F, q, q).
    """

    terms: Terms
    data: Observations
    beta: FloatArray
    kept: BoolArray
    cov: FloatArray
    good: BoolArray
    df: FloatArray
    response: Response


def clusters_seen(seen: BoolArray, cluster: IntArray) -> IntArray:
    """How many clusters have a case that is seen, from (F, N) to (F,)."""
    n_clusters = int(cluster.max()) + 1
    if n_clusters == len(cluster):
        return np.asarray(seen.sum(axis=1), dtype=np.int64)
    return np.array([np.count_nonzero(np.bincount(cluster[row], minlength=n_clusters)) for row in seen], np.int64)


def interactions(fits: Fits, influence: FloatArray) -> list[Row]:
    """Whether a term is the same for all judges: Wald tests with the covariance between the judges' models."""
    rows = []
    for name in ("subfield", *fits.terms.numbers):
        if name not in fits.terms.levels and name not in fits.terms.numbers:
            continue
        if name in fits.terms.levels:
            place, levels = fits.terms.levels[name]
            compare = deviations(np.ones(len(levels), dtype=bool))[:-1]
            columns = np.arange(place.start, place.stop)
        else:
            columns, compare = np.array([fits.terms.numbers[name]]), np.ones((1, 1))
        usable = fits.good & (fits.kept[:, columns].all(axis=1))
        rows.append(_wald(name, fits, influence, usable, columns, compare))
    return rows


def _wald(
    name: str, fits: Fits, influence: FloatArray, usable: BoolArray, columns: IntArray, compare: FloatArray
) -> Row:
    n_judges, m = int(usable.sum()), influence.shape[1]
    asked = fits.data.asked[usable]
    row: Row = {"part": INTERACTION, "model": "gee", "term": f"judge:{name}", "level": None}
    row |= {"n": asked.sum(), "n_clusters": int(clusters_seen(asked.sum(axis=(0, 1))[None] > 0, fits.data.cluster)[0])}
    df = (n_judges - 1) * len(compare)
    if df < 1 or m < 2 * df:
        return {**row, "reason": FEW_FOR_TEST}
    between = deviations(np.ones(n_judges, dtype=bool))[:-1]
    theta = (fits.beta[usable][:, columns] @ compare.T).T @ between.T
    pulls = np.einsum("jmc,dc,kj->mdk", influence[usable][:, :, columns], compare, between, optimize=True)
    pulls = pulls.reshape(m, -1)
    wald = float(theta.ravel() @ np.linalg.solve(pulls.T @ pulls, theta.ravel()))
    statistic = wald * (m - df) / (df * (m - 1))
    p_value = float(stats.f.sf(statistic, df, m - df))
    return {**row, "statistic": statistic, "df": df, "p_value": p_value}
