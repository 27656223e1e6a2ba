"""What makes a verdict right: the judge, the subfield, the order, the longer response, or knowing the answer."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.models import reading
from mrb_lib.stats.models.knowledge import knowledge
from mrb_lib.stats.models.model_rows import ALL, all_judges, each_judge
from mrb_lib.stats.models.observations import Observations, counts, log_length_ratio
from mrb_lib.stats.models.terms import Covariates
from mrb_lib.stats.multiplicity import CORRECTIONS, FAMILIES, adjust_families
from mrb_lib.stats.options import BoolArray, IntArray, check_choice, check_policy, typed, with_ends
from mrb_lib.stats.resampling.resample import cluster_codes
from mrb_lib.stats.subfields import By, columns_of, subfield_values
from mrb_lib.tables.schema import CHOICES

DEFAULT_BY = "department"
NO_VERDICTS = "no verdict on a case with a decisive gold label"
COLUMNS = [
    "dimension", "part", "model", "judge", "answered_by", "term", "level", "by", "policy", "n", "n_clusters",
    "n_excluded", "n_gold_tie", "n_right", "n_wrong", "n_unscored", "n_seen",
    "estimate", "se", "low", "high", "p_value", "p_adjusted", "correction", "family", "family_scope", "marginal_effect",
    "marginal_effect_low", "marginal_effect_high", *with_ends("accuracy_right", "accuracy_wrong", "difference"),
    "difference_se", "statistic", "df", "reason",
]  # fmt: skip
MORE = ("se", "difference_se")
_LOG = logging.getLogger(__name__)
_TEXT = dict.fromkeys(("part", "model", "answered_by", "term", "level", "policy", "correction", "family_scope"), "str")
_OF_KNOWLEDGE = dict.fromkeys(("n_right", "n_wrong", "n_unscored", "n_seen"), "Int64")
"""Counts that are null in all other rows."""


@register_table(
    "models",
    question="what does correctness depend on: judge, subfield, order, length, knowing the answer",
    columns=[name for name in COLUMNS if name not in MORE],
    more=MORE,
    meanings=reading.MEANINGS,
    headline=("marginal_effect", "difference", "accuracy_right", "accuracy_wrong"),
    sentence=reading.sentence,
    why_no_ratings="",
    with_marks=("judge_groups", "policy", "resamples", "seed"),
)
def models(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    judge_groups: pd.DataFrame | None = None,
    *,
    marks: pd.DataFrame | None = None,
    policy: str = "balanced",
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    correction: str = "holm",
    family: str = "dimension",
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Regress the correctness of every verdict on judge, subfield, order and length difference.

    Where it is known which items the judges' own models answer right, also compare accuracy on these with that on items
    that they answer wrong.

    A verdict (one judge, case, order and repeat) is right (1) if its choice is the gold label; a tie or a
    missing choice is wrong (0). Cases whose gold label is a tie are left out and counted: neither which
    response is shown first nor which is longer can favour a tie.

    Parameters
    ----------
    verdicts : the verdicts table of one probe, or a panel
    gold : `case_id, dimension, choice`
    cases : the cases table; lengths are those of its responses, in characters
    judge_groups, policy, resamples, seed : for part "knowledge" alone, see `mrb_lib.stats.models.knowledge.knowledge`;
        of judges that no group names the model is told from the name
    marks : which model answered which item right, for part "knowledge"; None where no model answered, which gives no
        such rows
    by : the cases column that is the subfield, or `model_pair`; None takes `department` where the cases
        have it, and otherwise no subfield; of several columns each has models of its own
    dimensions : the dimensions to report, in order; None reports all that were judged
    cluster : the cases column over which the robust covariance sums, see
        `mrb_lib.stats.clusters.resampling_unit`; verdicts on one case are always together
    correction : for the number of tests, see `mrb_lib.stats.multiplicity.adjust`
    family : which tests are corrected together: those of one part and model on one dimension (and column `by`), or on
        all

    Returns
    -------
    DataFrame
        One row a term and level. `part`: "all judges" (one model of all verdicts; first by `model` "gee",
        the marginal model with an exchangeable working correlation within a case, then by "mixed", with
        normal random intercepts for each case and for each judge on a case); "one judge" (gee, independence:
        the model of one `judge`, which is the model of all judges with every interaction with judge);
        "interaction" (whether a term differs between judges, see
        `mrb_lib.stats.models.model_tests.interactions`: `statistic` the mean square of what the judges' verdicts
        leave over in units of their cluster-robust standard errors, 1 on average by chance; `df` the contrasts
        tested; `reason` counts the verdicts that are uninformative); "knowledge" (of one judge, accuracy where
        its own model answers the item right and where it does not, by `policy`, see
        `mrb_lib.stats.models.knowledge.knowledge`; its `n` counts cases).
        `term`, `level`: "judge" and "subfield", each level against the mean of all levels with five
        clusters or more, equally weighted (sum-to-zero coding); "order", shown BA rather than AB; "gold_first",
        the gold response shown first rather than second (position bias); "length_difference", per standard
        deviation of the log length ratio by which the gold response is the longer one (length bias; its zero is
        equal length); "intercept", the mean over levels at equal length and averaged orders;
        "working_correlation", "case_sd" and "judge_case_sd", the dependence of verdicts on a case and of one
        judge's verdicts on it; the last is null, with its `reason`, where no judge has two verdicts on a case, or
        they differ too seldom to fit it.
        Ratings of one response have no "order", "gold_first" and "length_difference".
        `n` verdicts and `n_clusters` clusters that the row rests on; `n_excluded` cases that are in no model
        (no gold label, a gold tie, no verdict, no subfield, a response missing), `n_gold_tie` of them ties.
        `estimate` log odds ratio with `se`, 95% interval `low`, `high` and two-sided `p_value`; `p_adjusted` by
        `correction` for the `family` tests made in `family_scope` (null where no test was made);
        `marginal_effect` the same contrast in probability, averaged over the verdicts as they are (and over the
        random intercepts), with its interval by the delta method. All are cluster-robust.
        `reason` says why a value is null.

    Raises
    ------
    InputError
        `by` or `cluster` cannot be used, or the verdicts cannot be read, see `as_panel`.

    Notes
    -----
    The gee is fitted by statsmodels, about two seconds a dimension at the size of the published benchmark; the logger
    of this module says at level INFO what is being fitted. Intervals use Student's t with as many degrees of freedom
    as there are clusters less the covariates that belong to cases; the sandwich of gee is that of Mancl and DeRouen
    (2001). Coefficients of "mixed" hold within a case and judge and are larger than those of "gee", which average over
    cases; their marginal effects can be compared. Where "mixed" is without "judge_case_sd" it takes a judge's verdicts
    on a case as independent given the case, which its robust `se` makes up for.
    A "subfield" row of one judge mixes how hard the subfield is with how the judge does there: see
    `mrb_lib.stats.difficulty.dif_table`. Rows of part "knowledge" mix knowing the answer with the item being easy:
    items that a model answers right may be easier to judge too, so compare judges for whom other items are right.
    Published fits: `tests/published/test_gee.py`; coverage, size and planted effects:
    `tests/simulation/test_models.py`, of knowledge `tests/stats/models/test_knowledge.py`.
    """
    check_choice("correction", correction, CORRECTIONS)
    check_choice("family", family, FAMILIES)
    check_policy(policy)
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    labels = encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories)
    by_default = DEFAULT_BY if DEFAULT_BY in cases.columns and cases[DEFAULT_BY].notna().any() else None
    columns: list[str | None] = [*columns_of(by)] or [by_default]
    codes = cluster_codes(cases, cluster)
    rows: list[dict[str, object]] = []
    for column in columns:
        shared = _Shared(cases, column, codes, panel.categories != CHOICES)
        for name, label in zip(panel.dimensions, labels, strict=True):
            _LOG.info("models: %s by %s, %d judges", name, column or "no subfield", len(panel.judges))
            rows.extend(
                {"dimension": name, "by": column, **row}
                for row in _dimension(panel.of_dimensions([name]), label, shared)
            )
    if marks is not None:
        groups = pd.DataFrame(columns=["judge", "model"]) if judge_groups is None else judge_groups
        rows.extend(
            knowledge(panel, labels, cases, codes, groups, marks, policy=policy, resamples=resamples, seed=seed)
        )
    frame = pd.DataFrame(rows, columns=COLUMNS).assign(correction=correction, family_scope=family)
    together = ["part", "model", *(["by", "dimension"] if family == "dimension" else [])]
    families = np.asarray(frame.groupby(together, dropna=False).ngroup(), dtype=np.int64)
    p_values = frame["p_value"].to_numpy(np.float64)
    frame["p_adjusted"], frame["family"] = adjust_families(p_values, families, correction)
    plain = typed(frame, [name for name in COLUMNS if name not in _TEXT], **_OF_KNOWLEDGE)
    return plain.join(frame[list(_TEXT)].astype(_TEXT))[COLUMNS]


