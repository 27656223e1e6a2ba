"""Letting a judge answer only where it is sure: what is gained, and what can be promised."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.confidence.forecasts import gives_probabilities
from mrb_lib.stats.confidence.rows import NO_ERROR, reasons
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.table import Option, register_table
from mrb_lib.stats.estimation import Sampling
from mrb_lib.stats.forecasts import folds
from mrb_lib.stats.options import typed, with_ends
from mrb_lib.stats.resampling.resample import NO_RESAMPLES, cluster_codes
from mrb_lib.stats.resampling.robust import FEW_CLUSTERS, layout
from mrb_lib.stats.selective import reading
from mrb_lib.stats.selective.answers import CLINICIAN, answers, references
from mrb_lib.stats.selective.guarantees import areas, calibrate, curves, guarantees, one_a_cluster, places_of
from mrb_lib.stats.subfields import By, groups, one_kind_each
from mrb_lib.stats.tables.calibration import NO_PROBABILITIES
from mrb_lib.tables.errors import InputError

NO_ANSWER = "no case with a probability has a gold label, or a panel that is split over it"
NO_CLINICIAN = "no case with a probability has an annotator's own label"
CANNOT = "cannot guarantee: no threshold passes"
NOT_HELD_OUT = "no held-out case is answered"
NO_HUMAN = "human level: too few annotators a case (three for the gold label, two for one clinician)"
NOT_BINARY = "excess_aurc: only of answers that agree or do not"

COLUMNS = [
    "judge",
    "dimension",
    "subfield",
    "by",
    "part",
    "reference",
    "method",
    "target",
    "delta",
    "threshold",
    *with_ends("coverage"),
    "agreement",
    "low",
    "high",
    *with_ends("human_level"),
    "judge_level",
    "promise",
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
_INTERVALS = [name for name in COLUMNS if name in ("low", "high") or name.endswith(("_low", "_high"))]


@register_table(
    "selective",
    question="where may a judge answer alone, so that over all it answers the annotators agree as often as promised",
    columns=[name for name in COLUMNS if name not in MORE],
    more=MORE,
    reads=("p_a",),
    options={
        "target": Option(
            "the agreement wanted with `reference` (the gold label, or one annotator), over all cases that the judge "
            "answers",
            least=0,
            below=1,
        )
    },
    meanings=reading.MEANINGS,
    headline=("coverage", "human_level", "judge_level", "threshold"),
    sentence=reading.sentence,
    why_no_ratings="",
)
def selective(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    target: float = 0.9,
    rule: str = "majority",
    dimensions: Sequence[str] | None = None,
    by: By = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Find the confidence from which on each judge agrees with clinicians as often as wanted, over all it answers.

    A case is answered once: by the side that the mean of the judge's probabilities over orders and repeats leans
    to, if its confidence (see `mrb_lib.stats.selective.answers`) reaches a threshold; a mean of exactly one half
    answers a tie. Every annotated case with a probability counts, also where the annotators are split or call a tie:
    of a new case nobody knows beforehand whether they would. Of ratings the answer is the category chosen, with the
    probability that the judge gave it.

    Parameters
    ----------
    verdicts : the verdicts of one probe, with `p_a`
    gold : `case_id, dimension, choice`; a case whose `choice` is null has a split panel, and a case without a row
        is left out and counted
    annotations : as in `mrb_lib.stats.annotators.encode_annotations`; `consensus` labels are nobody's own
    target : the agreement wanted on the answered cases; alpha is 1 less that
    rule : the gold rule, which names the first reference
    dimensions, by, cluster : as in `mrb_lib.stats.confidence.calibration`
    resamples : 0 gives no intervals; otherwise they are computed from the clusters' residuals, without resampling
    seed : deals the clusters into folds, and picks the case of each cluster that calibrates

    Returns
    -------
    DataFrame
        `judge, dimension, subfield, by, part, reference`. The `reference` says what agreement is with: the gold `rule`
        ("majority": the answer is the label of the most annotators; where they are split, no answer agrees, and where
        that label is a tie, only a tie does), or "clinician": one annotator of the case, drawn at random, so that
        agreement is the expected share. Then, null where the part has no such column:

        `guarantee`, one row a judge, dimension, subfield, reference, `method` and `delta`: the `threshold` of
        confidence found on all `n_calibration` cases (one a cluster of the subfield, so that they are independent), and
        `guaranteed`, true where there is one and null where nothing can be promised; then nothing is measured either.
        `promise` names the column that is promised. `fixed_sequence` promises, at confidence 1 - `delta`, `agreement`
        of `target` at least, over all the cases answered; `bound` is the one-sided lower confidence bound of that
        agreement at that threshold (Clopper and Pearson's; for "clinician" Hoeffding and Bentkus's), as if it had not
        been chosen: at least `target`, and by how much more is only a guide. `conformal_risk_control` promises, on
        average, that `wrong_of_all`, the disagreement, is at most 1 - `target` of all cases, answered or not. Both are
        of a case of a cluster drawn at random, and so are the values beside them: every cluster counts once, however
        many cases it has.
        What such thresholds do on new cases, each fold answered by a threshold from the others: `coverage` the share
        of the `n` cases answered, `agreement` on the `n_answered`, with 95% cluster-robust intervals, and
        `wrong_of_all`. A fold without a threshold answers none. These
        are of five thresholds, each from four fifths of the cases, not of `threshold` itself.
        `human_level`, on the same answered cases: how often one of the case's annotators, drawn at random, agrees with
        the others by the same reference (with their majority, of two at least and none where they are split; with one
        of them), with its 95% interval; `judge_level`, how often the judge agrees with those very others. The two are
        comparable; `agreement` is with all annotators, whose label is the surer one.

        `summary`, one row a judge, dimension, subfield and reference, for the judge that always answers: `agreement`,
        `human_level`, `judge_level`; `aurc`, the area under its risk-coverage curve, and `excess_aurc` over that of
        the best order of the same answers (null for "clinician"), each with `_low` and `_high`.

        `curve`, of the whole benchmark: `threshold`, `coverage`, `n_answered`, `risk` with its interval, `agreement`.

        `n` cases, `n_excluded` cases of the judge's without a probability or annotations; `reason` says why a value
        is null.

    Raises
    ------
    InputError
        `target` is not a share, an option is unknown, `by` or `cluster` cannot be used, or a case is unknown.

    Notes
    -----
    What is promised, is promised of cases drawn as the calibration cases were. Each row is promised by itself: of many
    rows, a share `delta` may be broken. Clinicians who split set a limit: no judge agrees with their majority on more
    cases than have one.
    Sources: `mrb_lib.stats.selective.thresholds`, `mrb_lib.stats.confidence.risk_coverage`. Validated in
    `tests/stats/selective/test_selective.py`; the promises by simulation in `tests/simulation/test_selective.py`.
    """
    if not 0 <= target < 1:
        raise InputError(f"target {target}: must be a fraction, at least 0 and below 1.")
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    codes = cluster_codes(cases, cluster)
    parts = groups(cases, by)
    judged = panel.judged()
    if not len(codes) or not judged.any():
        return _assemble([], (), intervals=True)
    fold = folds(Sampling(codes, np.empty((0, 0))), seed)
    promises, summaries, points = [], [], []
    for reference in references(gold, annotations, cases, panel.dimensions, rule, panel.categories):
        mine = answers(panel, reference)
        left_out = judged.reshape(-1, len(codes)).astype(np.int64)
        left_out[mine.column, mine.case] = 0
        for kind in one_kind_each(parts):
            grouping = layout(kind, codes)
            kept = grouping.group[mine.case] >= 0
            places = places_of(panel, reference, kind, mine.take(kept), left_out, grouping)
            calibrating = one_a_cluster(mine, grouping.unit, seed)[kept]
            promises.append(guarantees(places, calibrate(places, fold, calibrating), 1 - target))
            summaries.append(areas(places))
        points.append(curves(panel, reference, mine, layout(parts[:1], codes)))
    silent = [name for name, gives in zip(panel.judges, gives_probabilities(panel), strict=True) if not gives]
    return _assemble([*promises, *summaries, *points], silent, intervals=resamples > 0)


