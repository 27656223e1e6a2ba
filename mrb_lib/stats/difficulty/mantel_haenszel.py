"""The Mantel-Haenszel test and common odds ratio, for many stratified tables at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.stats import t as student

from mrb_lib.stats.estimation import FloatArray, IntArray, divide, sums_by

FEWEST_CLUSTERS = 5
ETS_PER_LOG_ODDS, ALPHA = -2.35, 0.05


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
    reach = np.exp(special.ndtri(0.975) * log_se)
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
    """Return values over the size of their stratum; 0 in an empty one."""
    out: FloatArray = np.divide(values, n, out=np.zeros(n.shape), where=n > 0)
    return out


def _odds_ratio(groups: TwoGroups, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the common odds ratio and the standard error of its logarithm, NaN where either margin of it is 0."""
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
    """Return the ETS delta of common odds ratios of the first (focal) group over the second (reference) group.

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
    return EtsDelta(delta, student.ppf(0.975, df) * se, 2 * above_zero, above_one)


def ets_class(delta: FloatArray, p_zero: FloatArray, p_small: FloatArray) -> NDArray[np.object_]:
    """Return the class of ETS deltas, of any shape, by p-values that may be adjusted for the number of tests.

    "A" negligible: delta below 1 in size, or not significantly different from 0; "C" large: 1.5 or more, and
    significantly more than 1; "B" the others; None where there is no delta or no test of it. At the 5% level, as Zieky
    (in Holland and Wainer, Differential Item Functioning, 1993).
    """
    small = (np.abs(delta) < 1) | ~(p_zero < ALPHA)
    large = (np.abs(delta) >= 1.5) & (p_small < ALPHA)
    out = np.where(small, "A", np.where(large, "C", "B")).astype(object)
    out[np.isnan(delta) | np.isnan(p_zero)] = None
    return out


def robust(
    test: MantelHaenszel, groups: TwoGroups, value: FloatArray, level: IntArray, side: IntArray, clusters: IntArray
) -> MantelHaenszel:
    """Return the tests of J judges with variances that hold within clusters.

    Parameters
    ----------
    value, level : shape (J, N), the scores and the strata; the stratum is -1 where there is no score
    side : shape (N,), 0 for the first group, 1 for the other, -1 for neither
    clusters : shape (N,), codes

    Notes
    -----
    The odds ratio solves an equation that sums over pairs of a case inside and one outside of the same stratum. The
    variance of such a sum adds the squares of what each cluster takes part in, less the squares of the pairs, which
    were counted at both their ends: without clusters it is unbiased in strata of any size. Where few clusters make it
    negative or 0 there is no interval and no test. The test is Wald's, of the logarithm. Student's t has one degree of
    freedom less than there are clusters on the side that has fewer. Size and coverage: `tests/simulation/test_dif.py`.
    """
    used = (level >= 0) & (side >= 0)
    y, n, ratio = np.where(used, value, 0.0), groups.n.sum(axis=1), test.odds_ratio
    judge, stratum = np.arange(len(value))[:, None], np.maximum(level, 0)
    n_1, n_2, s_1, s_2 = (each[:, i][judge, stratum] for each in (groups.n, groups.sums) for i in (0, 1))
    odds, size = np.nan_to_num(ratio)[:, None], n[judge, stratum]
    inside, outside = y * (n_2 - s_2) - odds * (1 - y) * s_2, (1 - y) * s_1 - odds * y * (n_1 - s_1)
    adds = np.where(used, np.nan_to_num(divide(np.where(side == 0, inside, outside), size)), 0.0)
    several = int(clusters.max(initial=-1)) + 1
    left = several / max(several - 1, 1) * (sums_by(clusters, adds.T) ** 2).sum(axis=0) - _pairs(groups, n, odds)
    seen = [(sums_by(clusters, (used & (side == each)).T) > 0).sum(axis=0) for each in (0, 1)]
    least = np.minimum(*seen)
    df = np.where(least >= FEWEST_CLUSTERS, least - 1.0, np.nan)
    right = np.nan_to_num(divide(groups.sums[:, 0] * (groups.n[:, 1] - groups.sums[:, 1]), n)).sum(axis=1)
    log_se = np.sqrt(divide(np.where(left > 0, left, np.nan), right**2))
    log_se[~np.isfinite(df) | ~(ratio > 0)] = np.nan
    chi2 = divide(np.log(np.where(ratio > 0, ratio, 1.0)) ** 2, log_se**2)
    reach = np.exp(special.stdtrit(df, 0.975) * log_se)
    p_value = np.asarray(special.fdtrc(1.0, df, chi2), dtype=np.float64)
    return MantelHaenszel(chi2, p_value, ratio, divide(ratio, reach), ratio * reach, log_se, test.expected, df)


def _pairs(groups: TwoGroups, n: FloatArray, odds: FloatArray) -> FloatArray:
    """Return the sum over pairs of the squares of what each adds to the equation of the odds ratio, shape (J,)."""
    (n_1, n_2), (s_1, s_2), (q_1, q_2) = (each.swapaxes(0, 1) for each in groups)
    squares = q_1 * (n_2 - 2 * s_2 + q_2) - 2 * odds * (s_1 - q_1) * (s_2 - q_2) + odds**2 * (n_1 - 2 * s_1 + q_1) * q_2
    return np.asarray(np.nan_to_num(divide(squares, n**2)).sum(axis=1))
