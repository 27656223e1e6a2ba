"""Whether one judge is better than another on the same cases, or as good as the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import stdtr

from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import BINARY_POLICIES, encode_gold, score
from mrb_lib.stats.multiplicity import CORRECTIONS, FAMILIES, adjust_families
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, check_choice, divide, join_reasons, typed
from mrb_lib.stats.resampling.resample import NO_RESAMPLES, cluster_codes, interval_reason
from mrb_lib.stats.significance.differences import PairedDifferences, PairPlan, paired_differences, plan_pairs
from mrb_lib.stats.significance.omnibus import omnibus_rows
from mrb_lib.stats.subfields import By, Group, groups
from mrb_lib.tables.errors import InputError

MARGIN = 0.05


def check_margin(margin: float) -> None:
    """Raise `InputError` if the margin is not a difference of accuracy that can be tested against."""
    if not 0 < margin < 1:
        raise InputError(f"margin {margin}: must be above 0 and below 1; 0.05 is five percentage points of accuracy.")


def noninferiority(difference: FloatArray, error: FloatArray, df: FloatArray, margin: float) -> FloatArray:
    """The one-sided p of "the first is worse than the second by the margin or more".

    Parameters
    ----------
    difference : the first minus the second, as fractions, any shape
    error : its standard error, the same shape; where it is 0 or NaN the test is undefined
    df : degrees of freedom of the error: clusters less one where they are of equal size, else fewer
    margin : the largest difference that does not matter, as a fraction

    Returns
    -------
    float array of the same shape; small values show that the first is not worse by the
    margin; NaN where undefined

    Notes
    -----
    A t test with the cluster-robust error of the paired difference. Its size at the
    margin is simulated in `tests/simulation/test_size.py`.
    """
    return np.asarray(stdtr(df, -divide(difference + margin, error)), dtype=np.float64)


def equivalence(first: FloatArray, second: FloatArray) -> FloatArray:
    """The p of the two one-sided tests: small values show that the two differ by less than the margin.

    Parameters
    ----------
    first, second : what `noninferiority` gives for the difference, and for the difference with its sign turned

    Notes
    -----
    Schuirmann (1987), doi:10.1007/BF01068419: the larger of the two one-sided p values. It is at most
    0.05 exactly where the 90% t interval of the difference lies within the margin.
    """
    return np.asarray(np.maximum(first, second))


def sign_test(first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
    """The exact sign test of each pair of counts and its mid-p, which are McNemar's where a case is right or wrong.

    It asks which judge wins more cases, whatever by: on graded scores another question than whether the means differ.

    Parameters
    ----------
    first, second : shape (p,), cases that only the first, only the second judge has right (or scores higher on)

    Returns
    -------
    exact, mid_p : shape (p,); 1 where no case differs

    Notes
    -----
    The exact p is twice the smaller tail, at most 1: its size is never above the level and often far below it. The
    mid-p counts the observed outcome half, which brings the size close to the level: Lancaster
    (1961), doi:10.2307/2282247; Fagerland, Lydersen and Laake (2013), doi:10.1186/1471-2288-13-91.
    Validated in `tests/published/test_mcnemar.py`.
    """
    from scipy.stats import binom  # takes a second to import

    total, smaller = first + second, np.minimum(first, second)
    tail, point = binom.cdf(smaller, total, 0.5), binom.pmf(smaller, total, 0.5)
    return np.minimum(1.0, 2 * tail), np.minimum(1.0, 2 * tail - point)


ALPHA = 0.05
PAIR, OMNIBUS = "pair", "omnibus"
MCNEMAR, PERMUTATION, CLUSTERED = "mcnemar_exact", "permutation", "permutation_cluster"
NO_CASES = "no case is scored for both judges"
ONE_CASE = "a test needs two cases that are scored for both judges"
ONE_CLUSTER_ONLY = "a test that minds clusters needs two of them"
NO_SPREAD = "no t tests and none against the margin: the difference is the same in every cluster"
ALIKE = "no t tests and none against the margin: the two judges have the same score on every case"
_FLAGS = ("equivalent", "noninferior", "noninferior_2")
MORE = (
    "exact_p", "mid_p", "permutation_p", "bootstrap_p", "t_p", "equivalence_p", "noninferiority_p",
    "noninferiority_p_adjusted", "noninferior", "noninferiority_2_p", "noninferiority_2_p_adjusted", "noninferior_2",
)  # fmt: skip
COLUMNS = [
    "part", "judge_1", "judge_2", "dimension", "subfield", "by", "policy", "n", "n_excluded", "n_seen",
    "n_unassigned", "n_clusters", "quantity", "difference", "low", "high", "standard_error", "interval", "only_1",
    "only_2", "test", "p_value", "p_adjusted", "correction", "family", "family_scope", "exact_p", "mid_p",
    "permutation_p", "bootstrap_p", "t_p", "margin", "equivalence_p", "equivalence_p_adjusted", "equivalent",
    "noninferiority_p", "noninferiority_p_adjusted", "noninferior", "noninferiority_2_p", "noninferiority_2_p_adjusted",
    "noninferior_2", "statistic", "df", "df_error", "judges", "reason",
]  # fmt: skip


def significance(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
    correction: str = "holm",
    family: str = "dimension",
    margin: float | None = None,
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare every two judges on the cases that are scored for both, and all judges at once.

    Parameters
    ----------
    verdicts, gold, cases, policy, by, dimensions, cluster, resamples, seed : as in
        `mrb_lib.stats.accuracy.accuracy`
    correction : for the number of tests, see `mrb_lib.stats.multiplicity.adjust`
    family : which tests are corrected together: all pairs within one dimension and subfield
        ("dimension"), or all pairs of the table ("all"), of all columns of `by`; tests of one kind only
    margin : the largest difference of accuracy that does not matter, as a fraction, stated beforehand; without one,
        what is tested against it is null

    Returns
    -------
    DataFrame
        First one row a pair of judges, dimension and subfield (null: overall), `part` "pair":

        - `n` cases scored for both, in `n_clusters` clusters; `n_excluded` the others, `n_seen` of which would be
          scored for both if neither judge had been trained on them
        - `quantity` "difference": what interval, tests and verdicts of the row are all about, the mean score of
          `judge_1` minus that of `judge_2` over these cases. `difference` estimates it, with the 95% interval `low`,
          `high` and its cluster-robust `standard_error`. `interval` says how it was made: "t", by Student's t with the
          standard error and `df` degrees of freedom, where these are fewer than 49, else "percentile", of the paired
          cluster bootstrap, null where there is none; see `mrb_lib.stats.resampling.robust.few_clusters`
        - `only_1`, `only_2` cases on which `judge_1`, `judge_2` has the higher score
        - `test`, `p_value` two-sided, `p_adjusted`, `correction`, `family` (the number of pairs that could be
          tested, and so were corrected for, whatever came out), `family_scope`. `test` is "permutation", which flips
          the signs of the cases' differences (`mrb_lib.stats.significance.permutation.p_values`); "permutation_cluster"
          where clusters of the benchmark or subfield hold several cases, whose signs are flipped as one; and
          "mcnemar_exact" where scores are 0 or 1 and each case is its own cluster
        - more tests of the same difference: `permutation_p` (as above, whatever `test` is), `t_p` (cluster-robust t
          test with `df` degrees of freedom: clusters - 1 where they are of equal size, else fewer), and `bootstrap_p`,
          made as the interval is: `t_p` where that is by t
        - the sign test, `exact_p` and its `mid_p`: which judge wins more cases, whatever by. On graded scores that is
          another question, with an answer of its own; and it takes cases as independent, also where they are not
        - `equivalence_p` of the two one-sided tests of the difference against `margin`, `noninferiority_p` (`judge_1`
          is not worse than `judge_2` by the margin) and `noninferiority_2_p` (the other way
          round); each with its `_adjusted` and with the verdict at level 0.05, adjusted: `equivalent`,
          `noninferior`, `noninferior_2`, null where undefined. Both `equivalent` and a `p_adjusted` below .05 say that
          there is a difference, and that it is smaller than the margin

        Then, `part` "omnibus", `quantity` "accuracy" and judges null, the rows of
        `mrb_lib.stats.significance.omnibus.omnibus_rows` with `statistic`, `df`, `df_error`, `p_value`, `judges`; they
        are in no family. `reason` says why a value is null, and when Cochran's p should not be read.

    Raises
    ------
    InputError
        An option is unknown, `by` or `cluster` cannot be used, a verdict speaks of an
        unknown case, or verdicts of several probes are mixed.

    Notes
    -----
    Clusters change the test, never the quantity that is tested. On scores of 0 and 1 McNemar's exact test is of the
    mean difference as well, and `permutation_p` is its mid-p with 8 clusters and more; it never rejects too often, and
    the less the fewer cases differ. A judge that always prefers one place is half right on every case, and so loses
    most cases against a judge that is as accurate: the sign test calls that a difference, the tests of the mean do not.
    A pair whose test against the margin is undefined because its difference never varied counts in the family as one
    that is not rejected.
    Validated in `tests/published/test_pandalm.py`, `test_mcnemar.py`, `tests/stats/tables/test_significance.py` and,
    for the size of the tests, `tests/simulation/test_size.py`.
    """
    options = PairOptions(policy, correction, family, margin, resamples, seed)
    options.check()
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    scores = score(panel, encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories), policy)
    subsets = groups(cases, by)
    codes = cluster_codes(cases, cluster)
    pairs = pair_rows(scores.score, panel.takes_part(), panel.judges, panel.dimensions, subsets, codes, options).assign(
        n_seen=0
    )
    if panel.seen:
        labels = encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories)
        pairs["n_seen"] = _seen_counts(pairs, panel, score(panel.with_seen(), labels, policy).score, subsets)
    rows = omnibus_rows(panel, scores.score, subsets, policy, codes, resamples=resamples, seed=seed)
    together = pd.DataFrame(rows).assign(part=OMNIBUS, quantity="accuracy")
    return _typed(pd.concat([pairs, together], ignore_index=True))


