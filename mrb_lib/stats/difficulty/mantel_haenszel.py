"""The Mantel-Haenszel test and common odds ratio, for many stratified tables at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.stats import t as student

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.resample import CONFIDENCE

FEWEST_CLUSTERS = 5
ETS_PER_LOG_ODDS = -2.35


class MantelHaenszel(NamedTuple):
    """Results for T stacks of 2 x 2 tables, each array of shape (T,); NaN where undefined.

    Attributes
    ----------
    chi2, p_value : the test without continuity correction, one degree of freedom
    odds_ratio, low, high : the common odds ratio and its 95% interval
    log_se : the standard error of its logarithm
    expected : what the scores of the first group would sum to if both groups were alike within strata
    df : degrees of freedom of the standard error, infinite where cases are independent
    """

    chi2: FloatArray
    p_value: FloatArray
    odds_ratio: FloatArray
    low: FloatArray
    high: FloatArray
    log_se: FloatArray
    expected: FloatArray
    df: FloatArray


class TwoGroups(NamedTuple):
    """Two groups of cases in K strata, the one of interest first, each array of shape (T, 2, K).

    Attributes
    ----------
    n, sums, squares : cases, sums of their scores (from 0 to 1), and sums of the squared scores
    """

    n: FloatArray
    sums: FloatArray
    squares: FloatArray


def mantel_haenszel(groups: TwoGroups) -> MantelHaenszel:
    """Compare two groups within strata.

    Notes
    -----
    Mantel and Haenszel, J. Natl. Cancer Inst. 22 (1959) 719-748; the interval uses the variance of Robins,
    Breslow and Greenland, Biometrics 42 (1986) 311-323, which holds for many thin strata as for few thick
    ones. For scores between 0 and 1 the test is Mantel's (J. Am. Stat. Assoc. 58 (1963) 690-700), of which
    that for 0 and 1 is a case; the interval's variance is then scaled by how much less such scores vary, the
    ratio of the variances of both tests. Published tables: `tests/published/test_mantel_haenszel.py`.
    """
    n, total, squares = (values.sum(axis=1) for values in groups)
    (n_1, n_2), sum_1 = np.moveaxis(groups.n, 1, 0), groups.sums[:, 0]
    share = _in_stratum(total, n)
    expected = (n_1 * share).sum(axis=1)
    spread = np.maximum(squares - total * share, 0.0)
    weight = _in_stratum(n_1 * n_2, n * (n - 1))
    variance = (weight * spread).sum(axis=1)
    if_binary = (weight * total * (1 - share)).sum(axis=1)
    chi2 = divide((sum_1.sum(axis=1) - expected) ** 2, variance)
    ratio, log_se = _odds_ratio(groups, n)
    log_se = log_se * np.sqrt(divide(variance, if_binary))
    reach = np.exp(special.ndtri((1 + CONFIDENCE) / 2) * log_se)
    return MantelHaenszel(
        chi2,
        np.asarray(special.chdtrc(1.0, chi2), dtype=np.float64),
        ratio,
        ratio / reach,
        ratio * reach,
        log_se,
        expected,
        np.full(len(chi2), np.inf),
    )


def _in_stratum(values: FloatArray, n: FloatArray) -> FloatArray:
    """Values over the size of their stratum; 0 in an empty one."""
    out: FloatArray = np.divide(values, n, out=np.zeros(n.shape), where=n > 0)
    return out


def _odds_ratio(groups: TwoGroups, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The common odds ratio and the standard error of its logarithm, NaN where either margin of it is 0."""
    right_1, right_2 = np.moveaxis(groups.sums, 1, 0)
    wrong_1, wrong_2 = np.moveaxis(groups.n - groups.sums, 1, 0)
    concordant, discordant = (_in_stratum(a, n) for a in (right_1 * wrong_2, wrong_1 * right_2))
    p, q = (_in_stratum(a, n) for a in (right_1 + wrong_2, wrong_1 + right_2))
    r, s = concordant.sum(axis=1), discordant.sum(axis=1)
    variance = (
        divide((p * concordant).sum(axis=1), 2 * r**2)
        + divide((p * discordant + q * concordant).sum(axis=1), 2 * r * s)
        + divide((q * discordant).sum(axis=1), 2 * s**2)
    )
    ratio = divide(r, s)
    ratio[r <= 0] = np.nan
    return ratio, np.sqrt(variance)


class EtsDelta(NamedTuple):
    """ETS deltas of differential item functioning, each array of shape (T,); NaN where undefined.

    Attributes
    ----------
    delta : 2.35 times the log odds ratio: negative where the first group does worse than it should
    reach : half the length of its 95% interval
    p_zero : that it is 0, two-sided
    p_small : that it is 1 or less in size, one-sided
    """

    delta: FloatArray
    reach: FloatArray
    p_zero: FloatArray
    p_small: FloatArray


def ets_delta(odds_ratio: FloatArray, log_se: FloatArray, df: FloatArray) -> EtsDelta:
    """The ETS delta of common odds ratios of the first (focal) group over the second (reference) group.

    Parameters
    ----------
    log_se, df : the standard error of the log odds ratio, and its degrees of freedom, infinite for a normal one

    Notes
    -----
    Holland and Thayer (1988) define delta as -2.35 ln(odds of the reference group over the focal group), which is this.
    """
    defined = np.isfinite(odds_ratio) & (odds_ratio > 0)
    delta = np.full(odds_ratio.shape, np.nan)
    delta[defined] = -ETS_PER_LOG_ODDS * np.log(odds_ratio[defined])
    se = np.where(defined, np.abs(ETS_PER_LOG_ODDS) * log_se, np.nan)
    size = np.abs(delta)
    above_zero, above_one = (
        np.asarray(student.sf(np.divide(by, se, out=np.full(se.shape, np.nan), where=se > 0), df), dtype=np.float64)
        for by in (size, size - 1)
    )
    return EtsDelta(delta, student.ppf((1 + CONFIDENCE) / 2, df) * se, 2 * above_zero, above_one)


