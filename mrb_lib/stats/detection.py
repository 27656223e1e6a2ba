"""Labels that a judge finds in single responses: several that may apply at once, and steps with an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.benchmarks.votes import voting
from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.estimation import (
    BoolArray,
    Estimate,
    FloatArray,
    IntArray,
    Quantity,
    divide,
    estimate,
    mean,
    ratio,
)
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.intervals import Interval
from mrb_lib.stats.label_rows import EVEN, YES, label_shares, majority, pairs_of
from mrb_lib.stats.leaders import with_best
from mrb_lib.stats.options import join_reasons
from mrb_lib.stats.verdicts import Verdicts

LABEL: Final = "label"
MICRO, MACRO = "micro", "macro"
MEASURES: Final = ("precision", "recall", "f1")
NEVER_DECIDED = "no case has both a verdict and annotations that decide"
UNDEFINED: Final = {
    "precision": "precision is undefined: the judge never gives it",
    "recall": "recall is undefined: it never applies",
    "f1": "f1 is undefined: it neither applies nor is given",
}
SOME_UNDEFINED = "{} is the mean over {} of {} labels, for which it is defined"
_NO_SPREAD = 1e-9
RARE = "a label averaged over is absent from most resamples"


class Found(NamedTuple):
    """Sums that cases add in each cell, shape (cases, cells): the mean over repeats, 0 where the case does not count.

    Attributes
    ----------
    both : share of the verdicts that give a label that applies
    given, applies : share that give it, and whether it applies
    """

    both: FloatArray
    given: FloatArray
    applies: FloatArray

    @classmethod
    def of(cls, verdicts: Verdicts, counted: BoolArray, given: BoolArray, applies: BoolArray) -> Found:
        """Compare verdicts, of which some count, with what applies; each has one entry per verdict."""
        times = verdicts.total(counted)
        both, each, true = (
            np.nan_to_num(divide(verdicts.total(on & counted), times)) for on in (given & applies, given, applies)
        )
        return cls(both, each, true)

    def summed(self, cells: IntArray) -> Found:
        """Return the sums over several cells, from their positions of shape (m, L)."""
        return Found(*(each[:, cells].sum(axis=2) for each in self))

    def ratios(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Return what precision, recall and overlap (found of found, missed and false alarms) divide by what."""
        either = self.given + self.applies - self.both
        return {"precision": (self.both, self.given), "recall": (self.both, self.applies), "f1": (self.both, either)}

    def measures(self) -> dict[str, Measure]:
        """Return precision, recall and F1, the last by way of the overlap, of which it is a rising function."""
        made = {name: weighted(*pair) for name, pair in self.ratios().items()}
        return {name: Measure(q, intervals.share) for name, q in made.items()} | {
            "f1": Measure(replace(made["f1"], statistic=f1), interval_of_f1)
        }


def weighted(part: FloatArray, whole: FloatArray) -> Quantity:
    """Return the ratio of two sums, in which a case counts by what it adds to the second."""
    return Quantity(np.stack([part, whole], axis=2), weight=whole)


def interval_of_f1(e: Estimate) -> Interval:
    """Return the interval of F1 that carries over the interval of the overlap, which is a share of cases."""
    low, high, method = intervals.share(estimate(replace(e.quantity, statistic=ratio), e.sampling))
    return Interval(2 * low / (1 + low), 2 * high / (1 + high), method)


def f1(sums: NDArray[Any]) -> NDArray[Any]:
    """Return F1 from the sums behind the overlap: found, and found, missed or false alarms."""
    return divide(2 * sums[..., 0], sums[..., 0] + sums[..., 1])


def counted_rows(
    analysis: Analysis,
    cells: pd.DataFrame,
    measures: dict[str, Measure],
    seen: BoolArray | None,
    tallies: dict[str, NDArray[Any]],
) -> tuple[pd.DataFrame, dict[str, list[Estimate]]]:
    """Make the rows of `grid` with more counts, of shape (cases, cells), and the number of each group of cases."""
    rows, made = grid(analysis, cells, measures, seen)
    rows["group"] = np.repeat(np.arange(len(analysis.parts)), len(cells))
    for name, values in tallies.items():
        rows[name] = np.concatenate([values[part.cases].sum(axis=0) for part in analysis.parts])
    return rows, made


def with_undefined(rows: pd.DataFrame, texts: Mapping[str, str]) -> pd.Series:
    """Return the reasons of rows, and of those that have cases also why a column is null."""
    said = [[text] if isinstance(text, str) else [] for text in rows.get("reason", [""] * len(rows))]
    for name, text in texts.items():
        for row in np.flatnonzero(rows[name].isna() & (rows["n"] > 0)):
            said[row].append(text)
    return pd.Series([join_reasons(*each) for each in said], rows.index, dtype=object)