class PairOptions(NamedTuple):
    """What `pair_rows` does; see `significance`."""

    policy: str
    correction: str
    family: str
    margin: float | None
    resamples: int
    seed: int

    def check(self) -> None:
        """Raise `InputError` for an option that is wrong."""
        check_choice("correction", self.correction, CORRECTIONS)
        check_choice("family", self.family, FAMILIES)
        if self.margin is not None:
            check_margin(self.margin)


def pair_rows(
    score: FloatArray,
    judged: BoolArray,
    judges: Sequence[str],
    dimensions: Sequence[str],
    subsets: Sequence[Group],
    codes: IntArray,
    options: PairOptions,
    only: Sequence[tuple[int, int]] | None = None,
) -> pd.DataFrame:
    """The rows of `part` "pair" of the table `significance`, their types apart.

    Parameters
    ----------
    score : shape (judges, dimensions, cases); NaN where a case does not count
    judged : shape (judges, dimensions), who takes part where
    judges, dimensions : the names of the first two axes
    subsets : groups of cases
    codes : the cluster of every case
    only : the pairs to compare, as positions of judges, the smaller first; None for all
    """
    plan = plan_pairs(score, judged, only)
    each = paired_differences(plan, subsets, codes, resamples=options.resamples, seed=options.seed)
    frames = [
        _pairs(judges, dimensions, plan, subset, result, options) for subset, result in zip(subsets, each, strict=True)
    ]
    return _tested(pd.concat(frames, ignore_index=True), options.correction, options.family, options.margin)


