"""Accuracy of judges where their own model answers the item right, and where it does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.stats.contamination.sides import gap
from mrb_lib.stats.core.multiplicity import CORRECTIONS, FAMILIES, adjust_families
from mrb_lib.stats.core.options import (
    TINY,
    BoolArray,
    FloatArray,
    IntArray,
    check_choice,
    join_reasons,
    typed,
    with_ends,
)
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.knowledge import reading
from mrb_lib.stats.resampling.resample import Ratios, cluster_codes, ratios
from mrb_lib.stats.resampling.robust import t_interval, t_test

NO_WORK: Final = "no marks: name the work folder whose items were filtered (--work)"
NO_ITEM: Final = "no marks: the cases do not name their items"
NO_MODEL: Final = "no marks: the judge's model did not answer the items"
NO_CASES: Final = "no case that can be scored is about an item that the model answered"
ONE_SIDE: Final = "no difference: the model answered every item {}"
FEW: Final = "no interval: fewer than two clusters where the model was right, or where it was wrong"
NO_SPREAD: Final = "no interval: the judge is as accurate on each case where its model was {}"
ITEM: Final = "item"
COLUMNS = [
    "judge", "model", "dimension", "policy", "n", "n_right", "n_wrong", "n_excluded", "n_clusters",
    *with_ends("accuracy_right", "accuracy_wrong"), "difference", "low", "high", "standard_error", "df", "p_value",
    "p_adjusted", "correction", "family", "family_scope", "reason",
]  # fmt: skip
_TEXT = dict.fromkeys(("model", "correction", "family_scope"), "str")


@register_table(
    "knowledge",
    question="does a judge judge better where its own model answers the question right",
    columns=COLUMNS,
    meanings=reading.MEANINGS,
    headline=("difference", "low", "high", "p_adjusted", "accuracy_right", "accuracy_wrong", "n_right", "n_wrong"),
    sentence=reading.sentence,
    why_no_ratings="",
)
def knowledge(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    judge_groups: pd.DataFrame,
    *,
    marks: pd.DataFrame | None = None,
    policy: str = "balanced",
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    correction: str = "holm",
    family: str = "dimension",
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare accuracy on items that a judge's model answers right itself with that on items that it answers wrong.

    Parameters
    ----------
    verdicts, gold, cases, policy, dimensions, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`
    judge_groups : `judge`, `model`: which model is behind a judge, see `mrb_lib.judges.roster.groups.judge_groups`
    marks : `item_id`, `model`, `correct` (1, 0, or null where nobody marked), a row an answer: those of the step
        `filter` of a work folder; None where there are none
    correction, family : for the number of tests, see `mrb_lib.stats.core.multiplicity.adjust_families`

    Returns
    -------
    DataFrame
        One row a judge and dimension. An item counts as answered right where more than half of the model's marked
        answers are right, wrong where fewer are; where just half are, it counts as neither. `accuracy_right` and
        `accuracy_wrong` have the intervals of the table `accuracy`; `difference` has an interval and a two-sided
        `p_value` by Student's t with a standard error that is robust to clusters, of which a cluster may be on both
        sides; both are null where a side has fewer than two clusters or its scores do not vary. A judge without marks
        has a row whose `reason` says so.

    Raises
    ------
    InputError
        An option is unknown.

    Notes
    -----
    Right and wrong items differ in how hard they are, for judging too, so a difference does not say that knowing the
    answer is what helps: compare it with that of judges for whom other items are right.
    The variance is that of the difference of two means over clusters, each side with its own m / (m - 1), and degrees
    of freedom are Welch's (see `mrb_lib.stats.contamination.sides.gap`), since few items on one side make many on the
    other no surer. Validated by tests/stats/knowledge/test_knowledge.py.
    """
    check_choice("correction", correction, CORRECTIONS)
    check_choice("family", family, FAMILIES)
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    labels = encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories)
    value, codes = score(panel, labels, policy).score, cluster_codes(cases, cluster)
    models = [_model_of(judge, judge_groups, marks) for judge in panel.judges]
    right = np.array([_answered(model, cases, marks) for model in models]).reshape(len(models), len(cases))
    rows = [
        {"judge": judge, "model": model, "dimension": name, **row}
        for i, (judge, model) in enumerate(zip(panel.judges, models, strict=True))
        for name, row in zip(
            panel.dimensions, _rows(value[i], right[i], codes, resamples=resamples, seed=seed), strict=True
        )
    ]
    taking_part = panel.takes_part().ravel()
    frame = pd.DataFrame([row for row, is_in in zip(rows, taking_part, strict=True) if is_in], columns=COLUMNS)
    why = NO_WORK if marks is None else NO_ITEM if ITEM not in cases else ""
    lacks = frame["model"].isna()
    frame.loc[lacks, "reason"] = why or NO_MODEL
    frame = frame.assign(policy=policy, correction=correction, family_scope=family)
    families: IntArray = np.zeros(len(frame), dtype=np.int64)
    if family == "dimension":
        families = np.asarray(frame.groupby("dimension", sort=False).ngroup(), dtype=np.int64)
    frame["p_adjusted"], frame["family"] = adjust_families(frame["p_value"].to_numpy(np.float64), families, correction)
    plain = typed(frame, [name for name in COLUMNS if name not in _TEXT])
    return plain.join(frame[list(_TEXT)].astype(_TEXT))[COLUMNS]


