"""Is a judge as sure as it should be? Proper scores, calibration error, and risk where only sure verdicts count."""

from typing import Final

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import Column, estimated, shared, table
from mrb_lib.stats.contrasts import ALPHA, corrected, t_test
from mrb_lib.stats.estimation import FloatArray, IntArray, Quantity, by_influence, estimate
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.methods import calibration_error as errors
from mrb_lib.stats.methods.forecasts import (
    HIGH_CONFIDENCE,
    Forecasts,
    folds,
    forecasts,
    of_probabilities,
    reliability,
    risk_coverage,
)
from mrb_lib.stats.phrases import interval, main_dimension, main_rows, opening
from mrb_lib.stats.verdicts import Verdicts

SUMMARY, BIN, RISK, SHIFT = "summary", "bin", "risk_coverage", "shift"
NO_PROBABILITIES = "the judge gives no probabilities"
NO_FORECAST = "no verdict with a probability is on a case with a decisive gold label"
NOT_SHARED = "no forecast exists under both probes"
INFINITE = "log_loss is infinite: the gold label was given probability 0"
ONE_OUTCOME = "auroc is undefined: every gold label (or, of ratings, every verdict) is right, or every one is wrong"
NONE_HIGH = "wrong_at_high_confidence is undefined: no confidence reaches .9"
NOT_BEST = "temperature has no best value, its interval has no upper end, or verdicts are ratings"
NOT_RECALIBRATED = "not recalibrated: temperature has no best value without some fold, or verdicts are ratings"
_GUO, _AUC = "Guo et al. 2017, arXiv 1706.04599", "DeLong et al. 1988, doi:10.2307/2531595"
_OWN: Final = (SUMMARY,)


def too_sure(rows: pd.DataFrame) -> str:
    """Say how many judges are significantly overconfident, and which is the most."""
    where, known = opening(main_dimension(rows)), main_rows(rows, part=SUMMARY).dropna(subset="overconfidence")
    if known.empty:
        return f"{where}, no judge gives a probability that can be checked."
    sure = known[(known["p_adjusted"] <= ALPHA) & (known["overconfidence"] > 0)]
    if sure.empty:
        return f"{where}, cannot tell whether any judge is overconfident ({len(known)} tested)."
    most = sure.nlargest(1, "overconfidence").iloc[0]
    ends = interval(most["overconfidence_low"], most["overconfidence_high"])
    return (
        f"{where}, {len(sure)} of {len(known)} judges {'is' if len(sure) == 1 else 'are'} significantly overconfident. "
        f"{most['judge']} is right {most['accuracy']:.0%} of the time, and its mean confidence is "
        f"{100 * most['overconfidence']:.0f} points higher{ends}."
    )