def _seen_counts(pairs: pd.DataFrame, panel: Panel, restored: FloatArray, subsets: Sequence[Group]) -> list[int]:
    """Of each pair of judges: the cases left out that it would be scored on, from all scores, seen ones among them."""
    saw, scored = panel.saw(), np.isfinite(restored)
    cases_of = {(subset.by, subset.subfield): subset.cases for subset in subsets}
    position = {name: i for i, name in enumerate(panel.judges)}
    keys = pairs[["judge_1", "judge_2", "dimension", "by", "subfield"]].astype(object)
    keys = keys.where(keys.notna(), None)
    counts = []
    for first, second, dimension, by, subfield in keys.itertuples(index=False):
        i, j, d = position[first], position[second], panel.dimensions.index(dimension)
        left_out = (saw[i, d] | saw[j, d]) & scored[i, d] & scored[j, d]
        counts.append(int(left_out[cases_of[by, subfield]].sum()))
    return counts


def row_test(policy: str, alone: bool) -> str:
    """The test of the rows of a policy, where each case is a cluster (`alone`) or clusters hold several."""
    return CLUSTERED if not alone else MCNEMAR if policy in BINARY_POLICIES else PERMUTATION


def _pairs(
    judges: Sequence[str],
    dimensions: Sequence[str],
    plan: PairPlan,
    subset: Group,
    result: PairedDifferences,
    options: PairOptions,
) -> pd.DataFrame:
    """All pairs over one group of cases, before any correction."""
    names, of_dimension = pd.Index(list(judges), dtype="str"), pd.Index(list(dimensions), dtype="str")
    policy, resamples = options.policy, options.resamples
    exact, mid_p = sign_test(result.only_1, result.only_2)
    untested = result.n < 2
    exact[untested], mid_p[untested] = np.nan, np.nan
    test = row_test(policy, result.alone)
    return pd.DataFrame(
        {
            "part": PAIR,
            "judge_1": names.take(plan.first),
            "judge_2": names.take(plan.second),
            "dimension": of_dimension.take(plan.dimension),
            **subset.label(),
            "policy": policy,
            "n": result.n,
            "n_excluded": len(subset.cases) - result.n,
            "n_clusters": result.clusters,
            "quantity": "difference",
            "difference": result.value,
            "low": result.low,
            "high": result.high,
            "standard_error": result.error,
            "interval": pd.Series(np.where(result.few, "t", "percentile"), dtype="str").mask(np.isnan(result.low)),
            "df": result.df,
            "only_1": result.only_1,
            "only_2": result.only_2,
            "test": test,
            "p_value": exact if test == MCNEMAR else result.permutation_p,
            "exact_p": exact,
            "mid_p": mid_p,
            "permutation_p": result.permutation_p,
            "bootstrap_p": result.bootstrap_p,
            "t_p": result.t_p,
            "reason": _reasons(result, resamples),
        }
    )


