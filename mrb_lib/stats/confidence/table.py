"""Whether a judge is as sure as it should be: what its probabilities are worth against gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.confidence import reading, summary
from mrb_lib.stats.confidence.ece import BINS, equal_mass, equal_width
from mrb_lib.stats.confidence.forecasts import (
    Forecasts,
    censored,
    contradictions,
    excluded,
    forecasts,
    grid,
    weighted_count,
)
from mrb_lib.stats.confidence.recalibration import folds, isotonic, scale_temperature
from mrb_lib.stats.confidence.risk_coverage import curve
from mrb_lib.stats.confidence.rows import reasons
from mrb_lib.stats.confidence.scores import rank
from mrb_lib.stats.confidence.shift import SHIFTS, shift_frame
from mrb_lib.stats.confidence.summary import Recalibrated, summarize, summary_frame
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.options import divide, join_reasons, typed, with_ends
from mrb_lib.stats.resampling.resample import NO_RESAMPLES, cluster_codes
from mrb_lib.stats.resampling.robust import FEW_CLUSTERS, Layout, layout, ratio_of_sums, share_interval
from mrb_lib.stats.subfields import By, groups, one_kind_each
from mrb_lib.tables.schema import NO_PROBE

_KEYS = ("judge", "dimension", "subfield", "by", "part")
COLUMNS = [
    *_KEYS,
    *summary.COLUMNS,
    "binning",
    "bin",
    "confidence",
    "threshold",
    "coverage",
    "risk",
    "low",
    "high",
    "probe",
    *with_ends(*(f"{name}_difference" for name in SHIFTS)),
    "reason",
]
MORE = [*summary.MORE, *with_ends(*(f"{name}_difference" for name in ("mean_confidence", "accuracy", "brier")))]
INTERVALS = [name for name in COLUMNS if name in ("low", "high") or name.endswith(("_low", "_high"))]


def _bins_frame(panel: Panel, verdicts: Forecasts, grouping: Layout) -> pd.DataFrame:
    """The reliability diagrams, of the whole benchmark."""
    columns, confidence = panel.shape[0] * panel.shape[1], verdicts.confidence
    places = grid(verdicts.column, verdicts.case, columns, grouping)
    frames = []
    for binning, bins in (
        ("equal_width", equal_width(confidence, verdicts.least)),
        ("equal_mass", equal_mass(rank(verdicts.column, confidence), columns)),
    ):
        counts = places.by_bin(bins, None, BINS)
        accuracy = ratio_of_sums(places.by_bin(bins, verdicts.correct, BINS), counts, grouping)
        low, high = share_interval(accuracy)
        n = counts.sum(axis=2)
        total = weighted_count(verdicts.column * BINS + bins, confidence, n.size).reshape(n.shape)
        column, number = np.nonzero(n > 0)
        frames.append(
            pd.DataFrame(
                {
                    **panel.names(column),
                    "part": "bin",
                    "binning": binning,
                    "bin": number,
                    "n": n[column, number].astype(np.int64),
                    "confidence": divide(total, n)[column, number],
                    "accuracy": accuracy.value[column, number, 0],
                    "low": low[column, number, 0],
                    "high": high[column, number, 0],
                    "reason": reasons({FEW_CLUSTERS: np.isnan(low[column, number, 0])}, {}),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def _risk_frame(panel: Panel, verdicts: Forecasts, grouping: Layout) -> pd.DataFrame:
    """Points of the risk-coverage curves, of the whole benchmark."""
    columns = panel.shape[0] * panel.shape[1]
    points = curve(verdicts.column, verdicts.case, verdicts.confidence, 1 - verdicts.correct, columns, grouping)
    return pd.DataFrame(
        {
            **panel.names(points.column),
            "part": "risk_coverage",
            **{name: getattr(points, name) for name in ("n", "threshold", "coverage", "risk", "low", "high")},
            "reason": reasons({FEW_CLUSTERS: np.isnan(points.low)}, {}),
        }
    )


@register_table(
    "calibration",
    question="are a judge's probabilities right, before and after recalibration",
    columns=[name for name in COLUMNS if name not in MORE],
    more=MORE,
    reads=("p_a", "p_a_bound"),
    meanings=reading.MEANINGS,
    headline=("overconfidence",),
    sentence=reading.sentence,
    why_no_ratings="",
)
def calibration(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    probes: Mapping[str, Panel] | None = None,
    probe: str | None = None,
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Compare the probabilities of judges with gold.

    Every verdict with a probability, on a case whose gold label is A or B, is one forecast: orders and repeats
    stand side by side, in one cluster. What "confidence" and "correct" mean is in `mrb_lib.stats.confidence.forecasts`.

    Of a rating the forecast is that the category chosen is the gold label (top-label calibration), by the judge's
    probability of that category, so that confidence is from 0 to 1; brier and log loss are of the same event, `auroc`
    is `auroc_confidence`, and there is no `temperature`.

    Parameters
    ----------
    verdicts : the verdicts of one probe, with `p_a`
    gold : `case_id, dimension, choice`
    probes : the verdicts of several probes by name, for the rows `shift`
    probe : which of those `verdicts` are of, and so have no such row; None finds it as the same object, else "none"
    by : a cases column to break the summary down by, or several, see `mrb_lib.stats.subfields.groups`
    dimensions : the dimensions to report; None reports all that were judged
    cluster : the cases column whose values are the units of all intervals
    resamples : 0 gives no intervals; otherwise they are computed from the clusters' residuals, without resampling
    seed : deals the clusters into the folds of recalibration

    Returns
    -------
    DataFrame
        `judge, dimension, subfield, by, part` and then, null where the part has no such column:

        `summary`, one row a judge, dimension and subfield: `n` forecasts on `n_cases`; of the judge's verdicts
        `n_excluded` are not forecasts, being `n_no_gold`, `n_gold_tie` or `n_no_probability`; `n_unassigned` cases in
        no subfield; `n_contradicting` verdicts that chose against their own probability; `n_censored` forecasts
        that are the bound of a probability that a server did not state, so that they understate its confidence.
        `ece` of 10 bins of equal width from 1/2, the least confidence there is, to 1, an estimate biased upwards,
        `ece_debiased`, and `ece_low`, `ece_high`, an interval of the true error of those bins (it may lie below
        `ece`); the same for `ece_equal_mass`.
        `brier` of `p_a`, and its exact decomposition, `reliability` - `resolution` + `uncertainty` +
        `within_bin_variance` - `within_bin_covariance`, over 10 bins of `p_a`.
        `log_loss` (natural; null where it is infinite, because `n_zero_probability` forecasts gave the gold label
        0) and `log_loss_clipped`, of probabilities clipped to .001 and .999.
        `auroc` of `p_a` for gold A, `auroc_confidence` of confidence for being correct.
        `accuracy` of the side leaned to, `mean_confidence`, `overconfidence` their difference,
        `wrong_at_high_confidence` the share wrong of the `n_high_confidence` forecasts of confidence .9 or more.
        Each with `_low` and `_high`. Recalibrated across folds of clusters, by maps fitted to the whole dimension:
        `temperature` of all folds, and ece, brier and log loss after (`ece_temperature`, `ece_isotonic`...).

        `bin`, the reliability diagram of the whole benchmark, by `binning` (`equal_width`, `equal_mass`): `bin`, 0 to
        9 from the least confident, `n`, `confidence` mean, `accuracy` with its interval `low`, `high`.

        `risk_coverage`, of the whole benchmark: `threshold`, `n` answered, `coverage`, `risk`, `low`, `high`.

        `shift`, of the whole benchmark, one row each other `probe`: over the `n` forecasts that exist under both,
        the value there less the value here of `ece` (debiased), `mean_confidence`, `accuracy`,
        `overconfidence`, `brier`, as `<name>_difference` with its paired interval.

        `reason` says why a value is null.

    Raises
    ------
    InputError
        An option is unknown, `by` or `cluster` cannot be used, or a verdict is about an unknown case.

    Notes
    -----
    Sources are with each statistic: `mrb_lib.stats.confidence.ece`, `scores`, `recalibration`, `risk_coverage`,
    `robust`. Validated in `tests/published/test_calibration.py`, `tests/stats/confidence/test_calibration.py` and, for
    coverage, `tests/simulation/test_calibration.py`.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    labels = encode_gold(gold, cases["case_id"], panel.dimensions, panel.categories)
    codes = cluster_codes(cases, cluster)
    parts = groups(cases, by)
    judged = panel.takes_part().ravel()
    if not len(codes) or not judged.any():
        return _assemble([], intervals=True)
    each = forecasts(panel, labels)
    whole, fold = layout(parts[:1], codes), folds(codes, seed)[each.case]
    scaled = scale_temperature(each, fold, len(judged), whole)
    recalibrated = {
        "temperature": Recalibrated(scaled.p, each.outcome, each.of_choice),
        "isotonic": Recalibrated(isotonic(each, fold, len(judged)), each.correct, each.of_choice),
    }
    counts = summary.Counts(excluded(panel, labels), contradictions(panel, labels), censored(panel, labels))
    frames = []
    for kind in one_kind_each(parts):
        measured = summarize(each, recalibrated, len(judged), layout(kind, codes))
        frames.append(summary_frame(panel, judged, kind, measured, counts, scaled))
    frames += [_bins_frame(panel, each, whole), _risk_frame(panel, each, whole)]
    for name in _others(verdicts, probes or {}, probe):
        aligned = as_panel((probes or {})[name], cases["case_id"], panel.dimensions)
        frames.append(shift_frame(panel, aligned, labels, name, whole))
    return _assemble(frames, intervals=resamples > 0)


def _assemble(frames: Sequence[pd.DataFrame], *, intervals: bool) -> pd.DataFrame:
    """All rows with all columns, in order and with their types."""
    out = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    out = out.reindex(columns=COLUMNS)
    if not intervals:
        out[INTERVALS] = np.nan
        out["reason"] = [join_reasons(text if isinstance(text, str) else "", NO_RESAMPLES) for text in out["reason"]]
    return typed(out, COLUMNS, counts="Int64")


def _others(verdicts: pd.DataFrame | Panel, probes: Mapping[str, Panel], probe: str | None) -> list[str]:
    """The names of the probes that the verdicts are not of; never known by what the verdicts say.

    A probe that changes nothing has the same verdicts, and that is what it is there to show.
    """
    if probe is None:
        probe = next((name for name, other in probes.items() if other is verdicts), NO_PROBE)
    return [name for name in probes if name != probe]
