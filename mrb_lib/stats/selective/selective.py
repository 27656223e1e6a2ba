"""Letting a judge answer only where it is sure: what is gained, and what can be promised."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from mrb_lib.errors import InputError
from mrb_lib.stats.confidence.calibration_rows import NO_ERROR, texts
from mrb_lib.stats.confidence.confidence import case_forecasts, excluded
from mrb_lib.stats.confidence.proper_scores import rank
from mrb_lib.stats.confidence.recalibration import folds
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold
from mrb_lib.stats.core.subfields import By, groups, one_kind_each
from mrb_lib.stats.core.table import Option, register_table
from mrb_lib.stats.resampling.resample import NO_RESAMPLES, cluster_codes
from mrb_lib.stats.resampling.robust import FEW_CLUSTERS, layout
from mrb_lib.stats.selective.fixed_sequence import grid_place
from mrb_lib.stats.selective.selective_rows import (
    Setup,
    areas,
    calibrate,
    curves,
    guarantees,
    one_a_cluster,
    silent_judges,
)

NO_PROBABILITIES = "the judge gives no probabilities"
NO_FORECAST = "no case with a probability has gold label A or B"
CANNOT = "cannot guarantee: no threshold passes"
NOT_HELD_OUT = "no held-out case is answered"

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
    "coverage",
    "coverage_low",
    "coverage_high",
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
    "aurc",
    "aurc_low",
    "aurc_high",
    "excess_aurc",
    "excess_aurc_low",
    "excess_aurc_high",
    "risk",
    "risk_low",
    "risk_high",
    "reason",
]
_TEXT = {"judge", "dimension", "subfield", "by", "part", "method", "reason"}
_INTERVALS = [name for name in COLUMNS if name in ("low", "high") or name.endswith(("_low", "_high"))]


@register_table(
    "selective",
    question="when may a judge answer alone, so that it agrees with clinicians as often as promised",
    columns=COLUMNS,
    reads=("p_a",),
    options={"target": Option("the agreement with clinicians wanted where the judge answers", least=0, below=1)},
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
    to, if its confidence (see `mrb_lib.stats.confidence.confidence`) reaches a threshold. A mean of exactly one half
    names no side: answered, it is wrong in the rows `guarantee`, and half wrong in the others.

    Parameters
    ----------
    verdicts : the verdicts of one probe, with `p_a`
    gold : `case_id, dimension, choice`; cases whose label is a tie or missing are left out and counted
    target : the share of the answered cases on which the judge is to agree with gold; alpha is 1 less that
    dimensions, by, cluster : as in `mrb_lib.stats.confidence.calibration.calibration`
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
        `target` is no share, an option is unknown, `by` or `cluster` cannot be used, or a case is unknown.

    Notes
    -----
    What is promised, is promised of cases drawn as the calibration cases were: cases with a decisive gold label that
    the judge gives a probability on. Of a new case nobody knows whether clinicians would call it a tie. And each
    row is promised by itself: of many rows, a share `delta` may be broken.
    Sources: `mrb_lib.stats.selective.fixed_sequence`, `mrb_lib.stats.confidence.risk_coverage`. Validated in
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
    found = case_forecasts(panel, labels)
    confidence = found.confidence
    ranked, reached = rank(found.column, confidence), grid_place(confidence)
    mistaken = (found.right < 1).astype(np.float64)
    left_out = excluded(panel, labels, each_case=True).total
    fold = folds(codes, seed)
    setup = Setup(panel, judged, found, ranked, reached, mistaken, left_out)
    promises, summaries = [], []
    for kind in one_kind_each(parts):
        at = layout(kind, codes)
        places, calibrating = setup.within(at), one_a_cluster(found, at.unit, seed)
        promises.append(guarantees(places, kind, calibrate(places, fold, calibrating), 1 - target))
        summaries.append(areas(places, kind))
    rows = [*promises, *summaries, curves(setup, layout(parts[:1], codes))]
    return _assemble(rows, silent_judges(panel), intervals=resamples > 0)


def _assemble(frames: Sequence[pd.DataFrame], silent: Collection[str], *, intervals: bool) -> pd.DataFrame:
    """All rows with all columns, in order and with their types; what was not promised is null, with its reason."""
    out = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    out = out.reindex(columns=COLUMNS)
    if not intervals:
        out[_INTERVALS] = np.nan
    promised = out["guaranteed"].eq(True)
    out["guaranteed"] = promised.astype("boolean").where(promised)
    out["reason"] = _reasons(out, silent, intervals=intervals)
    counts = {name: "Int64" for name in COLUMNS if name == "n" or name.startswith("n_")}
    types = counts | dict.fromkeys(_TEXT, "str") | {"guaranteed": "boolean"}
    return out.astype({name: types.get(name, "float64") for name in COLUMNS})


def _reasons(rows: pd.DataFrame, silent: Collection[str], *, intervals: bool) -> Sequence[str | None]:
    """Why something in each row is null."""
    promise, none = (rows["part"] == "guarantee").to_numpy(), (rows["n"] == 0).to_numpy()
    mute = rows["judge"].isin(list(silent)).to_numpy()
    given = promise & rows["guaranteed"].notna().to_numpy()
    answered = (rows["n_answered"].fillna(0) > 0).to_numpy()
    known = {name: rows[name].notna().to_numpy() for name in rows.columns}
    low = np.where(rows["part"] == "curve", known["risk_low"], known["low"])
    bare = known["agreement"] & ~low & intervals
    said = {
        NO_PROBABILITIES: none & mute,
        NO_FORECAST: none & ~mute,
        CANNOT: promise & ~none & ~given,
        NOT_HELD_OUT: given & ~answered,
        NO_RESAMPLES: ~none & (not intervals),
        FEW_CLUSTERS: bare,
    }
    areas = ("aurc", "excess_aurc")
    still = {name: known[name] & ~known[f"{name}_low"] & ~bare & intervals for name in areas}
    found: Sequence[str | None] = texts(said, {NO_ERROR: still}).tolist()
    return found
