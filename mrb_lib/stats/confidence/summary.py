"""The rows `summary` of the table `calibration`: its measures, of every judge and dimension in every group of cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.confidence.ece import BINS, Ece, calibration_error, equal_mass, equal_width
from mrb_lib.stats.confidence.forecasts import (
    LEAST_CONFIDENCE,
    Excluded,
    Forecasts,
    Grid,
    correct_of,
    gives_probabilities,
    grid,
)
from mrb_lib.stats.confidence.recalibration import Temperature
from mrb_lib.stats.confidence.rows import NO_ERROR, reasons, spread
from mrb_lib.stats.confidence.scores import (
    BrierParts,
    auroc,
    clipped_log_loss,
    decompose_brier,
    log_loss,
    rank,
    squared_error,
)
from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, with_ends
from mrb_lib.stats.resampling.resample import ONE_CLUSTER
from mrb_lib.stats.resampling.robust import (
    Estimate,
    Layout,
    by_group,
    log_interval,
    logit_interval,
    ratio_of_sums,
    share_interval,
    t_interval,
)
from mrb_lib.stats.subfields import Group

NO_PROBABILITIES = "the judge gives no probabilities"
NO_LABEL = "no verdict with a probability is on a case with a gold label"
OF_CHOICE = "temperature and n_contradicting are of choices between two responses, not of ratings"
NO_FORECAST = "no verdict with a probability is on a case whose gold label is A or B"
INFINITE = "log_loss is infinite: the gold label was given probability 0"
ONE_OUTCOME = "auroc is undefined: gold is the same everywhere"
ALWAYS = "auroc is undefined: the judge is always right, or always wrong"
ALL_RIGHT = "auroc_confidence is undefined: all are right, or all wrong"
NONE_HIGH = "wrong_at_high_confidence is undefined: no confidence reaches .9"
NO_TEMPERATURE = "temperature has no best value"
NO_FOLD_TEMPERATURE = "not recalibrated by temperature: of some fold it has no best value"
NOT_RECALIBRATED = "not recalibrated: all forecasts are in one fold"
FEW_OF = "no interval of {}: fewer than two clusters count"
HIGH_CONFIDENCE = 0.9
_ROUNDING = 1e-12
_RANGES = {"mean_confidence": (0.5, 1.0), "overconfidence": (-0.5, 1.0)}
_RANGES_OF_CHOICE = {"mean_confidence": (0.0, 1.0), "overconfidence": (-1.0, 1.0)}
BRIER_PARTS = ("reliability", "resolution", "uncertainty", "within_bin_variance", "within_bin_covariance")


_AFTER = [f"{name}_{kind}" for kind in ("temperature", "isotonic") for name in ("ece", "brier", "log_loss")]
COLUMNS = [
    "n",
    "n_cases",
    "n_excluded",
    "n_no_gold",
    "n_gold_tie",
    "n_no_probability",
    "n_seen",
    "n_unassigned",
    "n_contradicting",
    "n_censored",
    *with_ends("ece"),
    "ece_debiased",
    *with_ends("ece_equal_mass"),
    "ece_equal_mass_debiased",
    *with_ends("brier"),
    *BRIER_PARTS,
    *with_ends("log_loss"),
    "n_zero_probability",
    *with_ends("log_loss_clipped", "auroc", "auroc_confidence", "wrong_at_high_confidence"),
    "n_high_confidence",
    *with_ends("accuracy", "mean_confidence", "overconfidence", "temperature"),
    *with_ends(*_AFTER),
]
MORE = [
    *with_ends("ece_equal_mass"),
    "ece_equal_mass_debiased",
    *BRIER_PARTS,
    *with_ends("log_loss_clipped", "auroc_confidence"),
    *(name + end for name in ("accuracy", "mean_confidence", *_AFTER) for end in ("_low", "_high")),
    "log_loss_temperature",
    "log_loss_isotonic",
]


class Counts(NamedTuple):
    """What is counted of each column and case, beside the forecasts."""

    excluded: Excluded
    contradicting: IntArray
    censored: IntArray


class Recalibrated(NamedTuple):
    """Recalibrated probabilities of events, NaN where there is none, and whether each happened: 1, 0 or a half."""

    p: FloatArray
    outcome: FloatArray
    of_choice: bool


class Summary(NamedTuple):
    """Measures of shape (columns, G).

    Attributes
    ----------
    n, n_cases, n_zero, n_high : forecasts; the cases they are on; those that gave the gold label
        probability 0; those of high confidence
    errors : calibration errors by name: ece, ece_equal_mass, and ece after each recalibration
    estimates : everything else that has a standard error, by name
    brier : its decomposition, each part of shape (columns * G,)
    of_choice : see `Forecasts`
    """

    n: IntArray
    n_cases: IntArray
    n_zero: IntArray
    n_high: IntArray
    errors: dict[str, Ece]
    estimates: dict[str, Estimate]
    brier: BrierParts
    of_choice: bool


def ece_of(places: Grid, bins: IntArray, gap: FloatArray, counts: FloatArray) -> Ece:
    """Expected calibration error with these bins, of which those that hold anything count, from each one's gap."""
    held = np.bincount(bins, minlength=BINS) > 0
    held[0] |= not held.any()
    gaps = places.by_bin((np.cumsum(held) - 1)[bins], gap, int(held.sum()))
    return calibration_error(gaps, counts, places.grouping, held)


