"""Where may a judge answer alone? The confidence from which on it agrees with clinicians as often as promised."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.annotators import encode_annotations
from mrb_lib.stats.columns import Column, Option, estimated, shared, table
from mrb_lib.stats.estimation import (
    BoolArray,
    FloatArray,
    IntArray,
    Sampling,
    divide,
    estimate,
    weighted_mean,
)
from mrb_lib.stats.forecasts import FOLDS, Forecasts, answers, folds, labelled, risk_coverage
from mrb_lib.stats.gold_labels import leave_one_out
from mrb_lib.stats.phrases import human_level, main_dimension, main_rows, opening, percent
from mrb_lib.stats.promises import GRID, GRID_OF_CHOICE, NONE, at_or_above, fixed_sequence, grid_place, upper_bound
from mrb_lib.stats.tables.calibration import NO_PROBABILITIES
from mrb_lib.tables.errors import InputError

GUARANTEE, SUMMARY, CURVE, CLINICIAN = "guarantee", "summary", "curve", "clinician"
DELTAS: Final = (0.05, 0.1)
NO_ANSWER = "no case with a probability has a gold label, or a panel that is split over it"
NO_CLINICIAN = "no case with a probability has an annotator's own label"
CANNOT = "cannot guarantee: no threshold passes"
NOT_HELD_OUT = "no held-out case is answered"
NO_HUMAN = "human level: too few annotators per case (three for the gold label, two for one clinician)"


def alone(rows: pd.DataFrame) -> str:
    """Say which judge may answer most cases at the agreement promised, over all judges, and the human level there."""
    where, own = opening(main_dimension(rows)), main_rows(rows, part=GUARANTEE)
    own = own[(own["reference"] != CLINICIAN) & (own["n"] > 0)]
    if own.empty:
        return f"{where}, no judge gives probabilities by which it could leave cases to people."
    judges = own["judge"].nunique()
    level = own["delta"].max() if judges == 1 else own["delta"].min()
    wanted = f"{own['target'].iloc[0]:.0%} agreement with the clinicians' {own['reference'].iloc[0]} label"
    sure = f"{1 - DELTAS[-1]:.0%} confidence" + (f" over all {judges} judges" if judges > 1 else "")
    held = own[own["delta"].eq(level) & own["threshold"].notna() & (own["coverage"] > 0)]
    if held.empty:
        said = f"{where}, cannot promise {wanted} for any judge ({sure}), so none may answer alone."
        human = main_rows(rows, part=SUMMARY, reference=own["reference"].iloc[0]).dropna(subset="human_level")
        if len(human):
            said += f" One annotator agrees with the others on {percent(human.iloc[0], 'human_level')} of the cases."
        return f"{said} {human_level('selective')}"
    best = held.nlargest(1, "coverage").iloc[0]
    cluster = "" if best["cluster"] == "case_id" else f", each {best['cluster']} counting once"
    said = (
        f"{where}, if {best['judge']} answers only when it is confident, it can handle {best['coverage']:.0%} of "
        f"{int(best['n']):,} cases and keep {wanted} on them ({sure}{cluster})."
    )
    if judges > 1:
        said += f" {len(held)} of {judges} judges can promise that."
    if pd.notna(best["human_level"]):
        said += (
            f" On those cases, one annotator agrees with the others on {percent(best, 'human_level')}, and the judge "
            f"with the same annotators on {best['judge_level']:.0%}."
        )
    return f"{said} {human_level('selective')}"


class Reference(NamedTuple):
    """Scores of answers, 0 to 1, each of shape (cases, cells); NaN where a case does not count.

    Attributes
    ----------
    name : the gold rule, or "clinician"
    binary : whether an answer is worth 0 or 1 only
    worth : against all annotators
    human : what one of the case's annotators is worth against the others, in expectation
    judge : what the answer is worth against the same others
    """

    name: str
    binary: bool
    worth: FloatArray
    human: FloatArray
    judge: FloatArray

    def take(self, cases: IntArray) -> Reference:
        """Return the same of some cases."""
        return self._replace(worth=self.worth[cases], human=self.human[cases], judge=self.judge[cases])


@table(
    "selective",
    question="where may a judge answer alone, so that over all it answers the annotators agree as often as promised",
    columns=[
        shared("judge", "dimension", "subfields"),
        Column("part", "guarantee, summary (the judge answers every case) or curve", "text"),
        Column("reference", "what agreement is with: the gold rule, or one clinician", "text"),
        Column("target", "agreement wanted on the cases answered, every cluster counting once", "share 0-1"),
        Column("delta", "how often the promise may fail; the smallest holds over all judges", "p 0-1"),
        Column(
            "threshold", "least confidence with which a case is answered", "share 0-1", "Jung et al. 2025",
            (), CANNOT, (GUARANTEE,),
        ),
        estimated(
            "coverage", "share answered, on folds that the threshold was not chosen on", parts=(GUARANTEE,)
        ),
        Column("agreement", "of the judge with the reference on the cases answered", "share 0-1", "", ("low", "high")),
        estimated("human_level", "agreement of one annotator with the others, on the cases answered"),
        Column("judge_level", "agreement of the judge with the same others", "share 0-1"),
        Column("bound", "lower confidence bound of the agreement", "share 0-1", "Clopper and Pearson 1934"),
        Column("n", "annotated cases with a probability", "cases"),
        shared("n_excluded"),
        Column("n_calibration", "cases that the threshold was chosen on, one per cluster", "cases"),
        Column("n_answered", "cases answered", "cases"),
        shared("clusters"),
        estimated("risk", "disagreement on the cases answered", source="El-Yaniv and Wiener 2010"),
    ],
    sentence=alone,
    headline=("coverage", "human_level", "judge_level", "threshold"),
    uses=("by", "dimension", "gold", "cluster", "seed"),
    reads=("p_a",),
    why_no_ratings="",
    nothing="no judge gives a probability on an annotated case",
    options={
        "target": Option(
            "the agreement wanted with `reference` (the gold label, or one annotator), over all cases that the judge "
            "answers",
            least=0,
            below=1,
        )
    },
)  # fmt: skip
def selective(analysis: Analysis, *, target: float = 0.9) -> pd.DataFrame:
    """Find the confidence from which on each judge agrees with clinicians as often as wanted, over all it answers.

    A case is answered once (`answers`) if the confidence reaches the threshold. Every annotated case counts, also where
    annotators are split (no answer agrees with them) or call a tie (only a tie agrees): of a new case nobody knows
    beforehand. The reference is the gold rule, or "clinician": one annotator of the case, drawn at random.

    Parameters
    ----------
    target : the agreement wanted on the cases answered

    Notes
    -----
    Threshold and bound are of all calibration cases, one per cluster, so that they are independent. Coverage,
    agreement and levels are of held-out cases: each fold is answered by the threshold of the other folds, and every
    cluster counts once. A promise is for cases drawn like these, and for one judge chosen beforehand; at the smallest
    `delta`, .1 over the number of judges, it holds for all of them together. Simulated in
    tests/simulation/test_selective.py.
    """
    if not 0 <= target < 1:
        raise InputError(f"target {target}: must be a fraction, at least 0 and below 1.")
    v, cells = analysis.verdicts, analysis.verdicts.cells[["judge", "dimension"]]
    answer, confidence = answers(v)
    judged, fold, frames = v.total() > 0, folds(analysis.sampling, analysis.seed), []
    for reference in _references(analysis, answer):
        has = np.isfinite(confidence) & np.isfinite(reference.worth)
        deltas = sorted({*DELTAS, DELTAS[-1] / max(cells["judge"][np.asarray(has.any(axis=0))].nunique(), 1)})
        for part in analysis.parts:
            sampling, own, kept = analysis.sampling.take(part.cases), reference.take(part.cases), has[part.cases]
            counts = {"n": kept.sum(axis=0), "n_excluded": (judged[part.cases] & ~kept).sum(axis=0), **part.label()}
            start = cells.assign(reference=reference.name, **counts)
            frames.append(_levels(start, own, kept.astype(np.float64), sampling).assign(part=SUMMARY, reason=""))
            lot = np.random.default_rng(analysis.seed).permutation(len(analysis.cases))[part.cases]
            places = _places(
                confidence[part.cases], own, _calibrating(kept, sampling, lot), fold[part.cases], v.tie < 0
            )
            frames += [_guarantee(start, own, kept, places, fold[part.cases], sampling, target, d) for d in deltas]
        cell, case = np.nonzero(has.T)
        f = Forecasts(case, cell, has.shape, confidence[case, cell], reference.worth[case, cell], 0.0)
        curve = risk_coverage(f, cells, analysis.sampling).rename(columns={"n": "n_answered"})
        curve = curve.merge(cells.assign(n=has.sum(axis=0)), on=["judge", "dimension"])
        frames.append(curve.assign(part=CURVE, reference=reference.name, reason=""))
    rows = pd.concat(frames, ignore_index=True)
    if not rows["n"].any():
        return pd.DataFrame()
    silent = ~rows["judge"].isin(cells["judge"][np.asarray(np.isfinite(confidence).any(axis=0))])
    absent = np.select([silent, rows["reference"] == CLINICIAN], [NO_PROBABILITIES, NO_CLINICIAN], NO_ANSWER)
    nobody = (
        rows["human_level"].isna() & ((rows["part"] == SUMMARY) | (rows["n_answered"] > 0)) & (rows["part"] != CURVE)
    )
    rows["reason"] = np.select([rows["n"] == 0, nobody], [absent, NO_HUMAN], rows["reason"])
    return rows[(rows["n"] > 0) | ((rows["part"] == SUMMARY) & rows["subfield"].isna())]


def _references(analysis: Analysis, answer: IntArray) -> list[Reference]:
    """Return what answers are worth against the gold label by its rule, and against one clinician."""
    v, k, of_cells = analysis.verdicts, len(analysis.verdicts.categories), analysis.verdicts.dimension
    coded = encode_annotations(analysis.annotations, analysis.cases, v.categories, analysis.names)
    people = coded.labels(len(analysis.cases))
    given, others, n = people >= 0, leave_one_out(people, k), (people >= 0).sum(axis=2).astype(np.float64)
    seen = labelled(analysis.gold, analysis.cases["case_id"], analysis.names)[:, of_cells]
    agrees = np.where(seen, answer == analysis.labels[:, of_cells], np.nan)

    def share(values: BoolArray, least: int) -> FloatArray:
        """The share of a case's annotators of whom something holds; NaN where there are too few."""
        held = (values & given[:, of_cells]).sum(axis=2).astype(np.float64)
        return np.where(n[:, of_cells] >= least, divide(held, n[:, of_cells]), np.nan)

    alike = sum((people == kind).sum(axis=2) * ((people == kind).sum(axis=2) - 1.0) for kind in range(k))
    same = people[:, of_cells] == answer[..., None]
    of_others = others[:, of_cells] == answer[..., None]
    return [
        Reference(analysis.rule, True, agrees, share((people == others)[:, of_cells], 3), share(of_others, 3)),
        Reference(CLINICIAN, False, share(same, 1), divide(alike, n * (n - 1))[:, of_cells], share(same, 2)),
    ]


