"""Erroneous steps of a response, and the first of them, as annotators and a judge see them."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.detection import Found, counted_rows, weighted, with_undefined
from mrb_lib.stats.estimation import BoolArray, Estimate, FloatArray, IntArray, Quantity, divide, mean, ratio
from mrb_lib.stats.grid import Measure
from mrb_lib.stats.intervals import Interval
from mrb_lib.stats.leaders import with_best
from mrb_lib.stats.options import join_reasons
from mrb_lib.stats.verdicts import Verdicts
from mrb_lib.tables.errors import InputError

STEP: Final = "step"
NO_STEPS = "no step has both a gold label and a verdict"
NO_ITEMS = "no item has verdicts and labels up to its first error"
UNDEFINED: Final = {
    "precision": "precision is undefined: the judge calls no step erroneous",
    "recall": "recall is undefined: no step is erroneous",
    "f1": "f1 is undefined: no step is erroneous, or called so",
    "error_item_accuracy": "error_item_accuracy is undefined: no item has an error",
    "clean_item_accuracy": "clean_item_accuracy is undefined: every item has an error",
    "first_error_distance": "first_error_distance is undefined: annotators and judge see no error in one item",
}
_OF_ITEMS: Final = ("error_item_accuracy", "clean_item_accuracy", "first_error_distance")
NO_ERROR: Final = np.iinfo(np.int64).max


class Steps(NamedTuple):
    """The item of each case, -1 where the case is no step, its place in the item from 0, and the items' first steps."""

    item: IntArray
    place: IntArray
    first: IntArray


def steps_of(cases: pd.DataFrame) -> Steps | None:
    """Lay out the cases that have an `item` and a `step`; None where none has."""
    if not {"item", "step"} <= set(cases.columns):
        return None
    there = (cases["item"].notna() & cases["step"].notna()).to_numpy()
    if not there.any():
        return None
    item, place = np.full(len(cases), -1), np.full(len(cases), -1)
    item[there] = pd.factorize(cases["item"][there])[0]
    steps = cases["step"][there].astype(np.float64)
    place[there] = steps.groupby(item[there]).rank(method="first").to_numpy() - 1
    first = np.flatnonzero(place == 0)
    return Steps(item, place, first[np.argsort(item[first])])


def erroneous(analysis: Analysis) -> BoolArray:
    """Return which categories are erroneous: those that are not acceptable, or, where none is named, the lowest."""
    categories = analysis.verdicts.categories
    if analysis.level == "nominal" and not analysis.acceptable:
        raise InputError(
            "table ratings: the categories of the steps are nominal, so that none is the lowest; name those of a step "
            "without error as acceptable in benchmark.toml, or add --level ordinal where they are listed from the "
            "lowest."
        )
    good = analysis.acceptable or categories[1:]
    return np.array([name not in good for name in categories])


def step_part(analysis: Analysis) -> pd.DataFrame:
    """Make the rows about the steps of responses; without any where no case is a step.

    A verdict without a choice is wrong for `step_accuracy`, and calls nothing erroneous.
    """
    steps = steps_of(analysis.cases)
    if steps is None or not len(analysis.verdicts.cells):
        return pd.DataFrame()
    verdicts, is_error = analysis.verdicts, erroneous(analysis)
    on_step = steps.item >= 0
    labels = np.where(on_step[:, None], analysis.labels, -1)
    label = verdicts.gold(labels)
    labelled, answered = label >= 0, verdicts.choice >= 0
    wrong, flagged = labelled & is_error[label], answered & is_error[verdicts.choice]
    right = answered & (wrong == flagged)
    found = Found.of(verdicts, labelled, flagged, wrong)
    times = verdicts.total(labelled)
    measures = {
        "coverage": Measure(mean(divide(verdicts.total(answered & labelled), times))),
        "step_accuracy": Measure(mean(divide(verdicts.total(right & labelled), times)), intervals.share),
        **found.measures(),
        **_of_items(
            verdicts, steps, np.where(labels >= 0, is_error[labels], False), labelled & right, labelled, flagged
        ),
    }
    tallies = {"n_positive": found.applies > 0, "n_flagged": found.given > 0}
    cells = verdicts.cells[["judge", "dimension"]]
    rows, made = counted_rows(analysis, cells, measures, verdicts.seen & on_step[:, None], tallies)
    for name, of in (("n_items", "first_error_accuracy"), ("n_error_items", "error_item_accuracy")):
        rows[name] = np.concatenate([e.n for e in made[of]]).astype(np.int64)
    rows["n_excluded"] -= np.repeat([(~on_step[part.cases]).sum() for part in analysis.parts], len(cells))
    rows["with_best"] = with_best(
        analysis, measures["f1"].quantity, [np.asarray(each) for each in cells.groupby("dimension").indices.values()]
    )
    names = [name for name, error in zip(verdicts.categories, is_error, strict=True) if error]
    texts = {name: text for name, text in UNDEFINED.items() if name not in _OF_ITEMS}
    of_items = rows.assign(n=rows["n_items"], reason=with_undefined(rows, texts))
    rows["reason"] = with_undefined(of_items, {name: UNDEFINED[name] for name in _OF_ITEMS})
    none, no_items = rows["n"] == 0, (rows["n_items"] == 0) & (rows["n"] > 0)
    rows.loc[no_items, "reason"] = [join_reasons(NO_ITEMS, text) for text in rows.loc[no_items, "reason"]]
    return rows.assign(part=STEP, erroneous=", ".join(names), reason=rows["reason"].mask(none, NO_STEPS))


