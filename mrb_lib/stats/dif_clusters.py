"""What matched comparisons are worth where cases come in clusters: variances that sum over clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from mrb_lib.stats.mantel_haenszel import MantelHaenszel
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resample import CONFIDENCE

FEWEST_CLUSTERS = 5


class Places(NamedTuple):
    """Where the cases of T comparisons stand: scores, side, level of difficulty and cluster, each of shape (T, N).

    Side and level are -1 for a case that is not compared.
    """

    value: FloatArray
    side: IntArray
    level: IntArray
    cluster: IntArray
    n_clusters: int

    def sums(self, values: FloatArray | BoolArray) -> FloatArray:
        """Sums over the cases of each cluster, from (T, N) to (T, M)."""
        rows = np.arange(len(values))[:, None] * self.n_clusters + self.cluster
        flat = np.bincount(rows.ravel(), weights=values.ravel(), minlength=len(values) * self.n_clusters)
        out: FloatArray = flat.reshape(len(values), self.n_clusters).astype(np.float64)
        return out

    def df(self) -> FloatArray:
        """One less than the clusters of the side that has fewer, shape (T,); NaN where they are too few."""
        seen = [(self.sums((self.side == side) & (self.level >= 0)) > 0).sum(axis=1) for side in (0, 1)]
        least = np.minimum(*seen).astype(np.float64)
        return np.where(least >= FEWEST_CLUSTERS, least - 1, np.nan)


class Clusters(NamedTuple):
    """The cluster of each case, shape (N,), and whether any has several."""

    codes: IntArray
    several: bool

    def places(self, value: FloatArray, level: IntArray, side: IntArray) -> Places:
        """Lay out the cases of T comparisons, each array of shape (T, N); `side` may be that of all, shape (N,)."""
        known = (level >= 0) & (side >= 0)
        found, codes = np.unique(self.codes, return_inverse=True)
        return Places(
            np.where(known, value, 0.0),
            np.where(known, side, -1),
            np.where(known, level, -1),
            np.broadcast_to(codes.astype(np.int64), known.shape),
            len(found),
        )


class Sides(NamedTuple):
    """Cases, sums and sums of squares of the scores of J judges on two sides, each array of shape (J, 2, K)."""

    n: FloatArray
    sums: FloatArray
    squares: FloatArray


def robust(
    test: MantelHaenszel,
    rows: IntArray,
    sides: Sides,
    value: FloatArray,
    level: IntArray,
    side: IntArray,
    clusters: Clusters,
) -> MantelHaenszel:
    """The test with variances that hold within clusters, in place of those of `rows`.

    Notes
    -----
    The odds ratio solves an equation that sums over pairs of a case inside and one outside of the same stratum. The
    variance of such a sum adds the squares of what each cluster takes part in, less the squares of the pairs,
    which were counted at both their ends: without clusters it is unbiased in strata of any size. The test is Wald's,
    of the logarithm. Student's t has one degree of freedom less than there are clusters on the side that has fewer.
    Size and coverage: `tests/simulation/test_dif.py`.
    """
    at = clusters.places(value, level, side)
    n, y = sides.n.sum(axis=1), at.value
    ratio = test.odds_ratio[rows]
    judge = np.arange(len(value))[:, None]
    place = np.maximum(at.level, 0)
    n_1, n_2, s_1, s_2 = (a[:, i][judge, place] for a in (sides.n, sides.sums) for i in (0, 1))
    size = n[judge, place]
    odds = np.nan_to_num(ratio)[:, None]
    each = np.where(
        at.side == 0,
        divide(y * (n_2 - s_2) - odds * (1 - y) * s_2, size),
        divide((1 - y) * s_1 - odds * y * (n_1 - s_1), size),
    )
    ends = at.sums(np.where(at.side >= 0, np.nan_to_num(each), 0.0))
    scale = at.n_clusters / max(at.n_clusters - 1, 1)
    left = scale * (ends**2).sum(axis=1) - _pairs(sides, n, odds)
    df = at.df()
    right = np.nan_to_num(divide(sides.sums[:, 0] * (sides.n[:, 1] - sides.sums[:, 1]), n)).sum(axis=1)
    log_se = np.sqrt(divide(np.maximum(left, 0.0), right**2))
    log_se[~np.isfinite(df) | ~np.isfinite(ratio) | ~(ratio > 0)] = np.nan
    chi2 = divide(np.log(np.where(ratio > 0, ratio, 1.0)) ** 2, log_se**2)
    reach = np.exp(special.stdtrit(df, (1 + CONFIDENCE) / 2) * log_se)
    p_value = np.asarray(special.fdtrc(1.0, df, chi2), dtype=np.float64)
    new = MantelHaenszel(chi2, p_value, ratio, divide(ratio, reach), ratio * reach, log_se, test.expected[rows], df)
    out = MantelHaenszel(*(a.copy() for a in test))
    for target, values in zip(out, new, strict=True):
        target[rows] = values
    return out


def _pairs(sides: Sides, n: FloatArray, odds: FloatArray) -> FloatArray:
    """The sum over pairs of the squares of what each adds to the equation of the odds ratio, shape (J,)."""
    (n_1, n_2), (s_1, s_2), (q_1, q_2) = (a.swapaxes(0, 1) for a in sides)
    squares = q_1 * (n_2 - 2 * s_2 + q_2) - 2 * odds * (s_1 - q_1) * (s_2 - q_2) + odds**2 * (n_1 - 2 * s_1 + q_1) * q_2
    out: FloatArray = np.nan_to_num(divide(squares, n**2)).sum(axis=1)
    return out
