"""Right verdicts for wrong reasons, on a benchmark of judges' reasons that `mrb export rationales` wrote."""

from __future__ import annotations

import json
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.detection import counted_rows
from mrb_lib.stats.estimation import BoolArray, FloatArray, Quantity, divide, mean
from mrb_lib.stats.grid import Measure
from mrb_lib.stats.options import join_reasons, pick_dimensions
from mrb_lib.stats.verdicts import labels_of
from mrb_lib.stats.welch import unpaired
from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.formats.rationales import CATEGORIES, DIMENSION, JUDGE, RIGHT, VERDICTS

RATIONALE, ANNOTATORS = "rationale", "annotators"
UNMARKED = "the marker has marked none of these reasons"
OF_SECOND = "cohen_kappa compares a second judge with the annotators"
OWN_MARKS = "the judge marked its own reasons"
_K: Final = len(CATEGORIES)
_RIGHT: Final = CATEGORIES.index(RIGHT)


def has_reasons(analysis: Analysis) -> bool:
    """Return whether the cases are reasons of judges."""
    return {JUDGE, VERDICTS} <= set(analysis.cases.columns) and set(CATEGORIES) <= set(
        analysis.benchmark.meta.categories
    )


def rationale_part(analysis: Analysis) -> pd.DataFrame:
    """Make the rows about the reasons of judges: one per judge, dimension of its verdicts, and marker.

    A reason for verdicts on several dimensions counts on each. The repeats of a second judge share a mark. The interval
    of `reason_gap` is Student's t with Welch's degrees of freedom, see `mrb_lib.stats.welch.unpaired`.
    """
    if not has_reasons(analysis):
        return pd.DataFrame()
    people, marks = _marks(analysis)
    scores, judges = _scores(analysis.cases), analysis.cases[JUDGE].astype("str")
    names = [
        (judge, dimension, marker)
        for dimension, judge, marker in product(scores, sorted(judges.unique()), marks)
        if (scores[dimension][0] & (judges == judge)).any()
    ]
    cells = pd.DataFrame(names, columns=["judge", "dimension", "marker"])
    given = np.stack([scores[dimension][0] & (judges == judge) for judge, dimension, _ in names], axis=1)
    score = np.stack([scores[dimension][1] for _, dimension, _ in names], axis=1)
    mark = np.stack([marks[marker] for *_, marker in names], axis=2)  # marks, cases, cells
    marked = given & np.isfinite(mark[0])
    second = (cells["marker"] != ANNOTATORS).to_numpy()
    both = marked & np.isfinite(people[0])[:, None] & second
    right, wrong = marked & (score == 1), marked & (score == 0)
    pairs = np.einsum("an,bnm,nm->nmab", np.nan_to_num(people), np.nan_to_num(mark), both * 1.0)

    def among(values: FloatArray, kept: BoolArray) -> Measure:
        return Measure(mean(np.where(kept, values, np.nan)), intervals.share)

    measures = {f"share_{name}": among(mark[i], marked) for i, name in enumerate(CATEGORIES)} | {
        "right_for_wrong_reason": among(1 - mark[_RIGHT], right),
        "wrong_for_right_reason": among(mark[_RIGHT], wrong),
        "cohen_kappa": Measure(Quantity(pairs.reshape(*both.shape, _K * _K), _kappa), intervals.coefficient),
    }
    tallies = {"n_reasons": given, "n_unscored": marked & ~right & ~wrong, "n_both": both}
    tallies |= {"n_right_verdicts": right, "n_wrong_verdicts": wrong}
    rows, _ = counted_rows(analysis, cells, measures, None, tallies)
    gaps = []
    for part in analysis.parts:
        one, other = (np.where(side, mark[_RIGHT], np.nan)[part.cases] for side in (right, wrong))
        made = unpaired(one, other, analysis.sampling.take(part.cases))
        ends = intervals.t(made.difference)
        columns = {"reason_gap": made.difference.value, "reason_gap_low": ends.low, "reason_gap_high": ends.high}
        gaps.append(pd.DataFrame(columns))
    rows = rows.drop(columns=["low", "high", "interval"]).join(pd.concat(gaps, ignore_index=True))
    rows["reason"] = [_reason(row) for row in rows.to_dict("records")]
    rows["n_excluded"] = rows["n_reasons"] - rows["n"]
    return rows[rows["n_reasons"] > 0].assign(part=RATIONALE)


