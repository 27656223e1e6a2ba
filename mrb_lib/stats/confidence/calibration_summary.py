"""The measures of calibration of every judge and dimension in every group of cases."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.confidence.confidence import Forecasts
from mrb_lib.stats.confidence.ece import BINS, Ece, calibration_error, equal_mass, equal_width
from mrb_lib.stats.confidence.proper_scores import (
    BrierParts,
    Ranked,
    auroc,
    clipped_log_loss,
    decompose_brier,
    log_loss,
    rank,
    split,
    squared_error,
    weighted_count,
)
from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray
from mrb_lib.stats.resampling.robust import Estimate, Layout, by_group, ratio_of_sums

HIGH_CONFIDENCE = 0.9
_ROUNDING = 1e-12


class Summary(NamedTuple):
    """Measures of shape (columns, G).

    Attributes
    ----------
    n, n_cases, n_zero, n_high : forecasts; the cases they are on; those that gave the gold label
        probability 0; those of high confidence
    ece, ece_equal_mass : of the judge's own probabilities
    means : of scores that are averaged: accuracy, mean_confidence, overconfidence, brier, log_loss, log_loss_clipped
        and brier and log_loss after each recalibration
    wrong_at_high : share wrong of those of high confidence
    auroc, auroc_confidence : of `p_a` for gold A, of confidence for being right
    brier : its decomposition, each part of shape (columns * G,)
    recalibrated : ece after each recalibration
    """

    n: IntArray
    n_cases: IntArray
    n_zero: IntArray
    n_high: IntArray
    ece: Ece
    ece_equal_mass: Ece
    means: dict[str, Estimate]
    wrong_at_high: Estimate
    auroc: Estimate
    auroc_confidence: Estimate
    brier: BrierParts
    recalibrated: dict[str, Ece]


class Recalibrated(NamedTuple):
    """Scores of recalibrated probabilities, each of shape (n,); all 0 where there is none.

    Attributes
    ----------
    known : 1 where there is one
    brier, log_loss, gap : what is averaged; whether the side leaned to is right, less its probability
    bins : of equal width of the probability of the side leaned to
    """

    known: FloatArray
    brier: FloatArray
    log_loss: FloatArray
    gap: FloatArray
    bins: IntArray

    def take(self, kept: BoolArray) -> Recalibrated:
        """Some of them."""
        return Recalibrated(self.known[kept], self.brier[kept], self.log_loss[kept], self.gap[kept], self.bins[kept])


class Scored(NamedTuple):
    """Forecasts with all that is measured of each by itself, so that it need not be again for each kind of group.

    Attributes
    ----------
    found : the forecasts, by column
    by_confidence, by_p : the order of their confidences and probabilities of A within columns
    confidence, right : of each
    loss, clipped : the log loss, infinite where the gold label was given 0, and with clipped probabilities
    recalibrated : by the name of the map
    """

    found: Forecasts
    by_confidence: Ranked
    by_p: Ranked
    confidence: FloatArray
    right: FloatArray
    loss: FloatArray
    clipped: FloatArray
    recalibrated: dict[str, Recalibrated]

    def within(self, at: Layout) -> Scored:
        """Those on cases that are in a group."""
        kept = at.group[self.found.case] >= 0
        if kept.all():
            return self
        found, confidence = self.found.take(kept), self.confidence[kept]
        return Scored(
            found,
            rank(found.column, confidence),
            rank(found.column, found.p),
            confidence,
            self.right[kept],
            self.loss[kept],
            self.clipped[kept],
            {name: each.take(kept) for name, each in self.recalibrated.items()},
        )


def score(found: Forecasts) -> Scored:
    """Score forecasts, which are by column already; not recalibrated yet."""
    confidence = found.confidence
    return Scored(
        found,
        rank(found.column, confidence),
        rank(found.column, found.p),
        confidence,
        found.right,
        log_loss(found.p, found.outcome),
        clipped_log_loss(found.p, found.outcome),
        {},
    )


def recalibrated(p: FloatArray, outcome: FloatArray) -> Recalibrated:
    """Score probabilities of an event, NaN where there is none, by whether it happened, 1 or 0, or half."""
    known = np.isfinite(p)
    p = np.where(known, p, 0.5)
    yes, no = np.log(p), np.log1p(-p)
    right = 0.5 + np.sign(p - 0.5) * (outcome - 0.5)
    confidence = np.maximum(p, 1 - p)
    square, loss = p**2 + outcome * (1 - 2 * p), -(no + outcome * (yes - no))
    gap = right - confidence
    if not known.all():
        square, loss, gap = (np.where(known, values, 0.0) for values in (square, loss, gap))
    return Recalibrated(known.astype(np.float64), square, loss, gap, equal_width(confidence))


class Grid(NamedTuple):
    """Where each forecast is counted, for sums by unit and by group.

    Attributes
    ----------
    place : column * P + unit
    cell : column * G + group
    column : the column
    columns : the number of columns
    at : the groups and units
    """

    place: IntArray
    cell: IntArray
    column: IntArray
    columns: int
    at: Layout

    def by_unit(self, weights: FloatArray | None = None) -> FloatArray:
        """Sums of each unit, shape (columns, P)."""
        size = self.columns * self.at.shape[1]
        return weighted_count(self.place, weights, size).reshape(self.columns, -1)

    def by_bin(self, bins: IntArray, weights: FloatArray | None, n_bins: int = BINS) -> FloatArray:
        """Sums of each bin and unit, shape (columns, bins, P)."""
        units = self.at.shape[1]
        key = self.place + (self.column * (n_bins - 1) + bins) * units
        found = weighted_count(key, weights, self.columns * n_bins * units)
        return found.reshape(self.columns, n_bins, units)


def grid(column: IntArray, case: IntArray, columns: int, at: Layout) -> Grid:
    """Where forecasts on these cases, all of them in a group, are counted."""
    groups, units = at.shape
    return Grid(column * units + at.unit[case], column * groups + at.group[case], column, columns, at)


def ece_of(places: Grid, bins: IntArray, gap: FloatArray, counts: FloatArray) -> Ece:
    """Expected calibration error with these bins, of which those that hold anything count, from each one's gap."""
    held = np.bincount(bins, minlength=BINS) > 0
    held[0] |= not held.any()
    gaps = places.by_bin((np.cumsum(held) - 1)[bins], gap, int(held.sum()))
    return calibration_error(gaps, counts, places.at, held)


