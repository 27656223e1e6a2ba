"""The five scoring policies: what a judge's verdicts on a case are worth against the gold label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.schema import CHOICES, NO_PROBE, ORDERS
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, check_policy, divide, encode, pick_dimensions

TIE = CHOICES.index("tie")
BINARY_POLICIES = ("official", "strict", "net")
NO_GOLD = "no gold label"
NO_ANSWER = "no verdict has a choice"
ONE_ORDER = "not judged in both orders"
NOT_FIRST = "not judged in order AB, repeat 0"


class Verdicts(NamedTuple):
    """A verdicts table as codes; the arrays have one entry a verdict row.

    Attributes
    ----------
    judges, dimensions : the names behind the codes, in the order to show them
    n_cases : length of the cases table that `case` points into
    swapped : the order was BA
    choice : position in `CHOICES`; -1 where null
    """

    judges: list[str]
    dimensions: list[str]
    n_cases: int
    judge: IntArray
    dimension: IntArray
    case: IntArray
    swapped: BoolArray
    repeat: IntArray
    choice: IntArray

    @property
    def shape(self) -> tuple[int, int, int]:
        """Judges, dimensions, cases."""
        return len(self.judges), len(self.dimensions), self.n_cases

    @property
    def cell(self) -> IntArray:
        """Position of each row in an array of shape (judges, dimensions, cases), flattened."""
        return (self.judge * len(self.dimensions) + self.dimension) * self.n_cases + self.case

    def judged(self) -> BoolArray:
        """Whether each judge has a verdict on each dimension and case, shape (judges, dimensions, cases)."""
        size = int(np.prod(self.shape))
        found: BoolArray = np.bincount(self.cell, minlength=size) > 0
        return found.reshape(self.shape)


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


def encode_verdicts(verdicts: pd.DataFrame, case_ids: pd.Series, dimensions: Sequence[str] | None = None) -> Verdicts:
    """Turn a verdicts table into codes.

    Parameters
    ----------
    case_ids : the ids of all cases, in order
    dimensions : the dimensions to keep; None keeps all

    Raises
    ------
    InputError
        A verdict speaks of an unknown case, or the verdicts are of several probes.
    """
    if "probe" in verdicts.columns and verdicts["probe"].nunique(dropna=False) > 1:
        found = ", ".join(sorted(map(str, verdicts["probe"].unique())))
        raise InputError(f"verdicts: several probes are mixed ({found}); keep one, {NO_PROBE!r} for the plain cases.")
    names = pick_dimensions(verdicts["dimension"].unique(), dimensions)
    if dimensions is not None and not verdicts["dimension"].isin(names).all():
        verdicts = verdicts[verdicts["dimension"].isin(names)]
    judges = sorted(map(str, verdicts["judge"].unique()))
    n = len(verdicts)
    return Verdicts(
        judges=judges,
        dimensions=names,
        n_cases=len(case_ids),
        judge=encode(verdicts["judge"], judges, "judge"),
        dimension=encode(verdicts["dimension"], names, "dimension"),
        case=encode(verdicts["case_id"], list(case_ids), "case_id"),
        swapped=encode(verdicts["order"], ORDERS, "order") == 1,
        repeat=verdicts["repeat"].to_numpy(dtype=np.int64) if "repeat" in verdicts.columns else np.zeros(n, np.int64),
        choice=encode(verdicts["choice"], CHOICES, "choice"),
    )


def encode_gold(gold: pd.DataFrame, case_ids: pd.Series, dimensions: Sequence[str]) -> IntArray:
    """The gold labels as codes, shape (dimensions, cases); -1 where there is none."""
    kept = gold[gold["dimension"].isin(list(dimensions))]
    out = np.full((len(dimensions), len(case_ids)), -1, dtype=np.int64)
    row = encode(kept["dimension"], dimensions, "dimension")
    out[row, encode(kept["case_id"], list(case_ids), "case_id")] = encode(kept["choice"], CHOICES, "gold choice")
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


def rows_used(coded: Verdicts, policy: str) -> BoolArray:
    """The verdict rows that a policy reads, shape (n,)."""
    used: BoolArray = np.ones(len(coded.choice), dtype=bool)
    if policy == "official":
        used = ~coded.swapped & (coded.repeat == 0)
    return used


def score(coded: Verdicts, labels: IntArray, policy: str) -> Scores:
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
    2410.12784). Validated in `tests/stats/test_scoring.py` against a plain
    implementation, and in `tests/published/`.
    """
    check_policy(policy)
    size = int(np.prod(coded.shape))
    used = rows_used(coded, policy)
    cell = coded.cell
    both = (np.bincount(cell[coded.swapped], minlength=size) > 0) & (
        np.bincount(cell[~coded.swapped], minlength=size) > 0
    )
    if not used.all():
        cell = cell[used]
    choice = coded.choice[used]
    label = labels.ravel()[cell % (len(coded.dimensions) * coded.n_cases)] if size else choice
    rows = np.bincount(cell, minlength=size).astype(np.float64)
    answers: FloatArray = np.bincount(cell, weights=choice >= 0, minlength=size).astype(np.float64)
    points = _points(choice, label, policy)
    total: FloatArray = np.bincount(cell, weights=points, minlength=size).astype(np.float64)
    applies = (both if policy in ("strict", "net") else rows > 0) & (np.tile(labels.ravel(), len(coded.judges)) >= 0)
    value = _combine(total, rows, answers, policy)
    return Scores(
        score=np.where(applies, value, np.nan).reshape(coded.shape),
        answered=np.where(applies, divide(answers, rows), np.nan).reshape(coded.shape),
        judged=coded.judged(),
    )


def _points(choice: IntArray, label: IntArray, policy: str) -> FloatArray:
    if policy != "net":
        return credit(choice, label, TIE, graded=policy in ("balanced", "answered"))
    points = np.where(choice == label, 1.0, -1.0)
    points[(choice < 0) | ((choice == TIE) & (label != TIE))] = 0.0
    return points


def _combine(total: FloatArray, rows: FloatArray, answers: FloatArray, policy: str) -> FloatArray:
    right: FloatArray = (total > 0 if policy == "net" else total == rows).astype(np.float64)
    if policy in BINARY_POLICIES:
        return right
    return divide(total, answers if policy == "answered" else rows)


def excluded_reason(policy: str, has_gold: bool, has_rows: bool) -> str:
    """Why a judged case has no score."""
    if not has_gold:
        return NO_GOLD
    if not has_rows:
        return NOT_FIRST if policy == "official" else ONE_ORDER
    return NO_ANSWER
