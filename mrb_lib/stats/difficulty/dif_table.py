"""Whether a judge is weak in a subfield, or the subfield is hard: differential item functioning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.difficulty import reading
from mrb_lib.stats.difficulty.dif_matching import compare
from mrb_lib.stats.difficulty.mantel_haenszel import FEWEST_CLUSTERS, Clusters, ets_class
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, join_reasons, stacked, typed
from mrb_lib.stats.resampling.resample import cluster_codes
from mrb_lib.stats.subfields import By, columns_of, subfield_values

DEFAULT_BY = "department"
NO_SUBFIELDS = "no subfields: the cases have no department; name a column with by"
NO_CASES = "no case of the subfield is scored"
NO_OTHERS = "matching by difficulty needs two judges or more"
NOTHING_TO_COMPARE = (
    "within every level of difficulty the judge is always right, always wrong, or the cases are all on one side"
)
NO_VARIANCE = "no interval and no test: so few clusters estimate a variance of the odds ratio that is not positive"
UNWEIGHTED = "matched by the unweighted number of judges that are right: their discriminations cannot be estimated"
NO_ODDS = "no finite odds ratio: matched cases are right or wrong on one side only"
NO_LOGISTIC = "no logistic estimate: subfield or difficulty tells right from wrong without error"
FEW_CLUSTERS = f"no test: fewer than {FEWEST_CLUSTERS} clusters inside or outside the subfield"
UNCLEAR = "half of the judges or more stand out here, so that which of them do cannot be told: matched by all"
COLUMNS = [
    "judge", "dimension", "subfield", "by", "policy", "n", "n_inside", "n_excluded", "n_unassigned", "n_strata",
    "n_matching", "n_clusters", "accuracy_inside", "accuracy_outside", "expected", "excess", "mh_odds_ratio", "low",
    "high", "mh_chi2", "p_value",
    "p_adjusted", "correction", "family", "ets_delta", "ets_low", "ets_high", "ets_class", "logistic_effect",
    "logistic_low", "logistic_high", "logistic_chi2", "logistic_p", "logistic_p_adjusted", "reason",
]  # fmt: skip


MORE = (
    "mh_chi2", "ets_low", "ets_high", "logistic_effect", "logistic_low", "logistic_high", "logistic_chi2", "logistic_p",
    "logistic_p_adjusted",
)  # fmt: skip


@register_table(
    "dif",
    question="is a judge weak in a subfield, beyond the subfield being hard",
    columns=[name for name in COLUMNS if name not in MORE],
    more=MORE,
    meanings=reading.MEANINGS_OF_DIF,
    headline=("accuracy_inside", "expected", "excess", "ets_class"),
    sentence=reading.sentence_of_dif,
    why_no_ratings="",
)
def dif(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
    correction: str = "bh",
    by: By = None,
    dimensions: Sequence[str] | None = None,
    family: str = "dimension",
    cluster: str | None = None,
) -> pd.DataFrame:
    """Compare each judge inside and outside each subfield, on cases that are equally hard for all judges together.

    Here a judge is what educational testing calls an item, and a case what it calls a person: cases are
    matched by how many judges are right on them, each counted by its discrimination, how well it tells hard cases from
    easy ones (`mrb_lib.stats.difficulty.discrimination.discriminations`).

    Parameters
    ----------
    verdicts, gold, cases, policy, dimensions : as in `mrb_lib.stats.accuracy.accuracy`
    correction : of the p values, see `mrb_lib.stats.multiplicity.adjust`
    by : a cases column to break down by, or `model_pair`; or several, one after another; None takes `department`
    family : the tests that are corrected together: all judges and subfields (of a column) within a "dimension", or
        "all", of all columns; where a column has two subfields they are one comparison, which counts once
    cluster : the cases column whose cases are not independent, see `mrb_lib.stats.clusters.resampling_unit`

    Returns
    -------
    DataFrame
        One row a judge, dimension and subfield. `n` cases scored for the judge, inside and outside, `n_inside` of
        them inside; `n_excluded` cases of the benchmark that are not (no gold label, no verdict, no subfield),
        `n_unassigned` of them for want of a subfield; `n_strata` levels of difficulty with cases of both sides;
        `n_matching` judges that cases are matched by, and `n_clusters`.
        `accuracy_inside`, `accuracy_outside` mean scores; `expected` what the judge would score inside if it
        did there as it does outside on equally hard cases, and `excess` by how much it does better than that: the
        standardised difference of Dorans and Kulick, over the levels of difficulty with cases of both sides.
        `mh_odds_ratio` the Mantel-Haenszel odds ratio of being right, inside over outside, with its 95%
        interval `low`, `high`; `mh_chi2`, `p_value` its test without continuity correction (where
        cases come in clusters, Wald's with a cluster-robust variance and Student's t); `p_adjusted`,
        `correction`, and `family` the number of tests corrected together.
        `ets_delta` 2.35 times the log odds ratio, with its interval, and `ets_class` A (negligible), B or C (large),
        see `mrb_lib.stats.difficulty.mantel_haenszel.ets_class`, by p-values adjusted as `p_adjusted`: negative is
        weaker inside than the cases' difficulty explains. `logistic_effect` the log odds ratio given difficulty in a
        logistic regression with its interval, `logistic_chi2`, `logistic_p` its likelihood ratio test (1 df), and
        `logistic_p_adjusted`.
        `reason` says why a value is null, and where judges count alike in the matching.

    Raises
    ------
    InputError
        An option is unknown, or `by` cannot be used.

    Notes
    -----
    The number of judges that are right includes the judge in question: leaving it out of its own matching finds
    differences where there are none as soon as subfields differ in difficulty (Holland and Thayer 1988, in Wainer and
    Braun, Test Validity). Counted alike, judges of unequal discrimination make a coin look strong where cases are hard:
    among eight judges and 1,000 cases, a third of them harder by 1 in log odds, 80% of the tests of a coin rejected;
    weighted, 5%. Judges in class B or C, before any correction, are left out of the matching of the others
    (purification), subfield by subfield, see `mrb_lib.stats.difficulty.dif_matching`, as long as fewer than half of the
    judges stand out: with one of eight weak by 1.2 in log odds in 1,000 cases, 5% of the others have p below .05; with
    three of eight, 8%, and 3% are classed B or C (without purification 74% and 50%). If half are weak nobody can tell
    them from half being strong: `reason` says so, all judges take part, and deltas are relative to the mean of all.
    With fewer than about five judges a difference is only one between them. Where a judge has no verdict on a case, the
    share of the others that are right stands for the number. Scores between 0 and 1 are matched to the nearest half.
    The logistic regression is that of Swaminathan and Rogers, J. Educ. Meas. 27 (1990) 361-370, with difficulty as the
    weighted number of judges that are right and its logit; for scores between 0 and 1 it is quasi-binomial, its
    statistic divided by the dispersion; where cases come in clusters its covariance sums over them. Published values:
    `tests/published/test_mantel_haenszel.py`; size and planted differences: `tests/simulation/test_dif.py`.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    labels = encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories)
    scores = score(panel, labels, policy)
    judged: BoolArray = np.asarray(scores.judged.any(axis=2))
    columns = columns_of(by)
    if not columns and not (DEFAULT_BY in cases.columns and cases[DEFAULT_BY].notna().any()):
        return _without_subfields(panel, judged, policy, correction)
    unit = cluster_codes(cases, cluster)
    clusters = Clusters(unit, len(np.unique(unit)) < len(unit))
    parts = [
        {**part, "by": column}
        for column in columns or [DEFAULT_BY]
        for part in _of_column(panel, scores.score, judged, subfield_values(cases, column), clusters)
    ]
    if not parts:
        return _finished(pd.DataFrame(columns=COLUMNS))
    frame = stacked(parts, [*COLUMNS, "p_small", "counts"], "n").assign(policy=policy, correction=correction)
    within: IntArray = np.asarray(frame.groupby(["by", "dimension"], sort=False).ngroup(), dtype=np.int64)
    families = np.zeros_like(within) if family == "all" else within
    counts = frame["counts"].to_numpy(dtype=bool)
    p_value, logistic, p_small, delta = (
        frame[name].to_numpy(dtype=np.float64) for name in ("p_value", "logistic_p", "p_small", "ets_delta")
    )
    p_adjusted, frame["family"] = _adjusted(p_value, counts, families, correction)
    frame["logistic_p_adjusted"] = _adjusted(logistic, counts, families, correction)[0]
    classes = ets_class(delta, p_adjusted, _adjusted(p_small, counts, families, correction)[0])
    return _finished(frame.assign(p_adjusted=p_adjusted, ets_class=classes))


