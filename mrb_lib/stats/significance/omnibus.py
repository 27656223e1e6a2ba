"""Whether all judges are equally good, before any two of them are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc

from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.core.scoring import BINARY_POLICIES
from mrb_lib.stats.core.subfields import Group

ONE_JUDGE = "there is one judge only"
FEW_CASES = "fewer than two cases are scored for every judge"
TWO_JUDGES = "Friedman's test needs three judges; read the pair's own test"
NO_DIFFERENCE = "the judges do not differ on any case"
ONE_CLUSTER = "all cases that are scored for every judge are in one cluster"
INDEPENDENT = (
    "no p: the test takes cases as independent, which come in clusters; read hotelling_cluster, or p_gg of rm_anova"
)
NO_ERROR = "no F: the differences between judges are the same in every cluster"
FEW_CLUSTERS = "no F: Hotelling's test needs more clusters than judges"
_NO_VARIANCE = 1e-10


class OmnibusTest(NamedTuple):
    """A test of all judges; NaN where undefined, or where the test has no such number.

    Attributes
    ----------
    test : its name
    statistic, df, df_error, p_value : a chi-squared with `df`, or an F with `df` and `df_error` degrees of freedom
    epsilon, p_gg : of the analysis of variance alone, see `repeated_measures`
    reason : why a value is missing
    """

    test: str
    statistic: float = np.nan
    df: float = np.nan
    df_error: float = np.nan
    epsilon: float = np.nan
    p_value: float = np.nan
    p_gg: float = np.nan
    reason: str | None = None


def omnibus_rows(
    panel: Panel, score: FloatArray, groups: Sequence[Group], policy: str, codes: IntArray
) -> list[dict[str, object]]:
    """Test whether all judges are equally good, on the cases that are scored for every one.

    Parameters
    ----------
    panel : whose judges and dimensions these are
    score : shape (judges, dimensions, cases), by `policy`
    groups : the cases of each subfield
    codes : shape (cases,), the cluster of every case of the benchmark

    Returns
    -------
    list of rows
        Two a dimension and subfield (null: overall), three where clusters hold several cases: `n` cases scored
        for every judge in `n_clusters` clusters, `n_excluded` the others, `judges` their number, `test`, `statistic`,
        `df`, `p_value`, `reason`.

        - "cochran_q" where a score is 0 or 1 (policies `official`, `strict`, `net`),
          "friedman" where it is graded: a chi-squared. It takes cases as independent; where clusters hold several its p
          is null, and `reason` says so
        - "hotelling_cluster", where clusters hold several cases: an F with `df` and `df_error` degrees of
          freedom from the covariance of the judges over clusters
        - "rm_anova": a repeated-measures analysis of variance, an F with `df` and `df_error`
          degrees of freedom; `p_value` if the differences between all judges are equally
          variable, `epsilon` (Greenhouse-Geisser) how far they are from it, and `p_gg` the p
          corrected for that, which is the one to read. Where clusters hold several cases, it is of sums by cluster

    Notes
    -----
    Published examples: `tests/published/test_cochran.py`;
    libraries: `tests/stats/significance/test_paired.py`, `tests/stats/significance/test_anova.py`; size:
    `tests/simulation/test_size.py`.
    """
    judged: BoolArray = np.asarray(panel.judged().any(axis=2))
    rows: list[dict[str, object]] = []
    for group in groups:
        has_clusters = len(np.unique(codes[group.cases])) < len(group.cases)
        for dimension in np.flatnonzero(judged.any(axis=0)):
            scores = score[judged[:, dimension], dimension][:, group.cases].T
            complete = np.isfinite(scores).all(axis=1)
            names, clusters = np.unique(codes[group.cases[complete]], return_inverse=True)
            facts = {
                "dimension": panel.dimensions[dimension],
                **group.label(),
                "policy": policy,
                "n": int(complete.sum()),
                "n_excluded": len(complete) - int(complete.sum()),
                "n_clusters": len(names),
                "judges": scores.shape[1],
            }
            binary = policy in BINARY_POLICIES
            tests = omnibus_tests(scores[complete], clusters if has_clusters else None, binary=binary)
            rows.extend({**facts, **test._asdict()} for test in tests)
    return rows


def omnibus_tests(scores: FloatArray, clusters: IntArray | None, *, binary: bool) -> Iterator[OmnibusTest]:
    """All tests of complete scores, shape (cases, judges).

    Parameters
    ----------
    clusters : shape (cases,), where clusters hold several cases; None where each holds one
    binary : scores are 0 or 1

    Notes
    -----
    Cochran's Q is statsmodels' and Friedman's chi-squared, corrected for ties, scipy's.
    """
    from scipy.stats import friedmanchisquare  # takes a second to import
    from statsmodels.stats.contingency_tables import cochrans_q

    n, k = scores.shape
    first = "cochran_q" if binary else "friedman"
    names = [first, "rm_anova"] if clusters is None else [first, "hotelling_cluster", "rm_anova"]
    missing = ONE_JUDGE if k < 2 else FEW_CASES if n < 2 else ""
    if not missing and (scores == scores[:, :1]).all():
        missing = NO_DIFFERENCE
    if missing:
        yield from (OmnibusTest(name, reason=missing) for name in names)
        return
    if not binary and k < 3:
        yield OmnibusTest(first, reason=TWO_JUDGES)
    else:
        result = cochrans_q(scores) if binary else friedmanchisquare(*scores.T)
        p_value, reason = (float(result.pvalue), None) if clusters is None else (np.nan, INDEPENDENT)
        yield OmnibusTest(first, float(result.statistic), k - 1.0, p_value=p_value, reason=reason)
    if clusters is not None and clusters.max() < 1:
        yield from (OmnibusTest(name, reason=ONE_CLUSTER) for name in names[1:])
        return
    if clusters is not None:
        yield hotelling(scores, clusters)
    yield repeated_measures(scores, clusters)


def repeated_measures(scores: FloatArray, clusters: IntArray | None = None) -> OmnibusTest:
    """A one-way repeated-measures analysis of variance of complete scores of shape (cases, judges), two of each.

    Parameters
    ----------
    clusters : shape (cases,), the cluster of each case, 0 to their number - 1, two at least; None: each its own

    Returns
    -------
    OmnibusTest
        `statistic` is F; `p_value` its p where the differences between judges are all equally variable (sphericity);
        `epsilon` Greenhouse and Geisser's estimate of how far that fails, 1 where it holds and 1 / (judges - 1) at the
        least; `p_gg` the p of F with both degrees of freedom multiplied by epsilon. No numbers where there is no error.

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
        return OmnibusTest("rm_anova", reason=NO_ERROR)
    df, df_error = float(k - 1), float((k - 1) * freedom)
    f = float(between / error)
    covariance = residual.T @ residual
    epsilon = float(np.trace(covariance) ** 2 / (df * (covariance**2).sum()))
    p_value, p_gg = (float(fdtrc(scale * df, scale * df_error, f)) for scale in (1.0, epsilon))
    return OmnibusTest("rm_anova", f, df, df_error, epsilon, p_value, p_gg)


def hotelling(scores: FloatArray, clusters: IntArray) -> OmnibusTest:
    """Hotelling's test of complete scores, (cases, judges), with the covariance of the judges' sums over clusters.

    Parameters
    ----------
    clusters : shape (cases,), the cluster of each case, 0 to their number - 1, two at least

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
        return OmnibusTest("hotelling_cluster", reason=FEW_CLUSTERS)
    along = effect @ axes
    if not rank or (np.abs(along[~varies]) > 1e-6 * max(1.0, float(np.abs(effect).max()))).any():
        return OmnibusTest("hotelling_cluster", reason=NO_ERROR)
    df_error = freedom - rank + 1
    f = float((along[varies] ** 2 / spread[varies]).sum()) * df_error / (freedom * rank)
    p_value = float(fdtrc(rank, df_error, f))
    return OmnibusTest("hotelling_cluster", f, float(rank), df_error, p_value=p_value)


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
