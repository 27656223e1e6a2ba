"""The five scoring policies: what a judge's verdicts on a case are worth against the gold label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.core.panel import ABSENT, NULL, TIE, Panel
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, check_policy, divide, encode
from mrb_lib.tables.schema import CHOICES

BINARY_POLICIES = ("official", "strict", "net")
BOTH_ORDERS = ("strict", "net")
"""The policies that need a verdict in both orders."""
NO_GOLD = "no gold label"
NO_ANSWER = "no verdict has a choice"
ONE_ORDER = "not judged in both orders"
NOT_FIRST = "not judged in order AB, repeat 0"


class Scores(NamedTuple):
    """The worth of each judge's verdicts, each array of shape (judges, dimensions, cases).

    Attributes
    ----------
    score : 0 to 1; NaN where the case is excluded
    answered : share of the verdicts that the policy reads which have a choice; NaN
        where the policy cannot be applied, whatever the judge said
    judged : the judge has a verdict on the case
    """

    score: FloatArray
    answered: FloatArray
    judged: BoolArray


def encode_gold(
    gold: pd.DataFrame, case_ids: pd.Series, dimensions: Sequence[str], categories: Sequence[str] = CHOICES
) -> IntArray:
    """The gold labels as codes, shape (dimensions, cases): positions in `categories`, -1 where there is none."""
    kept = gold[gold["dimension"].isin(list(dimensions))]
    out = np.full((len(dimensions), len(case_ids)), -1, dtype=np.int64)
    row = encode(kept["dimension"], dimensions, "dimension")
    out[row, encode(kept["case_id"], pd.Index(case_ids), "case_id")] = encode(
        kept["choice"], list(categories), "gold choice"
    )
    return out


def credit(choice: IntArray, label: IntArray, tie: int, *, graded: bool) -> FloatArray:
    """What one choice is worth against a label that is not missing.

    Parameters
    ----------
    choice, label : codes, shape (n,); a choice of -1 is null and worth 0
    tie : the code of the tie; -1 where the categories have none
    graded : 1/2 where exactly one of the two is a tie; otherwise only the same label is worth 1
    """
    out: FloatArray = (choice == label).astype(np.float64)
    if graded and tie >= 0:
        out[((choice == tie) != (label == tie)) & (choice >= 0)] = 0.5
    return out


def score(panel: Panel, labels: IntArray, policy: str) -> Scores:
    """Score every judge on every dimension and case.

    `official`: the verdict in order AB, repeat 0, is the gold label; null is wrong.
    `balanced`: the mean over orders and repeats of 1 for the gold label, 1/2 where
    exactly one of choice and gold is a tie, 0 otherwise; null is 0.
    `strict`: every verdict, in both orders and all repeats, is the gold label.
    `net`: +1 for each verdict that is the gold label, -1 for each that contradicts it, 0
    for a null; correct if the sum is above 0. A tie is 0 under a decisive gold label.
    A gold tie is asked for exactly: a decisive verdict then contradicts it (-1), since a
    0 would call a judge correct that named a winner in one of the two orders.
    `answered`: `balanced` over the verdicts with a choice.

    Parameters
    ----------
    labels : shape (dimensions, cases), see `encode_gold`

    Returns
    -------
    Scores; a case is excluded where it has no gold label, lacks the rows the policy
    needs (`official`: order AB, repeat 0; `strict` and `net`: both orders; the others:
    any), or, under `answered`, where no verdict has a choice.

    Notes
    -----
    `official` is the published pipeline's rule, `net` JudgeBench's (arXiv
    2410.12784). Validated in `tests/stats/core/test_scoring.py` against a plain
    implementation, and in `tests/published/`.
    """
    check_policy(policy)
    used = panel.choice[..., *columns_used(panel, policy)]
    value, answered = np.full(panel.shape, np.nan), np.full(panel.shape, np.nan)
    worth = _worth(policy, len(panel.categories), panel.tie)
    for judge, choices in enumerate(used):
        value[judge], answered[judge] = _score_judge(choices, labels, policy, worth)
    return Scores(value, answered, panel.judged())


def columns_used(panel: Panel, policy: str) -> tuple[slice, slice]:
    """The orders and repeats that a policy reads, as positions on the last two axes of `panel.choice`."""
    if policy != "official":
        return slice(None), slice(None)
    first = panel.repeats.index(0) if 0 in panel.repeats else len(panel.repeats)
    return slice(0, 1), slice(first, first + 1)


def _score_judge(
    choices: NDArray[np.int8], labels: IntArray, policy: str, worth: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The scores and the shares answered of one judge, each of shape (dimensions, cases)."""
    total, rows, answers = np.zeros(labels.shape), *np.zeros((2, *labels.shape), dtype=np.int64)
    for order, repeat in np.ndindex(choices.shape[2:]):  # many times as quick as sums over short axes
        choice = choices[:, :, order, repeat]
        total += worth[labels, choice]
        rows += choice > ABSENT
        answers += choice > NULL
    applies = (rows > 0) & (labels >= 0)
    if policy in BOTH_ORDERS:
        applies &= (choices != ABSENT).any(axis=3).all(axis=2)
    value = _value(policy, total, rows, answers)
    return np.where(applies, value, np.nan), np.where(applies, divide(answers.astype(np.float64), rows), np.nan)


