"""How often judges are right against the gold labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.accuracy import reading
from mrb_lib.stats.accuracy.gold_agreement import gold_agreement, kappa_reason
from mrb_lib.stats.accuracy.mean_scores import Macro, Means, means
from mrb_lib.stats.core.options import BoolArray, FloatArray, join_reasons, mean_of_defined, typed, with_ends
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import Scores, encode_gold, excluded_reason, score
from mrb_lib.stats.core.subfields import By, Group, groups
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.resampling.resample import cluster_codes

NO_CASES = "no case can be scored"
_MACRO = ("n_subfields", *with_ends("macro_accuracy"))
COLUMNS = (
    "judge",
    "dimension",
    "subfield",
    "by",
    "policy",
    "n",
    "n_excluded",
    "n_unassigned",
    "n_clusters",
    "coverage",
    "accuracy",
    "low",
    "high",
    "standard_error",
    "df",
    "interval",
    *_MACRO,
    *with_ends("cohen_kappa"),
    "reason",
)
MORE = (
    "percentile_low",
    "percentile_high",
    "design_effect",
    "deff_low",
    "deff_high",
    "n_answered",
    "exact_accuracy",
    "precision_macro",
    "recall_macro",
    "f1_macro",
    "n_decisive",
    "decisive_accuracy",
)


def correctness(verdicts: pd.DataFrame, gold: pd.DataFrame, policy: str = "balanced") -> pd.DataFrame:
    """What each judge's verdicts on each case are worth: the rows behind `accuracy`.

    Parameters
    ----------
    verdicts : the verdicts table, of one probe
    gold : `case_id, dimension, choice`; a case without a row, or with a null, has no label
    policy : a scoring policy, see `mrb_lib.stats.core.scoring.score`

    Returns
    -------
    DataFrame
        One row a judge, case and dimension that has a verdict: `judge`, `case_id`,
        `dimension`, `score` (0 to 1; null where the policy excludes the case),
        `answered` (share of the verdicts read that have a choice; null where excluded
        for want of gold or rows), `reason` (why the score is null). By judge, dimension
        and case.

    Raises
    ------
    InputError
        The policy is unknown, or verdicts of several probes are mixed.
    """
    case_ids = pd.concat([gold["case_id"], verdicts["case_id"]], ignore_index=True).drop_duplicates(ignore_index=True)
    panel = as_panel(verdicts, case_ids)
    labels = encode_gold(gold, case_ids, panel.dimensions)
    scores = score(panel, labels, policy)
    judge, dimension, case = np.nonzero(scores.judged)
    value, answered = scores.score[scores.judged], scores.answered[scores.judged]
    has_gold, has_rows = labels[dimension, case] >= 0, np.isfinite(answered)
    reason = np.select(
        [~has_gold, ~has_rows],
        [excluded_reason(policy, False, False), excluded_reason(policy, True, False)],
        excluded_reason(policy, True, True),
    )
    return pd.DataFrame(
        {
            "judge": pd.Index(panel.judges, dtype="str").take(judge),
            "case_id": pd.Index(case_ids).take(case),
            "dimension": pd.Index(panel.dimensions, dtype="str").take(dimension),
            "score": value,
            "answered": answered,
            "reason": pd.Series(reason, dtype="str").where(np.isnan(value)),
        }
    )


@register_table(
    "accuracy",
    question="does a judge choose as the annotators do",
    columns=COLUMNS,
    more=MORE,
    meanings=reading.MEANINGS,
    sentence=reading.sentence,
)
def accuracy(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    policy: str = "balanced",
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Accuracy of each judge on each dimension, overall and by subfield, with intervals.

    Parameters
    ----------
    verdicts : the verdicts table, of one probe, or the panel of it
    gold : `case_id, dimension, choice`; a case without a row, or with a null, has no label
    cases : the cases table; every case that is not scored is counted as excluded
    policy : a scoring policy, see `mrb_lib.stats.core.scoring.score`
    by : a cases column to break down by, or `model_pair`; or several, see `mrb_lib.stats.core.subfields.groups`
    dimensions : the dimensions to report, in order; None reports all that were judged
    cluster : the cases column to resample by, see `mrb_lib.stats.resampling.clusters.resampling_unit`
    resamples, seed : of the cluster bootstrap; 0 resamples give no percentile intervals

    Returns
    -------
    DataFrame
        One row a judge and dimension it has a verdict on, overall (`subfield` null)
        and for every subfield:
        `n` cases scored; `n_excluded` cases of the benchmark or subfield that are not
        (no gold label, or no verdict of the kind the policy needs); `n_unassigned` cases
        in no subfield; `coverage` share of the verdicts that the policy reads which have
        a choice, averaged over the cases with gold and such verdicts, so that `answered`
        is seen beside what it leaves out; `accuracy` mean score over cases (micro), with its recommended 95% interval
        `low`, `high` over `n_clusters` clusters, and its cluster-robust `standard_error` with `df` degrees of freedom:
        clusters - 1 where they are of equal size, else fewer. `interval` names how the interval is made: "deff",
        Wilson's with n divided by the `design_effect` (the variance of the mean over clusters, over that of the same
        mean over independent cases; 1 without clusters) and few clusters allowed for, where the right or the wrong
        answers are worth fewer than 10 independent cases; else "t", by Student's t, where `df` is below 49 (see
        `mrb_lib.stats.resampling.robust.few_clusters`); else "percentile", the percentiles of the cluster bootstrap.
        `percentile_low`, `percentile_high`, `deff_low` and `deff_high` are in every row.
        In overall rows, where `by` is given: `macro_accuracy`, the unweighted mean over the
        `n_subfields` subfields with a scored case (of its first column, if there are several), `macro_accuracy_low`,
        `macro_accuracy_high` its percentile interval, so that a large subfield is not the whole story; the interval is
        null where a subfield lies in one cluster, and covers a little less than it says (92.6% in simulation) where
        subfields hold two.
        Over verdicts with a choice on cases that the policy can be applied to, orders and
        repeats pooled (under `official`: order AB, repeat 0): `cohen_kappa` with gold (null where gold or
        verdicts hold one category only, since it would be 0 whatever the verdicts) and its interval
        `cohen_kappa_low`, `cohen_kappa_high` by linearisation over clusters, `n_answered` verdicts,
        `exact_accuracy` the share with the gold label, `precision_macro`, `recall_macro`,
        `f1_macro` (see `mrb_lib.stats.accuracy.confusion.macro`); of these, `n_decisive` where
        neither verdict nor gold is a tie, and `decisive_accuracy` among them.
        `reason` says why a value is null, or why an interval has no width.

    Raises
    ------
    InputError
        An option is unknown, `by` or `cluster` cannot be used, a verdict is about an
        unknown case, or verdicts of several probes are mixed.

    Notes
    -----
    Sources of the intervals: `mrb_lib.stats.resampling.intervals`. With few cases or an accuracy near 0 or 1
    percentiles cover too little, and have no width where all cases are right; the design-effect interval does not, and
    has. Published values: `tests/published/test_pandalm.py`, `test_llmfao.py`,
    `test_llmbar.py`. Coverage of the intervals: `tests/simulation/test_coverage.py`.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    labels = encode_gold(gold, cases["case_id"], panel.dimensions)
    scores = score(panel, labels, policy)
    parts = groups(cases, by)
    judged: BoolArray = np.asarray(scores.judged.any(axis=2))
    codes = cluster_codes(cases, cluster)
    estimates, macro = means(scores.score[judged].T, parts, codes, resamples=resamples, seed=seed)
    answers = gold_agreement(panel, labels, parts, policy, np.isfinite(scores.answered), codes)
    frames = [
        _frame(panel, scores, judged, part, each, {name: values[judged] for name, values in columns.items()})
        for part, each, columns in zip(parts, estimates, answers, strict=True)
    ]
    frames[0] = _with_macro(frames[0], macro)
    full = pd.concat(frames, ignore_index=True).assign(policy=policy)
    return typed(full, [*COLUMNS, *MORE], n_subfields="Int64")


def _with_macro(whole: pd.DataFrame, macro: Macro | None) -> pd.DataFrame:
    """The overall rows with the means over subfields."""
    if macro is None:
        return whole.assign(**dict.fromkeys(_MACRO, np.nan))
    columns = dict(zip(_MACRO, (macro.number, macro.value, macro.low, macro.high), strict=True))
    reasons = [join_reasons(own, more) for own, more in zip(whole["reason"].fillna(""), macro.reason, strict=True)]
    return whole.assign(**columns, reason=pd.Series(reasons, index=whole.index, dtype="str"))


def _frame(
    panel: Panel,
    scores: Scores,
    judged: BoolArray,
    part: Group,
    estimates: Means,
    answers: Mapping[str, FloatArray],
) -> pd.DataFrame:
    """The rows of one group of cases, from what `means` and `gold_agreement` say of it."""
    answered = scores.answered[:, :, part.cases][judged]
    kappa, low = answers["cohen_kappa"], answers["cohen_kappa_low"]
    each = zip(estimates.n, estimates.reason, answers["n_answered"], kappa, low, strict=True)
    return pd.DataFrame(
        {
            **panel.names(np.flatnonzero(judged)),
            **part.label(),
            "n": estimates.n,
            "n_excluded": len(part.cases) - estimates.n,
            "n_clusters": estimates.clusters,
            "coverage": mean_of_defined(answered)[:, 0],
            "accuracy": estimates.value,
            "low": estimates.recommended.low,
            "high": estimates.recommended.high,
            "standard_error": estimates.ends.error,
            "df": estimates.ends.df,
            "interval": estimates.method,
            "percentile_low": estimates.ends.percentile.low,
            "percentile_high": estimates.ends.percentile.high,
            "design_effect": estimates.ends.design_effect,
            "deff_low": estimates.ends.deff.low,
            "deff_high": estimates.ends.deff.high,
            **answers,
            "reason": [
                join_reasons("" if n else NO_CASES, reason, kappa_reason(n_answered, value, end))
                for n, reason, n_answered, value, end in each
            ],
        }
    )
