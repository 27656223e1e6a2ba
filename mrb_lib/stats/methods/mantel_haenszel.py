"""Judges inside and outside a subfield, on cases that are equally hard: common odds ratios, their classes, matching."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtrc, expit
from scipy.stats import t as student

from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.methods.rasch import REACH, expectation

FEWEST_CLUSTERS, FEWEST_JUDGES = 5, 3
ETS_PER_LOG_ODDS, ALPHA = 2.35, 0.05
_STEP, _ROUNDS = 0.5, 10
_NODES, _STEPS, _CLOSE = 21, 200, 1e-3
_PRIOR_MEAN, _PRIOR_SHARE = np.array([0.0, 1.0]), np.array([1 / 9, 1.0]) / 2000


class MantelHaenszel(NamedTuple):
    """A judge inside and outside a subfield; NaN where undefined.

    Attributes
    ----------
    log_odds : of being right, inside over outside, common to the strata
    se, df : its standard error and degrees of freedom, infinite where cases are independent
    p_value : of the test that it is 0
    excess : mean score inside minus that outside, at the sizes of the strata inside (Dorans and Kulick 1986)
    """

    log_odds: float
    se: float
    df: float
    p_value: float
    excess: float


def mantel_haenszel(
    score: FloatArray, side: IntArray, stratum: IntArray, clusters: IntArray | None = None
) -> MantelHaenszel:
    """Compare the scores of a judge inside and outside a subfield, within strata.

    Parameters
    ----------
    score : shape (N,), from 0 to 1
    side : shape (N,), 0 for a case inside, 1 outside, -1 for one in no subfield
    stratum : shape (N,), codes; -1 for a case that is not scored
    clusters : shape (N,), codes; None where cases are independent

    Notes
    -----
    Mantel and Haenszel, J. Natl. Cancer Inst. 22 (1959) 719-748, without continuity correction; the standard error is
    that of Robins, Breslow and Greenland, Biometrics 42 (1986) 311-323, which holds for many thin strata as for few
    thick ones. For scores between 0 and 1 the test is Mantel's (J. Am. Stat. Assoc. 58 (1963) 690-700), of which that
    for 0 and 1 is a case; the standard error is scaled by how much less such scores vary. Published tables:
    `tests/published/test_mantel_haenszel.py`.

    Over clusters: the odds ratio solves an equation that sums over pairs of a case inside and one outside of the same
    stratum. The variance of such a sum adds the squares of what each cluster takes part in, less the squares of the
    pairs, which were counted at both their ends: without clusters it is unbiased in strata of any size. Where few
    clusters make it negative or 0 there is no error and no test. The test is Wald's, of the logarithm. Student's t has
    one degree of freedom less than there are clusters on the side that has fewer, and needs five of them. Size and
    coverage: `tests/simulation/test_dif.py`.
    """
    from statsmodels.stats.contingency_tables import StratifiedTable  # takes a second to import

    used = (stratum >= 0) & (side >= 0)
    y, k, outside = score[used], stratum[used], side[used]
    strata = int(k.max(initial=-1)) + 1
    n, sums, squares = (np.bincount(2 * k + outside, y**power, 2 * strata).reshape(-1, 2).T for power in range(3))
    both = (n > 0).all(axis=0)
    (n_1, n_2), (s_1, s_2), total = n[:, both], sums[:, both], n[:, both].sum(axis=0)
    right, weight = s_1 + s_2, n_1 * n_2 / (total * (total - 1))
    varies, if_binary = (weight * (q - right**2 / total) for q in (squares[:, both].sum(axis=0), right))
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = (s_1 - n_1 * s_2 / n_2).sum() / n_1.sum()
        scale = divide(if_binary.sum(), varies.sum())
        made = StratifiedTable(np.array([[s_1, n_1 - s_1], [s_2, n_2 - s_2]]))
        p_value = chdtrc(1.0, made.test_null_odds().statistic * scale)
        log_odds, se = made.logodds_pooled, made.logodds_pooled_se / np.sqrt(scale)
    if not np.isfinite([log_odds, se]).all():
        log_odds, se = np.nan, np.nan
    if clusters is None:
        return MantelHaenszel(log_odds, se, np.inf, p_value, excess)
    odds, own, m = np.exp(log_odds), clusters[used], int(clusters.max()) + 1
    wrong, ties, misses = n - sums, sums - squares, n - 2 * sums + squares
    inside = y * wrong[1, k] - odds * (1 - y) * sums[1, k]
    adds = np.where(outside == 0, inside, (1 - y) * sums[0, k] - odds * y * wrong[0, k]) / n.sum(axis=0)[k]
    pairs = squares[0] * misses[1] - 2 * odds * ties[0] * ties[1] + odds**2 * misses[0] * squares[1]
    variance = m / max(m - 1, 1) * (np.bincount(own, adds) ** 2).sum() - (pairs[both] / total**2).sum()
    least = min(len(np.unique(own[outside == each])) for each in (0, 1))
    df = least - 1.0 if least >= FEWEST_CLUSTERS else np.nan
    se = np.sqrt(variance if variance > 0 else np.nan) / (s_1 * (n_2 - s_2) / total).sum()
    return MantelHaenszel(log_odds, se, df, 2 * student.sf(abs(log_odds) / se, df), excess)


def ets_tail(log_odds: FloatArray, se: FloatArray, df: FloatArray, least: float) -> FloatArray:
    """Return the one-sided p that the ETS delta, 2.35 times the log odds, is `least` or less in size.

    Holland and Thayer (1988) define it as -2.35 ln(odds of the reference group over the focal group), which is this.
    """
    beyond = divide(ETS_PER_LOG_ODDS * np.abs(log_odds) - least, ETS_PER_LOG_ODDS * se)
    return np.asarray(student.sf(beyond, df), dtype=np.float64)


def ets_class(delta: FloatArray, p_zero: FloatArray, p_small: FloatArray) -> NDArray[np.object_]:
    """Return the class of ETS deltas, of any shape, by p-values that may be adjusted for the number of tests.

    "A" negligible: delta below 1 in size, or not significantly different from 0; "C" large: 1.5 or more, and
    significantly more than 1; "B" the others; None where there is no delta or no test of it. At the 5% level, as Zieky
    (in Holland and Wainer, Differential Item Functioning, 1993).
    """
    small = (np.abs(delta) < 1) | ~(p_zero < ALPHA)
    large = (np.abs(delta) >= 1.5) & (p_small < ALPHA)
    out = np.select([small, large], ["A", "C"], "B").astype(object)
    out[np.isnan(delta) | np.isnan(p_zero)] = None
    return out


def match(value: FloatArray, side: IntArray, weights: FloatArray, clusters: IntArray | None) -> pd.DataFrame:
    """Compare judges on cases matched by the judges that do not stand out in the subfield.

    Parameters
    ----------
    value : shape (J, N), NaN where there is no score
    side : shape (N,), 0 for a case inside the subfield, 1 outside, -1 for one in no subfield
    weights : shape (J,), the discriminations of the judges
    clusters : shape (N,), codes; None where cases are independent

    Returns
    -------
    DataFrame
        The fields of `MantelHaenszel`, one row per judge; `n_matching`, by how many judges its cases are matched, of
        which it is one; `unclear`, whether too many stand out for any to be the measure of the others: all are matched

    Notes
    -----
    As in the two steps of Holland and Thayer (1988, in Wainer and Braun, Test Validity), repeated until nothing changes
    (Candell and Drasgow, Appl. Psychol. Meas. 12 (1988) 253-260): judges in class B or C leave the matching of the
    others. The first step takes deltas from their median over judges, since judges that are weak together make all
    others look strong by the same amount. A majority must be left: where it is not, nobody can tell who stands out.
    """
    judged: BoolArray = np.asarray(np.isfinite(value).any(axis=1))
    anchors, unclear = judged, False
    for number in range(_ROUNDS):
        made = compare(value, side, anchors, weights, clusters)
        centre = np.nan_to_num(made["log_odds"].median()) if number == 0 else 0.0
        kept, unclear = _kept(judged, made["log_odds"].to_numpy() - centre, made)
        if (kept == anchors).all():
            break
        anchors = kept
    else:
        unclear = True
    if unclear:
        anchors = judged
        made = compare(value, side, anchors, weights, clusters)
    return made.assign(n_matching=anchors.sum() + ~anchors, unclear=unclear)


def compare(
    value: FloatArray, side: IntArray, anchors: BoolArray, weights: FloatArray, clusters: IntArray | None
) -> pd.DataFrame:
    """Compare the two sides within levels of difficulty by the anchors, one row per judge; parameters as in `match`."""
    of_judge = zip(np.nan_to_num(value), levels(value, anchors, weights), strict=True)
    return pd.DataFrame([mantel_haenszel(score, side, level, clusters) for score, level in of_judge])


def levels(value: FloatArray, anchors: BoolArray, weights: FloatArray) -> IntArray:
    """Return the level of each case for each judge, shape (J, N), -1 without a score.

    Level k is k / 2 judges that are right, of the anchors and the judge itself, each counted by its weight.
    """
    seen = np.isfinite(value)
    others = ~anchors[:, None] * weights[:, None]  # a judge that is no anchor counts in its own matching
    right, of = ((anchors * weights) @ each + others * each for each in (np.nan_to_num(value), seen))
    share = np.nan_to_num(divide(right, of))
    return np.where(seen, np.round(share * (anchors.sum() + ~anchors[:, None]) / _STEP).astype(np.int64), -1)


def _kept(judged: BoolArray, log_odds: FloatArray, made: pd.DataFrame) -> tuple[BoolArray, bool]:
    """Return who does not stand out, and whether too many do: then the majority that does so least is kept."""
    se, df = made["se"].to_numpy(), made["df"].to_numpy()
    p_zero, p_small = 2 * ets_tail(log_odds, se, df, 0.0), ets_tail(log_odds, se, df, 1.0)
    stands_out = np.isin(ets_class(ETS_PER_LOG_ODDS * log_odds, p_zero, p_small), ("B", "C"))
    kept, most = judged & ~stands_out, max(2, int(judged.sum()) // 2 + 1)
    if kept.sum() >= most or not stands_out.any():
        return kept, False
    distance = np.where(judged, np.nan_to_num(np.abs(log_odds), nan=np.inf), np.inf)
    order = np.lexsort((distance, stands_out, ~judged))
    return np.isin(np.arange(len(judged)), order[: min(most, int(judged.sum()))]), True


def discriminations(value: FloatArray) -> FloatArray | None:
    """Return the discrimination of each judge, relative to their mean; None where it cannot be estimated.

    Parameters
    ----------
    value : shape (J, N), scores from 0 to 1, a fraction being a share of a success; NaN where there is none

    Returns
    -------
    float array, shape (J,), with mean 1 over the judges with a score; 0 for one that is right as often on hard cases as
    on easy ones, or more often on hard ones. None with fewer than three judges, where none is right more often on easy
        cases, and where the algorithm has not converged.

    Notes
    -----
    The two-parameter logistic model with judges in the place of test items and cases in that of persons: logit
    P(right) = intercept + discrimination x ease, the cases' ease standard normal and integrated out, the rest by the EM
    algorithm (Bock and Aitkin, doi:10.1007/BF02293801). Priors keep estimates finite: discriminations normal about 1
    with standard deviation 1, intercepts about 0 with 3, once for every 2,000 cases. The sufficient statistic of a case
    is the sum of its scores weighted by discrimination (Birnbaum 1968, in Lord and Novick, Statistical Theories of
    Mental Test Scores): given that, whether a judge is right does not depend on how easy the case is, nor on its
    subfield. Compared with another implementation in `tests/stats/tables/test_dif.py`.
    """
    seen = np.isfinite(value)
    judged = seen.any(axis=1)
    if judged.sum() < FEWEST_JUDGES:
        return None
    ease = np.linspace(-REACH, REACH, _NODES)
    points, lines = np.stack([np.ones(_NODES), ease], axis=1), np.tile(_PRIOR_MEAN, (len(value), 1))
    n_correct, n_trials = np.nan_to_num(value).T, seen.T.astype(np.float64)
    precision = _PRIOR_SHARE * float(seen.sum() / judged.sum())
    for _ in range(_STEPS):
        logits = lines @ points.T
        posterior, _ = expectation(n_correct, n_trials, logits, ease)
        tries, mean = n_trials.T @ posterior, expit(logits)
        score = (n_correct.T @ posterior - tries * mean) @ points - precision * (lines - _PRIOR_MEAN)
        information = np.einsum("jk,ka,kb->jab", tries * mean * (1 - mean), points, points) + precision * np.eye(2)
        step = np.clip(np.linalg.solve(information, score[:, :, None])[:, :, 0], -1.0, 1.0)
        lines = lines + step
        if np.abs(step).max() < _CLOSE:
            break
    else:
        return None
    slopes = np.where(judged, np.maximum(lines[:, 1], 0.0), 0.0)
    total = float(slopes.sum())
    return slopes * judged.sum() / total if total > 0 else None