def _value(policy: str, total: FloatArray, rows: IntArray, answers: IntArray) -> FloatArray:
    """The score of verdicts whose worths sum to `total`, by how many they are and how many have a choice."""
    if policy in BINARY_POLICIES:
        return (total > 0 if policy == "net" else total == rows).astype(np.float64)
    return divide(total, answers if policy == "answered" else rows)


def score_of_a_coin(
    labels: IntArray, rows: IntArray, policy: str, categories: int = len(CHOICES), tie: int = TIE
) -> FloatArray:
    """The expected score of verdicts that are each drawn at random, shape (dimensions, cases).

    Choices are equally probable: A, B and, in a dimension of which some gold label is a tie, tie; of ratings all.

    Parameters
    ----------
    labels : shape (dimensions, cases), see `encode_gold`; NaN where there is none
    rows : shape (dimensions, cases), how many verdicts the policy reads; NaN where there is none
    categories, tie : how many choices there are, and the code of the tie; -1 where there is none
    """
    out = np.full(labels.shape, np.nan)
    for dimension, (label, count) in enumerate(zip(labels, rows, strict=True)):
        choices = [code for code in range(categories) if code != tie or (label == tie).any()]
        for one, verdicts in np.unique(np.stack([label, count])[:, (label >= 0) & (count > 0)], axis=1).T:
            total: FloatArray = np.zeros(1)
            chance: FloatArray = np.ones(1)
            for _ in range(verdicts):
                sums = (total[:, None] + _worth(policy, categories, tie)[one, choices]).round(9)
                total, which = np.unique(sums, return_inverse=True)
                chance = np.bincount(which.ravel(), np.repeat(chance, len(choices)) / len(choices)).astype(np.float64)
            number = np.full(len(total), verdicts)
            out[dimension, (label == one) & (count == verdicts)] = chance @ _value(policy, total, number, number)
    return out


def _worth(policy: str, categories: int, tie: int) -> FloatArray:
    """What a choice is worth against a label, shape (labels, choices): indices are codes, negative ones from the end.

    The last label is "none"; the last choice but one is "absent", the last is null.
    """
    table = np.zeros((categories + 1, categories + 2))
    for label, choice in np.ndindex(categories, categories):
        if choice == label:
            table[label, choice] = 1.0
        elif policy == "net":
            table[label, choice] = 0.0 if choice == tie else -1.0
        elif policy in ("balanced", "answered") and tie in (choice, label):
            table[label, choice] = 0.5
    return table
