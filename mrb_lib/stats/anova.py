"""One-way repeated-measures analysis of variance: do the judges' mean scores on the same cases differ?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

from mrb_lib.stats.options import FloatArray, IntArray

NO_ERROR = "no F: the differences between judges are the same in every cluster"
FEW_CLUSTERS = "no F: Hotelling's test needs more clusters than judges"
_NO_VARIANCE = 1e-10


class Anova(NamedTuple):
    """A repeated-measures analysis of variance.

    Attributes
    ----------
    f, df, df_error : F and its degrees of freedom where the differences between judges are all equally variable
    p_value : the p of F under that condition (sphericity)
    epsilon : Greenhouse and Geisser's estimate of how far the condition fails: 1 where it holds,
        1 / (judges - 1) at the least
    p_gg : the p of F with both degrees of freedom multiplied by epsilon
    """

    f: float
    df: float
    df_error: float
    p_value: float
    epsilon: float
    p_gg: float


class Hotelling(NamedTuple):
    """Hotelling's test that all judges are equally good: an F with its degrees of freedom and its p."""

    f: float
    df: float
    df_error: float
    p_value: float


def repeated_measures(scores: FloatArray, clusters: IntArray | None = None) -> Anova | None:
    """Analyse complete scores of shape (cases, judges), two of each at least; None where there is no error.

    Parameters
    ----------
    clusters : shape (cases,), the cluster of each case, 0 to their number - 1, two at least; None: each its own

    Notes
    -----
    F is the mean square of judges over that of judges x clusters; epsilon is
    tr(S)^2 / ((k - 1) tr(S^2)) with S the covariance of the cluster sums of the scores of the k judges, centred
    by rows and columns: Greenhouse and Geisser (1959), doi:10.1007/BF02289823. Where each case is a cluster this is the
    ordinary analysis; otherwise it is that of sums by cluster, a cluster's own size taken into account, and
    p_gg is the second-order corrected test of Rao and Scott (1984), doi:10.1214/aos/1176346391, with an F. Scores of a
    case are few and bounded, so that the normal theory behind F is an approximation; its size is simulated in
    `tests/simulation/test_size.py`. `tests/stats/test_anova.py` compares with statsmodels
    and pingouin.
    """
    k = scores.shape[1]
    effect, residual = _departures(scores, clusters)
    number = len(residual)
    between, error = (effect**2).sum(), (residual**2).sum() * number / (number - 1)
    if error <= 1e-12 * max(1.0, float((scores**2).sum())):
        return None
    df, df_error = float(k - 1), float((k - 1) * (number - 1))
    f = float(between / error)
    covariance = residual.T @ residual
    epsilon = float(np.trace(covariance) ** 2 / (df * (covariance**2).sum()))
    return Anova(
        f,
        df,
        df_error,
        float(fdtrc(df, df_error, f)),
        epsilon,
        float(fdtrc(epsilon * df, epsilon * df_error, f)),
    )


def hotelling(scores: FloatArray, clusters: IntArray) -> Hotelling | str:
    """Test complete scores of shape (cases, judges) with the covariance of the judges' sums over clusters.

    Parameters
    ----------
    clusters : shape (cases,), the cluster of each case, 0 to their number - 1, two at least

    Returns
    -------
    The test, or why there is none

    Notes
    -----
    T2 is the quadratic form of the judges' centred sums in the inverse of their covariance over the C clusters, and
    (C - r) / ((C - 1) r) T2 is an F with r and C - r degrees of freedom, r the rank: k - 1, less where judges
    always agree. Hotelling (1931), doi:10.1214/aoms/1177732979. Size: `tests/simulation/test_size.py`.
    """
    effect, residual = _departures(scores, clusters)
    number = len(residual)
    if number <= scores.shape[1]:
        return FEW_CLUSTERS
    spread, axes = np.linalg.eigh(residual.T @ residual * (number / (number - 1)))
    varies = spread > _NO_VARIANCE * max(1.0, float(spread[-1]))
    along = effect @ axes
    if not varies.any() or (np.abs(along[~varies]) > 1e-6 * max(1.0, float(np.abs(effect).max()))).any():
        return NO_ERROR
    rank = int(varies.sum())
    f = float((along[varies] ** 2 / spread[varies]).sum()) * (number - rank) / ((number - 1) * rank)
    return Hotelling(f, float(rank), float(number - rank), float(fdtrc(rank, number - rank, f)))


def _departures(scores: FloatArray, clusters: IntArray | None) -> tuple[FloatArray, FloatArray]:
    """The judges' sums less their mean, shape (judges,), and how those of each cluster depart from their share."""
    within = scores - scores.mean(axis=1, keepdims=True)
    effect = within.sum(axis=0)
    residual = within - effect / len(scores)
    if clusters is None:
        return effect, residual
    out = np.zeros((int(clusters.max()) + 1, scores.shape[1]))
    np.add.at(out, clusters, residual)
    return effect, out
