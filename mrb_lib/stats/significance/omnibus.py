"""Whether all judges are equally accurate, before any two of them are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.core.scoring import BINARY_POLICIES
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray
from mrb_lib.stats.significance.permutation import FEWEST_MID_P
from mrb_lib.stats.subfields import Group

ONE_JUDGE = "there is one judge only"
FEW_CASES = "fewer than two cases are scored for every judge"
NO_DIFFERENCE = "the judges do not differ on any case"
ONE_CLUSTER = "all cases that are scored for every judge are in one cluster"
NO_ERROR = "no test: the differences between judges are the same in every cluster"
UNEQUAL = "rejects too often where some judges err together and others do not: read permutation_f"
NO_FLIPS = "no p: the test draws its flips of signs, and no resamples were asked for"
_CELLS_AT_ONCE = 2**22
_ROUNDING = 1e-9


class OmnibusTest(NamedTuple):
    """A test of all judges; NaN where undefined, or where the test has no such number.

    Attributes
    ----------
    test : its name
    statistic, df, df_error, p_value : a chi-squared with `df`, or an F with `df` and `df_error` degrees of freedom
    reason : why a value is missing, or when the p should not be read
    """

    test: str
    statistic: float = np.nan
    df: float = np.nan
    df_error: float = np.nan
    p_value: float = np.nan
    reason: str | None = None


def omnibus_rows(
    panel: Panel, score: FloatArray, groups: Sequence[Group], policy: str, codes: IntArray, *, resamples: int, seed: int
) -> list[dict[str, object]]:
    """Test whether all judges are equally accurate, on the cases that are scored for every one.

    Parameters
    ----------
    panel : whose judges and dimensions these are
    score : shape (judges, dimensions, cases), by `policy`
    groups : the cases of each subfield
    codes : shape (cases,), the cluster of every case of the benchmark
    resamples, seed : of the flips of signs

    Returns
    -------
    list of rows
        One a dimension and subfield (null: overall), two where scores are right or wrong and cases independent: `n`
        cases scored for every judge in `n_clusters` clusters, `n_excluded` the others, `judges` their number, `test`,
        `statistic`, `df`, `df_error`, `p_value`, `reason`.

        - "permutation_f": see `permutation_f`
        - "cochran_q" where a score is 0 or 1 (policies `official`, `strict`, `net`) and each case its own cluster: a
          chi-squared. It takes the differences between all judges to be equally variable, and rejects too often where
          some judges err together and others do not: `reason` says so where there are more than two
    """
    judged: BoolArray = np.asarray(panel.judged().any(axis=2))
    rows: list[dict[str, object]] = []
    for group in groups:
        alone = len(np.unique(codes[group.cases])) == len(group.cases)
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
            binary = policy in BINARY_POLICIES and alone
            tests = omnibus_tests(scores[complete], clusters, binary=binary, resamples=resamples, seed=seed)
            rows.extend({**facts, **test._asdict()} for test in tests)
    return rows


def omnibus_tests(
    scores: FloatArray, clusters: IntArray, *, binary: bool, resamples: int, seed: int
) -> Iterator[OmnibusTest]:
    """All tests of complete scores, shape (cases, judges).

    Parameters
    ----------
    clusters : shape (cases,), the cluster of each case, 0 to their number - 1
    binary : scores are 0 or 1, and each case is a cluster, so that Cochran's Q, which is statsmodels', is defined
    """
    n, k = scores.shape
    names = ["cochran_q", "permutation_f"] if binary else ["permutation_f"]
    missing = ONE_JUDGE if k < 2 else FEW_CASES if n < 2 else ""
    if not missing and (scores == scores[:, :1]).all():
        missing = NO_DIFFERENCE
    if missing:
        yield from (OmnibusTest(name, reason=missing) for name in names)
        return
    if binary:
        from statsmodels.stats.contingency_tables import cochrans_q  # takes a second to import

        result = cochrans_q(scores)
        unequal = UNEQUAL if k > 2 else None
        yield OmnibusTest("cochran_q", float(result.statistic), k - 1.0, p_value=float(result.pvalue), reason=unequal)
    yield permutation_f(scores, clusters, resamples=resamples, seed=seed)


def permutation_f(scores: FloatArray, clusters: IntArray, *, resamples: int, seed: int) -> OmnibusTest:
    """The F of judges on complete scores, (cases, judges), with its p over flips of the signs of clusters.

    Parameters
    ----------
    clusters : shape (cases,), the cluster of each case, 0 to their number - 1
    resamples : how many flips are drawn; 0 gives F without p
    seed : of the flips

    Returns
    -------
    OmnibusTest
        `statistic` is the F of a repeated-measures analysis of variance of the clusters' sums of scores (of the scores,
        where each case is a cluster), with `df` and `df_error` degrees of freedom

    Notes
    -----
    What each cluster adds to the sums of the judges, less the judges' mean, is as likely, under no difference, to have
    come out the other way round for all judges at once. Flipping the signs of clusters keeps how the judges vary and
    err together, so that they need be equal in nothing but their mean. p is (1 + flips with a larger F + half of those
    with as large a one, or, with fewer than 8 clusters, all of them) / (1 + flips); with two judges it is, up to the
    draws, the p of the pair's own test. Sign flips of contributions of unequal variance: Hemerik, Goeman and Finos
    (2020), doi:10.1111/rssb.12369. F agrees with statsmodels and pingouin in `tests/stats/significance/test_anova.py`;
    size: `tests/simulation/test_size.py`.
    """
    within = scores - scores.mean(axis=1, keepdims=True)
    count, k = int(clusters.max()) + 1, scores.shape[1]
    if count < 2:
        return OmnibusTest("permutation_f", reason=ONE_CLUSTER)
    sums = np.zeros((count, k))
    np.add.at(sums, clusters, within)
    between = float((sums.sum(axis=0) ** 2).sum() / count)
    error = float((sums**2).sum()) - between
    if error <= _ROUNDING * max(1.0, between):
        return OmnibusTest("permutation_f", reason=NO_ERROR)
    df, df_error = k - 1.0, (k - 1.0) * (count - 1)
    p_value, reason = (flip_p(sums, resamples, seed), None) if resamples else (np.nan, NO_FLIPS)
    return OmnibusTest("permutation_f", between / df / (error / df_error), df, df_error, p_value, reason)


def flip_p(sums: FloatArray, resamples: int, seed: int) -> float:
    """The p of the squared length of the total of some vectors, shape (clusters, judges), over flips of their signs.

    F grows with this length and with nothing else, since flips change no other part of it.
    """
    tied = 1.0 if len(sums) < FEWEST_MID_P else 0.5
    sums = sums[(np.abs(sums) > _ROUNDING).any(axis=1)]
    observed = float((sums.sum(axis=0) ** 2).sum())
    slack = _ROUNDING * max(1.0, observed)
    generator = np.random.default_rng(seed)
    beyond, step = 0.0, max(1, _CELLS_AT_ONCE // max(1, len(sums)))
    for start in range(0, resamples, step):
        signs = 2.0 * generator.integers(0, 2, (min(step, resamples - start), len(sums)), dtype=np.int8) - 1.0
        lengths = ((signs @ sums) ** 2).sum(axis=1)
        farther, as_far = (np.count_nonzero(lengths > observed + by) for by in (slack, -slack))
        beyond += farther + tied * (as_far - farther)
    return (1.0 + beyond) / (1.0 + resamples)