def _reasons(result: PairedDifferences, resamples: int) -> list[str | None]:
    drawn = "" if resamples else NO_RESAMPLES
    plain = (result.clusters >= 2) & (result.error > 0) & ((result.high - result.low > 1e-12) | (resamples == 0))
    out = [None if few else drawn or None for few in result.few.tolist()]
    for i in np.flatnonzero(~plain):
        n, clusters = int(result.n[i]), int(result.clusters[i])
        alike = result.only_1[i] == result.only_2[i] == 0
        out[i] = join_reasons(
            NO_CASES if n == 0 else ONE_CASE if n == 1 else ONE_CLUSTER_ONLY if clusters < 2 else "",
            interval_reason(n, clusters, resamples, result.low[i], result.high[i]),
            "" if result.error[i] != 0 else ALIKE if alike else NO_SPREAD,
        )
    return out


def _tested(pairs: pd.DataFrame, correction: str, family: str, stated: float | None) -> pd.DataFrame:
    """The pairs with their corrected p values and the tests against the margin, if one is stated."""
    margin = np.nan if stated is None else stated
    families: IntArray = np.zeros(len(pairs), dtype=np.int64)
    if family == "dimension":
        grouped = pairs.groupby(["by", "subfield", "dimension"], dropna=False, sort=False)
        families = np.asarray(grouped.ngroup(), dtype=np.int64)
    testable = (pairs["n_clusters"] >= 2).to_numpy()

    def adjusted(p_values: FloatArray) -> tuple[FloatArray, IntArray]:
        undefined = np.isnan(p_values)
        corrected, size = adjust_families(np.where(undefined & testable, 1.0, p_values), families, correction)
        return np.where(undefined, np.nan, corrected), size

    value, error, df = (pairs[name].to_numpy(np.float64) for name in ("difference", "standard_error", "df"))
    out = pairs.assign(correction=correction, family_scope=family, margin=margin)
    out["p_adjusted"], out["family"] = adjusted(pairs["p_value"].to_numpy(np.float64))
    first, second = noninferiority(value, error, df, margin), noninferiority(-value, error, df, margin)
    for name, flag, p_values in (
        ("equivalence", "equivalent", equivalence(first, second)),
        ("noninferiority", "noninferior", first),
        ("noninferiority_2", "noninferior_2", second),
    ):
        corrected, _ = adjusted(p_values)
        out[f"{name}_p"], out[f"{name}_p_adjusted"] = p_values, corrected
        out[flag] = pd.Series(corrected <= ALPHA, dtype="boolean").mask(np.isnan(corrected))
    return out


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Counts and flags of rows that have none are null."""
    special: dict[str, str] = dict.fromkeys(("n_seen", "n_clusters", "only_1", "only_2", "family", "judges"), "Int64")
    special |= dict.fromkeys(_FLAGS, "boolean") | dict.fromkeys(("part", "family_scope"), "str")
    full = frame.reindex(columns=COLUMNS).astype(special)
    plain = typed(full, [name for name in COLUMNS if name not in special])
    return pd.concat([plain, full[list(special)]], axis=1)[COLUMNS]
