"""Whether all judges are equally good, before any two of them are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, typed
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import BINARY_POLICIES, encode_gold, score
from mrb_lib.stats.core.subfields import By, Group, groups
from mrb_lib.stats.resampling.resample import cluster_codes
from mrb_lib.stats.significance.anova import NO_ERROR, hotelling, repeated_measures

ONE_JUDGE = "there is one judge only"
FEW_CASES = "fewer than two cases are scored for every judge"
TWO_JUDGES = "Friedman's test needs three judges; read the pair's own test"
NO_DIFFERENCE = "the judges do not differ on any case"
ONE_CLUSTER = "all cases that are scored for every judge are in one cluster"
INDEPENDENT = (
    "no p: the test takes cases as independent, which come in clusters; read hotelling_cluster, or p_gg of rm_anova"
)
COLUMNS = [
    "dimension",
    "subfield",
    "by",
    "policy",
    "n",
    "n_excluded",
    "n_unassigned",
    "n_clusters",
    "judges",
    "test",
    "statistic",
    "df",
    "df_error",
    "epsilon",
    "p_value",
    "p_gg",
    "reason",
]


class OmnibusTest(NamedTuple):
    """A test of all judges; NaN where undefined, or where the test has no such number."""

    name: str
    statistic: float = np.nan
    df: float = np.nan
    df_error: float = np.nan
    epsilon: float = np.nan
    p_value: float = np.nan
    p_gg: float = np.nan
    reason: str | None = None


def omnibus(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
) -> pd.DataFrame:
    """Test whether all judges are equally good, on the cases that are scored for every one.

    Parameters
    ----------
    verdicts, gold, cases, policy, by, dimensions, cluster : as in `mrb_lib.stats.significance.paired.significance`

    Returns
    -------
    DataFrame
        Two rows a dimension and subfield (null: overall), three where clusters hold several cases: `n` cases scored
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
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    labels = encode_gold(gold, cases["case_id"], panel.dimensions)
    codes = cluster_codes(cases, cluster)
    return of_scores(panel, score(panel, labels, policy).score, groups(cases, by), policy, codes)


def of_scores(panel: Panel, value: FloatArray, parts: Sequence[Group], policy: str, codes: IntArray) -> pd.DataFrame:
    """As `omnibus`, from scores of shape (judges, dimensions, cases) that were computed already.

    Parameters
    ----------
    codes : the cluster of every case of the benchmark
    """
    together = [len(np.unique(codes[part.cases])) < len(part.cases) for part in parts]
    judged: BoolArray = np.asarray(panel.judged().any(axis=2))
    rows: list[tuple[int, int, dict[str, object]]] = []
    for dimension in np.flatnonzero(judged.any(axis=0)):
        scores = value[judged[:, dimension], dimension].T
        complete: BoolArray = np.asarray(np.isfinite(scores).all(axis=1))
        for position, part in enumerate(parts):
            chosen = part.cases[complete[part.cases]]
            names, clusters = np.unique(codes[chosen], return_inverse=True)
            facts = {
                "dimension": panel.dimensions[dimension],
                **part.label(),
                "policy": policy,
                "n": len(chosen),
                "n_excluded": len(part.cases) - len(chosen),
                "n_clusters": len(names),
                "judges": scores.shape[1],
            }
            tests = omnibus_tests(
                scores[chosen], clusters if together[position] else None, binary=policy in BINARY_POLICIES
            )
            rows.extend((position, int(dimension), {**facts, **_row(test)}) for test in tests)
    ordered = [row for _, _, row in sorted(rows, key=lambda row: row[:2])]
    return typed(pd.DataFrame(ordered, columns=COLUMNS), COLUMNS)


def _row(test: OmnibusTest) -> dict[str, object]:
    named = test._asdict()
    return {"test": named.pop("name"), **named}


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
    if not missing and _alike(scores).all():
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
        test = hotelling(scores, clusters)
        if isinstance(test, str):
            yield OmnibusTest("hotelling_cluster", reason=test)
        else:
            yield OmnibusTest("hotelling_cluster", test.f, test.df, test.df_error, p_value=test.p_value)
    anova = repeated_measures(scores, clusters)
    if anova is None:
        yield OmnibusTest("rm_anova", reason=NO_ERROR)
    else:
        yield OmnibusTest("rm_anova", anova.f, anova.df, anova.df_error, anova.epsilon, anova.p_value, anova.p_gg)


def _alike(scores: FloatArray) -> BoolArray:
    same: BoolArray = (scores == scores[:, :1]).all(axis=1)
    return same
