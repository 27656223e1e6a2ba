"""Letting a judge answer only where it is sure: what is gained, and what can be promised."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.stats.confidence.forecasts import (
    Forecasts,
    Grid,
    case_forecasts,
    excluded,
    gives_probabilities,
    grid,
    weighted_count,
)
from mrb_lib.stats.confidence.recalibration import FOLDS, folds
from mrb_lib.stats.confidence.risk_coverage import aurc, curve
from mrb_lib.stats.confidence.rows import NO_ERROR, reasons, spread
from mrb_lib.stats.confidence.scores import rank
from mrb_lib.stats.confidence.summary import NO_PROBABILITIES
from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, divide, typed, with_ends
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold
from mrb_lib.stats.core.subfields import By, Group, groups, one_kind_each
from mrb_lib.stats.core.table import Option, register_table
from mrb_lib.stats.resampling.resample import NO_RESAMPLES, cluster_codes
from mrb_lib.stats.resampling.robust import (
    FEW_CLUSTERS,
    Layout,
    by_group,
    layout,
    log_interval,
    ratio_of_sums,
    share_interval,
)
from mrb_lib.stats.selective import reading
from mrb_lib.stats.selective.thresholds import (
    GRID,
    NONE,
    at_or_above,
    conformal_risk_control,
    fixed_sequence,
    grid_place,
    upper_bound,
)

NO_FORECAST = "no case with a probability has gold label A or B"
CANNOT = "cannot guarantee: no threshold passes"
NOT_HELD_OUT = "no held-out case is answered"
DELTAS = (0.05, 0.1)
FIXED, CONFORMAL = "fixed_sequence", "conformal_risk_control"

COLUMNS = [
    "judge",
    "dimension",
    "subfield",
    "by",
    "part",
    "method",
    "target",
    "delta",
    "threshold",
    *with_ends("coverage"),
    "agreement",
    "low",
    "high",
    "guaranteed",
    "bound",
    "wrong_of_all",
    "n",
    "n_excluded",
    "n_unassigned",
    "n_calibration",
    "n_answered",
    *with_ends("aurc", "excess_aurc", "risk"),
    "reason",
]
MORE = with_ends("excess_aurc")
_Values = dict[str, FloatArray | IntArray | BoolArray]
_INTERVALS = [name for name in COLUMNS if name in ("low", "high") or name.endswith(("_low", "_high"))]


@register_table(
    "selective",
    question="when may a judge answer alone, so that it agrees with clinicians as often as promised",
    columns=[name for name in COLUMNS if name not in MORE],
    more=MORE,
    reads=("p_a",),
    options={"target": Option("the agreement with clinicians wanted where the judge answers", least=0, below=1)},
    meanings=reading.MEANINGS,
    headline=("threshold", "coverage", "agreement"),
    sentence=reading.sentence,
)
def selective(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    target: float = 0.9,
    dimensions: Sequence[str] | None = None,
    by: By = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Find the confidence from which on each judge agrees with gold as often as wanted.

    A case is answered once: by the side that the mean of the judge's probabilities over orders and repeats leans
    to, if its confidence (see `mrb_lib.stats.confidence.forecasts`) reaches a threshold. A mean of exactly one half
    names no side: answered, it is wrong in the rows `guarantee`, and half wrong in the others.

    Parameters
    ----------
    verdicts : the verdicts of one probe, with `p_a`
    gold : `case_id, dimension, choice`; cases whose label is a tie or missing are left out and counted
    target : the share of the answered cases on which the judge is to agree with gold; alpha is 1 less that
    dimensions, by, cluster : as in `mrb_lib.stats.confidence.calibration`
    resamples : 0 gives no intervals; otherwise they are computed from the clusters' residuals, without resampling
    seed : deals the clusters into folds, and picks the case of each cluster that calibrates

    Returns
    -------
    DataFrame
        `judge, dimension, subfield, by, part`, then, null where the part has no such column:

        `guarantee`, one row a judge, dimension, subfield, `method` and `delta`: the `threshold` of
        confidence found on all `n_calibration` cases (one a cluster of the subfield, so that they are independent), and
        `guaranteed`, true where there is one and null where nothing can be promised; then nothing is measured either.
        `fixed_sequence` promises, at confidence 1 - `delta`, agreement of `target` at least on the cases
        answered; `bound` is the one-sided lower bound of Clopper and Pearson at that threshold, as if it had not been
        chosen: at least `target`, and by how much more is only a guide.
        `conformal_risk_control` promises, on average, that at most 1 - `target` of all cases are answered wrongly.
        What such thresholds do on new cases, each fold answered by a threshold from the others: `coverage` the share
        of the `n` cases answered, `agreement` on the `n_answered`, with 95% cluster-robust intervals, and
        `wrong_of_all`, the share of all cases that is answered wrongly. A fold without a threshold answers none. These
        are of five thresholds, each from four fifths of the cases, not of `threshold` itself.

        `summary`, one row a judge, dimension and subfield: `agreement` of the judge that always answers; `aurc`, the
        area under its risk-coverage curve, and `excess_aurc` over that of the best order of the
        same answers, each with `_low` and `_high`.

        `curve`, of the whole benchmark: `threshold`, `coverage`, `n_answered`, `risk` with its interval, `agreement`.

        `n` cases, `n_excluded` cases of the judge's that have no forecast; `reason` says why a value is null.

    Raises
    ------
    InputError
        `target` is not a share, an option is unknown, `by` or `cluster` cannot be used, or a case is unknown.

    Notes
    -----
    What is promised, is promised of cases drawn as the calibration cases were: cases with a decisive gold label that
    the judge gives a probability on. Of a new case nobody knows whether clinicians would call it a tie. And each
    row is promised by itself: of many rows, a share `delta` may be broken.
    Sources: `mrb_lib.stats.selective.thresholds`, `mrb_lib.stats.confidence.risk_coverage`. Validated in
    `tests/stats/selective/test_selective.py`; the promises by simulation in `tests/simulation/test_selective.py`.
    """
    if not 0 <= target < 1:
        raise InputError(f"target {target}: must be a fraction, at least 0 and below 1.")
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    labels = encode_gold(gold, cases["case_id"], panel.dimensions)
    codes = cluster_codes(cases, cluster)
    parts = groups(cases, by)
    judged = panel.judged().any(axis=2).ravel()
    if not len(codes) or not judged.any():
        return _assemble([], (), intervals=True)
    answers, fold = case_forecasts(panel, labels), folds(codes, seed)
    left_out = excluded(panel, labels, each_case=True).total
    promises, summaries = [], []
    for kind in one_kind_each(parts):
        grouping = layout(kind, codes)
        kept = grouping.group[answers.case] >= 0
        places = _places(panel, kind, judged, answers.take(kept), left_out, grouping)
        calibrating = one_a_cluster(answers, grouping.unit, seed)[kept]
        promises.append(_guarantees(places, _calibrate(places, fold, calibrating), 1 - target))
        summaries.append(_areas(places))
    rows = [*promises, *summaries, _curves(panel, answers, layout(parts[:1], codes))]
    silent = [name for name, gives in zip(panel.judges, gives_probabilities(panel), strict=True) if not gives]
    return _assemble(rows, silent, intervals=resamples > 0)


