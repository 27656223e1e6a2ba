"""What a judge's probability says: which response it leans to, how sure it is, and whether gold agrees.

A verdict's probability `p_a` that A is better is a forecast of the gold label. It leans to A above one
half, to B below; its confidence is the probability of the side it leans to, and it is correct
where gold is that side. At exactly one half it leans nowhere: its confidence is 1/2 and it is half correct.
What the verdict chose in words plays no part; where that contradicts the probability, it is counted.

Of a rating the forecast is that the category chosen is the gold label, with the probability that the judge gave it:
that is its confidence, however small, and it is correct where gold is that category.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.robust import Layout
from mrb_lib.tables.schema import CHOICES

LEAST_CONFIDENCE = 0.5
A = CHOICES.index("A")
B = CHOICES.index("B")


class Forecasts(NamedTuple):
    """Probabilities with a decisive gold label, one entry each, by judge, dimension and case.

    Attributes
    ----------
    column : judge * n_dimensions + dimension
    case : position in the cases table
    p : the probability that A is better; of ratings, of the category chosen
    outcome : 1 where gold is A, 0 where it is B; of ratings, 1 where it is the category chosen, else 0
    of_choice : whether these are ratings
    """

    column: IntArray
    case: IntArray
    p: FloatArray
    outcome: FloatArray
    of_choice: bool = False

    @property
    def least(self) -> float:
        """The least confidence that there can be."""
        return 0.0 if self.of_choice else LEAST_CONFIDENCE

    @property
    def confidence(self) -> FloatArray:
        """The probability of the side the forecast leans to, 1/2 to 1; of the category chosen, 0 to 1.

        To twelve decimals, so that .58 for A and .42 for A are equally sure.
        """
        return confidence_of(self.p, self.of_choice)

    @property
    def correct(self) -> FloatArray:
        """1 where gold is the side the forecast leans to, 0 where it is the other, 1/2 where it leans nowhere."""
        return correct_of(self.p, self.outcome, self.of_choice)

    def take(self, kept: BoolArray) -> Forecasts:
        """Some of them."""
        return Forecasts(self.column[kept], self.case[kept], self.p[kept], self.outcome[kept], self.of_choice)


def confidence_of(p: FloatArray, of_choice: bool) -> FloatArray:
    """How sure forecasts are, see `Forecasts.confidence`."""
    return np.asarray(np.round(p if of_choice else np.maximum(p, 1 - p), 12), dtype=np.float64)


def correct_of(p: FloatArray, outcome: FloatArray, of_choice: bool) -> FloatArray:
    """Whether forecasts come true, see `Forecasts.correct`."""
    out: FloatArray = outcome if of_choice else 0.5 + np.sign(p - 0.5) * (outcome - 0.5)
    return out


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
    """Every verdict that has a probability, on a case with a decisive gold label; of ratings, with any.

    Parameters
    ----------
    labels : the gold labels, shape (dimensions, cases), see `mrb_lib.stats.core.scoring.encode_gold`
    """
    p = _probabilities(panel).reshape(*panel.shape, -1)
    judge, dimension, case, verdict = np.nonzero(np.isfinite(p) & _decisive(panel, labels)[None, :, :, None])
    of_choice = panel.categories != CHOICES
    choice = panel.choice.reshape(*panel.shape, -1)[judge, dimension, case, verdict]
    outcome = (labels[dimension, case] == (choice if of_choice else A)).astype(np.float64)
    return Forecasts(judge * p.shape[1] + dimension, case, p[judge, dimension, case, verdict], outcome, of_choice)


def _decisive(panel: Panel, labels: IntArray) -> BoolArray:
    """Where gold is a label that a probability can be a forecast of."""
    return np.asarray((labels >= 0) & ((labels != panel.tie) | (panel.tie < 0)), dtype=bool)


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
        np.where((labels == panel.tie) & (labels >= 0), present, 0),
        np.where(_decisive(panel, labels), present - stated, 0),
    )
    return Excluded(*(values.reshape(-1, panel.shape[2]) for values in reasons))


def censored(panel: Panel, labels: IntArray) -> IntArray:
    """Forecasts of which only a bound is known, which stands for them, shape (columns, cases)."""
    if panel.is_bound is None:
        return np.zeros((panel.shape[0] * panel.shape[1], panel.shape[2]), dtype=np.int64)
    decisive = _decisive(panel, labels)[None, :, :, None, None]
    counted = panel.is_bound & np.isfinite(_probabilities(panel)) & decisive
    out: IntArray = counted.sum(axis=(3, 4)).reshape(-1, panel.shape[2])
    return out


def contradictions(panel: Panel, labels: IntArray) -> IntArray:
    """Forecasts whose verdict chose the side they lean away from, shape (columns, cases); none of ratings."""
    p = _probabilities(panel)
    decisive = _decisive(panel, labels)[None, :, :, None, None]
    if panel.categories != CHOICES:
        return np.zeros((panel.shape[0] * panel.shape[1], panel.shape[2]), dtype=np.int64)
    against = ((panel.choice == A) & (p < 0.5)) | ((panel.choice == B) & (p > 0.5))
    out: IntArray = (against & decisive).sum(axis=(3, 4)).reshape(-1, panel.shape[2])
    return out
