"""Findings of judges in single responses: labels of which several may apply."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.benchmarks.votes import voting
from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.contrasts import ALPHA, t_test
from mrb_lib.stats.estimation import BoolArray, Estimate, FloatArray, IntArray, Quantity, divide, estimate, mean, ratio
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.intervals import Interval
from mrb_lib.stats.verdicts import ANSWERS, Verdicts, label_gold

LABEL = "label"


def outcomes(verdicts: Verdicts, counted: BoolArray, given: BoolArray, applies: BoolArray) -> FloatArray:
    """Return the shares of hits, of what is given and of what applies, by case and cell, shape (3, cases, cells).

    Shares are over the verdicts on a case that count, and 0 where none does.

    Parameters
    ----------
    counted, given, applies : one entry per verdict: it counts, gives a label or error, and that one applies
    """
    times = verdicts.total(counted)
    kinds = (given & applies, given, applies)
    return np.stack([np.nan_to_num(divide(verdicts.total(each & counted), times)) for each in kinds])


def precision_and_recall(shares: FloatArray) -> dict[str, Measure]:
    """Return precision, recall and F1 as measures, from shares as of `outcomes`."""
    both, given, applies = shares
    either = given + applies - both
    f1 = Quantity(np.stack([both, either], axis=2), lambda sums: divide(2 * sums[..., 0], sums.sum(axis=-1)), either)
    return {
        "precision": Measure(weighted(both, given), intervals.share),
        "recall": Measure(weighted(both, applies), intervals.share),
        "f1": Measure(f1, _interval_of_f1),
    }


def weighted(part: FloatArray, whole: FloatArray) -> Quantity:
    """Return the ratio of two sums, in which a case counts by what it adds to the second."""
    return Quantity(np.stack([part, whole], axis=2), weight=whole)


def _interval_of_f1(e: Estimate) -> Interval:
    """Return the interval of F1 that carries over the interval of the overlap, which is a share of cases."""
    low, high, method = intervals.share(estimate(replace(e.quantity, statistic=ratio), e.sampling))
    return Interval(2 * low / (1 + low), 2 * high / (1 + high), method)


def with_best(estimates: list[Estimate], rivals: pd.Series) -> pd.Series:
    """Return whether each cell does not differ significantly from the highest of its rivals, group of cases by group.

    Two cells are compared by t on the cases that both have. A p value counts as many times as there are other rivals,
    so that a cell above all others is significantly so in at most 5% of samples.

    Parameters
    ----------
    estimates : one per group of cases
    rivals : one entry per cell, the same for cells that are compared with each other

    Returns
    -------
    boolean Series, one entry per group of cases and cell; null where the quantity is undefined
    """
    frames = []
    for e in estimates:
        value = pd.Series(e.value)
        best = value.fillna(-np.inf).groupby(rivals.to_numpy()).transform("idxmax").to_numpy()
        others = value.groupby(rivals.to_numpy()).transform("count").to_numpy() - 1
        apart = estimate(_lead(e.quantity, best), e.sampling)
        below = (apart.value > 0) & (t_test(apart) * others <= ALPHA)
        frames.append(pd.Series(~below, dtype="boolean").mask(value.isna()))
    return pd.concat(frames, ignore_index=True)


def _lead(quantity: Quantity, first: IntArray) -> Quantity:
    """Return how much higher a quantity is in the cells `first` than in all cells, on the cases that both have."""
    one, other, k = quantity.adds[:, first], quantity.adds, quantity.adds.shape[2]
    both = one.any(axis=2, keepdims=True) & other.any(axis=2, keepdims=True)

    def statistic(sums: NDArray[Any]) -> NDArray[Any]:
        return quantity.statistic(sums[..., :k]) - quantity.statistic(sums[..., k:])

    return Quantity(np.concatenate([one, other], axis=2) * both, statistic)


def label_part(analysis: Analysis) -> pd.DataFrame:
    """Make the rows of each label, and of all labels together, of every judge and dimension of several labels.

    A label applies where more than half of a case's annotators give it, does not where fewer do, and is undecided where
    just half do. A verdict without a choice gives no label.
    """
    panel = analysis.panel.labels if analysis.panel else None
    if panel is None:
        return pd.DataFrame()
    verdicts = Verdicts.of(panel)
    pairs = [name.split("\n") for name in verdicts.cells["dimension"]]
    named = pd.DataFrame(pairs, columns=["dimension", "label"]).assign(judge=verdicts.cells["judge"])
    frames, members = [], list[list[int]]()
    for dimension in analysis.label_sets:
        for _, own in named[named["dimension"] == dimension].groupby("judge", sort=False):
            frames += [own, own.head(1).assign(label=None)]
            members += [*([cell] for cell in own.index), own.index.tolist()]
    if not frames:
        return pd.DataFrame()

    def summed(values: NDArray[Any]) -> NDArray[Any]:
        return np.stack([values[..., cells].sum(axis=-1) for cells in members], axis=-1)

    every = label_gold(voting(analysis.annotations), analysis.cases["case_id"], analysis.benchmark.meta.labels)
    gold = every[:, verdicts.dimension]
    applies = gold[verdicts.case, verdicts.cell]
    counted = np.isin(applies, [0, 1])
    shares = outcomes(verdicts, counted, verdicts.choice == ANSWERS.index("yes"), applies == 1)
    _, flagged, positive = summed(shares > 0)
    answered = divide(verdicts.total((verdicts.choice >= 0) & counted), verdicts.total(counted))
    coverage = divide(summed(np.nan_to_num(answered)), summed(np.isfinite(answered)))
    names = pd.concat(frames, ignore_index=True)
    measures = {"coverage": Measure(mean(coverage))} | precision_and_recall(summed(shares))
    undecided = summed((gold == 0.5) & (verdicts.total() > 0))
    tallies = {"n_undecided": undecided, "n_positive": positive, "n_flagged": flagged}
    rows, made = grid(analysis, names, measures, summed(verdicts.seen) > 0, tallies)
    rivals = names.groupby(["dimension", "label"], dropna=False).ngroup()
    return rows.assign(part=LABEL, with_best=with_best(made["f1"], rivals))
