"""How often judges are right against the gold labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.accuracy.decisive import (
    NO_DECISIVE,
    ONE_SIDE,
    RARE_SIDE,
    RATINGS,
    SAME,
    above_constant,
    decisive,
    paired,
    tie_shares,
)
from mrb_lib.stats.accuracy.gold_agreement import gold_agreement, kappa_reasons
from mrb_lib.stats.accuracy.mean_scores import Macro, Means, means
from mrb_lib.stats.accuracy.references import with_references
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import Scores, encode_gold, excluded_reason, score
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, join_reasons, mean_of_defined, typed, with_ends
from mrb_lib.stats.resampling.resample import cluster_codes
from mrb_lib.stats.subfields import By, Group, groups
from mrb_lib.tables.schema import CHOICES

NO_CASES = "no case can be scored"
TIES_MORE = "calls {} of its choices a tie, the annotators {} of their labels on these cases"
JUDGE, REFERENCE = "judge", "reference"
_MACRO = ("n_subfields", *with_ends("macro_accuracy"))
COLUMNS = (
    "judge",
    "dimension",
    "subfield",
    "by",
    "policy",
    "rank",
    "n",
    "n_excluded",
    "n_seen",
    "n_unassigned",
    "n_clusters",
    "coverage",
    "accuracy",
    "low",
    "high",
    "standard_error",
    "df",
    "interval",
    *with_ends("decisive_accuracy"),
    "decisive_coverage",
    *with_ends("above_constant"),
    "tie_share",
    "annotator_tie_share",
    "kind",
    "label",
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
    "n_decided",
    "decided_accuracy",
)


def correctness(
    verdicts: pd.DataFrame, gold: pd.DataFrame, policy: str = "balanced", categories: Sequence[str] = CHOICES
) -> pd.DataFrame:
    """What each judge's verdicts on each case are worth: the rows behind `accuracy`.

    Parameters
    ----------
    verdicts : the verdicts table, of one probe
    gold : `case_id, dimension, choice`; a case without a row, or with a null, has no label
    policy : a scoring policy, see `mrb_lib.stats.core.scoring.score`
    categories : what a verdict may choose

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
    panel = as_panel(verdicts, case_ids, None, categories)
    labels = encode_gold(gold, case_ids, panel.dimensions, panel.categories)
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