def _calibrating(kept: BoolArray, sampling: Sampling, lot: IntArray) -> BoolArray:
    """Return the cases that calibrate each cell, shape (cases, cells): one per cluster, the first by lot."""
    patterns, which = np.unique(kept, axis=1, return_inverse=True)
    columns = [each.tolist() for each in (sampling.codes, sampling.crossed) if each is not None]
    drawn, order = np.zeros_like(patterns), np.argsort(lot)
    for number, pattern in enumerate(patterns.T):
        used = set[tuple[int, int]]()
        for case in order[pattern[order]].tolist():
            clusters = {(i, codes[case]) for i, codes in enumerate(columns)}
            if used.isdisjoint(clusters):
                drawn[case, number] = True
                used |= clusters
    return drawn[:, which.ravel()]


class Places(NamedTuple):
    """Calibration cases counted at each threshold, without each fold and, last, of all folds.

    Attributes
    ----------
    answered, lost : shape (cells, folds + 1, thresholds), how many are answered, and the sum of their losses
    reached : shape (cases, cells), the strictest threshold that each answer reaches
    """

    answered: IntArray
    lost: FloatArray
    reached: IntArray
    thresholds: FloatArray


def _places(
    confidence: FloatArray, reference: Reference, calibrates: BoolArray, fold: IntArray, of_choice: bool
) -> Places:
    thresholds = GRID_OF_CHOICE if of_choice else GRID
    reached = grid_place(np.nan_to_num(confidence), thresholds)
    case, cell = np.nonzero(calibrates)
    shape = confidence.shape[1], FOLDS, len(thresholds)
    key = np.ravel_multi_index((cell, fold[case], reached[case, cell]), shape)
    made = np.stack([np.bincount(key, w, int(np.prod(shape))) for w in (None, 1 - reference.worth[case, cell])])
    own = at_or_above(made.reshape(2, *shape).astype(np.float64))
    total = own.sum(axis=2, keepdims=True)
    answered, lost = np.concatenate([total - own, total], axis=2)
    return Places(np.rint(answered).astype(np.int64), lost, reached, thresholds)