def summarize(
    forecasts: Forecasts, recalibrated: Mapping[str, Recalibrated], columns: int, grouping: Layout
) -> Summary:
    """Measure the forecasts on the cases that are in a group.

    Parameters
    ----------
    forecasts : by column
    recalibrated : the same forecasts after each recalibration, by its name
    """
    kept = grouping.group[forecasts.case] >= 0
    forecasts = forecasts.take(kept)
    places = grid(forecasts.column, forecasts.case, columns, grouping)
    counts, cells = places.by_unit(), columns * grouping.shape[0]
    confidence, correct = forecasts.confidence, forecasts.correct
    gap = correct - confidence
    loss = log_loss(forecasts.p, forecasts.outcome)
    zero = np.isinf(loss)
    scores = {
        "accuracy": correct,
        "mean_confidence": confidence,
        "overconfidence": -gap,
        "brier": squared_error(forecasts.p, forecasts.outcome),
        "log_loss": np.where(zero, 0.0, loss),
        "log_loss_clipped": clipped_log_loss(forecasts.p, forecasts.outcome),
    }
    estimates = {name: ratio_of_sums(places.by_unit(values), counts, grouping) for name, values in scores.items()}
    high = (confidence >= HIGH_CONFIDENCE - _ROUNDING).astype(np.float64)
    highs = places.by_unit(high)
    by_confidence, by_p = rank(places.cell, confidence), rank(places.cell, forecasts.p)
    estimates["wrong_at_high_confidence"] = ratio_of_sums(places.by_unit(high * (1 - correct)), highs, grouping)
    estimates["auroc"] = auroc(by_p, forecasts.outcome, places.place, columns, grouping)
    estimates["auroc_confidence"] = auroc(by_confidence, correct, places.place, columns, grouping)
    errors = {
        "ece": ece_of(places, equal_width(confidence, forecasts.least), gap, counts),
        "ece_equal_mass": ece_of(places, equal_mass(by_confidence, cells), gap, counts),
    }
    for name, each in recalibrated.items():
        after, errors[f"ece_{name}"] = _after(Recalibrated(each.p[kept], each.outcome[kept], each.of_choice), places)
        estimates |= {f"{score}_{name}": estimate for score, estimate in after.items()}
    return Summary(
        n=by_group(counts, grouping).astype(np.int64),
        n_cases=_distinct(places, forecasts.case),
        n_zero=by_group(places.by_unit(zero.astype(np.float64)), grouping).astype(np.int64),
        n_high=by_group(highs, grouping).astype(np.int64),
        errors=errors,
        estimates=estimates,
        brier=decompose_brier(forecasts.p, forecasts.outcome, equal_width(forecasts.p), BINS, places.cell, cells),
        of_choice=forecasts.of_choice,
    )


def _after(recalibrated: Recalibrated, places: Grid) -> tuple[dict[str, Estimate], Ece]:
    """The Brier score, log loss and calibration error of recalibrated probabilities, over those there are."""
    defined = np.isfinite(recalibrated.p)
    p, outcome = np.where(defined, recalibrated.p, 0.5), recalibrated.outcome
    of_choice = recalibrated.of_choice
    confidence, correct = p if of_choice else np.maximum(p, 1 - p), correct_of(p, outcome, of_choice)
    least = 0.0 if of_choice else LEAST_CONFIDENCE
    scores = {
        "brier": p**2 + outcome * (1 - 2 * p),
        "log_loss": -(np.log1p(-p) + outcome * (np.log(p) - np.log1p(-p))),
    }
    counts = places.by_unit(defined.astype(np.float64))
    estimates = {
        name: ratio_of_sums(places.by_unit(np.where(defined, values, 0.0)), counts, places.grouping)
        for name, values in scores.items()
    }
    gap = np.where(defined, correct - confidence, 0.0)
    return estimates, ece_of(places, equal_width(confidence, least), gap, counts)


def _distinct(places: Grid, case: IntArray) -> IntArray:
    """The number of cases with a forecast, from forecasts that are sorted by column and case."""
    column = places.column
    new = np.ones(len(case), dtype=bool)
    new[1:] = (column[1:] != column[:-1]) | (case[1:] != case[:-1])
    size = places.columns * places.grouping.shape[0]
    return np.bincount(places.cell[new], minlength=size).astype(np.int64).reshape(places.columns, -1)


