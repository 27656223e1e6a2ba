"""Where may a judge answer alone? The confidence from which on it agrees with clinicians as often as promised.

Thresholds of confidence are chosen so that a promise holds: with probability 1 - delta over the calibration cases,
which are independent draws of the cases to come, at most a share alpha of the answers is wrong. Thresholds are tested
from the strictest down until one fails, which spends delta once (Bauer 1991; Jung, Brahman and Choi 2025, arXiv
2407.18370; Angelopoulos et al., "Learn then test", arXiv 2110.01052).
"""

from typing import Any, Final

import numpy as np
import pandas as pd
from scipy import special

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.annotators import encode_annotations, leave_one_out
from mrb_lib.stats.columns import Column, Option, estimated, shared, table
from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, Sampling, divide, estimate, weighted_mean
from mrb_lib.stats.methods.forecasts import FOLDS, Forecasts, answers, folds, labelled, risk_coverage
from mrb_lib.stats.phrases import human_level, main_dimension, main_rows, opening, percent
from mrb_lib.stats.tables.calibration import NO_PROBABILITIES

GUARANTEE, SUMMARY, CURVE = "guarantee", "summary", "curve"
DELTAS: Final = (0.05, 0.1)
_OWN: Final = (GUARANTEE,)
NO_LABEL = "no case with a probability has a label of the reference"
CANNOT = "cannot guarantee: no threshold passes"
NOT_HELD_OUT = "no held-out case is answered"
NO_HUMAN = "human level: no case has three annotators"
GRID: Final[FloatArray] = special.expit(np.linspace(0.0, 14.0, 141))
GRID_OF_CHOICE: Final[FloatArray] = np.concatenate([[0.0], special.expit(np.linspace(-3.0, -0.1, 30)), GRID])
"""The same from 0, for the probability of one of several categories."""
NONE: Final = -1
LEAST_COVERAGE: Final = 0.15
_ROUNDING = 1e-9


def alone(rows: pd.DataFrame) -> str:
    """Say which judge may answer most cases at the agreement promised, over all judges, and the human level there."""
    where, own = opening(main_dimension(rows)), main_rows(rows, part=GUARANTEE)
    own = own[own["n"] > 0]
    if own.empty:
        return f"{where}, no judge gives probabilities by which it could leave cases to people."
    judges = own["judge"].nunique()
    level = own["delta"].max() if judges == 1 else own["delta"].min()
    wanted = f"{100 * own['target'].iloc[0]:g}% agreement with the clinicians' {own['reference'].iloc[0]} label"
    sure = f"{1 - DELTAS[-1]:.0%} confidence" + (f" over all {judges} judges" if judges > 1 else "")
    held = own[own["delta"].eq(level) & own["threshold"].notna() & (own["coverage"] > 0)]
    if held.empty:
        said = f"{where}, cannot promise {wanted} for any judge ({sure}), so none may answer alone."
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


