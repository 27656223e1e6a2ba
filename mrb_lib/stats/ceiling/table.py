"""How well people do by the standard that judges are held to, and how far judges are from it."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from mrb_lib.stats.annotators import encode_annotations
from mrb_lib.stats.ceiling import reading
from mrb_lib.stats.ceiling.alttest import EPSILON, alt_test_rows
from mrb_lib.stats.ceiling.annotators import absence, annotator_rows, leave_one_out
from mrb_lib.stats.ceiling.judges import judge_rows, labels_by_policy
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.table import Option, register_table
from mrb_lib.stats.options import check_policy, typed, with_ends
from mrb_lib.stats.resampling.resample import cluster_codes
from mrb_lib.stats.subfields import By, groups
from mrb_lib.tables.schema import CHOICES

COLUMNS = [
    "dimension",
    "part",
    "judge",
    "annotator",
    "subfield",
    "by",
    "policy",
    "n",
    "n_excluded",
    "n_unassigned",
    "accuracy",
    "low",
    "high",
    "ceiling",
    *with_ends("difference"),
    "verdict",
    "representative",
    "winning_rate",
    *with_ends("advantage_probability"),
    "annotator_probability",
    "epsilon",
    "passes",
    "least_epsilon",
    "p_value",
    "p_adjusted",
    "correction",
    "n_annotators",
    "n_items",
    "reason",
]
_OTHERS = {"passes": "boolean", "representative": "boolean", "verdict": "str"}


@register_table(
    "ceiling",
    question="how well does one annotator predict the others, and could a judge stand in for one",
    columns=COLUMNS,
    needs_verdicts=False,
    options={
        "epsilon": Option("the cost-benefit penalty of the alternative annotator test", least=0, below=1),
        "null_disagrees": Option(
            "in that test, 1 counts a verdict without a choice against the judge; 0 leaves it out", is_switch=True
        ),
    },
    meanings=reading.MEANINGS,
    headline=("accuracy", "difference", "passes"),
    sentence=reading.sentence,
)
def ceiling(
    verdicts: pd.DataFrame | Panel | None,
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    categories: Sequence[str] = CHOICES,
    policy: str = "balanced",
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    level: str = "nominal",
    epsilon: float = EPSILON,
    null_disagrees: float = 0,
    correction: str = "by",
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """How well annotators agree with each other's majority, how near judges come, and whether one may stand in for one.

    Parameters
    ----------
    verdicts : the verdicts table or its panel; None or without judges gives the annotators' rows alone
    annotations, cases, categories : as in `mrb_lib.stats.annotators.encode_annotations`
    policy, by, dimensions, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`
    level, epsilon, correction : of the alternative annotator test, see `mrb_lib.stats.ceiling.alttest.alt_test_rows`
    null_disagrees : whether, in that test, a verdict without a choice agrees with nobody (1), or is left out (0) as by
        its authors, which a judge gains by that is silent on hard cases: compare `n_excluded`

    Returns
    -------
    DataFrame
        Columns that a row's kind does not have are null; `part` says the kind.

        "annotator", one a dimension, group of cases and annotator, and one for the annotator "mean", the unweighted
        mean of the rows above it: `accuracy` against the majority of the other annotators with the 95% interval
        `low`, `high` of the cluster bootstrap, `n` cases scored (of "mean", for any annotator), `n_excluded` annotated
        cases without two other annotators, or whose most frequent label among the others is shared by two labels,
        `n_unassigned`, `representative` (false on fewer than 30 cases or under half of the annotated ones: such a level
        is no standard for judges), `reason`. Where a dimension has fewer than three annotators there is one row "mean"
        with nulls and the reason.
        "judge", one a dimension, group of cases and judge: `accuracy` of the judge against the very labels that
        the annotators are held to (for each annotator the majority of the others), by the same policy, on
        the cases it is scored on, the mean over annotators, with `low`, `high`; `ceiling`, the mean accuracy of the
        annotators on those same cases; `difference`, the one minus the other, with the paired interval
        `difference_low`, `difference_high` of the same draws, or by Student's t where clusters are few; `verdict`,
        where that interval lies: "below" or "above" the annotators, or "within" their range where it holds zero (which
        does not show judge and annotator equal);
        null, and `representative` false, on fewer than 30 cases or under half of those judged; `n` cases, `n_excluded`
        cases with a verdict that cannot be scored, `n_unassigned`, `reason`.
        "alt_test", "alt_test_sweep" and "alt_test_annotator", over all cases: see
        `mrb_lib.stats.ceiling.alttest.alt_test_rows`; which of a judge's verdicts count is
        `mrb_lib.stats.ceiling.judges.labels_by_policy`.

    Raises
    ------
    InputError
        As in `mrb_lib.stats.annotators`, the policy is unknown, or an option of the test is out of range.

    Notes
    -----
    The rows "judge" say how far a judge is from the mean annotator; the test, whether it is worse than most of them by
    less than epsilon. A judge can pass and yet lie wholly below the annotators: the test allows for what they cost.
    A judge's accuracy here differs from the table `accuracy`: a label that one annotator had no part in is
    less reliable than the gold label, for people and judges alike, and only so can the two be compared.
    Validated in `tests/stats/ceiling/test_ceiling.py`; the test's own validation is named with it.
    """
    check_policy(policy)
    coded = encode_annotations(annotations, cases, categories, dimensions)
    codes, subsets = cluster_codes(cases, cluster), groups(cases, by)
    held = [leave_one_out(coded, i, len(cases), categories, policy) for i in range(len(coded.dimensions))]
    absences = [absence(coded, i, item) for i, item in enumerate(held)]
    rows = annotator_rows(coded, held, absences, subsets, codes, resamples=resamples, seed=seed)
    panel = None if verdicts is None else as_panel(verdicts, cases["case_id"], coded.dimensions)
    if panel is not None and panel.judges:
        rows += judge_rows(panel, held, absences, subsets, codes, categories, policy, resamples=resamples, seed=seed)
        labels = labels_by_policy(panel, categories, policy, null_disagrees=bool(null_disagrees))
        rows += alt_test_rows(
            panel.judges,
            *labels,
            coded,
            codes,
            categories,
            level=level,
            epsilon=epsilon,
            correction=correction,
            resamples=resamples,
            seed=seed,
        )
    return typed(pd.DataFrame(rows).assign(policy=policy), COLUMNS, counts="Int64", **_OTHERS)
