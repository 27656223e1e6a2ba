"""Accuracy of judges where their own model answers the item right, and where it does not."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.contamination.sides import gap
from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.core.scoring import score
from mrb_lib.stats.options import TINY, BoolArray, FloatArray, IntArray, join_reasons, with_ends
from mrb_lib.stats.resampling.resample import ratios
from mrb_lib.stats.resampling.robust import t_interval, t_test
from mrb_lib.tables.errors import InputError

NO_ITEM: Final = "no marks: the cases do not name their items"
NO_MODEL: Final = "no marks: the judge's model did not answer the items"
NO_CASES: Final = "no case that can be scored is about an item that the model answered"
ONE_SIDE: Final = "no difference: the model answered every item {}"
FEW: Final = "no interval: fewer than two clusters where the model was right, or where it was wrong"
NO_SPREAD: Final = "no interval: the judge is as accurate on each case where its model was {}"
ITEM: Final = "item"
PART: Final = "knowledge"


class _Judged(NamedTuple):
    """Of one judge.

    Attributes
    ----------
    value : scores, NaN where there is none, shape (dimensions, cases)
    is_tie : whether the gold label is a tie, shape (dimensions, cases)
    seen : whether a verdict is left out since the judge was trained on the case, shape (dimensions, cases)
    right : whether its model answered the item of the case right, 1, or wrong, 0; NaN where neither; shape (cases,)
    marked : whether an answer of its model to the item of the case is marked, shape (cases,)
    """

    value: FloatArray
    is_tie: BoolArray
    seen: BoolArray
    right: FloatArray
    marked: BoolArray


def knowledge(
    panel: Panel,
    labels: IntArray,
    cases: pd.DataFrame,
    codes: IntArray,
    judge_groups: pd.DataFrame,
    marks: pd.DataFrame,
    *,
    policy: str = "balanced",
    resamples: int = 2000,
    seed: int = 0,
) -> list[dict[str, object]]:
    """Compare accuracy on items that a judge's model answers right itself with that on items that it answers wrong.

    Parameters
    ----------
    panel : the verdicts of one probe
    labels : gold labels, see `mrb_lib.stats.core.scoring.encode_gold`, shape (dimensions, cases)
    cases : the cases table; `item` names the item of each
    codes : the cluster of each case
    judge_groups : `judge`, `model`: which model is behind a judge, see `mrb_lib.judges.roster.groups.judge_groups`
    marks : `item_id`, `model`, `correct` (1, 0, or null where nobody marked), a row an answer: those of the step
        `filter` of a work folder
    policy, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`

    Returns
    -------
    list
        One row a judge and dimension that it judged, of part "knowledge", for the table `models`. An item counts as
        answered right where more than half of the marked answers of the judge's model, `answered_by`, are right, wrong
        where fewer are; where just half are, it counts as neither.
        `n` cases that are scored and whose item was answered right (`n_right`) or wrong (`n_wrong`); `n_excluded` all
        other cases, `n_gold_tie` of them ties. Of `n_excluded`, `n_seen` are cases whose verdicts are left out since
        the judge was trained on them, and `n_unscored` are others whose item has a marked answer and on which the judge
        has no score, for want of a gold label or of a verdict that the policy can read; what then remains are cases
        whose item has no marked answer, or has as many right ones as wrong ones.
        `accuracy_right` and `accuracy_wrong` have the intervals of the table `accuracy`; `difference` has an interval
        and a two-sided `p_value` by Student's t with `df` degrees of freedom and the standard error `difference_se`,
        which is robust to clusters, of which a cluster may be on both sides; all are null where a side has fewer than
        two clusters or its scores do not vary. A judge without marks has a row whose `reason` says so.

    Raises
    ------
    InputError
        A mark is neither 1, 0 nor null.

    Notes
    -----
    Right and wrong items differ in how hard they are, for judging too, so a difference does not say that knowing the
    answer is what helps: compare it with that of judges for whom other items are right.
    The variance is that of the difference of two means over clusters, each side with its own m / (m - 1), and degrees
    of freedom are Welch's (see `mrb_lib.stats.contamination.sides.gap`), since few items on one side make many on the
    other no surer. Validated by tests/stats/models/test_knowledge.py.
    """
    value, saw, takes_part = score(panel, labels, policy).score, panel.saw(), panel.takes_part()
    is_tie = (labels == panel.tie) if panel.tie >= 0 else np.zeros(labels.shape, dtype=bool)
    rows: list[dict[str, object]] = []
    for i, judge in enumerate(panel.judges):
        model = _model_of(judge, judge_groups, marks)
        judged = _Judged(value[i], is_tie, saw[i], *_answered(model, cases, marks))
        lacks = NO_ITEM if ITEM not in cases else NO_MODEL if model is None else ""
        rows.extend(
            {"part": PART, "judge": judge, "answered_by": model, "dimension": name, "policy": policy, **row}
            | ({"reason": lacks} if lacks else {})
            for name, row, is_in in zip(
                panel.dimensions, _rows(judged, codes, resamples=resamples, seed=seed), takes_part[i], strict=True
            )
            if is_in
        )
    return rows


def _model_of(judge: str, judge_groups: pd.DataFrame, marks: pd.DataFrame) -> str | None:
    """The model behind a judge, of those that answered; None where it is none of them."""
    known = set(marks["model"])
    stated = judge_groups.loc[judge_groups["judge"] == judge, "model"].tolist() if "model" in judge_groups else []
    plain = judge.partition("@")[0]
    named = [*map(str, stated), judge, plain, plain.rpartition("+")[0]]
    return next((name for name in named if name in known), None)


def _answered(model: str | None, cases: pd.DataFrame, marks: pd.DataFrame) -> tuple[FloatArray, BoolArray]:
    """Whether the model answered the item of each case right, and whether an answer is marked, see `_Judged`."""
    if model is None or ITEM not in cases:
        return np.full(len(cases), np.nan), np.zeros(len(cases), dtype=bool)
    own = marks[(marks["model"] == model) & marks["correct"].notna()]
    if not own["correct"].isin([0, 1]).all():
        raise InputError("marks: must be 1 for right and 0 for wrong, or null; correct the column correct.")
    share = own.groupby("item_id")["correct"].mean()
    of_case = cases[ITEM].map(share).to_numpy(dtype=np.float64)
    return np.where(of_case > 0.5, 1.0, np.where(of_case < 0.5, 0.0, np.nan)), np.isfinite(of_case)


def _rows(judged: _Judged, codes: IntArray, *, resamples: int, seed: int) -> list[dict[str, object]]:
    """The row of each dimension."""
    value, scored = judged.value, np.isfinite(judged.value)
    sides = [scored & (judged.right == side) for side in (1.0, 0.0)]
    counted = np.concatenate(sides).T
    worth = np.where(counted, np.nan_to_num(np.concatenate([value, value])).T, 0.0)
    [found] = ratios(
        [(np.arange(len(codes)), worth, counted.astype(np.float64))], codes, shares=True, resamples=resamples, seed=seed
    )
    used = sides[0] | sides[1]
    counts = {
        "n": used,
        "n_right": sides[0],
        "n_wrong": sides[1],
        "n_excluded": ~used,
        "n_gold_tie": ~used & judged.is_tie,
        "n_unscored": judged.marked & ~scored & ~judged.seen,
        "n_seen": judged.seen & ~used,
    }
    rows: list[dict[str, object]] = []
    for i in range(len(value)):
        row: dict[str, object] = {name: int(which[i].sum()) for name, which in counts.items()}
        row["n_clusters"] = len(np.unique(codes[used[i]]))
        for name, column in (("accuracy_right", i), ("accuracy_wrong", len(value) + i)):
            row |= dict(zip(with_ends(name), (found.value[column], found.low[column], found.high[column]), strict=True))
        rows.append(row | _compared(value[i], sides[0][i], sides[1][i], codes))
    return rows


def _compared(value: FloatArray, is_right: BoolArray, is_wrong: BoolArray, codes: IntArray) -> dict[str, object]:
    """The difference of the two sides of one dimension, with the reason why something is null."""
    if not is_right.any() and not is_wrong.any():
        return {"reason": NO_CASES}
    if not is_right.any() or not is_wrong.any():
        return {"reason": ONE_SIDE.format("right" if is_right.any() else "wrong")}
    difference, reason = _difference(value, is_right, is_wrong, codes)
    return {**difference, "reason": join_reasons(reason)}


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
    found = {"difference_low": low, "difference_high": high, "difference_se": made.difference.error,
             "df": made.difference.clusters - 1, "p_value": t_test(made.difference)}  # fmt: skip
    return difference | {name: float(each[0]) for name, each in found.items()}, ""
