"""What thresholds of confidence promise, what they do on cases they were not chosen on, and the curve of them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.confidence.forecasts import Grid, grid, weighted_count
from mrb_lib.stats.confidence.risk_coverage import aurc, curve
from mrb_lib.stats.confidence.rows import spread
from mrb_lib.stats.confidence.scores import rank
from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.forecasts import FOLDS
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.robust import (
    Layout,
    by_group,
    log_interval,
    ratio_of_sums,
    share_interval,
)
from mrb_lib.stats.selective.answers import Answers, Reference
from mrb_lib.stats.selective.thresholds import (
    GRID,
    GRID_OF_CHOICE,
    NONE,
    at_or_above,
    conformal_risk_control,
    fixed_sequence,
    grid_place,
    upper_bound,
)
from mrb_lib.stats.subfields import Group

DELTAS = (0.05, 0.1)
FIXED, CONFORMAL = "fixed_sequence", "conformal_risk_control"
AGREEMENT, WRONG = "agreement", "wrong_of_all"
_Values = dict[str, FloatArray | IntArray | BoolArray]


class Places(NamedTuple):
    """The answers to the cases of some groups, and where they are counted.

    Attributes
    ----------
    panel, parts : the judges, and the groups
    judged : shape (columns,), which columns have a row
    answers, counts : the answers, and how many each unit has, shape (columns, P)
    n_excluded : shape (columns, G), judged cases without an answer
    """

    panel: Panel
    reference: Reference
    parts: Sequence[Group]
    judged: BoolArray
    answers: Answers
    grid: Grid
    counts: FloatArray
    n_excluded: IntArray

    def frame(self, part: str, values: _Values) -> pd.DataFrame:
        """One row a group and judged column, from values of shape (columns, G)."""
        column = np.flatnonzero(self.judged)
        n = by_group(self.counts, self.grid.grouping).astype(np.int64)
        labels = [group.label() for group in self.parts]
        values = {"n": n, "n_excluded": self.n_excluded} | values
        return pd.DataFrame(
            {
                **self.panel.names(np.tile(column, len(labels))),
                **{key: np.repeat(np.array([label[key] for label in labels]), len(column)) for key in labels[0]},
                "part": part,
                "reference": self.reference.name,
                **{name: each[column].T.ravel() for name, each in values.items()},
            }
        )


def places_of(
    panel: Panel,
    reference: Reference,
    parts: Sequence[Group],
    mine: Answers,
    left_out: IntArray,
    grouping: Layout,
) -> Places:
    judged = panel.takes_part().ravel()
    places = grid(mine.column, mine.case, len(judged), grouping)
    n_excluded = np.column_stack([left_out[:, group.cases].sum(axis=1) for group in parts])
    return Places(panel, reference, parts, judged, mine, places, places.by_unit(), n_excluded)


class Calibration(NamedTuple):
    """Calibration cases counted at each threshold, without each fold and, last, of all folds.

    Attributes
    ----------
    answered, lost : shape (columns * G, folds + 1, thresholds), how many answers, and the sum of their losses
    reached : shape (n,), the strictest threshold each answer reaches
    fold : shape (n,), its fold
    loss : shape (n,), 1 less what it is worth
    thresholds : shape (thresholds,), of confidence, ascending
    """

    answered: IntArray
    lost: FloatArray
    reached: IntArray
    fold: IntArray
    loss: FloatArray
    thresholds: FloatArray


def one_a_cluster(answers: Answers, codes: IntArray, seed: int) -> BoolArray:
    """Whether each answer is the one of its cluster, drawn at random, that calibrates.

    Parameters
    ----------
    codes : shape (n_cases,), the cluster of each case, within its group if there are groups; below 0: in none
    """
    inside = codes[codes >= 0]
    if len(np.unique(inside)) == len(inside):
        return np.ones(len(answers.case), dtype=bool)
    lot = np.random.default_rng(seed).permutation(len(codes))
    order = np.lexsort((lot[answers.case], codes[answers.case], answers.column))
    column, cluster = answers.column[order], codes[answers.case][order]
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
    calibrating : whether each answer calibrates, see `one_a_cluster`
    """
    answers = places.answers
    thresholds = GRID_OF_CHOICE if answers.of_choice else GRID
    shape = (places.grid.columns * places.grid.grouping.shape[0], FOLDS, len(thresholds))
    mine, reached = fold[answers.case], grid_place(answers.confidence, thresholds)
    loss = 1 - answers.worth
    key = ((places.grid.cell * FOLDS + mine) * len(thresholds) + reached)[calibrating]
    counts = []
    for weights in (None, loss[calibrating]):
        own = at_or_above(weighted_count(key, weights, int(np.prod(shape))).reshape(shape))
        total = own.sum(axis=1, keepdims=True)
        counts.append(np.concatenate([total - own, total], axis=1))
    return Calibration(counts[0].astype(np.int64), counts[1], reached, mine, loss, thresholds)