class _Shared:
    """What all dimensions share: the subfields, the lengths and the clusters of the cases."""

    def __init__(self, cases: pd.DataFrame, by: str | None, codes: IntArray, are_ratings: bool) -> None:
        self.codes, self.are_ratings = codes, are_ratings
        self.longer_a = np.full(len(cases), np.nan) if are_ratings else log_length_ratio(cases)
        self.names: list[str] = []
        self.subfield: IntArray = np.zeros(len(cases), dtype=np.int64)
        if by is not None:
            subfields, names = pd.factorize(subfield_values(cases, by), sort=True)
            self.subfield, self.names = subfields.astype(np.int64), [str(name) for name in names]

    def usable(self) -> BoolArray:
        """Cases with a subfield and lengths, where there are any."""
        assigned: BoolArray = self.subfield >= 0
        return assigned & np.isfinite(self.longer_a) if np.isfinite(self.longer_a).any() else assigned

    def covariates(self, kept: IntArray, label: IntArray) -> Covariates:
        one_hot = (self.subfield[kept][:, None] == np.arange(len(self.names))).astype(np.float64)
        if self.are_ratings:
            return Covariates(self.names, one_hot, None, None)
        sign = np.where(label == 0, 1.0, -1.0)
        longer = self.longer_a[kept] * sign if np.isfinite(self.longer_a).any() else None
        return Covariates(self.names, one_hot, sign, longer)


def _dimension(panel: Panel, label: IntArray, shared: _Shared) -> list[dict[str, object]]:
    n_correct, n_trials = counts(panel, label)
    kept = np.flatnonzero((n_trials.sum(axis=(0, 1)) > 0) & shared.usable())
    ties = int((label == panel.tie).sum()) if panel.tie >= 0 else 0
    excluded = {"n_excluded": len(label) - len(kept), "n_gold_tie": ties}
    if not len(kept):
        return [
            {"part": ALL, "model": model, "n": 0, "n_clusters": 0, **excluded, "reason": NO_VERDICTS}
            for model in ("gee", "mixed")
        ]
    codes = np.unique(shared.codes[kept], return_inverse=True)[1].astype(np.int64)
    covariates = shared.covariates(kept, label[kept])
    data = Observations(n_correct.take(kept, axis=2), n_trials.take(kept, axis=2), codes)
    rows = [*all_judges(panel.judges, data, covariates), *each_judge(panel.judges, data, covariates)]
    return [{**row, **excluded} for row in rows]