def _of_items(
    verdicts: Verdicts, steps: Steps, wrong: BoolArray, right: BoolArray, labelled: BoolArray, flagged: BoolArray
) -> dict[str, Measure]:
    """The measures of the first error of each item, which stand at the item's first step.

    An item counts in a repeat where all its steps, up to the annotators' first error if there is one, have a label and
    a verdict.

    Parameters
    ----------
    wrong : shape (cases, dimensions), whether the annotators call a step erroneous
    right, labelled, flagged : one entry per verdict: it is right, its step has a label, it calls the step erroneous
    """
    size = np.bincount(steps.item[steps.item >= 0])
    first = np.full((len(size), wrong.shape[1]), NO_ERROR)
    case, dimension = np.nonzero(wrong)
    np.minimum.at(first, (steps.item[case], dimension), steps.place[case])
    needed = np.minimum(first, size[:, None] - 1) + 1
    item, place, of = steps.item[verdicts.case], steps.place[verdicts.case], verdicts.dimension[verdicts.cell]
    until = place <= first[item, of]
    rows = pd.DataFrame({"cell": verdicts.cell, "item": item, "repeat": verdicts.repeat})
    rows = rows.assign(known=until & labelled, right=until & right, own=np.where(flagged, place, NO_ERROR))
    seen = rows[item >= 0].groupby(["cell", "item", "repeat"]).agg(
        known=("known", "sum"), right=("right", "sum"), own=("own", "min")
    ).reset_index()  # fmt: skip
    seen["first"], seen["needed"] = (each[seen["item"], verdicts.dimension[seen["cell"]]] for each in (first, needed))
    seen = seen[seen["known"] == seen["needed"]]
    both = (seen["first"] < NO_ERROR) & (seen["own"] < NO_ERROR)
    distance = (seen["own"].where(both, 0) - seen["first"].where(both, 0)).abs()
    seen = seen.assign(right=(seen["right"] == seen["needed"]) * 1.0, has=seen["first"] < NO_ERROR, both=both * 1.0)
    means = seen.assign(distance=distance).groupby(["cell", "item"])[["right", "has", "both", "distance"]].mean()
    out = np.full((4, verdicts.n_cases, len(verdicts.cells)), np.nan)
    out[:, steps.first[means.index.get_level_values("item")], means.index.get_level_values("cell")] = means.to_numpy().T
    found, has, both_see, apart = out
    with_error, without = np.where(has == 1, found, np.nan), np.where(has == 0, found, np.nan)
    adds = [np.nan_to_num(with_error), has == 1, np.nan_to_num(without), has == 0]
    return {
        "first_error_accuracy": Measure(mean(found), intervals.share),
        "error_item_accuracy": Measure(mean(with_error), intervals.share),
        "clean_item_accuracy": Measure(mean(without), intervals.share),
        "first_error_f1": Measure(Quantity(np.stack(adds, axis=2).astype(np.float64), _harmonic), _of_both),
        "first_error_distance": Measure(
            weighted(np.nan_to_num(apart), np.nan_to_num(both_see)), partial(intervals.t, least=0.0, most=np.inf)
        ),
    }


def _harmonic(sums: NDArray[Any]) -> FloatArray:
    """The harmonic mean of two ratios; of zeros it is 0."""
    one, other = ratio(sums[..., :2]), ratio(sums[..., 2:])
    return np.where(np.real(one + other) == 0, 0.0, divide(2 * one * other, one + other))


def _of_both(e: Estimate) -> Interval:
    """As of a coefficient; none where the items with an error, or those without, are in fewer than two clusters."""
    low, high, method = intervals.coefficient(e)
    few = (e.sampling.sums(e.quantity.adds[..., [1, 3]]) > 0).sum(axis=0).min(axis=-1) < 2
    return Interval(np.where(few, np.nan, low), np.where(few, np.nan, high), method)
