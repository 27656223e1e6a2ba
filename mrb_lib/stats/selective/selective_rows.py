"""The rows of the table `selective`, one function a kind of row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.confidence.calibration_rows import names
from mrb_lib.stats.confidence.calibration_summary import Grid, grid
from mrb_lib.stats.confidence.confidence import Forecasts, gives_probabilities
from mrb_lib.stats.confidence.proper_scores import Ranked, rank, split, weighted_count
from mrb_lib.stats.confidence.recalibration import FOLDS
from mrb_lib.stats.confidence.risk_coverage import aurc, curve
from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.core.subfields import Group
from mrb_lib.stats.resampling.robust import Layout, by_group, log_interval, ratio_of_sums, share_interval
from mrb_lib.stats.selective.fixed_sequence import (
    GRID,
    NONE,
    at_or_above,
    conformal_risk_control,
    fixed_sequence,
    upper_bound,
)

DELTAS = (0.05, 0.1)
FIXED, CONFORMAL = "fixed_sequence", "conformal_risk_control"
Values = dict[str, FloatArray | IntArray | BoolArray]
_OF_THRESHOLDS = ("coverage", "coverage_low", "coverage_high", "agreement", "low", "high", "wrong_of_all", "n_answered")


class Setup(NamedTuple):
    """The forecasts of all cases, sorted, and what was left out, shape (columns, cases).

    `reached` is the strictest threshold that each forecast reaches, `mistaken` 1 where it does not name the gold label.
    """

    panel: Panel
    judged: BoolArray
    found: Forecasts
    ranked: Ranked
    reached: IntArray
    mistaken: FloatArray
    left_out: IntArray

    def within(self, at: Layout) -> Places:
        """The forecasts on the cases that are in a group."""
        kept = at.group[self.found.case] >= 0
        found, ranked = self.found, self.ranked
        if not kept.all():
            found = found.take(kept)
            ranked = rank(found.column, found.confidence)
        places = grid(found.column, found.case, len(self.judged), at)
        return Places(self, found, ranked, places, places.by_unit(), kept)


class Places(NamedTuple):
    """The forecasts on the cases of some groups, `counts` in each unit; `kept` says which of all forecasts they are."""

    setup: Setup
    found: Forecasts
    ranked: Ranked
    grid: Grid
    counts: FloatArray
    kept: BoolArray

    def frame(self, parts: Sequence[Group], part: str, values: Values) -> pd.DataFrame:
        """One row a group and judged column, from values of shape (columns, G)."""
        column = np.flatnonzero(self.setup.judged)
        n = by_group(self.counts, self.grid.at).astype(np.int64)
        left_out = np.column_stack([self.setup.left_out[:, group.cases].sum(axis=1) for group in parts])
        kinds = [group.label() for group in parts]
        return pd.DataFrame(
            {
                **names(self.setup.panel, np.tile(column, len(parts))),
                **{key: np.repeat(np.array([kind[key] for kind in kinds]), len(column)) for key in kinds[0]},
                "part": part,
                **{
                    name: found[column].T.ravel() for name, found in ({"n": n, "n_excluded": left_out} | values).items()
                },
            }
        )


class Calibration(NamedTuple):
    """Calibration cases counted at each threshold, without each fold and, last, of all folds.

    Attributes
    ----------
    answered, wrong : shape (columns * G, folds + 1, thresholds)
    place : shape (n,), the strictest threshold each forecast reaches
    fold : shape (n,), its fold
    mistaken : shape (n,), 1 where it does not name the gold label
    """

    answered: IntArray
    wrong: IntArray
    place: IntArray
    fold: IntArray
    mistaken: FloatArray


def one_a_cluster(found: Forecasts, codes: IntArray, seed: int) -> BoolArray:
    """Whether each forecast is the one of its cluster, drawn at random, that calibrates.

    Parameters
    ----------
    codes : shape (n_cases,), the cluster of each case, within its group if there are groups; below 0: in none
    """
    inside = codes[codes >= 0]
    if len(np.unique(inside)) == len(inside):
        return np.ones(len(found.case), dtype=bool)
    lot = np.random.default_rng(seed).permutation(len(codes))
    order = np.lexsort((lot[found.case], codes[found.case], found.column))
    column, cluster = found.column[order], codes[found.case][order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (column[1:] != column[:-1]) | (cluster[1:] != cluster[:-1])
    out = np.zeros(len(order), dtype=bool)
    out[order[first]] = True
    return out


def calibrate(places: Places, fold: IntArray, calibrating: BoolArray) -> Calibration:
    """Count the calibration cases.

    Parameters
    ----------
    fold : shape (n_cases,), the fold of each case
    calibrating : whether each of all forecasts calibrates, see `one_a_cluster`
    """
    found, groups = places.found, places.grid.at.shape[0]
    shape = (places.grid.columns * groups, FOLDS, len(GRID))
    mine = fold[found.case]
    place, mistaken = places.setup.reached[places.kept], places.setup.mistaken[places.kept]
    used = calibrating[places.kept]
    key = ((places.grid.cell * FOLDS + mine) * len(GRID) + place)[used]
    counts = []
    for weights in (None, mistaken[used]):
        own = at_or_above(weighted_count(key, weights, int(np.prod(shape))).reshape(shape))
        total = own.sum(axis=1, keepdims=True)
        counts.append(np.concatenate([total - own, total], axis=1))
    return Calibration(counts[0], counts[1], place, mine, mistaken)


def guarantees(places: Places, parts: Sequence[Group], counts: Calibration, alpha: float) -> pd.DataFrame:
    """The rows `guarantee`: nothing is measured where nothing is promised."""
    frames = []
    for method, delta in (*((FIXED, delta) for delta in DELTAS), (CONFORMAL, np.nan)):
        if method == FIXED:
            chosen = fixed_sequence(counts.answered, counts.wrong, alpha, delta)
        else:
            chosen = conformal_risk_control(counts.answered, counts.wrong, counts.answered[..., 0], alpha)
        values = _promise(counts, chosen[:, FOLDS], delta) | _held_out(places, counts, chosen)
        for name in _OF_THRESHOLDS:
            values[name] = np.where(values["guaranteed"], values[name].ravel(), np.nan)
        shaped = {name: found.reshape(-1, len(parts)) for name, found in values.items()}
        frames.append(places.frame(parts, "guarantee", shaped).assign(method=method, target=1 - alpha, delta=delta))
    return pd.concat(frames, ignore_index=True)


def _promise(counts: Calibration, chosen: IntArray, delta: float) -> Values:
    """What all calibration cases allow to be promised, each of shape (columns * G,)."""
    promised = chosen != NONE
    row, at = np.arange(len(chosen)), np.maximum(chosen, 0)
    wrong, answered = counts.wrong[row, FOLDS, at], counts.answered[row, FOLDS, at]
    bound = np.full(len(chosen), np.nan) if np.isnan(delta) else 1 - upper_bound(wrong, answered, delta)
    return {
        "threshold": np.where(promised, GRID[at], np.nan),
        "guaranteed": promised,
        "bound": np.where(promised, bound, np.nan),
        "n_calibration": counts.answered[:, FOLDS, 0],
    }


def _held_out(places: Places, counts: Calibration, chosen: IntArray) -> Values:
    """What thresholds do on the folds that they were not chosen on, each of shape (columns, G)."""
    at = places.grid.at
    bound = chosen[places.grid.cell, counts.fold]
    given = ((bound != NONE) & (counts.place >= bound)).astype(np.float64)
    answers = places.grid.by_unit(given)
    mistakes = places.grid.by_unit(given * counts.mistaken)
    coverage = ratio_of_sums(answers, places.counts, at)
    agreement = ratio_of_sums(answers - mistakes, answers, at)
    coverage_low, coverage_high = share_interval(coverage)
    low, high = share_interval(agreement)
    return {
        "coverage": coverage.value,
        "coverage_low": coverage_low,
        "coverage_high": coverage_high,
        "agreement": agreement.value,
        "low": low,
        "high": high,
        "wrong_of_all": divide(by_group(mistakes, at), by_group(places.counts, at)),
        "n_answered": by_group(answers, at).astype(np.int64),
    }


def areas(places: Places, parts: Sequence[Group]) -> pd.DataFrame:
    """The rows `summary`."""
    at, found = places.grid.at, places.found
    ranked = split(places.ranked, places.grid.cell, found.confidence)
    area = aurc(ranked, 1 - found.right, places.grid.place, places.grid.columns, at)
    agreement = ratio_of_sums(places.grid.by_unit(found.right), places.counts, at)
    values: Values = {"agreement": agreement.value}
    values["low"], values["high"] = share_interval(agreement)
    for name, estimate in (("aurc", area.area), ("excess_aurc", area.excess)):
        low, high = log_interval(estimate)
        values |= {name: estimate.value, f"{name}_low": low, f"{name}_high": high}
    return places.frame(parts, "summary", values)


def curves(setup: Setup, at: Layout) -> pd.DataFrame:
    """The rows `curve`, of the whole benchmark."""
    found = setup.found
    points = curve(setup.ranked, found.confidence, 1 - found.right, at.unit[found.case], len(setup.judged), at)
    n = np.bincount(found.column, minlength=len(setup.judged))
    return pd.DataFrame(
        {
            **names(setup.panel, points.column),
            "part": "curve",
            "n": n[points.column],
            "n_answered": points.n,
            "threshold": points.threshold,
            "coverage": points.coverage,
            "agreement": 1 - points.risk,
            "risk": points.risk,
            "risk_low": points.low,
            "risk_high": points.high,
        }
    )


def silent_judges(panel: Panel) -> set[str]:
    """The judges without any probability."""
    return {name for name, gives in zip(panel.judges, gives_probabilities(panel), strict=True) if not gives}