@table(
    "calibration",
    question="are a judge's probabilities right, before and after recalibration",
    columns=[
        shared("judge", "dimension", "subfields"),
        Column("part", "summary, bin (reliability diagram), risk_coverage or shift (another probe)", "text"),
        Column("n", "forecasts: verdicts with a probability on cases with a decisive label", "count"),
        Column("n_cases", "cases of these forecasts", "cases"),
        Column("n_excluded", "verdicts of the judge that are not forecasts", "count"),
        shared("n_seen", "clusters"),
        Column("accuracy", "share of forecasts that favour the gold label", "share 0-1", "", ("low", "high")),
        estimated("overconfidence", "mean confidence minus accuracy; above 0: too sure", "difference"),
        shared("tests"),
        estimated("ece", "mean gap of confidence and accuracy in 10 equal bins; biased upwards", source=_GUO),
        Column("ece_debiased", "ece minus what chance adds", "share 0-1", "Kumar et al. 2019, arXiv 1909.10155"),
        estimated("brier", "mean squared error of the probability of A; lower is better", "number", "Brier 1950"),
        estimated("log_loss", "mean negative log probability of gold; lower is better", "number", "", INFINITE, _OWN),
        estimated("auroc", "chance that gold A has a higher forecast than B", "number", _AUC, ONE_OUTCOME, _OWN),
        estimated("wrong_at_high_confidence", "share wrong of forecasts of .9 or more", null=NONE_HIGH, parts=_OWN),
        Column("n_censored", "forecasts that are a bound: the server listed the likelier letter alone", "count"),
        Column("n_high_confidence", "forecasts of confidence .9 or more", "count"),
        estimated("temperature", "divides log odds to recalibrate; above 1: too sure", "number", _GUO, NOT_BEST, _OWN),
        estimated("ece_temperature", "ece after scaling across folds", "share 0-1", _GUO, NOT_RECALIBRATED, _OWN),
        estimated("brier_temperature", "brier after temperature scaling across folds"),
        Column("bin", "number of the bin, by confidence", "count"),
        Column("confidence", "mean confidence in the bin", "share 0-1"),
        Column("threshold", "least confidence that is answered", "share 0-1"),
        Column("coverage", "share of the forecasts answered at the threshold", "share 0-1"),
        estimated("risk", "share wrong of the forecasts answered", source="El-Yaniv and Wiener 2010"),
        Column("probe", "probe whose forecasts are compared with those without it", "text"),
        estimated("overconfidence_difference", "overconfidence under the probe minus without it", "difference"),
    ],
    sentence=too_sure,
    headline=("overconfidence", "p_adjusted"),
    uses=("by", "dimension", "gold", "cluster", "seed", "correction", "family"),
    reads=("p_a", "p_a_bound"),
    why_no_ratings="",
    nothing="no judge gives a probability on a case with a decisive gold label",
)
def calibration(analysis: Analysis) -> pd.DataFrame:
    """Compare the probabilities of judges with gold labels.

    Every verdict with a probability, on a case whose gold label is A or B, is one forecast (`forecasts`); orders and
    repeats of a case vary together. Of ratings, the forecast is that the chosen category is the gold label, and there
    is no temperature. The p-value is of no over- or underconfidence, by t.

    Notes
    -----
    Bins, risk-coverage points and shifts are of the whole benchmark. Recalibration is across folds of clusters; its
    maps are fitted to a whole dimension, `temperature` to the forecasts of the row. The interval of the area under the
    ROC curve is that of placements. Coverage: tests/simulation/test_calibration.py.
    """
    own, outcome, f = forecasts(analysis.verdicts, analysis.labels)
    if not len(f.case):
        return pd.DataFrame()
    of_whole = f, own.cells[["judge", "dimension"]], analysis.sampling
    bins, curve = reliability(*of_whole).assign(part=BIN), risk_coverage(*of_whole).assign(part=RISK)
    shifts = [_shift(analysis, own, f, probe) for probe in analysis.probes if probe != analysis.probe]
    return pd.concat([_summary(analysis, own, outcome, f), bins, curve, *shifts], ignore_index=True)


def _summary(analysis: Analysis, own: Verdicts, outcome: FloatArray, f: Forecasts) -> pd.DataFrame:
    """Return one row per judge, dimension and group of cases."""
    v, p, is_high = analysis.verdicts, own.p_a, f.confidence >= HIGH_CONFIDENCE - 1e-12
    is_rating = v.tie < 0
    least = -1.0 if is_rating else -0.5
    stated = np.where(outcome == 1, p, 1 - p)
    loss = -np.log(stated, out=np.full(len(p), -np.inf), where=stated > 0)
    odds = errors.log_odds(p)
    towards = np.full(len(p), np.nan) if is_rating else np.where(outcome == 1, odds, -odds)
    after = towards if is_rating else errors.recalibrated(f, odds, towards, folds(analysis.sampling, analysis.seed))
    usable = np.isfinite(after)
    better = of_probabilities(own.where(usable), after[usable], outcome[usable])
    measures = {
        "accuracy": Measure(f.mean(f.correct), intervals.proportion),
        "overconfidence": Measure(f.mean(f.confidence - f.correct), lambda e: intervals.t(e, least)),
        "ece": Measure(errors.expected_error(f), errors.true_error),
        "brier": Measure(f.mean((p - outcome) ** 2), intervals.on_log_odds),
        "log_loss": Measure(f.mean(np.where(np.isinf(loss), 0.0, loss)), intervals.on_log),
        "auroc": Measure(lambda cases: _area(f, p, outcome, cases, analysis.sampling.codes), intervals.on_log_odds),
        "wrong_at_high_confidence": Measure(f.mean(1 - f.correct, is_high), intervals.proportion),
        "temperature": Measure(lambda cases: errors.temperature(f, np.nan_to_num(towards), cases), intervals.on_log),
        "ece_temperature": Measure(errors.expected_error(better), errors.true_error),
        "brier_temperature": Measure(better.mean((after - outcome)[usable] ** 2), intervals.on_log_odds),
    }
    counts = {"n": f.total(), "n_cases": f.total() > 0, "n_excluded": v.total() - f.total()}
    counts |= {"n_censored": own.total(np.isfinite(own.is_bound))}
    counts |= {"n_high_confidence": f.total(is_high), "infinite": f.total(np.isinf(loss))}
    rows, made = grid(analysis, v.cells[["judge", "dimension"]], measures, v.seen, counts)
    for name, unknown in (("log_loss", rows["infinite"] > 0), ("temperature", np.isinf(rows["temperature_high"]))):
        rows.loc[unknown, [name, f"{name}_low", f"{name}_high"]] = np.nan
    rows["ece_debiased"] = np.concatenate([errors.debiased(e) for e in made["ece"]])
    silent = np.tile(~(v.total(np.isfinite(v.p_a)).sum(axis=0) > 0), len(analysis.parts))
    rows["reason"] = np.select([silent, rows["n"] == 0], [NO_PROBABILITIES, NO_FORECAST], "")
    rows["p_value"] = np.concatenate([t_test(e) for e in made["overconfidence"]])
    tested = corrected(rows.assign(difference=rows["overconfidence"], part=SUMMARY), analysis)
    return tested[tested["subfield"].isna() | ~silent]