class _Places(NamedTuple):
    """The forecasts on the cases of some groups, and where they are counted.

    Attributes
    ----------
    panel, parts : the judges, and the groups
    judged : shape (columns,), which columns have a row
    answers, counts : the forecasts, and how many each unit has, shape (columns, P)
    n_excluded : shape (columns, G), judged cases without a forecast
    """

    panel: Panel
    parts: Sequence[Group]
    judged: BoolArray
    answers: Forecasts
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
                **{name: each[column].T.ravel() for name, each in values.items()},
            }
        )


def _places(
    panel: Panel, parts: Sequence[Group], judged: BoolArray, answers: Forecasts, left_out: IntArray, grouping: Layout
) -> _Places:
    places = grid(answers.column, answers.case, len(judged), grouping)
    n_excluded = np.column_stack([left_out[:, group.cases].sum(axis=1) for group in parts])
    return _Places(panel, parts, judged, answers, places, places.by_unit(), n_excluded)


class _Calibration(NamedTuple):
    """Calibration cases counted at each threshold, without each fold and, last, of all folds.

    Attributes
    ----------
    answered, wrong : shape (columns * G, folds + 1, thresholds)
    reached : shape (n,), the strictest threshold each forecast reaches
    fold : shape (n,), its fold
    mistaken : shape (n,), 1 where it does not name the gold label
    """

    answered: IntArray
    wrong: IntArray
    reached: IntArray
    fold: IntArray
    mistaken: FloatArray