def ets_class(delta: FloatArray, p_zero: FloatArray, p_small: FloatArray) -> NDArray[np.object_]:
    """The class of ETS deltas, of any shape, by p-values that may be adjusted for the number of tests.

    "A" negligible: delta below 1 in size, or not significantly different from 0; "C" large: 1.5 or more, and
    significantly more than 1; "B" the others; None where there is no delta or no test of it. At the 5% level, as Zieky
    (in Holland and Wainer, Differential Item Functioning, 1993).
    """
    small = (np.abs(delta) < 1) | ~(p_zero < 1 - CONFIDENCE)
    large = (np.abs(delta) >= 1.5) & (p_small < 1 - CONFIDENCE)
    out = np.where(small, "A", np.where(large, "C", "B")).astype(object)
    out[np.isnan(delta) | np.isnan(p_zero)] = None
    return out


class MatchedCases(NamedTuple):
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

    def matched_cases(self, value: FloatArray, level: IntArray, side: IntArray) -> MatchedCases:
        """Lay out the cases of T comparisons, each array of shape (T, N); `side` may be that of all, shape (N,)."""
        compared = (level >= 0) & (side >= 0)
        clusters, codes = np.unique(self.codes, return_inverse=True)
        return MatchedCases(
            np.where(compared, value, 0.0),
            np.where(compared, side, -1),
            np.where(compared, level, -1),
            np.broadcast_to(codes.astype(np.int64), compared.shape),
            len(clusters),
        )


def robust(
    test: MantelHaenszel,
    rows: IntArray,
    sides: TwoGroups,
    value: FloatArray,
    level: IntArray,
    side: IntArray,
    clusters: Clusters,
) -> MantelHaenszel:
    """The test with variances that hold within clusters, in place of those of `rows`.

    Notes
    -----
    The odds ratio solves an equation that sums over pairs of a case inside and one outside of the same stratum. The
    variance of such a sum adds the squares of what each cluster takes part in, less the squares of the pairs, which
    were counted at both their ends: without clusters it is unbiased in strata of any size. Where few clusters make it
    negative or 0 there is no interval and no test. The test is Wald's, of the logarithm. Student's t has one degree of
    freedom less than there are clusters on the side that has fewer. Size and coverage: `tests/simulation/test_dif.py`.
    """
    cases = clusters.matched_cases(value, level, side)
    n, y = sides.n.sum(axis=1), cases.value
    ratio = test.odds_ratio[rows]
    judge = np.arange(len(value))[:, None]
    stratum = np.maximum(cases.level, 0)
    n_1, n_2, s_1, s_2 = (a[:, i][judge, stratum] for a in (sides.n, sides.sums) for i in (0, 1))
    size = n[judge, stratum]
    odds = np.nan_to_num(ratio)[:, None]
    each = np.where(
        cases.side == 0,
        divide(y * (n_2 - s_2) - odds * (1 - y) * s_2, size),
        divide((1 - y) * s_1 - odds * y * (n_1 - s_1), size),
    )
    ends = cases.sums(np.where(cases.side >= 0, np.nan_to_num(each), 0.0))
    scale = cases.n_clusters / max(cases.n_clusters - 1, 1)
    left = scale * (ends**2).sum(axis=1) - _pairs(sides, n, odds)
    df = cases.df()
    right = np.nan_to_num(divide(sides.sums[:, 0] * (sides.n[:, 1] - sides.sums[:, 1]), n)).sum(axis=1)
    log_se = np.sqrt(divide(np.where(left > 0, left, np.nan), right**2))
    log_se[~np.isfinite(df) | ~np.isfinite(ratio) | ~(ratio > 0)] = np.nan
    chi2 = divide(np.log(np.where(ratio > 0, ratio, 1.0)) ** 2, log_se**2)
    reach = np.exp(special.stdtrit(df, (1 + CONFIDENCE) / 2) * log_se)
    p_value = np.asarray(special.fdtrc(1.0, df, chi2), dtype=np.float64)
    new = MantelHaenszel(chi2, p_value, ratio, divide(ratio, reach), ratio * reach, log_se, test.expected[rows], df)
    out = MantelHaenszel(*(a.copy() for a in test))
    for target, values in zip(out, new, strict=True):
        target[rows] = values
    return out


def _pairs(sides: TwoGroups, n: FloatArray, odds: FloatArray) -> FloatArray:
    """The sum over pairs of the squares of what each adds to the equation of the odds ratio, shape (J,)."""
    (n_1, n_2), (s_1, s_2), (q_1, q_2) = (a.swapaxes(0, 1) for a in sides)
    squares = q_1 * (n_2 - 2 * s_2 + q_2) - 2 * odds * (s_1 - q_1) * (s_2 - q_2) + odds**2 * (n_1 - 2 * s_1 + q_1) * q_2
    out: FloatArray = np.nan_to_num(divide(squares, n**2)).sum(axis=1)
    return out
