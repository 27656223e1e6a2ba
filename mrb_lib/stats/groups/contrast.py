"""Means over a group of judges and differences between groups, where both the judges and the cases are draws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from mrb_lib.stats.options import TINY, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.quantiles import CONFIDENCE
from mrb_lib.stats.resampling.resample import cluster_sums
from mrb_lib.stats.resampling.robust import effective_clusters


class JudgeMeans(NamedTuple):
    """The mean scores of some judges on the same cases, and what moves them.

    Attributes
    ----------
    mean : shape (n,), over the cases that are scored for the judge
    by_cluster : shape (n, G), what each cluster of cases adds to the error of the mean: the sum of its residuals over
        the judge's number of cases. Rows sum to 0
    by_case : shape (n, cases), likewise of each case
    scored : shape (n, cases), 1 where a case is scored for the judge
    cluster : shape (cases,), the cluster of each case, 0 to G - 1
    """

    mean: FloatArray
    by_cluster: FloatArray
    by_case: FloatArray
    scored: FloatArray
    cluster: IntArray

    def take(self, judges: IntArray) -> JudgeMeans:
        """Those of some judges."""
        return JudgeMeans(
            self.mean[judges], self.by_cluster[judges], self.by_case[judges], self.scored[judges], self.cluster
        )


class Contrast(NamedTuple):
    """A mean over judges and cases, or a difference of two; NaN where undefined.

    Attributes
    ----------
    value, error, df : the estimate, its standard error and degrees of freedom
    low, high : the 95% interval, within -1 and 1
    p_value : two-sided, of the value being 0
    spread : of each group, the standard deviation of its judges' means, with the noise of the sampled cases taken off;
        0 where they differ by no more than that
    n, clusters : cases that are scored for some judge, and the clusters they lie in
    """

    value: float
    error: float
    df: float
    low: float
    high: float
    p_value: float
    spread: tuple[float, ...]
    n: int
    clusters: int


class _Share(NamedTuple):
    """What the judges of a group add to the variance of the estimate, and to that of the variance (Satterthwaite's)."""

    judges: float
    squares: float


def judge_means(score: FloatArray, codes: IntArray) -> JudgeMeans:
    """The means of judges each of whom has a score.

    Parameters
    ----------
    score : shape (n, cases); NaN where a case is not scored for a judge
    codes : shape (cases,), the cluster of each case
    """
    scored = np.isfinite(score).astype(np.float64)
    total = scored.sum(axis=1, keepdims=True)
    mean = divide(np.nansum(score, axis=1, keepdims=True), total)
    by_case = divide(np.where(scored > 0, score - mean, 0.0), np.broadcast_to(total, score.shape))
    clusters, sums = cluster_sums(codes, np.ascontiguousarray(by_case.T))
    return JudgeMeans(mean[:, 0], np.asarray(sums).T, by_case, scored, np.searchsorted(clusters, codes))


def contrast(first: JudgeMeans, second: JudgeMeans | None = None) -> Contrast:
    """The mean of the judges of one group, less that of another's, as of judges and cases not seen so far.

    Notes
    -----
    Judges within a group are draws from those that could be in it, cases are draws by cluster, and every judge meets
    every case: crossed random effects. Let J be the variance of the judges' means over their number, for each group; C
    the variance of the estimate over clusters with the judges as they are; and E, for each group, what both of these
    hold, the variance of the judges' residuals by cluster. The variance is C + sum(J - E), of mean squares that are
    unbiased where clusters are of equal size (Cornfield and Tukey 1956, doi:10.1214/aoms/1177728067; of ratios of sums
    it is the two-way clustered variance of Cameron, Gelbach and Miller 2011, doi:10.1198/jbes.2010.07136). It can come
    out near 0, or below, where few judges hardly differ; half of C is the least that is taken. Degrees of freedom are
    Satterthwaite's (1946, doi:10.2307/3002019), those of C of
    `mrb_lib.stats.resampling.robust.effective_clusters`.

    A group of one judge does not say how much judges differ: error, interval and p are then NaN.

    `tests/simulation/test_groups.py`: where judges differ, size 4% to 6% and coverage 94% to 96% from 3 judges against
    5 on. Where they do not differ at all, too, from 8 against 8 on; but 3% with 3 against 5, since so few judges cannot
    show that they are alike, and with 2 against 3 the size is below 4% also where they differ.
    """
    groups, signs = ([first], [1.0]) if second is None else ([first, second], [1.0, -1.0])
    value = float(sum(sign * group.mean.mean() for sign, group in zip(signs, groups, strict=True)))
    seen = np.max([group.scored.max(axis=0) for group in groups], axis=0)
    by_cluster = np.sum([s * g.by_cluster.mean(axis=0) for s, g in zip(signs, groups, strict=True)], axis=0)
    by_case = np.sum([s * g.by_case.mean(axis=0) for s, g in zip(signs, groups, strict=True)], axis=0)
    counted = np.bincount(first.cluster, seen, minlength=len(by_cluster)).astype(np.float64)
    n, clusters = int(seen.sum()), int((counted > 0).sum())
    shares = [_share(group, clusters) for group in groups]
    spread = tuple(
        float(np.sqrt(max(share.judges, 0.0) * len(group.mean))) if len(group.mean) > 1 else np.nan
        for share, group in zip(shares, groups, strict=True)
    )
    of_cases, if_alone = _variance(by_cluster, clusters), _variance(by_case, n)
    variance = max(of_cases + sum(share.judges for share in shares), of_cases / 2)
    if not variance > TINY:
        return Contrast(value, *(np.nan,) * 5, spread, n, clusters)
    design_effect = np.array([of_cases / if_alone if if_alone > TINY else 1.0])
    freedom = float(effective_clusters(counted[counted > 0][:, None], design_effect)[0]) - 1
    squares = of_cases**2 / freedom + sum(share.squares for share in shares)
    return _with_test(value, float(np.sqrt(variance)), max(variance**2 / squares, 1.0), spread, n, clusters)


def _with_test(value: float, error: float, df: float, spread: tuple[float, ...], n: int, clusters: int) -> Contrast:
    half = float(special.stdtrit(df, (1 + CONFIDENCE) / 2)) * error
    p_value = 2 * float(special.stdtr(df, -abs(value) / error))
    return Contrast(value, error, df, max(value - half, -1.0), min(value + half, 1.0), p_value, spread, n, clusters)


def _share(group: JudgeMeans, clusters: int) -> _Share:
    """J - E of a group, and what J and E add to the sum under Satterthwaite's degrees of freedom."""
    n = len(group.mean)
    if n < 2 or clusters < 2:
        return _Share(np.nan, np.nan)
    between = float(group.mean.var(ddof=1)) / n
    apart = group.by_cluster - group.by_cluster.mean(axis=0)
    both = clusters / (clusters - 1) * float((apart**2).sum()) / (n * (n - 1))
    return _Share(between - both, between**2 / (n - 1) + both**2 / ((n - 1) * (clusters - 1)))


def _variance(influence: FloatArray, units: int) -> float:
    """The variance of what has these influences, by cluster or by case; NaN of fewer than two."""
    return units / (units - 1) * float((influence**2).sum()) if units >= 2 else np.nan