def one_a_cluster(answers: Forecasts, codes: IntArray, seed: int) -> BoolArray:
    """Whether each forecast is the one of its cluster, drawn at random, that calibrates.

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


def _calibrate(places: _Places, fold: IntArray, calibrating: BoolArray) -> _Calibration:
    """Count the calibration cases.

    Parameters
    ----------
    fold : shape (n_cases,), the fold of each case
    calibrating : whether each forecast calibrates, see `one_a_cluster`
    """
    answers = places.answers
    shape = (places.grid.columns * places.grid.grouping.shape[0], FOLDS, len(GRID))
    mine, reached = fold[answers.case], grid_place(answers.confidence)
    mistaken = (answers.correct < 1).astype(np.float64)
    key = ((places.grid.cell * FOLDS + mine) * len(GRID) + reached)[calibrating]
    counts = []
    for weights in (None, mistaken[calibrating]):
        own = at_or_above(weighted_count(key, weights, int(np.prod(shape))).reshape(shape))
        total = own.sum(axis=1, keepdims=True)
        counts.append(np.concatenate([total - own, total], axis=1))
    return _Calibration(counts[0], counts[1], reached, mine, mistaken)


def _guarantees(places: _Places, counts: _Calibration, alpha: float) -> pd.DataFrame:
    """The rows `guarantee`: nothing is measured where nothing is promised."""
    frames = []
    for method, delta in (*((FIXED, delta) for delta in DELTAS), (CONFORMAL, np.nan)):
        if method == FIXED:
            chosen = fixed_sequence(counts.answered, counts.wrong, alpha, delta)
        else:
            chosen = conformal_risk_control(counts.answered, counts.wrong, counts.answered[..., 0], alpha)
        promise = _promise(counts, chosen[:, FOLDS], delta)
        measured = _held_out(places, counts, chosen)
        shape = measured["n_answered"].shape
        values = {name: each.reshape(shape) for name, each in promise.items()}
        values |= {name: np.where(values["guaranteed"], each, np.nan) for name, each in measured.items()}
        frames.append(places.frame("guarantee", values).assign(method=method, target=1 - alpha, delta=delta))
    return pd.concat(frames, ignore_index=True)


def _promise(counts: _Calibration, chosen: IntArray, delta: float) -> _Values:
    """What all calibration cases allow to be promised, each of shape (columns * G,)."""
    promised = chosen != NONE
    row, lowest = np.arange(len(chosen)), np.maximum(chosen, 0)
    wrong, answered = counts.wrong[row, FOLDS, lowest], counts.answered[row, FOLDS, lowest]
    bound = np.full(len(chosen), np.nan) if np.isnan(delta) else 1 - upper_bound(wrong, answered, delta)
    return {
        "threshold": np.where(promised, GRID[lowest], np.nan),
        "guaranteed": promised,
        "bound": np.where(promised, bound, np.nan),
        "n_calibration": counts.answered[:, FOLDS, 0],
    }


def _held_out(places: _Places, counts: _Calibration, chosen: IntArray) -> _Values:
    """What thresholds do on the folds that they were not chosen on, each of shape (columns, G)."""
    grouping = places.grid.grouping
    bound = chosen[places.grid.cell, counts.fold]
    answered = ((bound != NONE) & (counts.reached >= bound)).astype(np.float64)
    answers = places.grid.by_unit(answered)
    mistakes = places.grid.by_unit(answered * counts.mistaken)
    coverage = ratio_of_sums(answers, places.counts, grouping)
    agreement = ratio_of_sums(answers - mistakes, answers, grouping)
    low, high = share_interval(agreement)
    return {
        **spread("coverage", coverage, share_interval(coverage)),
        "agreement": agreement.value,
        "low": low,
        "high": high,
        "wrong_of_all": divide(by_group(mistakes, grouping), by_group(places.counts, grouping)),
        "n_answered": by_group(answers, grouping).astype(np.int64),
    }


def _areas(places: _Places) -> pd.DataFrame:
    """The rows `summary`."""
    grouping, correct = places.grid.grouping, places.answers.correct
    area = aurc(rank(places.grid.cell, places.answers.confidence), 1 - correct, places.grid)
    agreement = ratio_of_sums(places.grid.by_unit(correct), places.counts, grouping)
    values: _Values = {"agreement": agreement.value}
    values["low"], values["high"] = share_interval(agreement)
    for name, estimate in (("aurc", area.area), ("excess_aurc", area.excess)):
        values |= spread(name, estimate, log_interval(estimate))
    return places.frame("summary", values)


def _curves(panel: Panel, answers: Forecasts, grouping: Layout) -> pd.DataFrame:
    """The rows `curve`, of the whole benchmark."""
    columns = panel.shape[0] * panel.shape[1]
    points = curve(answers, columns, grouping)
    return pd.DataFrame(
        {
            **panel.names(points.column),
            "part": "curve",
            "n": np.bincount(answers.column, minlength=columns)[points.column],
            "n_answered": points.n,
            "threshold": points.threshold,
            "coverage": points.coverage,
            "agreement": 1 - points.risk,
            "risk": points.risk,
            "risk_low": points.low,
            "risk_high": points.high,
        }
    )


def _assemble(frames: Sequence[pd.DataFrame], silent: Collection[str], *, intervals: bool) -> pd.DataFrame:
    """All rows with all columns, in order and with their types; what was not promised is null, with its reason."""
    out = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    out = out.reindex(columns=COLUMNS)
    if not intervals:
        out[_INTERVALS] = np.nan
    promised = out["guaranteed"].eq(True)
    out["guaranteed"] = promised.astype("boolean").where(promised)
    out["reason"] = _reasons(out, silent, intervals=intervals)
    return typed(out, COLUMNS, counts="Int64", guaranteed="boolean")


def _reasons(rows: pd.DataFrame, silent: Collection[str], *, intervals: bool) -> Sequence[str | None]:
    """Why something in each row is null."""
    promise, none = rows["part"] == "guarantee", rows["n"] == 0
    mute = rows["judge"].isin(list(silent))
    promised = promise & rows["guaranteed"].notna()
    low = rows["risk_low"].where(rows["part"] == "curve", rows["low"])
    bare = rows["agreement"].notna() & low.isna() & intervals
    said = {
        NO_PROBABILITIES: none & mute,
        NO_FORECAST: none & ~mute,
        CANNOT: promise & ~none & ~promised,
        NOT_HELD_OUT: promised & ~(rows["n_answered"].fillna(0) > 0),
        NO_RESAMPLES: ~none & (not intervals),
        FEW_CLUSTERS: bare,
    }
    areas = ("aurc", "excess_aurc")
    still = {name: rows[name].notna() & rows[f"{name}_low"].isna() & ~bare & intervals for name in areas}
    said_of_rows: Sequence[str | None] = reasons(
        {text: holds.to_numpy() for text, holds in said.items()},
        {NO_ERROR: {name: holds.to_numpy() for name, holds in still.items()}},
    ).tolist()
    return said_of_rows