def _model_of(judge: str, judge_groups: pd.DataFrame, marks: pd.DataFrame | None) -> str | None:
    """The model behind a judge, of those that answered; None where it is none of them."""
    if marks is None:
        return None
    known = set(marks["model"])
    stated = judge_groups.loc[judge_groups["judge"] == judge, "model"].tolist() if "model" in judge_groups else []
    plain = judge.partition("@")[0]
    named = [*map(str, stated), judge, plain, plain.rpartition("+")[0]]
    return next((name for name in named if name in known), None)


def _answered(model: str | None, cases: pd.DataFrame, marks: pd.DataFrame | None) -> FloatArray:
    """Whether the model answered the item of each case right, 1, or wrong, 0; NaN where neither."""
    if marks is None or model is None or ITEM not in cases:
        return np.full(len(cases), np.nan)
    own = marks[(marks["model"] == model) & marks["correct"].notna()]
    if not own["correct"].isin([0, 1]).all():
        raise InputError("marks: must be 1 for right and 0 for wrong, or null; correct the column correct.")
    share = own.groupby("item_id")["correct"].mean()
    of_case = cases[ITEM].map(share).to_numpy(dtype=np.float64)
    return np.where(of_case > 0.5, 1.0, np.where(of_case < 0.5, 0.0, np.nan))


def _rows(
    value: FloatArray, right: FloatArray, codes: IntArray, *, resamples: int, seed: int
) -> list[dict[str, object]]:
    """The row of each dimension.

    Parameters
    ----------
    value : scores, shape (dimensions, cases)
    right : shape (cases,), as of `_answered`
    """
    scored = np.isfinite(value)
    sides = [scored & (right == side) for side in (1.0, 0.0)]
    counted = np.concatenate(sides).T
    worth = np.where(counted, np.nan_to_num(np.concatenate([value, value])).T, 0.0)
    [found] = ratios(
        [(np.arange(len(right)), worth, counted.astype(np.float64))], codes, shares=True, resamples=resamples, seed=seed
    )
    return [_row(value[i], codes, sides[0][i], sides[1][i], found, i, len(value)) for i in range(len(value))]


def _row(
    value: FloatArray, codes: IntArray, is_right: BoolArray, is_wrong: BoolArray, found: Ratios,
    i: int, n_dimensions: int,
) -> dict[str, object]:  # fmt: skip
    used = is_right | is_wrong
    n_right, n_wrong = int(is_right.sum()), int(is_wrong.sum())
    row: dict[str, object] = {
        "n": n_right + n_wrong,
        "n_right": n_right,
        "n_wrong": n_wrong,
        "n_excluded": int((np.isfinite(value) & ~used).sum()),
        "n_clusters": len(np.unique(codes[used])),
    }
    for name, column in (("accuracy_right", i), ("accuracy_wrong", n_dimensions + i)):
        row |= {
            name: found.value[column],
            f"{name}_low": found.low[column],
            f"{name}_high": found.high[column],
        }
    if not used.any():
        return row | {"reason": NO_CASES}
    if not n_right or not n_wrong:
        return row | {"reason": ONE_SIDE.format("right" if n_right else "wrong")}
    difference, reason = _difference(value, is_right, is_wrong, codes)
    return row | difference | {"reason": join_reasons(reason)}


def _difference(
    value: FloatArray, is_right: BoolArray, is_wrong: BoolArray, codes: IntArray
) -> tuple[dict[str, float], str]:
    """The difference of two means, with what robust inference says of it, or why it says nothing."""
    made = gap(value[None], is_right[None], is_wrong[None], codes)
    difference = {"difference": float(made.difference.value[0])}
    if min(len(np.unique(codes[side])) for side in (is_right, is_wrong)) < 2:
        return difference, FEW
    alike = [name for name, side in (("right", made.first), ("wrong", made.second)) if not side.error[0] > TINY]
    if alike:
        return difference, NO_SPREAD.format(", and where it was ".join(alike))
    low, high = t_interval(made.difference, -1.0, 1.0)
    found = {"low": low, "high": high, "standard_error": made.difference.error, "df": made.difference.clusters - 1,
             "p_value": t_test(made.difference)}  # fmt: skip
    return difference | {name: float(each[0]) for name, each in found.items()}, ""
