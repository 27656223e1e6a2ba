"""How well judges find each of several labels that may apply to a response at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.benchmarks.votes import voting
from mrb_lib.stats.core.panel import ABSENT, Panel
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.multi_label import reading
from mrb_lib.stats.multi_label.rows import EVEN, YES, label_shares, majority, pairs_of
from mrb_lib.stats.options import (
    BoolArray,
    FloatArray,
    IntArray,
    by_column,
    divide,
    join_reasons,
    typed,
    with_ends,
)
from mrb_lib.stats.resampling.bounds import reasoned_bounds
from mrb_lib.stats.resampling.resample import (
    Ratios,
    block,
    cluster_codes,
    clusters_counted,
    n_clusters,
    ratios,
    resampled,
)
from mrb_lib.stats.subfields import By, Group, groups

MEASURES: Final = ("precision", "recall", "f1")
_F1: Final = MEASURES.index("f1")
MICRO, MACRO = "micro", "macro"
NO_CASES = "no case has both a verdict and annotations that decide"
UNDEFINED = {
    "precision": "precision is undefined: the judge never gives it",
    "recall": "recall is undefined: it never applies",
    "f1": "f1 is undefined: it neither applies nor is given",
}
SOME_UNDEFINED = "{} is the mean over {} of {} labels, of which it is defined"
COLUMNS = [
    "judge", "dimension", "label", "average", "subfield", "by", "n", "n_excluded", "n_seen", "n_undecided",
    "n_positive", "n_flagged", "n_labels", "n_unassigned", "n_clusters", "coverage", *with_ends(*MEASURES), "reason",
]  # fmt: skip


class Counted(NamedTuple):
    """What each case adds of one judge and dimension with L labels, mean over repeats.

    Attributes
    ----------
    numerator, denominator : shape (cases, 3, L), of precision, recall, and the share of the times that judge or
        annotators give a label in which both do, of which `_as_f1` makes F1
    answered : shape (cases, L), the share of verdicts with a choice; 0 where the case does not count
    judged, undecided : shape (cases, L), whether the case counts, and whether an even split is why it does not
    seen : shape (cases,), whether a verdict is left out since the judge was trained on the case
    """

    numerator: FloatArray
    denominator: FloatArray
    answered: FloatArray
    judged: BoolArray
    undecided: BoolArray
    seen: BoolArray


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
    annotations : the annotations table; a label applies where more than half of a case's annotators give it, does not
        where fewer do, and is undecided where just half do
    label_sets : the labels of each dimension in which several may apply
    by, dimensions, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`

    Returns
    -------
    DataFrame
        One row a judge, dimension and `label`, and two in which `label` is null: `average` "micro", over all decisions
        about labels together, and "macro", the unweighted mean over the labels for which a measure is defined; overall
        (`subfield` null) and by subfield. Over the `n` cases with a verdict for which the label (in averages: some
        label) is decided (`n_excluded` others, of which the judge was trained on `n_seen`): `precision`, `recall` and
        `f1`, each the mean over the judge's repeats with a 95% interval, and how often the label applies
        (`n_positive`), is given (`n_flagged`) and is undecided (`n_undecided`). A verdict without a choice gives no
        label; `coverage` is the share of verdicts that have one. A measure without anything to divide by is null.

        Intervals are the recommended ones of `mrb_lib.stats.resampling.shares`; F1's is that of the share of agreement
        where judge or annotators give the label, carried over. Those of macro averages are of the cluster bootstrap
        (`mrb_lib.stats.resampling.bounds.reasoned_bounds`), in which a resample without one of the labels averaged
        over is undefined. `reason` says why a value is null. A judge trained on every case has rows without values.

    Notes
    -----
    Equal to scikit-learn's `precision_recall_fscore_support` in tests/stats/multi_label/test_labels.py.
    """
    parts, codes = groups(cases, by), cluster_codes(cases, cluster)
    pairs, panel = pairs_of(label_sets), verdicts.labels
    shares = label_shares(voting(annotations), cases["case_id"], label_sets)
    by_cell = []
    for dimension in label_sets if dimensions is None else dimensions:
        own = [i for i, pair in enumerate(pairs) if pair[0] == dimension]
        for j, judge in enumerate(panel.judges if panel is not None else []):
            if panel is None or not panel.takes_part()[j, own].any():
                continue
            counted = _counted(shares[own], panel.choice[j, own][:, :, 0], np.asarray(panel.saw()[j, own].any(axis=0)))
            found = _rows(counted, [pairs[i][1] for i in own], parts, codes, resamples, seed)
            shared = {"judge": judge, "dimension": dimension}
            by_cell.append(
                [[{**shared, **part.label(), **row} for row in each] for part, each in zip(parts, found, strict=True)]
            )
    rows = [row for of_part in zip(*by_cell, strict=True) for of_cell in of_part for row in of_cell]
    return typed(pd.DataFrame(rows, columns=COLUMNS), COLUMNS, average="str")


def _counted(shares: FloatArray, said: NDArray[np.int8], seen: BoolArray) -> Counted:
    """Compare verdicts, shape (labels, cases, repeats), with the annotators' shares, shape (labels, cases)."""
    gold, present = majority(shares), said[0] != ABSENT
    there = present & np.isfinite(gold)[..., None]
    applies, given = (gold == 1)[..., None] & there, (said == YES) & there
    times = there.sum(axis=2)

    def mean(values: BoolArray) -> FloatArray:
        return np.nan_to_num(divide(values.sum(axis=2).astype(np.float64), times)).T

    top = np.stack([mean(applies & given)] * len(MEASURES), axis=1)
    bottom = np.stack([mean(given), mean(applies), mean(applies | given)], axis=1)
    undecided = (shares == EVEN) & present.any(axis=1)
    return Counted(top, bottom, mean((said >= 0) & there), (times > 0).T, undecided.T, seen)


