"""How well judges find each of several labels that may apply to a response at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.data.votes import voting
from mrb_lib.stats.core.options import FloatArray, IntArray, divide, join_reasons, mean_of_defined, typed, with_ends
from mrb_lib.stats.core.panel import ABSENT, Panel
from mrb_lib.stats.core.subfields import By, Group, groups
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.multi_label import reading
from mrb_lib.stats.multi_label.rows import YES, label_gold, pairs_of
from mrb_lib.stats.resampling.resample import (
    Ratios,
    block,
    cluster_codes,
    clusters_counted,
    interval,
    n_clusters,
    ratios,
    resampled,
)

MEASURES: Final = ("precision", "recall", "f1")
MICRO, MACRO = "micro", "macro"
NO_CASES = "no case has both annotations and a verdict"
UNDEFINED = {
    "precision": "precision is undefined: the judge never gives it",
    "recall": "recall is undefined: it never applies",
    "f1": "f1 is undefined: it neither applies nor is given",
}
SOME_UNDEFINED = "{} is the mean over {} of {} labels, of which it is defined"
COLUMNS = [
    "judge", "dimension", "label", "average", "subfield", "by", "n", "n_excluded", "n_positive", "n_flagged",
    "n_labels", "n_unassigned", "n_clusters", "coverage", *with_ends(*MEASURES), "reason",
]  # fmt: skip


class Counted(NamedTuple):
    """What each case adds of one judge and dimension with L labels, mean over repeats.

    Attributes
    ----------
    numerator, denominator : shape (cases, 3, L), of `MEASURES`
    answered, judged : shape (cases,), the share of verdicts with a choice, and whether the case counts
    """

    numerator: FloatArray
    denominator: FloatArray
    answered: FloatArray
    judged: FloatArray


@register_table(
    "labels",
    question="which of several labels does a judge find, such as kinds of error in a response",
    columns=COLUMNS,
    meanings=reading.MEANINGS,
    headline=("f1", "precision", "recall"),
    sentence=reading.sentence,
    why_no_ratings="",
    why_no_preferences="it is about labels of one response, several of which may apply",
)
def labels(
    verdicts: Panel,
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    label_sets: Mapping[str, Sequence[str]],
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Precision, recall and F1 of each judge by label, and their averages.

    Parameters
    ----------
    verdicts : the panel of one probe, whose `labels` are read
    annotations : the annotations table; a label applies where more than half of a case's annotators give it
    label_sets : the labels of each dimension in which several may apply
    by, dimensions, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`

    Returns
    -------
    DataFrame
        One row a judge, dimension and `label`, and two in which `label` is null: `average` "micro", over all decisions
        about labels together, and "macro", the unweighted mean over the labels for which a measure is defined; overall
        (`subfield` null) and by subfield. Over the `n` cases with annotations and a verdict (`n_excluded` others):
        `precision`, `recall` and `f1`, each the mean over the judge's repeats with a 95% interval, and how often the
        label applies (`n_positive`) and is given (`n_flagged`). A verdict without a choice gives no label; `coverage`
        is the share of verdicts that have one. A measure without anything to divide by is null, and `reason` says so.

    Notes
    -----
    Equal to scikit-learn's `precision_recall_fscore_support` in tests/stats/multi_label/test_labels.py.
    """
    parts, codes = groups(cases, by), cluster_codes(cases, cluster)
    pairs, panel = pairs_of(label_sets), verdicts.labels
    gold = label_gold(voting(annotations), cases["case_id"], label_sets)
    by_cell = []
    for dimension in label_sets if dimensions is None else dimensions:
        own = [i for i, pair in enumerate(pairs) if pair[0] == dimension]
        for judge, choice in zip(panel.judges, panel.choice, strict=True) if panel is not None else ():
            said = choice[own][:, :, 0]
            if not (said != ABSENT).any():
                continue
            counted = _counted(gold[own], said)
            found = _rows(counted, [pairs[i][1] for i in own], parts, codes, resamples, seed)
            shared = {"judge": judge, "dimension": dimension}
            by_cell.append(
                [[{**shared, **part.label(), **row} for row in each] for part, each in zip(parts, found, strict=True)]
            )
    rows = [row for of_part in zip(*by_cell, strict=True) for of_cell in of_part for row in of_cell]
    return typed(pd.DataFrame(rows, columns=COLUMNS), COLUMNS, average="str")


