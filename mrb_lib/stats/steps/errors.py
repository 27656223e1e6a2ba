"""Erroneous steps, and the first of an item, as annotators and a judge see them."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.core.panel import ABSENT
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.tables.errors import InputError

OF_STEPS: Final = ("coverage", "step_accuracy", "precision", "recall", "f1")
OF_ITEMS: Final = ("first_error_accuracy", "error_item_accuracy", "clean_item_accuracy", "first_error_distance")
MEASURES: Final = (*OF_STEPS, *OF_ITEMS)
NO_ERROR: Final = np.iinfo(np.int64).max


class Steps(NamedTuple):
    """The cases that are steps, by item and step.

    Attributes
    ----------
    cases : shape (m,), their positions in the cases table
    item : shape (m,), the item of each, 0 to `n_items` - 1
    place : shape (m,), its place within the item, from 0
    first : shape (n_items,), the position in the cases table of each item's first step
    """

    cases: IntArray
    item: IntArray
    place: IntArray
    first: IntArray


def steps_of(cases: pd.DataFrame) -> Steps:
    """Lay out the cases that have an `item` and a `step`.

    Raises
    ------
    InputError
        None has.
    """
    there = cases["item"].notna() & cases["step"].notna() if {"item", "step"} <= set(cases.columns) else np.zeros(0)
    if not there.any():
        raise InputError(
            "table steps: no case has an item and a step; make a benchmark of steps with `mrb export steps BENCH OUT`."
        )
    positions = np.flatnonzero(there)
    item = pd.factorize(cases["item"].iloc[positions])[0]
    order = np.lexsort((cases["step"].iloc[positions].to_numpy(dtype=np.float64), item))
    item, positions = item[order].astype(np.int64), positions[order].astype(np.int64)
    starts = np.flatnonzero(np.diff(item, prepend=-1))
    return Steps(positions, item, np.arange(len(item)) - starts[item], positions[starts])


def first_error(erroneous: BoolArray, steps: Steps) -> IntArray:
    """The place of the first erroneous step of each item, shape (n_items,); `NO_ERROR` where there is none."""
    out = np.full(len(steps.first), NO_ERROR)
    np.minimum.at(out, steps.item[erroneous], steps.place[erroneous])
    return out


class Measured(NamedTuple):
    """What each case adds to the measures of a judge, shape (cases, `MEASURES`): each is a ratio of two sums.

    What an item adds stands at its first step.
    """

    numerator: FloatArray
    denominator: FloatArray


def measured(labels: IntArray, said: NDArray[np.int8], is_error: BoolArray, steps: Steps, n_cases: int) -> Measured:
    """Compare a judge's verdicts with the gold labels; the mean over repeats.

    Parameters
    ----------
    labels : shape (m,), the gold category of each step; negative where there is none
    said : shape (m, repeats), the categories that the judge chose; `NULL`, or `ABSENT`
    is_error : shape (categories,), which are erroneous
    """
    n_items = len(steps.first)
    own = [np.zeros((2, len(labels), len(OF_STEPS))), np.zeros((2, n_items, len(OF_ITEMS)))]
    times = [np.zeros(len(labels)), np.zeros(n_items)]
    for choice in said.T:
        for total, count, (counts, ratios) in zip(own, times, _compared(labels, choice, is_error, steps), strict=True):
            total += np.where(counts[None, :, None], ratios, 0.0)
            count += counts
    out = np.zeros((2, n_cases, len(MEASURES)))
    of_steps, of_items = (
        np.nan_to_num(divide(total, np.broadcast_to(count[None, :, None], total.shape)))
        for total, count in zip(own, times, strict=True)
    )
    out[:, steps.cases, : len(OF_STEPS)] = of_steps
    out[:, steps.first, len(OF_STEPS) :] = of_items
    return Measured(*out)


def _compared(
    labels: IntArray, choice: NDArray[np.int8], is_error: BoolArray, steps: Steps
) -> tuple[tuple[BoolArray, FloatArray], tuple[BoolArray, FloatArray]]:
    """Of one repeat: which steps count, and what they add to both sums, shape (2, m, measures); the same of items."""
    labelled, answered = labels >= 0, choice >= 0
    wrong, flagged = labelled & is_error[labels], answered & is_error[choice]
    correct = answered & (wrong == flagged)
    hit, half = wrong & flagged, (wrong != flagged) / 2
    one = np.ones(len(labels))
    scored = labelled & (choice != ABSENT)
    of_steps = np.array([[answered, correct, hit, hit, hit], [one, one, flagged, wrong, hit + half]], dtype=np.float64)

    first, own_first = first_error(wrong, steps), first_error(flagged, steps)
    until = steps.place <= first[steps.item]
    n_items = len(first)
    counts = np.bincount(steps.item[until & ~scored], minlength=n_items) == 0
    right = np.bincount(steps.item[until & ~correct], minlength=n_items) == 0
    has, both = first < NO_ERROR, (first < NO_ERROR) & (own_first < NO_ERROR)
    distance = np.abs(np.where(both, first, 0) - np.where(both, own_first, 0))
    each = np.ones(n_items)
    of_items = np.array([[right, right & has, right & ~has, distance], [each, has, ~has, both]], dtype=np.float64)
    return (scored, np.moveaxis(of_steps, 1, 2)), (counts, np.moveaxis(of_items, 1, 2))