def _rows(
    counted: Counted, names: Sequence[str], parts: Sequence[Group], codes: IntArray, resamples: int, seed: int
) -> list[list[dict[str, object]]]:
    """The rows of one judge and dimension, labels first, by group of cases."""
    n_cases, m, n_labels = counted.numerator.shape
    top, bottom = (each.reshape(n_cases, m * n_labels) for each in counted[:2])
    of_labels = ratios(
        [(part.cases, top[part.cases], bottom[part.cases]) for part in parts],
        codes, shares=True, resamples=resamples, seed=seed,
    )  # fmt: skip
    # In the micro average every decision about a label counts once, in the cluster of its case.
    found, of = (each.swapaxes(1, 2) for each in counted[:2])
    of_all = ratios(
        [(part.cases.repeat(n_labels), found[part.cases].reshape(-1, m), of[part.cases].reshape(-1, m))
         for part in parts],
        codes, shares=True, resamples=resamples, seed=seed,
    )  # fmt: skip
    macros = _macro(counted, np.hstack([top, bottom]), parts, codes, resamples, seed)
    out = []
    for part, label, micro, macro in zip(parts, of_labels, of_all, macros, strict=True):
        rows = [
            {**_counts(counted, part.cases, codes, [i]), **_measured(label, i, n_labels), "label": name}
            for i, name in enumerate(names)
        ]
        whole = _counts(counted, part.cases, codes, list(range(n_labels)))
        averages = [{**whole, **_measured(micro, 0, 1), "average": MICRO}, {**whole, **macro, "average": MACRO}]
        out.append([row | {"reason": _reason(row)} for row in (*rows, *averages)])
    return out


def _counts(counted: Counted, cases: IntArray, codes: IntArray, labels: list[int]) -> dict[str, object]:
    """What is counted of some labels in a group of cases."""
    given, applies = (counted.denominator[cases][:, place][:, labels] > 0 for place in (0, 1))
    judged = np.asarray(counted.judged[cases][:, labels].any(axis=1))
    answered = counted.answered[cases][:, labels].max(axis=1).sum()
    return {
        "n": int(judged.sum()),
        "n_excluded": int((~judged).sum()),
        "n_seen": int(counted.seen[cases].sum()),
        "n_undecided": int(counted.undecided[cases][:, labels].sum()),
        "n_positive": int(applies.sum()),
        "n_flagged": int(given.sum()),
        "n_labels": len(labels),
        "n_clusters": int(clusters_counted(codes[cases], judged[:, None])[0]),
        "coverage": float(divide(answered, np.array(float(judged.sum())))),
    }


def _macro(
    counted: Counted, sums: FloatArray, parts: Sequence[Group], codes: IntArray, resamples: int, seed: int
) -> list[dict[str, object]]:
    """The means over labels with their intervals, by group of cases, from sums of shape (cases, 2 * 3 * L)."""
    kept = [counted.denominator[part.cases].sum(axis=0) > 0 for part in parts]
    blocks = [
        block(codes[part.cases], sums[part.cases], partial(_mean_of_labels, kept=own))
        for part, own in zip(parts, kept, strict=True)
    ]
    drawn = resampled(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    out = []
    for part, own, draws in zip(parts, kept, drawn, strict=True):
        used = np.asarray((counted.denominator[part.cases] > 0).any(axis=2))
        value = _mean_of_labels(draws.total, own)[0]
        ends, why = reasoned_bounds(
            draws.replicates, value, used.sum(axis=0), clusters_counted(codes[part.cases], used)
        )
        row: dict[str, object] = {}
        for name, *three in zip(MEASURES, value.tolist(), *ends.tolist(), strict=True):
            row |= dict(zip(with_ends(name), three, strict=True))
        defined = dict(zip(MEASURES, own.sum(axis=1).tolist(), strict=True))
        some = [SOME_UNDEFINED.format(name, n, own.shape[1]) for name, n in defined.items() if n < own.shape[1]]
        out.append({**row, "why": join_reasons(*some, by_column(dict(zip(MEASURES, why, strict=True))))})
    return out


def _mean_of_labels(sums: FloatArray, kept: BoolArray) -> FloatArray:
    """The mean of each measure over the labels that are kept, shape (3, L); NaN where one of them is undefined."""
    each = divide(*np.hsplit(sums, 2)).reshape(len(sums), *kept.shape)
    each[:, _F1] = _as_f1(each[:, _F1])
    return divide(np.where(kept, each, 0.0).sum(axis=2), kept.sum(axis=1))


def _as_f1(overlap: FloatArray) -> FloatArray:
    """F1 from found / (found + missed + false alarms), of which it is a rising function."""
    return 2 * overlap / (1 + overlap)


def _measured(ratio: Ratios, i: int, width: int) -> dict[str, object]:
    """The measures with their intervals at place i of each `width` columns, and why one is null."""
    row: dict[str, object] = {}
    why = {}
    for place, name in enumerate(MEASURES):
        at = place * width + i
        three = np.array([ratio.value[at], ratio.low[at], ratio.high[at]])
        row |= dict(zip(with_ends(name), (_as_f1(three) if place == _F1 else three).tolist(), strict=True))
        why[name] = ratio.reason[at]
    return {**row, "why": by_column(why)}


def _reason(row: Mapping[str, Any]) -> str | None:
    if not row["n"]:
        return NO_CASES
    nulls = [] if row.get("average") == MACRO else [name for name in MEASURES if np.isnan(row[name])]
    return join_reasons(*(UNDEFINED[name] for name in nulls), row["why"])
