"""What a judge's probability says: which response it leans to, how sure it is, and whether gold agrees.

A verdict's probability `p_a` that A is better is a forecast of the gold label. It leans to A above one
half, to B below; its confidence is the probability of the side it leans to, and it is right
where gold is that side. At exactly one half it leans nowhere: its confidence is 1/2 and it is half right.
What the verdict chose in words plays no part; where that contradicts the probability, it is counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.schema import CHOICES
from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.core.panel import TIE, Panel

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
    def right(self) -> FloatArray:
        """1 where gold is the side the forecast leans to, 0 where it is the other, 1/2 where it leans nowhere."""
        leans = np.sign(self.p - 0.5)
        out: FloatArray = 0.5 + leans * (self.outcome - 0.5)
        return out

    def take(self, kept: BoolArray) -> Forecasts:
        """Some of them."""
        return Forecasts(self.column[kept], self.case[kept], self.p[kept], self.outcome[kept])


class Excluded(NamedTuple):
    """Verdicts that are no forecast, each of shape (columns, cases): why, in this order.

    Attributes
    ----------
    no_gold : the case has no gold label
    gold_tie : the gold label is a tie, which a probability of A against B does not speak of
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
    return _forecasts(_probabilities(panel).reshape(*panel.shape, -1), labels)


def case_forecasts(panel: Panel, labels: IntArray) -> Forecasts:
    """One forecast a judge, dimension and case: the mean of its probabilities over orders and repeats."""
    p = _probabilities(panel)
    known = np.isfinite(p)
    mean = divide(np.where(known, p, 0.0).sum(axis=(3, 4)), known.sum(axis=(3, 4)))
    return _forecasts(mean[..., None], labels)


def gives_probabilities(panel: Panel) -> BoolArray:
    """Whether each judge has a probability anywhere, shape (judges,)."""
    return np.asarray(np.isfinite(_probabilities(panel)).any(axis=(1, 2, 3, 4)))


def _probabilities(panel: Panel) -> FloatArray:
    if panel.p_a is None:
        return np.full((*panel.shape, 1, 1), np.nan)
    return np.where(panel.present, panel.p_a, np.nan)


def _forecasts(p: FloatArray, labels: IntArray) -> Forecasts:
    """From probabilities of shape (judges, dimensions, cases, verdicts of a case)."""
    decisive = (labels == A) | (labels == B)
    found = np.flatnonzero(np.isfinite(p) & decisive[None, :, :, None])
    row = found // p.shape[3]
    column, case = np.divmod(row, p.shape[2])
    outcome = (labels == A).astype(np.float64).ravel()[row % labels.size]
    return Forecasts(column, case, p.ravel()[found], outcome)


def excluded(panel: Panel, labels: IntArray, *, each_case: bool = False) -> Excluded:
    """Count the verdicts that are no forecast, or, if `each_case`, the judged cases without one."""
    known = np.isfinite(_probabilities(panel))
    present, given = panel.present.sum(axis=(3, 4)), known.sum(axis=(3, 4))
    if each_case:
        present, given = (present > 0).astype(np.int64), (given > 0).astype(np.int64)
    reasons = (
        np.where(labels < 0, present, 0),
        np.where(labels == TIE, present, 0),
        np.where((labels == A) | (labels == B), present - given, 0),
    )
    return Excluded(*(values.reshape(-1, panel.shape[2]) for values in reasons))


def contradictions(panel: Panel, labels: IntArray) -> IntArray:
    """Forecasts whose verdict chose the side they lean away from, shape (columns, cases)."""
    p = _probabilities(panel)
    decisive: BoolArray = ((labels == A) | (labels == B))[None, :, :, None, None]
    against = ((panel.choice == A) & (p < 0.5)) | ((panel.choice == B) & (p > 0.5))
    out: IntArray = (against & decisive).sum(axis=(3, 4)).reshape(-1, panel.shape[2])
    return out