def accuracy(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    annotations: pd.DataFrame | None = None,
    offered: Sequence[str] = (),
    references: float = 1,
    policy: str = "balanced",
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Accuracy of each judge on each dimension, overall and by subfield, with intervals, above the references.

    Parameters
    ----------
    verdicts : the verdicts table, of one probe, or the panel of it
    gold : `case_id, dimension, choice`; a case without a row, or with a null, has no label
    cases : the cases table; every case that is not scored is counted as excluded
    annotations : the annotations table, whose share of ties is compared with the judges'; None leaves it null
    offered : the labels that a judge may give, of which the references are made; without any there are none, and
        `above_constant` is null
    references : 0 leaves the rows of the references out
    policy : a scoring policy, see `mrb_lib.stats.core.scoring.score`
    by : a cases column to break down by, or `model_pair`; or several, see `mrb_lib.stats.subfields.groups`
    dimensions : the dimensions to report, in order; None reports all that were judged
    cluster : the cases column to resample by, see `mrb_lib.stats.clusters.resampling_unit`
    resamples, seed : of the cluster bootstrap; 0 resamples give no percentile intervals

    Returns
    -------
    DataFrame
        One row a judge and dimension it has a verdict on, overall (`subfield` null)
        and for every subfield, and below the judges of each dimension the references (`kind` "judge" or "reference",
        see `mrb_lib.stats.accuracy.references.with_references`), of which constants name the `label` they give.
        Rows are ordered by `rank`, from 1: by `decisive_accuracy`, where that is equal or null by `accuracy`; equal
        judges share the better rank, references have none.
        `n` cases scored; `n_excluded` cases of the benchmark or subfield that are not
        (no gold label, no verdict of the kind the policy needs, or trained on); `n_seen` those of them whose verdicts
        are left out since the judge was trained on them; `n_unassigned` cases
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
        `decisive_accuracy`, under every policy: on the `n_decisive` cases whose gold is A or B, 1 for the gold choice,
        1/2 for a tie, 0 else, a mean over the verdicts read (under `answered`, over those with a choice); then the mean
        of its means where gold is A and where gold is B, so that every constant and a coin earn exactly 1/2, whatever
        the gold labels. Wilson's interval with the design effect: `decisive_accuracy_low`, `decisive_accuracy_high`;
        null where gold names one of the sides in fewer than five clusters.
        `decisive_coverage` is the share of these verdicts that name a winner. `above_constant`: `accuracy` minus
        that of the constant with the highest accuracy under the policy on the dimension (reference "best constant"),
        paired by case, with its t interval over clusters. `tie_share` and `annotator_tie_share`: the shares of ties
        among the judge's choices and among the annotators' labels, means over the cases that have both; `reason` names
        a judge that is shown to tie more (95%, t over clusters).
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
        `f1_macro` (see `mrb_lib.stats.accuracy.confusion.macro`); of these, `n_decided` where
        neither verdict nor gold is a tie, and `decided_accuracy` among them.
        Of ratings, `accuracy` is the share of exact categories, the references are constants of each category, and
        what is about A, B and ties is null.
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
    labels = encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories)
    n_judges = len(panel.judges)
    panel, constants = with_references(panel, labels, cases, offered, policy)
    scores = score(panel, labels, policy)
    parts = groups(cases, by)
    judged = panel.takes_part()
    codes = cluster_codes(cases, cluster)
    estimates, macro = means(scores.score[judged].T, parts, codes, resamples=resamples, seed=seed)
    applies = np.isfinite(scores.answered)
    saw = panel.saw()
    answers = gold_agreement(panel, labels, parts, policy, applies, codes)
    sides = decisive(panel, labels, parts, policy, applies, codes)
    above = [
        dict(zip(with_ends("above_constant"), each, strict=True))
        for each in above_constant(panel, scores.score, parts, codes)
    ]
    ties = _ties(
        panel, annotations if panel.tie >= 0 and "tie" in offered else None, cases["case_id"], policy, parts, codes
    )
    each = [
        _columns(scores, judged, part, own)
        | {"n_seen": saw[:, :, part.cases].sum(axis=2)[judged]}
        | {name: values[judged] for group in more for name, values in group.items()}
        for part, own, *more in zip(parts, estimates, answers, sides, above, ties, strict=True)
    ]
    labels_of = pd.DataFrame([part.label() for part in parts], columns=["by", "subfield", "n_unassigned"])
    rows = labels_of.loc[labels_of.index.repeat(int(judged.sum()))].rename_axis("group").reset_index()
    cells = np.tile(np.flatnonzero(judged), len(parts))
    is_judge = cells < n_judges * len(panel.dimensions)
    values = {
        **panel.names(cells),
        "kind": np.where(is_judge, JUDGE, REFERENCE),
        "label": np.tile(constants[judged], len(parts)),
        **{name: np.concatenate([own[name] for own in each]) for name in each[0]},
    }
    rows = pd.concat([rows, pd.DataFrame(values)], axis=1)
    rows = _with_macro(rows.assign(reason=_reasons(rows, bool(offered), panel.categories != CHOICES)), macro)
    full = _ranked(rows, panel.dimensions).assign(policy=policy)
    if not references:
        full = full[full["kind"] == JUDGE]
    return typed(full.reset_index(drop=True), [*COLUMNS, *MORE], kind="str", rank="Int64", n_subfields="Int64")


def _ranked(rows: pd.DataFrame, dimensions: Sequence[str]) -> pd.DataFrame:
    """The rows in order: by group and dimension, judges by rank and name, then references as they come."""
    is_judge = (rows["kind"] == JUDGE).to_numpy()
    is_ranked = is_judge & rows["accuracy"].notna().to_numpy()
    place = rows["dimension"].map({name: i for i, name in enumerate(dimensions)}).to_numpy()
    cell = rows["group"].to_numpy() * len(dimensions) + place
    measures = [rows[name].fillna(-np.inf).to_numpy() for name in ("decisive_accuracy", "accuracy")]
    keys = [cell, *(np.where(is_ranked, -values, 0.0) for values in measures)]
    name, _ = pd.factorize(rows["judge"].where(is_judge, ""), sort=True)
    order = np.lexsort((name, *keys[:0:-1], ~is_ranked, ~is_judge, cell))

    def first_alike(*keys: NDArray[Any]) -> IntArray:
        """Of each row in order, where the rows begin that have its keys."""
        differs = np.any([each[order][1:] != each[order][:-1] for each in keys], axis=0)
        return np.maximum.accumulate(np.where(np.append(True, differs), np.arange(len(order)), 0))

    rank = np.where(is_ranked[order], 1.0 + first_alike(*keys) - first_alike(cell), np.nan)
    return rows.iloc[order].assign(rank=rank)


