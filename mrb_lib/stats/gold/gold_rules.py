"""Does the leaderboard hang on how annotators' votes are made into a gold label?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.annotators import Annotations, encode_annotations, votes_by_case
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import score
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.dawid_skene import FEW_ANNOTATORS, Fitted, fit_dimension
from mrb_lib.stats.gold import reading
from mrb_lib.stats.gold.correction import ENDS, corrected_rows
from mrb_lib.stats.gold.rankings import left_out, rankings, ranks
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, check_policy, divide, join_reasons, typed
from mrb_lib.stats.resampling.resample import Ratios, cluster_codes, ratios
from mrb_lib.stats.tables.ceiling import leave_one_out
from mrb_lib.tables.schema import CHOICES

MAJORITY = "majority"
RULES = (MAJORITY, "unanimous", "posterior", "leave_one_out", "soft_votes", "soft_posterior")
NEED_MODEL = ("posterior", "soft_posterior")
NO_CASES = "no case that the judge is scored on has a label by this rule"
SINGLE_VOTES = "cases with one annotator's label are left out: one vote is not unanimous"
COLUMNS = [
    "dimension",
    "part",
    "judge",
    "annotator",
    "rule",
    "policy",
    "n",
    "n_excluded",
    "accuracy",
    "low",
    "high",
    "rank",
    *ENDS[2:4],
    "label_error",
    "label_error_most",
    "dependence",
    *ENDS[4:],
    "kendall_tau",
    "n_judges",
    "reason",
]
_SAME = 1e-9
_MOST_EXACT = 60


@register_table(
    "gold_rules",
    question="would the leaderboard change with another gold rule, and what does a fallible majority do to it",
    columns=COLUMNS,
    meanings=reading.MEANINGS_OF_RULES,
    headline=("accuracy", "rank", "label_error", "low", "high"),
    sentence=reading.sentence_of_rules,
    why_no_ratings="",
)
def gold_rules(
    verdicts: pd.DataFrame | Panel,
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    categories: Sequence[str] = CHOICES,
    policy: str = "balanced",
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """How the judges' accuracies and ranks change with the rule that makes gold labels, and with what labels get wrong.

    Parameters
    ----------
    verdicts : the verdicts table of one probe, or its panel
    annotations, categories : as in `mrb_lib.stats.annotators.encode_annotations`; `consensus` labels are not votes
    cases, policy, dimensions, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`

    Returns
    -------
    DataFrame
        Rows of `part` "rule", one a dimension, judge and rule: `n` cases with a label, `n_excluded` judged cases
        without, `accuracy` with its recommended 95% interval `low`, `high`, as in the table `accuracy`, `rank` (1 is
        best; equals share the smaller), `reason`. A rule gives each case a label, or a probability for each label, in
        which case the accuracy is the expected score:
        "majority", "unanimous": by the annotators' votes, of which the second takes two; "posterior": the most
        probable label by the model of Dawid and Skene; "leave_one_out": each annotator's others' majority in turn,
        which counts a case once for every annotator whose others have one; "soft_votes": labels in proportion to the
        votes; "soft_posterior": the model's probabilities.
        `part` "corrected", one a dimension and judge: the majority's accuracy corrected for the majority's errors,
        see `mrb_lib.stats.gold.correction.corrected_rows`: `accuracy`, if judge and annotators err independently, with
        the interval `independent_low`, `independent_high` that holds then only; `low`, `high`, within which the
        accuracy lies with 95% confidence however the cases differ in difficulty; `label_error`, the model's estimate of
        the share of majority labels that are wrong, and `label_error_most`, the largest share with cases of
        different difficulty; `dependence`, by how much the judge's score where the annotators are split differs from
        what independent errors would give, with `dependence_low`, `dependence_high`: where that interval leaves out
        zero, judge and annotators find the same cases hard, and `reason` warns.
        `part` "ranking", one a dimension and rule: `kendall_tau` (tau-b) between the judges' accuracies by the
        majority and by the rule, over `n_judges`.
        `part` "left_out", one a dimension and annotator: the same for the majority of all but this `annotator`, on the
        `n` cases that have one: their range says what hangs on any one person.

    Raises
    ------
    InputError
        As in `mrb_lib.stats.accuracy.accuracy` and `mrb_lib.stats.annotators.encode_annotations`.

    Notes
    -----
    The probabilities of "soft_posterior" are taken as they are estimated; its interval is of the cases, not of the
    model. Posterior labels lean towards the model's majority of annotators: where annotators err together, so does
    the model. Validated in `tests/stats/gold/test_gold_rules.py` and `tests/simulation/test_annotators.py`.
    """
    check_policy(policy)
    coded = encode_annotations(annotations, cases, categories, dimensions)
    panel = as_panel(verdicts, cases["case_id"], coded.dimensions)
    codes = cluster_codes(cases, cluster)
    worth = worth_by_label(panel, categories, policy)
    fits = [fit_dimension(coded, i, len(categories), "dawid_skene") for i in range(len(coded.dimensions))]
    weights = [_weights(coded, i, fit, len(cases), categories) for i, fit in enumerate(fits)]
    votes = [_votes(coded, i, worth.shape) for i in range(len(coded.dimensions))]
    every = np.arange(len(cases))
    sums = [(every, *_sums(worth[:, :, dimension], table)) for dimension, table in enumerate(weights)]
    by_dimension = ratios(sums, codes, shares=True, resamples=resamples, seed=seed)
    judged = panel.judged().sum(axis=2)
    rows: list[dict[str, object]] = []
    for dimension, (result, fit) in enumerate(zip(by_dimension, fits, strict=True)):
        label = {"dimension": coded.dimensions[dimension], "policy": policy}
        missing = _missing(coded, dimension, fit)
        remark = SINGLE_VOTES if (votes[dimension].sum(axis=1) == 1).any() else ""
        rows.extend(label | row for row in _rule_rows(panel.judges, result, judged[:, dimension], missing, remark))
    majority = [table[0] for table in weights]
    corrected = corrected_rows(panel, worth, majority, votes, fits, codes, judged, resamples=resamples, seed=seed)
    for dimension, more in enumerate(corrected):
        label = {"dimension": coded.dimensions[dimension], "policy": policy}
        absent = _missing(coded, dimension, fits[dimension])["posterior"]
        placed = ranks(np.array([row.get("accuracy", np.nan) for row in more], dtype=np.float64))
        for row, rank in zip(more, placed, strict=True):
            rows.append(label | row | {"rank": rank} | ({"reason": absent} if absent else {}))
    for dimension, result in enumerate(by_dimension):
        label = {"dimension": coded.dimensions[dimension], "policy": policy}
        by_rule = result.value.reshape(len(panel.judges), len(RULES))
        rows.extend(label | row for row in rankings(by_rule, RULES))
        others = left_out(coded, dimension, votes[dimension], worth[:, :, dimension], by_rule[:, 0])
        rows.extend(label | {"part": "left_out", "rule": MAJORITY} | row for row in others)
    return typed(pd.DataFrame(rows), COLUMNS, counts="Int64", rank="Int64")


def worth_by_label(panel: Panel, categories: Sequence[str], policy: str) -> FloatArray:
    """Return what verdicts would be worth were a category the label, (categories, judges, dimensions, cases)."""
    _, n_dimensions, n_cases = panel.shape
    out = np.full((len(categories), *panel.shape), np.nan)
    for i, name in enumerate(categories):
        if name in panel.categories:
            label = np.full((n_dimensions, n_cases), panel.categories.index(name), dtype=np.int64)
            out[i] = score(panel, label, policy).score
    return out


def _votes(coded: Annotations, dimension: int, shape: tuple[int, ...]) -> FloatArray:
    """The votes for each label of each case, shape (cases, K), for what verdicts are worth, (K, ..., cases)."""
    case, _, choice = coded.of(dimension)
    return votes_by_case(case, choice, shape[-1], shape[0])


def _weights(
    coded: Annotations, dimension: int, fit: Fitted | None, n_cases: int, categories: Sequence[str]
) -> FloatArray:
    """The probability of each label of each case by each rule, shape (rules, cases, K); NaN where it has none."""
    n_labels = len(categories)
    case, _, choice = coded.of(dimension)
    votes = votes_by_case(case, choice, n_cases, n_labels)
    scale = np.lcm.reduce(np.unique(votes.sum(axis=1)[votes.any(axis=1)]).astype(np.int64), initial=1)
    top, total = votes.max(axis=1), votes.sum(axis=1)
    single = (total > 0) & ((votes == top[:, None]).sum(axis=1) == 1)
    best = votes.argmax(axis=1)
    model = np.full((n_cases, n_labels), np.nan)
    if fit is not None:
        model[fit.cases] = fit.posterior()
    filled = np.nan_to_num(model)
    probable = filled.max(axis=1)
    clear = np.isfinite(model[:, 0]) & ((filled >= probable[:, None] - _SAME).sum(axis=1) == 1)
    held = leave_one_out(coded.labels(n_cases)[:, [dimension]], n_labels)[:, 0]
    others = (held[:, :, None] == np.arange(n_labels)).sum(axis=1).astype(np.float64)
    return np.stack(
        [
            _one_hot(best, single, n_labels),
            _one_hot(best, single & (top == total) & (total >= 2), n_labels),
            _one_hot(filled.argmax(axis=1), clear, n_labels),
            np.where((others.sum(axis=1) > 0)[:, None], others, np.nan),
            divide(votes * (scale if scale <= _MOST_EXACT else 1), total[:, None]),
            model,
        ]
    )


def _one_hot(label: IntArray, is_known: BoolArray, n_labels: int) -> FloatArray:
    table: FloatArray = (label[:, None] == np.arange(n_labels)).astype(np.float64)
    return np.where(is_known[:, None], table, np.nan)


def _sums(worth: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The expected score of each case and how often it counts, shape (cases, judges x rules).

    Parameters
    ----------
    worth : shape (K, judges, cases), what the verdicts are worth if a label is the true one
    weights : shape (rules, cases, K); a case counts as often as they sum to
    """
    n_labels, n_judges, n_cases = worth.shape
    scored = np.isfinite(worth.sum(axis=0))
    labelled = np.isfinite(weights.sum(axis=2))
    filled, weight = np.nan_to_num(worth), np.nan_to_num(weights)
    counted = (scored[:, None] & labelled[None]).transpose(2, 0, 1)
    share = (counted * weight.sum(axis=2).T[:, None, :]).reshape(n_cases, -1)
    value = np.zeros((n_cases, n_judges, len(weights)))
    for label in range(n_labels):
        value += filled[label].T[:, :, None] * weight[:, :, label].T[:, None, :]
    return np.where(counted, value, 0.0).reshape(n_cases, -1), share


def _missing(coded: Annotations, dimension: int, fit: Fitted | None) -> dict[str, str]:
    """Why a dimension has no labels by a rule; empty text where it may have."""
    if not len(coded.of(dimension)[0]):
        return dict.fromkeys(RULES, coded.absence(dimension))
    few = FEW_ANNOTATORS if fit is None else ""
    return {rule: few if rule in NEED_MODEL else "" for rule in RULES}


def _rule_rows(
    judges: Sequence[str], result: Ratios, judged: IntArray, missing: dict[str, str], remark: str
) -> list[dict[str, object]]:
    shape = (len(judges), len(RULES))
    value = result.value.reshape(shape)
    placed = np.stack([ranks(column) for column in value.T], axis=1) if len(judges) else np.empty(shape)
    rows: list[dict[str, object]] = []
    for judge, name in enumerate(judges):
        for column, rule in enumerate(RULES):
            cell = judge * len(RULES) + column
            absence = missing[rule] or ("" if result.n[cell] else NO_CASES)
            rows.append(
                {
                    "part": "rule",
                    "judge": name,
                    "rule": rule,
                    "n": int(result.n[cell]),
                    "n_excluded": int(judged[judge] - result.n[cell]),
                    "accuracy": value[judge, column],
                    "low": result.low[cell],
                    "high": result.high[cell],
                    "rank": placed[judge, column],
                    "reason": join_reasons(remark if rule == "unanimous" else "", absence or result.reason[cell]),
                }
            )
    return rows