def guarantees(places: Places, counts: Calibration, alpha: float) -> pd.DataFrame:
    """The rows `guarantee`: nothing is measured where nothing is promised."""
    frames, binary = [], places.reference.binary
    for method, delta in (*((FIXED, delta) for delta in DELTAS), (CONFORMAL, np.nan)):
        if method == FIXED:
            chosen = fixed_sequence(counts.answered, counts.lost, alpha, delta, binary=binary)
        else:
            chosen = conformal_risk_control(counts.answered, counts.lost, counts.answered[..., 0], alpha)
        promise = _promise(counts, chosen[:, FOLDS], delta, binary=binary)
        measured = _held_out(places, counts, chosen)
        shape = measured["n_answered"].shape
        values = {name: each.reshape(shape) for name, each in promise.items()}
        values |= {name: np.where(values["guaranteed"], each, np.nan) for name, each in measured.items()}
        promise_of = AGREEMENT if method == FIXED else WRONG
        rows = places.frame("guarantee", values)
        frames.append(rows.assign(method=method, promise=promise_of, target=1 - alpha, delta=delta))
    return pd.concat(frames, ignore_index=True)


def _promise(counts: Calibration, chosen: IntArray, delta: float, *, binary: bool) -> _Values:
    """What all calibration cases allow to be promised, each of shape (columns * G,)."""
    promised = chosen != NONE
    row, lowest = np.arange(len(chosen)), np.maximum(chosen, 0)
    lost, answered = counts.lost[row, FOLDS, lowest], counts.answered[row, FOLDS, lowest]
    bound = np.full(len(chosen), np.nan)
    if not np.isnan(delta):
        bound = 1 - upper_bound(lost, answered, delta, binary=binary)
    return {
        "threshold": np.where(promised, counts.thresholds[lowest], np.nan),
        "guaranteed": promised,
        "bound": np.where(promised, bound, np.nan),
        "n_calibration": counts.answered[:, FOLDS, 0],
    }


def _held_out(places: Places, counts: Calibration, chosen: IntArray) -> _Values:
    """What thresholds do on the folds that they were not chosen on, each of shape (columns, G).

    Every cluster counts once, as it does where one case of it calibrates.
    """
    grouping = places.grid.grouping
    bound = chosen[places.grid.cell, counts.fold]
    answered = ((bound != NONE) & (counts.reached >= bound)).astype(np.float64)
    weight = answered / places.counts.ravel()[places.grid.place]
    answers, lost = (places.grid.by_unit(values) for values in (weight, weight * counts.loss))
    clusters = (places.counts > 0).astype(np.float64)
    coverage = ratio_of_sums(answers, clusters, grouping)
    agreement = ratio_of_sums(answers - lost, answers, grouping)
    low, high = share_interval(agreement)
    return {
        **spread("coverage", coverage, share_interval(coverage)),
        "agreement": agreement.value,
        "low": low,
        "high": high,
        **_levels(places, weight),
        "wrong_of_all": divide(by_group(lost, grouping), by_group(clusters, grouping)),
        "n_answered": by_group(places.grid.by_unit(answered), grouping).astype(np.int64),
    }


def _levels(places: Places, weight: FloatArray) -> _Values:
    """What one annotator and the judge reach against the other annotators, by the weight of answers: (columns, G)."""
    known = weight * np.isfinite(places.answers.human)
    counted = places.grid.by_unit(known)
    human, judge = (
        ratio_of_sums(places.grid.by_unit(known * np.nan_to_num(values)), counted, places.grid.grouping)
        for values in (places.answers.human, places.answers.beside)
    )
    return {**spread("human_level", human, share_interval(human)), "judge_level": judge.value}


def areas(places: Places) -> pd.DataFrame:
    """The rows `summary`."""
    grouping, worth = places.grid.grouping, places.answers.worth
    area = aurc(rank(places.grid.cell, places.answers.confidence), 1 - worth, places.grid)
    agreement = ratio_of_sums(places.grid.by_unit(worth), places.counts, grouping)
    values: _Values = {"agreement": agreement.value}
    values["low"], values["high"] = share_interval(agreement)
    values |= _levels(places, np.ones(len(worth)))
    values |= spread("aurc", area.area, log_interval(area.area))
    if places.reference.binary:
        values |= spread("excess_aurc", area.excess, log_interval(area.excess))
    return places.frame("summary", values)


def curves(panel: Panel, reference: Reference, mine: Answers, grouping: Layout) -> pd.DataFrame:
    """The rows `curve`, of the whole benchmark."""
    columns = panel.shape[0] * panel.shape[1]
    points = curve(mine.column, mine.case, mine.confidence, 1 - mine.worth, columns, grouping)
    return pd.DataFrame(
        {
            **panel.names(points.column),
            "part": "curve",
            "reference": reference.name,
            "n": np.bincount(mine.column, minlength=columns)[points.column],
            "n_answered": points.n,
            "threshold": points.threshold,
            "coverage": points.coverage,
            "agreement": 1 - points.risk,
            "risk": points.risk,
            "risk_low": points.low,
            "risk_high": points.high,
        }
    )