def _shift(analysis: Analysis, own: Verdicts, f: Forecasts, probe: str) -> pd.DataFrame:
    """Return what a probe adds to the overconfidence of each judge, over the forecasts that exist under both."""
    other, _, there = forecasts(analysis.of_probe(probe), analysis.labels)
    names = ["judge", "dimension"]
    sides = [
        of.cells[names].iloc[of.cell].assign(case=of.case, order=of.order, repeat=of.repeat, gap=gap)
        for of, gap in ((own, f.confidence - f.correct), (other, there.confidence - there.correct))
    ]
    both = sides[0].merge(sides[1], how="left", on=[*names, "case", "order", "repeat"])
    change = (both["gap_y"] - both["gap_x"]).to_numpy()
    e = estimate(f.mean(np.nan_to_num(change), np.isfinite(change)), analysis.sampling)
    widest = 2.0 if own.tie < 0 else 1.5
    low, high, _ = intervals.t(e, -widest, widest)
    n = f.total(np.isfinite(change)).sum(axis=0)
    rows = own.cells[names].assign(part=SHIFT, probe=probe, n=n, n_clusters=e.clusters, largest=e.largest)
    rows = rows.assign(reason=np.where(n > 0, "", NOT_SHARED), overconfidence_difference=e.value)
    rows = rows.assign(overconfidence_difference_low=low, overconfidence_difference_high=high)
    return rows.merge(other.cells[names])


def _area(f: Forecasts, p: FloatArray, outcome: FloatArray, cases: IntArray, codes: IntArray) -> Quantity:
    """Return the area under the ROC curve of each cell on some cases, by placements; `codes` are of clusters.

    DeLong, DeLong and Clarke-Pearson 1988, doi:10.2307/2531595; by clusters Obuchowski 1997, doi:10.2307/2533958.
    """
    value, moves, counted = np.full(f.shape[1], np.nan), np.zeros(len(p)), np.zeros(len(p))
    inside = np.isin(f.case, cases)
    for cell, of_cell in enumerate(f.cells()):
        own = np.flatnonzero(inside[of_cell]) + of_cell.start
        up, rank = outcome[own] == 1, rankdata(p[own])
        if not 0 < up.sum() < len(own):
            continue
        within = np.empty(len(own))
        within[up], within[~up] = rankdata(p[own][up]), rankdata(p[own][~up])
        placed = np.where(up, (rank - within) / (~up).sum(), 1 - (rank - within) / up.sum())
        value[cell] = placed[up].mean()
        n, *sides = (len(np.unique(codes[f.case[each]])) for each in (own, own[up], own[~up]))
        scale = [np.sqrt(m / max(m - 1, 1) * (n - 1) / n) for m in sides]  # each side has its own degrees of freedom
        moves[own] = (placed - value[cell]) * np.where(up, scale[0] / up.sum(), scale[1] / (~up).sum())
        counted[own] = 1.0
    return by_influence(value, f.total(moves)[cases], (f.total(counted) > 0).astype(np.float64)[cases])