def _counted(gold: FloatArray, said: NDArray[np.int8]) -> Counted:
    """Compare verdicts, shape (labels, cases, repeats), with gold, shape (labels, cases)."""
    there = (said[0] != ABSENT) & np.isfinite(gold[0])[:, None]
    applies, given = (gold == 1)[..., None] & there, (said == YES) & there
    hit, missed = applies & given, applies != given
    times = there.sum(axis=1)

    def mean(values: NDArray[np.bool_] | FloatArray) -> FloatArray:
        return np.nan_to_num(divide(values.sum(axis=-1).astype(np.float64), times))

    top = np.stack([mean(hit)] * len(MEASURES))
    bottom = np.stack([mean(given), mean(applies), mean(hit + missed / 2)])
    answered = mean((said[0] >= 0) & there)
    return Counted(np.moveaxis(top, 2, 0), np.moveaxis(bottom, 2, 0), answered, (times > 0).astype(np.float64))


def _rows(
    counted: Counted, names: Sequence[str], parts: Sequence[Group], codes: IntArray, resamples: int, seed: int
) -> list[list[dict[str, object]]]:
    """The rows of one judge and dimension, labels first, by group of cases."""
    n_labels, m = len(names), len(MEASURES)
    # Of the micro average a case counts as much as of one label, whose weight is the mean over labels.
    top, bottom = (np.dstack([each, each.mean(axis=2)]) for each in (counted.numerator, counted.denominator))
    flat = [each.reshape(len(codes), m * (n_labels + 1)) for each in (top, bottom)]
    found = ratios(
        [(part.cases, flat[0][part.cases], flat[1][part.cases]) for part in parts],
        codes, shares=True, resamples=resamples, seed=seed,
    )  # fmt: skip
    sums = np.hstack([each.reshape(len(codes), m * n_labels) for each in (counted.numerator, counted.denominator)])

    def macro(values: FloatArray) -> FloatArray:
        each = divide(*np.hsplit(values, 2)).reshape(len(values), m, n_labels)
        return np.hstack([mean_of_defined(each[:, i]) for i in range(m)])

    blocks = [block(codes[part.cases], sums[part.cases], macro) for part in parts]
    drawn = resampled(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    out = []
    for part, ratio, draws in zip(parts, found, drawn, strict=True):
        own = bottom[part.cases] > 0
        judged = counted.judged[part.cases] > 0
        shared = {
            "n": int(judged.sum()),
            "n_excluded": int((~judged).sum()),
            "n_clusters": int(clusters_counted(codes[part.cases], judged[:, None])[0]),
            "coverage": float(divide(counted.answered[part.cases].sum(), np.array(float(judged.sum())))),
        }
        counts = [own[:, i, :n_labels].sum(axis=0) for i in (1, 0)]
        rows = [
            {
                **shared, **_measured(ratio, i, n_labels + 1), "label": name, "n_labels": 1,
                **dict(zip(("n_positive", "n_flagged"), (int(each[i]) for each in counts), strict=True)),
            }
            for i, name in enumerate(names)
        ]  # fmt: skip
        whole = {**shared, "n_labels": n_labels, "n_positive": int(counts[0].sum()), "n_flagged": int(counts[1].sum())}
        micro = {**whole, **_measured(ratio, n_labels, n_labels + 1), "average": MICRO}
        ends = [macro(draws.total)[0], *interval(draws.replicates)]
        values = {name + end: each[i] for i, name in enumerate(MEASURES)
                  for end, each in zip(("", "_low", "_high"), ends, strict=True)}  # fmt: skip
        defined = {name: int(np.any(own[:, i, :n_labels], axis=0).sum()) for i, name in enumerate(MEASURES)}
        for row in (*rows, micro):
            row["reason"] = _reason(row)
        said = [SOME_UNDEFINED.format(name, n, n_labels) for name, n in defined.items() if n < n_labels]
        why = join_reasons(*said) if shared["n"] else NO_CASES
        out.append([*rows, micro, {**whole, **values, "average": MACRO, "reason": why}])
    return out


def _measured(ratio: Ratios, i: int, width: int) -> dict[str, float]:
    """The measures with their intervals of the label at place i of each `width` columns."""
    return {
        name + end: values[place * width + i]
        for place, name in enumerate(MEASURES)
        for end, values in (("", ratio.value), ("_low", ratio.low), ("_high", ratio.high))
    }


def _reason(row: Mapping[str, object]) -> str | None:
    if not row["n"]:
        return NO_CASES
    nulls = [name for name in MEASURES if np.isnan(float(str(row[name])))]
    return join_reasons(*(UNDEFINED[name] for name in nulls))