def _assemble(frames: Sequence[pd.DataFrame], silent: Collection[str], *, intervals: bool) -> pd.DataFrame:
    """All rows with all columns, in order and with their types; what was not promised is null, with its reason."""
    out = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    out = out.reindex(columns=COLUMNS)
    if not intervals:
        out[_INTERVALS] = np.nan
    promised = out["guaranteed"].eq(True)
    out["guaranteed"] = promised.astype("boolean").where(promised)
    out["reason"] = _reasons(out, silent, intervals=intervals)
    return typed(out, COLUMNS, counts="Int64", guaranteed="boolean", reference="str", promise="str")


def _reasons(rows: pd.DataFrame, silent: Collection[str], *, intervals: bool) -> Sequence[str | None]:
    """Why something in each row is null."""
    promise, none = rows["part"] == "guarantee", rows["n"] == 0
    mute = rows["judge"].isin(list(silent))
    promised = promise & rows["guaranteed"].notna()
    low = rows["risk_low"].where(rows["part"] == "curve", rows["low"])
    bare = rows["agreement"].notna() & low.isna() & intervals
    clinician, measured = rows["reference"] == CLINICIAN, (rows["n_answered"].fillna(0) > 0) & promised
    summary = (rows["part"] == "summary") & ~none
    said = {
        NO_PROBABILITIES: none & mute,
        NO_ANSWER: none & ~mute & ~clinician,
        NO_CLINICIAN: none & ~mute & clinician,
        CANNOT: promise & ~none & ~promised,
        NOT_HELD_OUT: promised & ~measured,
        NO_RESAMPLES: ~none & (not intervals),
        FEW_CLUSTERS: bare,
        NO_HUMAN: (summary | measured) & rows["human_level"].isna(),
        NOT_BINARY: summary & clinician,
    }
    still = {
        name: rows[name].notna() & rows[f"{name}_low"].isna() & ~bare & intervals for name in ("aurc", "excess_aurc")
    }
    said_of_rows: Sequence[str | None] = reasons(
        {text: holds.to_numpy() for text, holds in said.items()},
        {NO_ERROR: {name: holds.to_numpy() for name, holds in still.items()}},
    ).tolist()
    return said_of_rows
