"""Calibration shift under a probe, over the same verdicts with and without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy import special

from mrb_lib.stats.confidence.ece import BINS, Ece, equal_width, folded_mean
from mrb_lib.stats.confidence.forecasts import Forecasts, Grid, forecasts, grid
from mrb_lib.stats.confidence.rows import NO_ERROR, reasons, spread
from mrb_lib.stats.confidence.summary import ece_of
from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.options import FloatArray, IntArray, divide
from mrb_lib.stats.resampling.resample import ONE_CLUSTER
from mrb_lib.stats.resampling.robust import Estimate, Layout, by_group, ratio_of_sums, standard_error, t_interval

NOT_SHARED = "no forecast exists under both probes"
_NODES, _WEIGHTS = special.roots_hermitenorm(31)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
SHIFTS = {"ece": 1.0, "mean_confidence": 0.5, "accuracy": 1.0, "overconfidence": 1.5, "brier": 1.0}


def shift_frame(panel: Panel, other: Panel, labels: IntArray, probe: str, grouping: Layout) -> pd.DataFrame:
    """The difference that a probe makes, of the whole benchmark, one row a judge and dimension.

    Parameters
    ----------
    panel, other : the verdicts without and with the probe, on the same dimensions and cases
    labels : the gold labels, shape (dimensions, cases)
    grouping : the clusters, all in one group

    Returns
    -------
    DataFrame
        `n` forecasts that exist under both; each difference is other less panel, over those. That of `ece` is of
        debiased estimates before they are kept above 0; its variance takes the gaps of bins as normal,
        as `mrb_lib.stats.confidence.ece` does. Coverage, of the change of `ece` 91 to 99% of 100 forecasts:
        `tests/simulation/test_calibration.py`.
    """
    judges = [name for name in panel.judges if name in other.judges]
    first, second = _shared(panel, other, judges)
    here, there = forecasts(first, labels), forecasts(second, labels)
    places = grid(here.column, here.case, len(judges) * len(panel.dimensions), grouping)
    counts = places.by_unit()
    changes = {
        "mean_confidence": there.confidence - here.confidence,
        "accuracy": there.correct - here.correct,
        "overconfidence": there.confidence - there.correct - here.confidence + here.correct,
        "brier": (there.p - there.outcome) ** 2 - (here.p - here.outcome) ** 2,
    }
    estimates = {name: ratio_of_sums(places.by_unit(values), counts, grouping) for name, values in changes.items()}
    estimates = {"ece": _ece_change(here, there, places, counts)} | estimates
    widest = SHIFTS | ({"mean_confidence": 1.0, "overconfidence": 2.0} if here.of_choice else {})
    measures: dict[str, FloatArray] = {}
    for name, change in estimates.items():
        measures |= spread(f"{name}_difference", change, t_interval(change, -widest[name], widest[name]))
    judged = np.flatnonzero(_of_judges(panel, judges).judged().any(axis=2).ravel())
    n = counts.sum(axis=1).astype(np.int64)[judged]
    out = pd.DataFrame({**first.names(judged), "part": "shift", "probe": probe, "n": n})
    for name, values in measures.items():
        out[name] = values[judged, 0]
    some, alone = n > 0, (n > 0) & (estimates["brier"].clusters[judged, 0] < 2)
    still = {
        name: some & ~alone & np.isnan(values[judged, 0])
        for name, values in ((f"{name}_difference", measures[f"{name}_difference_low"]) for name in estimates)
    }
    out["reason"] = reasons({NOT_SHARED: ~some, ONE_CLUSTER: alone}, {NO_ERROR: still})
    return out


def _of_judges(panel: Panel, judges: Sequence[str]) -> Panel:
    rows = [panel.judges.index(name) for name in judges]
    p_a = None if panel.p_a is None else panel.p_a[rows]
    return replace(panel, judges=list(judges), choice=panel.choice[rows], p_a=p_a, is_bound=None)


def _shared(panel: Panel, other: Panel, judges: Sequence[str]) -> tuple[Panel, Panel]:
    """The two panels on the same judges and repeats, with probabilities only where both have one."""
    repeats = [number for number in panel.repeats if number in other.repeats]
    pair = [_of_judges(each, judges) for each in (panel, other)]
    verdicts = []
    for each in pair:
        those = [each.repeats.index(number) for number in repeats]
        choice = each.choice[..., those]
        p_a = np.full(choice.shape, np.nan) if each.p_a is None else each.p_a[..., those]
        verdicts.append((choice, np.where(each.present[..., those], p_a, np.nan)))
    both = np.isfinite(verdicts[0][1]) & np.isfinite(verdicts[1][1])
    first, second = (
        replace(each, repeats=repeats, choice=choice, p_a=np.where(both, p_a, np.nan))
        for each, (choice, p_a) in zip(pair, verdicts, strict=True)
    )
    return first, second


def _ece_change(here: Forecasts, there: Forecasts, places: Grid, counts: FloatArray) -> Estimate:
    """The difference of two debiased calibration errors, with the clusters' part in both."""
    grouping = places.grouping
    clusters = by_group((counts > 0).astype(np.float64), grouping)
    n = by_group(counts, grouping)
    value, linear, extra = np.zeros(n.shape), np.zeros(counts.shape), np.zeros(n.shape)
    for sign, each in ((1.0, there), (-1.0, here)):
        bins, gaps = equal_width(each.confidence, each.least), each.correct - each.confidence
        error = ece_of(places, bins, gaps, counts)
        total, slope, more = _debiased(error)
        share = np.nan_to_num(error.gap)[:, 0, :, None] * counts[:, None, :]
        residual = (places.by_bin(bins, gaps, BINS)[:, error.used] - share) * np.nan_to_num(divide(np.ones_like(n), n))[
            :, :, None
        ]
        value += sign * total
        linear += sign * (slope[:, 0, :, None] * residual).sum(axis=1)
        extra += more
    error_of_change = np.sqrt(standard_error(linear, clusters, grouping) ** 2 + extra)
    return Estimate(value, error_of_change, clusters)


def _debiased(error: Ece) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The debiased error, its slope in the gap of each bin, and the variance that the slopes leave out.

    Over normal gaps about those observed, by Gauss-Hermite quadrature.
    """
    deviation = np.sqrt(np.nan_to_num(np.diagonal(error.covariance, axis1=2, axis2=3)))
    total = (2 * np.abs(error.gap) - folded_mean(np.nan_to_num(error.gap), deviation)).sum(axis=2)
    gap = np.nan_to_num(error.gap)[..., None] + deviation[..., None] * _NODES
    values = 2 * np.abs(gap) - folded_mean(gap, np.broadcast_to(deviation[..., None], gap.shape))
    mean = values @ _WEIGHTS
    together = (values * _NODES) @ _WEIGHTS
    variance = (values**2) @ _WEIGHTS - mean**2
    slope = np.where(deviation > 0, np.nan_to_num(divide(together, deviation)), np.sign(error.gap))
    return total, np.nan_to_num(slope), np.maximum(variance - together**2, 0.0).sum(axis=2)
