"""One-way repeated-measures analysis of variance: do the judges' mean scores on the same cases differ?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

from mrb_lib.stats.core.options import FloatArray, IntArray, divide

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
    ordinary analysis; otherwise it is that of sums by cluster, with the degrees of freedom of `hotelling`, and
    p_gg is the second-order corrected test of Rao and Scott (1984), doi:10.1214/aos/1176346391, with an F. Scores of a
    case are few and bounded, so that the normal theory behind F is an approximation; its size is simulated in
    `tests/simulation/test_size.py`. Epsilon is estimated too low where judges are many and cases few, so that
    p_gg errs on the safe side: of 100 cases it rejects 4% of true hypotheses about 4 judges, 3% about 16,
    1.5% about 32. `tests/stats/significance/test_anova.py` compares with statsmodels and pingouin.
    """
    k = scores.shape[1]
    effect, residual, freedom = _departures(scores, clusters)
    between, error = (effect**2).sum(), (residual**2).sum()
    if error <= 1e-12 * max(1.0, float((scores**2).sum())):
        return None
    df, df_error = float(k - 1), float((k - 1) * freedom)
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
    (d - r + 1) / (d r) T2 is an F with r and d - r + 1 degrees of freedom, r the rank: k - 1, less where judges
    always agree: Hotelling (1931), doi:10.1214/aoms/1177732979. d is C - 1 where clusters are of one size, and less
    where they are not: Pustejovsky and Tipton (2018), doi:10.1080/07350015.2016.1247004, with the covariance
    corrected for small samples (CR2) under one correlation within clusters, which is estimated.
    Size: `tests/simulation/test_size.py`.
    """
    effect, residual, freedom = _departures(scores, clusters)
    spread, axes = np.linalg.eigh(residual.T @ residual)
    varies = spread > _NO_VARIANCE * max(1.0, float(spread[-1]))
    rank = int(varies.sum())
    if len(residual) <= scores.shape[1] or freedom < rank:
        return FEW_CLUSTERS
    along = effect @ axes
    if not rank or (np.abs(along[~varies]) > 1e-6 * max(1.0, float(np.abs(effect).max()))).any():
        return NO_ERROR
    df_error = freedom - rank + 1
    f = float((along[varies] ** 2 / spread[varies]).sum()) * df_error / (freedom * rank)
    return Hotelling(f, float(rank), df_error, float(fdtrc(rank, df_error, f)))


def _departures(scores: FloatArray, clusters: IntArray | None) -> tuple[FloatArray, FloatArray, float]:
    """The judges' sums less their mean, how those of each cluster depart from their share, and degrees of freedom.

    The departures are scaled so that the sum of their products is the covariance of the sums.
    """
    n = len(scores)
    within = scores - scores.mean(axis=1, keepdims=True)
    effect = within.sum(axis=0)
    residual = within - effect / n
    if clusters is None:
        return effect, residual * np.sqrt(n / (n - 1)), n - 1.0
    size = np.bincount(clusters).astype(np.float64)
    sums = np.zeros((len(size), scores.shape[1]))
    np.add.at(sums, clusters, residual)
    alone = (residual**2).sum()
    together = divide(np.array([(sums**2).sum() - alone]), np.array([alone * (size * (size - 1)).sum() / n]))
    correlation = float(np.clip(np.nan_to_num(together), 0.0, 1.0)[0])
    scale, freedom = _small_sample(size, size * (1 + (size - 1) * correlation))
    return effect, sums * np.sqrt(scale)[:, None], freedom


def _small_sample(size: FloatArray, variance: FloatArray) -> tuple[FloatArray, float]:
    """By how much to scale the squares of each cluster's departures, and the degrees of freedom of their sum.

    Parameters
    ----------
    size : shape (clusters,), cases
    variance : shape (clusters,), of the sums over each cluster, up to a factor
    """
    share, whole = size / size.sum(), variance.sum()
    left = variance - 2 * share * variance + share**2 * whole
    scale = variance / left
    shares, squares, both = (scale @ each for each in (share**2, variance**2, share * variance))
    apart = 2 * shares * squares + 2 * both**2 + whole**2 * shares**2 - 4 * whole * shares * both
    own = (scale**2) @ (left**2 - (left - variance) ** 2)
    return scale, float(whole**2 / (apart + own))
