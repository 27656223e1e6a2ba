"""What a judge's probability says: which response it leans to, how sure it is, and whether gold agrees.

A verdict's probability `p_a` that A is better is a forecast of the gold label. It leans to A above one
half, to B below; its confidence is the probability of the side it leans to, and it is correct
where gold is that side. At exactly one half it leans nowhere: its confidence is 1/2 and it is half correct.
What the verdict chose in words plays no part; where that contradicts the probability, it is counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.schema import CHOICES
from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.core.panel import TIE, Panel
from mrb_lib.stats.resampling.robust import Layout

A = CHOICES.index("A")
B = CHOICES.index("B")


class Forecasts(NamedTuple):
    """Probabilities with a decisive gold label, one entry each, by judge, dimension and case.

    Attributes
    ----------
    column : judge * n_dimensions + dimension
    case : position in the cases table
    p : the probability that A is better
    outcome : 1 where gold is A, 0 where it is B
    """

    column: IntArray
    case: IntArray
    p: FloatArray
    outcome: FloatArray

    @property
    def confidence(self) -> FloatArray:
        """The probability of the side the forecast leans to, 1/2 to 1.

        To twelve decimals, so that .58 for A and .42 for A are equally sure.
        """
        return np.asarray(np.round(np.maximum(self.p, 1 - self.p), 12), dtype=np.float64)

    @property
    def correct(self) -> FloatArray:
        """1 where gold is the side the forecast leans to, 0 where it is the other, 1/2 where it leans nowhere."""
        leans = np.sign(self.p - 0.5)
        out: FloatArray = 0.5 + leans * (self.outcome - 0.5)
        return out

    def take(self, kept: BoolArray) -> Forecasts:
        """Some of them."""
        return Forecasts(self.column[kept], self.case[kept], self.p[kept], self.outcome[kept])


class Grid(NamedTuple):
    """Where each forecast is counted, for sums by unit and by group.

    Attributes
    ----------
    place : column * P + unit
    cell : column * G + group
    column : the column
    columns : the number of columns
    grouping : the groups and units
    """

    place: IntArray
    cell: IntArray
    column: IntArray
    columns: int
    grouping: Layout

    def by_unit(self, weights: FloatArray | None = None) -> FloatArray:
        """Sums of each unit, shape (columns, P); without weights, how many there are."""
        return weighted_count(self.place, weights, self.columns * self.grouping.shape[1]).reshape(self.columns, -1)

    def by_bin(self, bins: IntArray, weights: FloatArray | None, n_bins: int) -> FloatArray:
        """Sums of each bin and unit, shape (columns, bins, P)."""
        units = self.grouping.shape[1]
        key = self.place + (self.column * (n_bins - 1) + bins) * units
        return weighted_count(key, weights, self.columns * n_bins * units).reshape(self.columns, n_bins, units)


def grid(column: IntArray, case: IntArray, columns: int, grouping: Layout) -> Grid:
    """Where forecasts on these cases, all of them in a group, are counted."""
    groups, units = grouping.shape
    return Grid(column * units + grouping.unit[case], column * groups + grouping.group[case], column, columns, grouping)


def weighted_count(position: IntArray, weights: FloatArray | None, size: int) -> FloatArray:
    """The sum of the weights at each position below `size`; without weights, how many are there."""
    return np.bincount(position, weights=weights, minlength=size).astype(np.float64, copy=False)


class Excluded(NamedTuple):
    """Verdicts that are not forecasts, each of shape (columns, cases): why, in this order.

    Attributes
    ----------
    no_gold : the case has no gold label
    gold_tie : the gold label is a tie, which a probability of A against B leaves open
    no_probability : the verdict has no probability
    """

    no_gold: IntArray
    gold_tie: IntArray
    no_probability: IntArray

    @property
    def total(self) -> IntArray:
        """All of them."""
        return self.no_gold + self.gold_tie + self.no_probability


def forecasts(panel: Panel, labels: IntArray) -> Forecasts:
    """Every verdict that has a probability, on a case with a decisive gold label.

    Parameters
    ----------
    labels : the gold labels, shape (dimensions, cases), see `mrb_lib.stats.core.scoring.encode_gold`
    """
    p = _probabilities(panel).reshape(*panel.shape, -1)
    decisive = (labels == A) | (labels == B)
    judge, dimension, case, verdict = np.nonzero(np.isfinite(p) & decisive[None, :, :, None])
    outcome = (labels[dimension, case] == A).astype(np.float64)
    return Forecasts(judge * p.shape[1] + dimension, case, p[judge, dimension, case, verdict], outcome)


def case_probabilities(panel: Panel) -> FloatArray:
    """The mean of each judge's probabilities over orders and repeats, (judges, dimensions, cases); NaN without any."""
    p = _probabilities(panel)
    stated = np.isfinite(p)
    return divide(np.where(stated, p, 0.0).sum(axis=(3, 4)), stated.sum(axis=(3, 4)))


def gives_probabilities(panel: Panel) -> BoolArray:
    """Whether each judge has a probability anywhere, shape (judges,)."""
    return np.asarray(np.isfinite(_probabilities(panel)).any(axis=(1, 2, 3, 4)))


def _probabilities(panel: Panel) -> FloatArray:
    if panel.p_a is None:
        return np.full((*panel.shape, 1, 1), np.nan)
    return np.where(panel.present, panel.p_a, np.nan)


def excluded(panel: Panel, labels: IntArray) -> Excluded:
    """Count the verdicts that are not forecasts."""
    present, stated = (each.sum(axis=(3, 4)) for each in (panel.present, np.isfinite(_probabilities(panel))))
    reasons = (
        np.where(labels < 0, present, 0),
        np.where(labels == TIE, present, 0),
        np.where((labels == A) | (labels == B), present - stated, 0),
    )
    return Excluded(*(values.reshape(-1, panel.shape[2]) for values in reasons))


def censored(panel: Panel, labels: IntArray) -> IntArray:
    """Forecasts of which only a bound is known, which stands for them, shape (columns, cases)."""
    if panel.is_bound is None:
        return np.zeros((panel.shape[0] * panel.shape[1], panel.shape[2]), dtype=np.int64)
    decisive: BoolArray = ((labels == A) | (labels == B))[None, :, :, None, None]
    counted = panel.is_bound & np.isfinite(_probabilities(panel)) & decisive
    out: IntArray = counted.sum(axis=(3, 4)).reshape(-1, panel.shape[2])
    return out


def contradictions(panel: Panel, labels: IntArray) -> IntArray:
    """Forecasts whose verdict chose the side they lean away from, shape (columns, cases)."""
    p = _probabilities(panel)
    decisive: BoolArray = ((labels == A) | (labels == B))[None, :, :, None, None]
    against = ((panel.choice == A) & (p < 0.5)) | ((panel.choice == B) & (p > 0.5))
    out: IntArray = (against & decisive).sum(axis=(3, 4)).reshape(-1, panel.shape[2])
    return out