@table(
    "selective",
    question="where may a judge answer alone, so that over all it answers the annotators agree as often as promised",
    columns=[
        shared("judge", "dimension", "subfields"),
        Column("part", "guarantee, summary (the judge answers every case) or curve", "text"),
        Column("reference", "what agreement is with: the gold rule", "text"),
        Column("target", "agreement wanted on the cases answered, every cluster counting once", "share 0-1"),
        Column("delta", "how often the promise may fail; the smallest holds over all judges", "p 0-1"),
        Column("threshold", "least confidence that is answered", "share 0-1", "Jung et al. 2025", (), CANNOT, _OWN),
        estimated("coverage", "share answered, on folds that the threshold was not chosen on", parts=_OWN),
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
    options={"target": Option("the agreement wanted with `reference`, over all cases answered", least=0, below=1)},
)
def selective(analysis: Analysis, *, target: float = 0.9) -> pd.DataFrame:
    """Find the confidence from which on each judge agrees with clinicians as often as wanted, over all it answers.

    A case is answered once (`answers`) if the confidence reaches the threshold. Every annotated case counts, also where
    annotators are split (no answer agrees with them) or call a tie (only a tie agrees): of a new case nobody knows
    beforehand. `human_level` is what one of a case's annotators, drawn at random, agrees with the majority of the
    others, and `judge_level` what the judge agrees with the same others.

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
    v, cells = analysis.verdicts, analysis.verdicts.cells[["judge", "dimension"]]
    answer, confidence = answers(v)
    levels = _levels_of(analysis, answer)
    has = np.isfinite(confidence) & np.isfinite(levels[0])
    judges = cells["judge"][np.asarray(has.any(axis=0))].nunique()
    frames = []
    for part in analysis.parts:
        inside = np.isin(np.arange(len(has)), part.cases)[:, None]
        label: dict[str, Any] = {"n_excluded": ((v.total() > 0) & inside & ~has).sum(axis=0), **part.label()}
        own = np.where(has & inside, confidence, np.nan)
        frames += _in_group(analysis, cells.assign(**label), levels, own, target, judges)
    cell, case = np.nonzero(has.T)
    f = Forecasts(case, cell, has.shape, confidence[case, cell], levels[0][case, cell], 0.0)
    curve = risk_coverage(f, cells, analysis.sampling).rename(columns={"n": "n_answered"}).assign(part=CURVE)
    frames.append(curve.merge(cells.assign(n=has.sum(axis=0)), on=["judge", "dimension"]))
    rows = pd.concat(frames, ignore_index=True).assign(reference=analysis.rule)
    if not rows["n"].any():
        return pd.DataFrame()
    speaking = cells["judge"][np.asarray(np.isfinite(confidence).any(axis=0))]
    absent = np.where(rows["judge"].isin(speaking), NO_LABEL, NO_PROBABILITIES)
    rows["reason"] = rows["reason"].mask(rows["n"] == 0, absent)
    return rows[(rows["n"] > 0) | ((rows["part"] == SUMMARY) & rows["subfield"].isna())]


def _levels_of(analysis: Analysis, answer: IntArray) -> list[FloatArray]:
    """Return three scores from 0 to 1 of each case and cell, NaN where the case does not count.

    They are whether the answer is the gold label, the share of the case's annotators who agree with the majority of
    the others, and the share of these majorities that the answer agrees with; the last two of three annotators or more.
    """
    k, d = len(analysis.verdicts.categories), analysis.verdicts.dimension
    coded = encode_annotations(analysis.annotations, analysis.cases, analysis.verdicts.categories, analysis.names)
    people, others = coded.labels[:, d], leave_one_out(coded.labels, k)[:, d]
    seen = labelled(analysis.gold, analysis.cases["case_id"], analysis.names)[:, d]
    n = (people >= 0).sum(axis=2)
    agree = [(others == of) & (people >= 0) for of in (people, answer[..., None])]
    shares = [np.where(n >= 3, divide(each.sum(axis=2), n), np.nan) for each in agree]
    return [np.where(seen, answer == analysis.labels[:, d], np.nan), *shares]


def _calibrating(kept: BoolArray, sampling: Sampling, seed: int) -> BoolArray:
    """Return the cases that calibrate each cell, shape (cases, cells): one per cluster, the first by lot."""
    patterns, which = np.unique(kept, axis=1, return_inverse=True)
    columns = [each.tolist() for each in (sampling.codes, sampling.crossed) if each is not None]
    order = np.argsort(np.random.default_rng(seed).permutation(len(kept)))
    drawn = np.zeros_like(patterns)
    for number, pattern in enumerate(patterns.T):
        used = set[tuple[int, int]]()
        for case in order[pattern[order]].tolist():
            clusters = {(i, codes[case]) for i, codes in enumerate(columns)}
            if used.isdisjoint(clusters):
                drawn[case, number] = True
                used |= clusters
    return drawn[:, which.ravel()]


def _levels(start: pd.DataFrame, levels: list[FloatArray], weight: FloatArray, sampling: Sampling) -> pd.DataFrame:
    """Return rows with agreement, the human level and the judge's on cases that count by their weight."""
    agreement, human, judge = (estimate(weighted_mean(each, weight), sampling) for each in levels)
    (low, high, _), (human_low, human_high, _) = intervals.proportion(agreement), intervals.proportion(human)
    rows = start.assign(agreement=agreement.value, low=low, high=high, judge_level=judge.value)
    rows = rows.assign(human_level=human.value, human_level_low=human_low, human_level_high=human_high)
    reason = np.where((weight > 0).any(axis=0) & np.isnan(human.value), NO_HUMAN, "")
    return rows.assign(n_clusters=agreement.clusters, largest=agreement.largest, reason=reason)


def _in_group(
    analysis: Analysis,
    start: pd.DataFrame,
    levels: list[FloatArray],
    confidence: FloatArray,
    target: float,
    judges: int,
) -> list[pd.DataFrame]:
    """Return the rows of a group of cases: its summary, and at each delta what can be promised.

    Parameters
    ----------
    start : the columns that name the rows
    confidence : shape (cases, cells), of the answers that count; NaN of the others
    judges : how many judges promises are to hold for together
    """
    sampling, kept = analysis.sampling, np.isfinite(confidence)
    start = start.assign(n=kept.sum(axis=0), target=target)
    frames = [_levels(start, levels, kept.astype(np.float64), sampling).assign(part=SUMMARY, target=np.nan)]
    fold, thresholds = folds(sampling, analysis.seed), GRID_OF_CHOICE if analysis.verdicts.tie < 0 else GRID
    reached = grid_place(np.nan_to_num(confidence), thresholds)
    case, cell = np.nonzero(_calibrating(kept, sampling, analysis.seed))
    at_place = np.zeros((2, len(start), FOLDS, len(thresholds)))
    np.add.at(at_place[0], (cell, fold[case], reached[case, cell]), 1.0)
    np.add.at(at_place[1], (cell, fold[case], reached[case, cell]), 1 - levels[0][case, cell])
    of_fold = at_or_above(at_place)
    total = of_fold.sum(axis=2, keepdims=True)
    counts, lost = np.concatenate([total - of_fold, total], axis=2)  # without each fold, and last of all folds
    answered, row = np.rint(counts).astype(np.int64), np.arange(len(start))
    each = kept / np.maximum(sampling.sums(kept)[sampling.codes], 1.0)
    for delta in sorted({*DELTAS, DELTAS[-1] / max(judges, 1)}):
        chosen = fixed_sequence(answered, lost, 1 - target, delta)
        promised, lowest, least = chosen[:, FOLDS] != NONE, np.maximum(chosen[:, FOLDS], 0), chosen[:, fold].T
        held = kept & (least != NONE) & (reached >= least) & promised
        coverage = estimate(weighted_mean(np.where(promised, held, np.nan), each), sampling)
        low, high, _ = intervals.proportion(coverage)
        bound = 1 - upper_bound(lost[row, FOLDS, lowest], answered[row, FOLDS, lowest], delta)
        rows = _levels(start, levels, held * each, sampling)
        rows["reason"] = rows["reason"].mask(promised & ~held.any(axis=0), NOT_HELD_OUT)
        rows = rows.assign(threshold=thresholds[lowest], bound=bound, n_answered=held.sum(axis=0) * 1.0)
        rows.loc[~promised, ["threshold", "bound", "n_answered"]] = np.nan
        rows = rows.assign(coverage=coverage.value, coverage_low=low, coverage_high=high)
        frames.append(rows.assign(part=GUARANTEE, delta=delta, n_calibration=answered[:, FOLDS, 0]))
    return frames


def grid_place(confidence: FloatArray, grid: FloatArray = GRID) -> IntArray:
    """Return the strictest threshold of a grid that each confidence reaches."""
    return np.searchsorted(grid, confidence + 1e-12, side="right").astype(np.int64) - 1


def at_or_above(counts: FloatArray) -> FloatArray:
    """Return the sum over what is answered at each threshold, from the sums at each place, along the last axis."""
    return np.asarray(np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1])