def _of_column(
    panel: Panel, score: FloatArray, judged: BoolArray, subfield: pd.Series, clusters: Clusters
) -> Iterator[dict[str, object]]:
    """The columns of each dimension, from the subfield of each case; `counts` says which are tests of their own."""
    codes, names = pd.factorize(subfield, sort=True)
    for dimension in range(len(panel.dimensions)):
        judges = np.flatnonzero(judged[:, dimension])
        if not len(judges):
            continue
        rows = _rows(
            [panel.judges[j] for j in judges],
            score[judges, dimension],
            codes.astype(np.int64),
            [str(name) for name in names],
            clusters,
        )
        # Two subfields are one comparison, seen from either side: it counts once.
        counts = np.asarray(rows["subfield"]) != str(names[1]) if len(names) == 2 else True
        yield {**rows, "dimension": panel.dimensions[dimension], "counts": counts}


def _without_subfields(panel: Panel, judged: BoolArray, policy: str, correction: str) -> pd.DataFrame:
    rows = [
        {"judge": panel.judges[j], "dimension": panel.dimensions[d], "reason": NO_SUBFIELDS}
        for j, d in np.argwhere(judged)
    ]
    frame = pd.DataFrame(rows, columns=COLUMNS)
    counts = [name for name in COLUMNS if name.startswith("n_") or name in ("n", "family")]
    return _finished(frame.assign(policy=policy, correction=correction, **dict.fromkeys(counts, 0)))