def _levels(start: pd.DataFrame, reference: Reference, weight: FloatArray, sampling: Sampling) -> pd.DataFrame:
    """Return rows with agreement, the human level and the judge's on cases that count by their weight."""
    columns: dict[str, Any] = {}
    for name, values, ends in (
        ("agreement", reference.worth, ("low", "high")),
        ("human_level", reference.human, ("human_level_low", "human_level_high")),
        ("judge_level", np.where(np.isfinite(reference.human), reference.judge, np.nan), ()),
    ):
        e = estimate(weighted_mean(values, weight), sampling)
        columns |= {name: e.value, **dict(zip(ends, intervals.proportion(e), strict=False))}
        if name == "agreement":
            columns |= {"n_clusters": e.clusters, "largest": e.largest}
    return start.assign(**columns)


def _guarantee(
    start: pd.DataFrame, reference: Reference, kept: BoolArray, places: Places, fold: IntArray, sampling: Sampling,
    target: float, delta: float,
) -> pd.DataFrame:  # fmt: skip
    """Return what can be promised from all calibration cases, and what such thresholds do on held-out folds."""
    alpha = 1 - target
    chosen = fixed_sequence(places.answered, places.lost, alpha, delta, binary=reference.binary)
    promised, lowest, row = chosen[:, FOLDS] != NONE, np.maximum(chosen[:, FOLDS], 0), np.arange(len(chosen))
    lost, answered = (each[row, FOLDS, lowest] for each in (places.lost, places.answered))
    least = chosen[:, fold].T
    held = kept & (least != NONE) & (places.reached >= least) & promised
    each = kept / np.maximum(sampling.sums(kept)[sampling.codes], 1.0)
    coverage = estimate(weighted_mean(np.where(promised, held, np.nan), each), sampling)
    low, high, _ = intervals.proportion(coverage)
    found = {
        "threshold": places.thresholds[lowest],
        "bound": 1 - upper_bound(lost, answered, delta, binary=reference.binary),
        "n_answered": held.sum(axis=0),
        "coverage": coverage.value,
        "coverage_low": low,
        "coverage_high": high,
    }
    rows = _levels(start, reference, held * each, sampling).assign(part=GUARANTEE, target=target, delta=delta)
    rows = rows.assign(
        n_calibration=places.answered[:, FOLDS, 0], reason=np.where(held.any(axis=0) | ~promised, "", NOT_HELD_OUT)
    )
    return rows.assign(**{name: np.where(promised, values, np.nan) for name, values in found.items()})