def summarize(scored: Scored, columns: int, at: Layout) -> Summary:
    """Measure the forecasts on the cases that are in a group."""
    scored = scored.within(at)
    found = scored.found
    places = grid(found.column, found.case, columns, at)
    confidence, right = scored.confidence, scored.right
    counts = places.by_unit()
    zero = np.isinf(scored.loss)
    gap = right - confidence
    scores = {
        "accuracy": right,
        "mean_confidence": confidence,
        "overconfidence": -gap,
        "brier": squared_error(found.p, found.outcome),
        "log_loss": np.where(zero, 0.0, scored.loss),
        "log_loss_clipped": scored.clipped,
    }
    means = {name: ratio_of_sums(places.by_unit(values), counts, at) for name, values in scores.items()}
    high = (confidence >= HIGH_CONFIDENCE - _ROUNDING).astype(np.float64)
    highs = places.by_unit(high)
    by_confidence = split(scored.by_confidence, places.cell, confidence)
    by_p = split(scored.by_p, places.cell, found.p)
    cells = columns * at.shape[0]
    after = {}
    for name, each in scored.recalibrated.items():
        known = places.by_unit(each.known)
        means[f"brier_{name}"] = ratio_of_sums(places.by_unit(each.brier), known, at)
        means[f"log_loss_{name}"] = ratio_of_sums(places.by_unit(each.log_loss), known, at)
        after[name] = ece_of(places, each.bins, each.gap, known)
    return Summary(
        n=by_group(counts, at).astype(np.int64),
        n_cases=_distinct(places, found.case),
        n_zero=by_group(places.by_unit(zero.astype(np.float64)), at).astype(np.int64),
        n_high=by_group(highs, at).astype(np.int64),
        ece=ece_of(places, equal_width(confidence), gap, counts),
        ece_equal_mass=ece_of(places, equal_mass(by_confidence, cells), gap, counts),
        means=means,
        wrong_at_high=ratio_of_sums(places.by_unit(high * (1 - right)), highs, at),
        auroc=auroc(by_p, found.outcome, places.place, columns, at),
        auroc_confidence=auroc(by_confidence, right, places.place, columns, at),
        brier=decompose_brier(found.p, found.outcome, equal_width(found.p), BINS, places.cell, cells),
        recalibrated=after,
    )


def _distinct(places: Grid, case: IntArray) -> IntArray:
    """The number of cases with a forecast, from forecasts that are sorted by column and case."""
    column = places.column
    new = np.ones(len(case), dtype=bool)
    new[1:] = (column[1:] != column[:-1]) | (case[1:] != case[:-1])
    size = places.columns * places.at.shape[0]
    return np.bincount(places.cell[new], minlength=size).astype(np.int64).reshape(places.columns, -1)