def risk_p(lost: FloatArray, answered: IntArray, alpha: float) -> FloatArray:
    """Return the p-value of "the share of wrong answers exceeds alpha": the exact binomial tail.

    Parameters
    ----------
    lost : how many of `answered` independent answers are wrong
    """
    return np.asarray(special.bdtr(lost, answered, alpha))


def fixed_sequence(answered: IntArray, lost: FloatArray, alpha: float, delta: float) -> IntArray:
    """Return the lowest threshold of an unbroken descent of rejected tests, as a place in the grid, or `NONE`.

    Parameters
    ----------
    answered, lost : shape (..., thresholds), counts and losses at each threshold, see `at_or_above`

    Notes
    -----
    A threshold is passed over where it answers too few cases to be rejected even if nothing were lost, or fewer than
    `LEAST_COVERAGE` of the cases: among so few, one wrong answer would end the search. That depends on confidences
    alone. The promise is exact where a lower confidence means no lower risk; in simulation it holds elsewhere, too
    (tests/simulation/test_selective.py).
    """
    fewest = np.ceil(LEAST_COVERAGE * answered[..., :1] - _ROUNDING)
    tested = ((1 - alpha) ** answered <= delta) & (answered >= fewest)
    failed = np.zeros(tested.shape, dtype=bool)
    failed[tested] = risk_p(lost[tested], answered[tested], alpha) > delta
    broken = np.logical_or.accumulate(failed[..., ::-1], axis=-1)[..., ::-1]
    passed = tested & ~broken
    return np.where(passed.any(axis=-1), np.argmax(passed, axis=-1), NONE).astype(np.int64)


def upper_bound(lost: FloatArray, answered: IntArray, delta: float) -> FloatArray:
    """Return the one-sided upper bound of Clopper and Pearson of a share; 1 where nothing was answered."""
    right = answered - lost
    return np.where(right > 0, special.betaincinv(lost + 1, np.maximum(right, 1), 1 - delta), 1.0)
