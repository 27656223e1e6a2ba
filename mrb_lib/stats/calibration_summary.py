"""The measures of calibration of every judge and dimension in every group of cases."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.confidence import Forecasts
from mrb_lib.stats.ece import BINS, Ece, calibration_error, equal_mass, equal_width
from mrb_lib.stats.options import FloatArray, IntArray
from mrb_lib.stats.proper_scores import (
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
from mrb_lib.stats.robust import Estimate, Layout, by_group, ratio_of_sums

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


class Ordered(NamedTuple):
    """Forecasts with the order of their confidences and of their probabilities of A within columns."""

    found: Forecasts
    by_confidence: Ranked
    by_p: Ranked

    def within(self, at: Layout) -> Ordered:
        """Those on cases that are in a group."""
        kept = at.group[self.found.case] >= 0
        return self if kept.all() else order(self.found.take(kept))


def order(found: Forecasts) -> Ordered:
    """Sort forecasts, which are by column already."""
    return Ordered(found, rank(found.column, found.confidence), rank(found.column, found.p))


class Grid(NamedTuple):
    """Where each forecast is counted, for sums by unit and by group.

    Attributes
    ----------
    place : column * P + unit
    cell : column * G + group
    columns : the number of columns
    at : the groups and units
    """

    place: IntArray
    cell: IntArray
    columns: int
    at: Layout

    def by_unit(self, weights: FloatArray | None = None) -> FloatArray:
        """Sums of each unit, shape (columns, P)."""
        size = self.columns * self.at.shape[1]
        return weighted_count(self.place, weights, size).reshape(self.columns, -1)

    def by_bin(self, bins: IntArray, weights: FloatArray, n_bins: int = BINS) -> FloatArray:
        """Sums of each bin and unit, shape (columns, bins, P)."""
        units = self.at.shape[1]
        column, unit = np.divmod(self.place, units)
        key = (column * n_bins + bins) * units + unit
        found = weighted_count(key, weights, self.columns * n_bins * units)
        return found.reshape(self.columns, n_bins, units)


def grid(column: IntArray, case: IntArray, columns: int, at: Layout) -> Grid:
    """Where forecasts on these cases, all of them in a group, are counted."""
    groups, units = at.shape
    return Grid(column * units + at.unit[case], column * groups + at.group[case], columns, at)


def ece_of(places: Grid, bins: IntArray, right: FloatArray, confidence: FloatArray, counts: FloatArray) -> Ece:
    """Expected calibration error with these bins, of which those that hold anything count."""
    held = np.bincount(bins, minlength=BINS) > 0
    held[0] |= not held.any()
    gaps = places.by_bin((np.cumsum(held) - 1)[bins], right - confidence, int(held.sum()))
    return calibration_error(gaps, counts, places.at, held)


def summarize(
    ordered: Ordered, temperature_p: FloatArray, isotonic_confidence: FloatArray, columns: int, at: Layout
) -> Summary:
    """Measure the forecasts on the cases that are in a group.

    Parameters
    ----------
    temperature_p : the probability of A, recalibrated by a temperature; NaN where it could not be
    isotonic_confidence : the probability of the side leaned to, recalibrated by steps; NaN where it could not be
    """
    kept = at.group[ordered.found.case] >= 0
    ordered = ordered.within(at)
    found = ordered.found
    places = grid(found.column, found.case, columns, at)
    confidence, right = found.confidence, found.right
    counts = places.by_unit()
    loss = log_loss(found.p, found.outcome)
    zero = np.isinf(loss)
    scores = {
        "accuracy": right,
        "mean_confidence": confidence,
        "overconfidence": confidence - right,
        "brier": squared_error(found.p, found.outcome),
        "log_loss": np.where(zero, 0.0, loss),
        "log_loss_clipped": clipped_log_loss(found.p, found.outcome),
    }
    means = {name: ratio_of_sums(places.by_unit(values), counts, at) for name, values in scores.items()}
    high = (confidence >= HIGH_CONFIDENCE - _ROUNDING).astype(np.float64)
    highs = places.by_unit(high)
    by_confidence = split(ordered.by_confidence, places.cell, confidence)
    by_p = split(ordered.by_p, places.cell, found.p)
    cells = columns * at.shape[0]
    after_means, after_ece = _recalibrated(
        places,
        {
            "temperature": (temperature_p[kept], found.outcome),
            "isotonic": (isotonic_confidence[kept], right),
        },
    )
    return Summary(
        n=by_group(counts, at).astype(np.int64),
        n_cases=_distinct(places, found.case),
        n_zero=by_group(places.by_unit(zero.astype(np.float64)), at).astype(np.int64),
        n_high=by_group(highs, at).astype(np.int64),
        ece=ece_of(places, equal_width(confidence), right, confidence, counts),
        ece_equal_mass=ece_of(places, equal_mass(by_confidence, cells), right, confidence, counts),
        means=means | after_means,
        wrong_at_high=ratio_of_sums(places.by_unit(high * (1 - right)), highs, at),
        auroc=auroc(by_p, found.outcome, places.place, columns, at),
        auroc_confidence=auroc(by_confidence, right, places.place, columns, at),
        brier=decompose_brier(found.p, found.outcome, equal_width(found.p), BINS, places.cell, cells),
        recalibrated=after_ece,
    )


def _recalibrated(
    places: Grid, maps: dict[str, tuple[FloatArray, FloatArray]]
) -> tuple[dict[str, Estimate], dict[str, Ece]]:
    """Scores after recalibration: from probabilities of an event, and whether it happened (or half)."""
    means, errors = {}, {}
    for name, (p, outcome) in maps.items():
        known = np.isfinite(p)
        p, outcome = p[known], outcome[known]
        kept = Grid(places.place[known], places.cell[known], places.columns, places.at)
        counts = kept.by_unit()
        loss = -(outcome * np.log(p) + (1 - outcome) * np.log1p(-p))
        square = outcome * (1 - p) ** 2 + (1 - outcome) * p**2
        means[f"brier_{name}"] = ratio_of_sums(kept.by_unit(square), counts, places.at)
        means[f"log_loss_{name}"] = ratio_of_sums(kept.by_unit(loss), counts, places.at)
        leans = np.sign(p - 0.5)
        right, confidence = 0.5 + leans * (outcome - 0.5), np.maximum(p, 1 - p)
        errors[name] = ece_of(kept, equal_width(confidence), right, confidence, counts)
    return means, errors


def _distinct(places: Grid, case: IntArray) -> IntArray:
    """The number of cases with a forecast, from forecasts that are sorted by column and case."""
    column = places.cell // places.at.shape[0]
    new = np.ones(len(case), dtype=bool)
    new[1:] = (column[1:] != column[:-1]) | (case[1:] != case[:-1])
    size = places.columns * places.at.shape[0]
    return np.bincount(places.cell[new], minlength=size).astype(np.int64).reshape(places.columns, -1)