def _finished(frame: pd.DataFrame) -> pd.DataFrame:
    plain = typed(frame, [name for name in COLUMNS if name != "ets_class"])
    return plain.join(frame["ets_class"].astype("str"))[COLUMNS]


def _rows(
    judges: Sequence[str], value: FloatArray, codes: IntArray, names: Sequence[str], clusters: Clusters
) -> dict[str, object]:
    """The columns of the rows of one dimension: judges x subfields."""
    judged = np.isfinite(value).any(axis=1)
    compared = compare(value, codes, len(names), clusters)
    n_inside, n_outside = compared.n[:, 0].ravel(), compared.n[:, 1].ravel()
    few = int(judged.sum()) < 2
    test = compared.test
    matched = {
        "expected": compared.expected,
        "excess": compared.excess,
        "mh_odds_ratio": test.odds_ratio,
        "low": test.low,
        "high": test.high,
        "mh_chi2": test.chi2,
        "p_value": test.p_value,
        "ets_delta": compared.ets.delta,
        "ets_low": compared.ets.delta - compared.ets.reach,
        "ets_high": compared.ets.delta + compared.ets.reach,
        "p_small": compared.ets.p_small,
        **compared.logistic,
    }
    judge, subfield = (axis.ravel() for axis in np.indices(test.chi2.shape))
    by_row = zip(n_inside, test.chi2.ravel(), test.odds_ratio.ravel(), test.df.ravel(), strict=True)
    logistic = np.isnan(compared.logistic["logistic_p"].ravel())
    reasons = [
        _reason(
            *row, no_logistic=bool(none), few=few, unclear=bool(compared.unclear[s]), unweighted=compared.unweighted
        )
        for row, none, s in zip(by_row, logistic, subfield, strict=True)
    ]
    return {
        "judge": np.array(judges, dtype=object)[judge],
        "subfield": np.array(names, dtype=object)[subfield],
        "n": n_inside + n_outside,
        "n_inside": n_inside,
        "n_excluded": len(codes) - n_inside - n_outside,
        "n_unassigned": int((codes < 0).sum()),
        "n_strata": compared.n_strata.ravel(),
        "n_matching": compared.n_matching.ravel(),
        "n_clusters": _clusters_seen(value, codes, clusters)[judge],
        "accuracy_inside": compared.accuracy[:, 0].ravel(),
        "accuracy_outside": compared.accuracy[:, 1].ravel(),
        **{name: np.nan if few else values.ravel() for name, values in matched.items()},
        "reason": reasons,
    }


def _clusters_seen(value: FloatArray, codes: IntArray, clusters: Clusters) -> IntArray:
    used = np.isfinite(value) & (codes >= 0)
    seen = [len(np.unique(clusters.codes[row])) for row in used] if clusters.several else used.sum(axis=1)
    return np.array(seen, dtype=np.int64)


def _adjusted(p_value: FloatArray, counts: BoolArray, groups: IntArray, correction: str) -> tuple[FloatArray, IntArray]:
    """Adjusted p values and sizes of families; a row that does not count takes the value of the one before it."""
    adjusted, size = adjust_families(np.where(counts, p_value, np.nan), groups, correction)
    again = np.flatnonzero(~counts)
    adjusted[again] = adjusted[again - 1]
    return adjusted, size


def _reason(
    n_inside: float,
    chi2: float,
    odds_ratio: float,
    df: float,
    *,
    no_logistic: bool,
    few: bool,
    unclear: bool,
    unweighted: bool,
) -> str | None:
    if few:
        return NO_OTHERS
    if n_inside == 0:
        return NO_CASES
    alike = UNWEIGHTED if unweighted else ""
    if np.isnan(df):
        return join_reasons(FEW_CLUSTERS, alike)
    if np.isnan(chi2) and np.isnan(odds_ratio):
        return join_reasons(NOTHING_TO_COMPARE, alike)
    return join_reasons(
        NO_VARIANCE if np.isnan(chi2) else "",
        UNCLEAR if unclear else "",
        NO_ODDS if np.isnan(odds_ratio) else "",
        NO_LOGISTIC if no_logistic else "",
        alike,
    )
