"""Whether all judges are equally good, before any two of them are compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import chdtrc

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


class Test(NamedTuple):
    """A test of all judges; NaN where undefined, or where the test has no such number."""

    name: str
    statistic: float = np.nan
    df: float = np.nan
    df_error: float = np.nan
    epsilon: float = np.nan
    p_value: float = np.nan
    p_gg: float = np.nan
    reason: str | None = None


def cochran_q(right: FloatArray) -> float:
    """Cochran's Q of 0/1 scores, shape (cases, judges); the judges differ on at least one case.

    Notes
    -----
    Cochran (1950), doi:10.1093/biomet/37.3-4.256; chi-squared with judges - 1 degrees of freedom where cases are many.
    """
    k = right.shape[1]
    judges, cases = right.sum(axis=0), right.sum(axis=1)
    return float(k * (k - 1) * ((judges - judges.mean()) ** 2).sum() / (k * cases.sum() - (cases**2).sum()))


def mean_ranks(scores: FloatArray) -> FloatArray:
    """The rank of each judge on each case, 1 the best, ties sharing their mean, for scores of shape (cases, judges)."""
    n, k = scores.shape
    levels = np.unique(-scores, return_inverse=True)[1].reshape(n, k)
    keys = levels + np.arange(n)[:, None] * (levels.max(initial=0) + 1)
    ordered = np.sort(keys.ravel())
    fewer = np.searchsorted(ordered, keys, side="left") - np.arange(n)[:, None] * k
    as_many = np.searchsorted(ordered, keys, side="right") - np.arange(n)[:, None] * k
    return np.asarray((fewer + as_many + 1) / 2, dtype=np.float64)


def friedman(ranks: FloatArray) -> float:
    """Friedman's chi-squared, corrected for ties, from ranks of shape (cases, judges) that are not all tied.

    Notes
    -----
    Friedman (1937), doi:10.1080/01621459.1937.10503522: the sum of squares of the mean ranks over the mean variance
    of the ranks within cases, which with tied ranks is smaller, and the statistic accordingly larger.
    """
    n, k = ranks.shape
    centre = (k + 1) / 2
    return float(n**2 * ((ranks.mean(axis=0) - centre) ** 2).sum() * (k - 1) / ((ranks - centre) ** 2).sum())


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
    verdicts, gold, cases, policy, by, dimensions, cluster : as in `mrb_lib.stats.significance.paired.comparisons`

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
        ranks = mean_ranks(scores) if policy not in BINARY_POLICIES else None
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
            found = _tests(
                scores[chosen], None if ranks is None else ranks[chosen], clusters if together[position] else None
            )
            rows.extend((position, int(dimension), {**facts, **_row(test)}) for test in found)
    ordered = [row for _, _, row in sorted(rows, key=lambda row: row[:2])]
    return typed(pd.DataFrame(ordered, columns=COLUMNS), COLUMNS)


def _row(test: Test) -> dict[str, object]:
    named = test._asdict()
    return {"test": named.pop("name"), **named}


def _tests(scores: FloatArray, ranks: FloatArray | None, clusters: IntArray | None) -> Iterator[Test]:
    """All tests of complete scores, shape (cases, judges).

    Parameters
    ----------
    ranks : of graded scores; None where they are 0 or 1
    clusters : shape (cases,), where clusters hold several cases; None where each holds one
    """
    n, k = scores.shape
    first = "cochran_q" if ranks is None else "friedman"
    names = [first, "rm_anova"] if clusters is None else [first, "hotelling_cluster", "rm_anova"]
    reason = ONE_JUDGE if k < 2 else FEW_CASES if n < 2 else ""
    if not reason and _alike(scores).all():
        reason = NO_DIFFERENCE
    if reason:
        yield from (Test(name, reason=reason) for name in names)
        return
    if ranks is not None and k < 3:
        yield Test(first, reason=TWO_JUDGES)
    else:
        statistic = cochran_q(scores) if ranks is None else friedman(ranks)
        p_value = float(chdtrc(k - 1, statistic)) if clusters is None else np.nan
        yield Test(first, statistic, k - 1.0, p_value=p_value, reason=None if clusters is None else INDEPENDENT)
    if clusters is not None and clusters.max() < 1:
        yield from (Test(name, reason=ONE_CLUSTER) for name in names[1:])
        return
    if clusters is not None:
        found = hotelling(scores, clusters)
        if isinstance(found, str):
            yield Test("hotelling_cluster", reason=found)
        else:
            yield Test("hotelling_cluster", found.f, found.df, found.df_error, p_value=found.p_value)
    anova = repeated_measures(scores, clusters)
    if anova is None:
        yield Test("rm_anova", reason=NO_ERROR)
    else:
        yield Test("rm_anova", anova.f, anova.df, anova.df_error, anova.epsilon, anova.p_value, anova.p_gg)


def _alike(scores: FloatArray) -> BoolArray:
    same: BoolArray = (scores == scores[:, :1]).all(axis=1)
    return same
