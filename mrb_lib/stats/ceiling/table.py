"""How well people do by the standard that judges are held to, and how far judges are from it."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from mrb_lib.schema import CHOICES
from mrb_lib.stats.agreement.labels import encode_annotations
from mrb_lib.stats.ceiling import alttest
from mrb_lib.stats.ceiling.annotators import absence, annotator_ceiling, leave_one_out
from mrb_lib.stats.ceiling.judges import judge_rows, labels_by_policy
from mrb_lib.stats.core.options import typed, with_ends
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.subfields import By, groups
from mrb_lib.stats.core.table import Option, register_table
from mrb_lib.stats.resampling.resample import cluster_codes

ANNOTATOR = "annotator"
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
    "winning_rate",
    *with_ends("advantage_probability"),
    "annotator_probability",
    "epsilon",
    "passes",
    "p_value",
    "p_adjusted",
    "correction",
    "n_annotators",
    "n_items",
    "reason",
]


@register_table(
    "ceiling",
    question="how well does one annotator predict the others, and could a judge stand in for one",
    columns=COLUMNS,
    needs_verdicts=False,
    options={"epsilon": Option("the cost-benefit penalty of the alternative annotator test", least=0, below=1)},
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
    epsilon: float = 0.15,
    correction: str = "by",
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """How well annotators agree with each other's majority, how near judges come, and whether one may stand in for one.

    Parameters
    ----------
    verdicts : the verdicts table or its panel; None or without judges gives the annotators' rows alone
    annotations, cases, categories, policy, by, dimensions, cluster, resamples, seed : as in `annotator_ceiling`
    level, epsilon, correction : of the alternative annotator test, see
        `mrb_lib.stats.ceiling.alternative_annotator`

    Returns
    -------
    DataFrame
        Columns that a row's kind does not have are null; `part` says the kind.

        "annotator": see `annotator_ceiling`.
        "judge", one a dimension, group of cases and judge: `accuracy` of the judge against the very labels that
        the annotators are held to (for each annotator the majority of the others), by the same policy, on
        the cases it is scored on, the mean over annotators, with `low`, `high`; `ceiling`, the mean accuracy of the
        annotators on those same cases; `difference`, the one minus the other, with the paired interval
        `difference_low`, `difference_high` of the same draws; `n` cases, `n_excluded` cases with a verdict that
        cannot be scored, `n_unassigned`, `reason`.
        "alt_test" and "alt_test_annotator", over all cases: see `mrb_lib.stats.ceiling.alternative_annotator`;
        which of a judge's verdicts count is `mrb_lib.stats.ceiling.judges.labels_by_policy`.

    Raises
    ------
    InputError
        As in `annotator_ceiling`, or an option of the test is out of range.

    Notes
    -----
    A judge's accuracy here differs from the table `accuracy`: a label that one annotator had no part in is
    less reliable than the gold label, for people and judges alike, and only so can the two be compared.
    Validated in `tests/stats/ceiling/test_ceiling.py`; the test's own validation is named with it.
    """
    people = annotator_ceiling(
        annotations,
        cases,
        categories=categories,
        policy=policy,
        by=by,
        dimensions=dimensions,
        cluster=cluster,
        resamples=resamples,
        seed=seed,
    ).assign(part=ANNOTATOR)
    frames = [people]
    coded = encode_annotations(annotations, cases, categories, dimensions)
    panel = None if verdicts is None else as_panel(verdicts, cases["case_id"], coded.dimensions)
    if panel is not None and panel.judges:
        codes = cluster_codes(cases, cluster)
        held = [leave_one_out(coded, i, len(cases), categories, policy) for i in range(len(coded.dimensions))]
        absences = [absence(coded, i, item) for i, item in enumerate(held)]
        judges = judge_rows(
            panel, held, absences, groups(cases, by), codes, categories, policy, resamples=resamples, seed=seed
        )
        options = alttest.Options(level, epsilon, correction, resamples, seed)
        labels, present = labels_by_policy(panel, categories, policy)
        tests = alttest.alt_test_rows(panel.judges, labels, present, coded, codes, categories, options)
        frames += [pd.DataFrame(judges), tests.assign(policy=policy)]
    shown = [frame.reindex(columns=COLUMNS) for frame in frames]
    return typed(pd.concat(shown, ignore_index=True), COLUMNS, counts="Int64", passes="boolean")