def label_part(analysis: Analysis) -> pd.DataFrame:
    """Make the rows of each label, and of the averages over labels, of every judge and dimension of several labels.

    A label applies where more than half of a case's annotators give it, does not where fewer do, and is undecided where
    just half do. A verdict without a choice gives no label.
    """
    panel, sets = analysis.panel.labels if analysis.panel else None, analysis.label_sets
    if panel is None or not sets:
        return pd.DataFrame()
    every = pairs_of(analysis.benchmark.meta.labels)
    verdicts = Verdicts.of(panel)
    verdicts = verdicts.of_cells(np.array([every[i][0] in sets for i in verdicts.dimension], dtype=bool))
    shares = label_shares(voting(analysis.annotations), analysis.cases["case_id"], analysis.benchmark.meta.labels).T
    shares = shares[:, verdicts.dimension]
    gold = majority(shares)
    applies = gold[verdicts.case, verdicts.cell]
    counted, present = np.isfinite(applies), verdicts.total() > 0
    found = Found.of(verdicts, counted, verdicts.choice == YES, applies == 1)
    answered = divide(verdicts.total((verdicts.choice >= 0) & counted), verdicts.total(counted))
    tallies = {
        "n_undecided": (shares == EVEN) & present,
        "n_positive": found.applies > 0,
        "n_flagged": found.given > 0,
    }
    dimensions, labels = zip(*(every[i] for i in verdicts.dimension), strict=True)
    cells = pd.DataFrame({"judge": verdicts.cells["judge"], "dimension": dimensions, "label": labels, "n_labels": 1})
    measures = {"coverage": Measure(mean(answered))} | found.measures()
    rows, _ = counted_rows(analysis, cells.assign(place=verdicts.dimension), measures, verdicts.seen, tallies)
    frames = [rows.assign(reason=with_undefined(rows, UNDEFINED))]
    for dimension in sets:
        own = cells[cells["dimension"] == dimension]
        if own.empty:
            continue
        members = np.stack([own.index.get_indexer(each.index) for _, each in own.groupby("judge", sort=False)])
        members = own.index.to_numpy()[members]
        averages = own.loc[members[:, 0], ["judge", "dimension"]].assign(n_labels=members.shape[1])
        seen = np.asarray(verdicts.seen[:, members].any(axis=2))
        tally = {name: values[:, members].sum(axis=2) for name, values in tallies.items()}
        each = answered[:, members]
        coverage = {"coverage": Measure(mean(divide(np.nan_to_num(each).sum(axis=2), np.isfinite(each).sum(axis=2))))}
        micro = coverage | found.summed(members).measures()
        rows, _ = counted_rows(analysis, averages.assign(average=MICRO, place=len(every)), micro, seen, tally)
        frames.append(rows.assign(reason=with_undefined(rows, UNDEFINED)))
        macro = {
            name: Measure(_macro(part[:, members], whole[:, members], name), intervals.coefficient)
            for name, (part, whole) in found.ratios().items()
        }
        cells_of_macro = averages.assign(average=MACRO, place=len(every) + 1)
        rows, made = counted_rows(analysis, cells_of_macro, coverage | macro, seen, tally)
        rows["with_best"] = with_best(analysis, macro["f1"].quantity, [np.arange(len(members))])
        defined = np.concatenate([
            [(whole[part.cases][:, members].sum(axis=0) > 0).sum(axis=1) for _, whole in found.ratios().values()]
            for part in analysis.parts
        ], axis=1)  # fmt: skip
        rows["reason"] = [_some_undefined(counts, members.shape[1]) for counts in defined.T]
        rare = [
            np.concatenate([(e.error > _NO_SPREAD) & np.isnan(intervals.percentiles(e)[0]) for e in made[name]])
            for name in MEASURES
        ]
        rows["lacks"] = [RARE if each else None for each in np.any(rare, axis=0)]
        frames.append(rows)
    out = pd.concat(frames, ignore_index=True).assign(part=LABEL)
    out["reason"] = out["reason"].mask(out["n"] == 0, NEVER_DECIDED)
    out["order"] = out["dimension"].map({name: i for i, name in enumerate(sets)})
    return out.sort_values(["group", "order", "judge", "place"], kind="stable", ignore_index=True)


def _some_undefined(counts: IntArray, labels: int) -> str:
    """Say of how many labels each macro average is the mean, where it is not all."""
    few = [SOME_UNDEFINED.format(name, n, labels) for name, n in zip(MEASURES, counts, strict=True) if n < labels]
    return "; ".join(few)


def _macro(part: FloatArray, whole: FloatArray, name: str) -> Callable[[IntArray], Quantity]:
    """The unweighted mean of a measure over the labels for which it is defined, from shape (cases, m, L)."""

    def of(cases: IntArray) -> Quantity:
        adds = np.stack([part[cases], whole[cases]], axis=3)
        n, m, labels = adds.shape[:3]
        kept = whole[cases].sum(axis=0) > 0

        def statistic(sums: NDArray[Any]) -> NDArray[Any]:
            pairs = sums.reshape(*sums.shape[:-1], labels, 2)
            each = f1(pairs) if name == "f1" else ratio(pairs)
            return divide(np.where(kept, each, 0.0).sum(axis=-1), kept.sum(axis=-1))

        return Quantity(adds.reshape(n, m, labels * 2), statistic)

    return of