def _interval(name: str, estimate: Estimate, of_choice: bool) -> tuple[FloatArray, FloatArray]:
    """The interval of a measure, on the scale that fits its range."""
    if name.startswith(("brier", "auroc")):
        return logit_interval(estimate)
    if name.startswith("log_loss"):
        return log_interval(estimate)
    if name in _RANGES:
        return t_interval(estimate, *(_RANGES_OF_CHOICE if of_choice else _RANGES)[name])
    return share_interval(estimate)


def _measures(summary: Summary, scaled: Temperature) -> dict[str, FloatArray]:
    """Every column of the summary that is a measure, each of shape (columns, G)."""
    shape = summary.n.shape
    out: dict[str, FloatArray] = {}
    for name, estimate in summary.estimates.items():
        out |= spread(name, estimate, _interval(name, estimate, summary.of_choice))
    for name, error in summary.errors.items():
        out |= {name: error.value, f"{name}_low": error.low, f"{name}_high": error.high}
    out |= {f"{name}_debiased": summary.errors[name].debiased for name in ("ece", "ece_equal_mass")}
    out |= {name: values.reshape(shape) for name, values in zip(BRIER_PARTS, summary.brier, strict=True)}
    for end, values in (("", scaled.value), ("_low", scaled.low), ("_high", scaled.high)):
        out[f"temperature{end}"] = np.broadcast_to(values[:, None], shape)
        out[f"log_loss{end}"] = np.where(summary.n_zero > 0, np.nan, out[f"log_loss{end}"])
    return {name: np.where(summary.n > 0, values, np.nan) for name, values in out.items()}


def summary_frame(
    panel: Panel, judged: BoolArray, parts: Sequence[Group], summary: Summary, counts: Counts, scaled: Temperature
) -> pd.DataFrame:
    """One row a group and judged column: by group, then judge, then dimension."""

    def counted(values: IntArray) -> IntArray:
        return np.column_stack([values[:, part.cases].sum(axis=1) for part in parts])

    silent = np.repeat(~gives_probabilities(panel), len(panel.dimensions))[:, None] & np.ones(len(parts), dtype=bool)
    measures: dict[str, FloatArray | IntArray] = {
        "n": summary.n,
        "n_cases": summary.n_cases,
        "n_excluded": counted(counts.excluded.total),
        "n_no_gold": counted(counts.excluded.no_gold),
        "n_gold_tie": counted(counts.excluded.gold_tie),
        "n_no_probability": counted(counts.excluded.no_probability),
        "n_seen": counted(panel.saw().reshape(len(judged), -1).astype(np.int64)),
        "n_contradicting": np.where(summary.of_choice, np.nan, counted(counts.contradicting)),
        "n_censored": counted(counts.censored),
        "n_zero_probability": summary.n_zero,
        "n_high_confidence": summary.n_high,
        **_measures(summary, scaled),
    }
    reason = _reasons(summary, measures, silent)
    column = np.flatnonzero(judged)
    labels = [part.label() for part in parts]
    return pd.DataFrame(
        {
            **panel.names(np.tile(column, len(parts))),
            **{key: np.repeat(np.array([label[key] for label in labels]), len(column)) for key in labels[0]},
            "part": "summary",
            **{name: values[column].T.ravel() for name, values in (measures | {"reason": reason}).items()},
        }
    )


def _reasons(
    summary: Summary, measures: Mapping[str, FloatArray | IntArray], silent: BoolArray
) -> np.ndarray[tuple[int, ...], np.dtype[np.object_]]:
    """Why something is null, shape (columns, G)."""
    some = summary.n > 0
    alone = summary.estimates["brier"].clusters < 2
    mapped = ~np.isnan(measures["brier_isotonic"])
    said = {
        NO_PROBABILITIES: silent,
        (NO_LABEL if summary.of_choice else NO_FORECAST): ~some & ~silent,
        INFINITE: summary.n_zero > 0,
        (ALWAYS if summary.of_choice else ONE_OUTCOME): some & np.isnan(summary.estimates["auroc"].value),
        ALL_RIGHT: some & np.isnan(summary.estimates["auroc_confidence"].value),
        NONE_HIGH: some & (summary.n_high == 0),
        (OF_CHOICE if summary.of_choice else NO_TEMPERATURE): some & np.isnan(measures["temperature"]),
        NOT_RECALIBRATED: some & ~mapped,
        NO_FOLD_TEMPERATURE: mapped & (not summary.of_choice) & np.isnan(measures["brier_temperature"]),
        ONE_CLUSTER: some & alone,
    }
    few, still = {}, {}
    for name in COLUMNS:
        if f"{name}_low" in measures:
            bare = some & ~alone & ~np.isnan(measures[name]) & np.isnan(measures[f"{name}_low"])
            estimate = summary.estimates.get(name)
            lone = np.isnan(estimate.error) if estimate is not None else np.zeros_like(bare)
            few[name], still[name] = bare & lone, bare & ~lone
    return reasons(said, {FEW_OF: few, NO_ERROR: still})