def _ties(
    panel: Panel,
    annotations: pd.DataFrame | None,
    case_ids: pd.Series,
    policy: str,
    parts: Sequence[Group],
    codes: IntArray,
) -> list[dict[str, FloatArray]]:
    """The shares of ties of judges and annotators, and the least by which the judge's is larger, a dict a group."""
    names = ("tie_share", "annotator_tie_share", "more_ties")
    if annotations is None:
        return [dict.fromkeys(names, np.full(panel.shape[:2], np.nan))] * len(parts)
    own, theirs = tie_shares(panel, annotations, case_ids, policy)
    both = np.isfinite(own) & np.isfinite(theirs)
    kept = [np.where(both, values, np.nan).reshape(-1, len(codes)) for values in (own, theirs)]
    shape = own.shape[:2]
    return [
        {
            **{
                name: mean_of_defined(values[:, part.cases]).reshape(shape)
                for name, values in zip(names, kept, strict=False)
            },
            "more_ties": low,
        }
        for part, (_, low, _) in zip(parts, paired(own, theirs, parts, codes), strict=True)
    ]


def _with_macro(rows: pd.DataFrame, macro: Macro | None) -> pd.DataFrame:
    """The rows, of which the overall ones come first, with the means over subfields in these."""
    if macro is None:
        return rows.assign(**dict.fromkeys(_MACRO, np.nan))
    own = pd.DataFrame(dict(zip(_MACRO, (macro.number, macro.value, macro.low, macro.high), strict=True)))
    whole = zip(rows["reason"].iloc[: len(own)].fillna(""), macro.reason, strict=True)
    reasons = [*(join_reasons(*both) for both in whole), *rows["reason"].iloc[len(own) :]]
    return rows.join(own).assign(reason=pd.Series(reasons, index=rows.index, dtype="str"))


def _columns(scores: Scores, judged: BoolArray, part: Group, estimates: Means) -> dict[str, NDArray[Any]]:
    """The columns of one group of cases that come from its mean scores."""
    return {
        "n": estimates.n,
        "n_excluded": len(part.cases) - estimates.n,
        "n_clusters": estimates.clusters,
        "coverage": mean_of_defined(scores.answered[:, :, part.cases][judged])[:, 0],
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
        "reason": np.array(estimates.reason, dtype=object),
    }


def _reasons(frame: pd.DataFrame, has_constants: bool, are_ratings: bool) -> pd.Series:
    """Why a value of each row is null, and whether the judge ties more than the annotators do."""
    scored = frame["n"] > 0
    no_side = np.select([are_ratings, frame["n_decisive"] == 0], [RATINGS, NO_DECISIVE], ONE_SIDE)
    shares = zip(frame["tie_share"], frame["annotator_tie_share"], frame["more_ties"], strict=True)
    ties = [TIES_MORE.format(f"{own:.0%}", f"{theirs:.0%}") if more > 0 else "" for own, theirs, more in shares]
    each = (
        np.where(scored, "", NO_CASES),
        frame["reason"].to_numpy(),
        kappa_reasons(frame["n_answered"], frame["cohen_kappa"], frame["cohen_kappa_low"]),
        np.where(scored & frame["decisive_accuracy"].isna(), no_side, ""),
        np.where(frame["decisive_accuracy"].notna() & frame["decisive_accuracy_low"].isna(), RARE_SIDE, ""),
        np.where(scored & has_constants & frame["above_constant_low"].isna(), SAME, ""),
        ties,
    )
    reasons = np.full(len(frame), None, dtype=object)
    some = np.flatnonzero(np.any([np.asarray(column) != "" for column in each], axis=0))
    reasons[some] = [join_reasons(*(column[i] for column in each)) for i in some.tolist()]
    return pd.Series(reasons, index=frame.index, dtype="str")