def _marks(analysis: Analysis) -> tuple[FloatArray, dict[str, FloatArray]]:
    """The annotators' marks, shape (3, cases), and by marker the shares of its marks over repeats; NaN without any."""
    codes = [list(analysis.benchmark.meta.categories).index(name) for name in CATEGORIES]
    label = labels_of(analysis.gold, analysis.cases["case_id"], [DIMENSION], analysis.benchmark.meta.categories)[:, 0]
    people = np.where(label >= 0, np.array(codes)[:, None] == label, np.nan)
    verdicts = analysis.verdicts
    marks = {}
    counts = np.stack([verdicts.total(verdicts.choice == code) for code in codes])
    for cell, (name, dimension) in enumerate(zip(verdicts.cells["judge"], verdicts.cells["dimension"], strict=True)):
        if dimension == DIMENSION:
            marks[str(name)] = divide(counts[:, :, cell], counts[:, :, cell].sum(axis=0))
    return people, {ANNOTATORS: people} | marks if np.isfinite(people).any() or not marks else marks


def _scores(cases: pd.DataFrame) -> dict[str, tuple[BoolArray, FloatArray]]:
    """By dimension, which reasons are for a verdict on it, and whether that verdict is right: 1, 0, or NaN."""
    read: list[dict[str, float]] = []
    for case_id, text in zip(cases["case_id"], cases[VERDICTS], strict=True):
        try:
            stated = {str(name): each["score"] for name, each in json.loads(text).items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            stated = {"": "unreadable"}
        if any(score not in (0, 1, None) for score in stated.values()):
            raise InputError(
                f"cases, column {VERDICTS} (case {case_id}): is not what `mrb export rationales` writes; export again."
            )
        read.append({name: np.nan if score is None else float(score) for name, score in stated.items()})
    names = pick_dimensions((name for each in read for name in each), None)
    return {
        name: (np.array([name in each for each in read]), np.array([each.get(name, np.nan) for each in read]))
        for name in names
    }


def _kappa(sums: NDArray[Any]) -> NDArray[Any]:
    """Cohen's kappa of the annotators' marks and a second judge's, from how often each pair of marks occurs."""
    table = sums.reshape(*sums.shape[:-1], _K, _K)
    total = table.sum(axis=(-2, -1))
    agree = divide(np.trace(table, axis1=-2, axis2=-1), total)
    chance = divide((table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1), total**2)
    return divide(agree - chance, 1 - chance)


def _reason(row: dict[Any, Any]) -> str | None:
    """Why values of a row are null."""
    marked, right, wrong = (bool(row[name]) for name in ("n", "n_right_verdicts", "n_wrong_verdicts"))
    people, no_gap = row["marker"] == ANNOTATORS, np.isnan(row["reason_gap"])
    not_both = "cohen_kappa is undefined: the annotators marked none of the reasons that the second judge did"
    one_mark = "cohen_kappa is undefined: both give the same mark throughout"
    return join_reasons(
        "" if marked else UNMARKED,
        "right_for_wrong_reason is undefined: no marked reason is for a right verdict" if marked and not right else "",
        "wrong_for_right_reason is undefined: no marked reason is for a wrong verdict" if marked and not wrong else "",
        "reason_gap is undefined: it takes reasons for right and for wrong verdicts" if marked and no_gap else "",
        OF_SECOND if people else not_both if not row["n_both"] else one_mark if np.isnan(row["cohen_kappa"]) else "",
        OWN_MARKS if row["marker"] == row["judge"] else "",
    )
