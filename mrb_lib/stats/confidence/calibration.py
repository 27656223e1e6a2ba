"""Whether a judge is as sure as it should be: what its probabilities are worth against gold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas as pd

from mrb_lib.schema import NO_PROBE
from mrb_lib.stats.confidence import calibration_rows as rows
from mrb_lib.stats.confidence.calibration_rows import names, texts
from mrb_lib.stats.confidence.calibration_summary import Scored, grid, recalibrated, score, summarize
from mrb_lib.stats.confidence.confidence import contradictions, excluded, forecasts
from mrb_lib.stats.confidence.ece import BINS, equal_mass, equal_width
from mrb_lib.stats.confidence.proper_scores import weighted_count
from mrb_lib.stats.confidence.recalibration import folds, isotonic, scale_temperature
from mrb_lib.stats.confidence.risk_coverage import curve
from mrb_lib.stats.confidence.shift import shift_frame
from mrb_lib.stats.core.options import divide
from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold
from mrb_lib.stats.core.subfields import By, Group, groups, one_kind_each
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.resampling.ahead import ahead
from mrb_lib.stats.resampling.resample import cluster_codes
from mrb_lib.stats.resampling.robust import FEW_CLUSTERS, Layout, layout, ratio_of_sums, share_interval


def bins_frame(panel: Panel, scored: Scored, at: Layout) -> pd.DataFrame:
    """The reliability diagrams, of the whole benchmark."""
    found, columns = scored.found, panel.shape[0] * panel.shape[1]
    places = grid(found.column, found.case, columns, at)
    confidence, right = scored.confidence, scored.right
    frames = []
    for binning, bins in (
        ("equal_width", equal_width(confidence)),
        ("equal_mass", equal_mass(scored.by_confidence, columns)),
    ):
        counts = places.by_bin(bins, None)
        accuracy = ratio_of_sums(places.by_bin(bins, right), counts, at)
        low, high = share_interval(accuracy)
        n = counts.sum(axis=2)
        total = weighted_count(found.column * BINS + bins, confidence, n.size).reshape(n.shape)
        mean = divide(total, n)
        column, number = np.nonzero(n > 0)
        frames.append(
            pd.DataFrame(
                {
                    **names(panel, column),
                    "part": "bin",
                    "binning": binning,
                    "bin": number,
                    "n": n[column, number].astype(np.int64),
                    "confidence": mean[column, number],
                    "accuracy": accuracy.value[column, number, 0],
                    "low": low[column, number, 0],
                    "high": high[column, number, 0],
                    "reason": texts({FEW_CLUSTERS: np.isnan(low[column, number, 0])}, {}),
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def risk_frame(panel: Panel, scored: Scored, at: Layout) -> pd.DataFrame:
    """Points of the risk-coverage curves, of the whole benchmark."""
    found, columns = scored.found, panel.shape[0] * panel.shape[1]
    confidence = scored.confidence
    points = curve(scored.by_confidence, confidence, 1 - scored.right, at.unit[found.case], columns, at)
    return pd.DataFrame(
        {
            **names(panel, points.column),
            "part": "risk_coverage",
            **{name: getattr(points, name) for name in ("n", "threshold", "coverage", "risk", "low", "high")},
            "reason": texts({FEW_CLUSTERS: np.isnan(points.low)}, {}),
        }
    )


@register_table(
    "calibration",
    question="are a judge's probabilities right, before and after recalibration",
    columns=rows.COLUMNS,
    reads=("p_a",),
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
    stand side by side, in one cluster. What "confidence" and "right" mean is in `mrb_lib.stats.confidence.confidence`.

    Parameters
    ----------
    verdicts : the verdicts of one probe, with `p_a`
    gold : `case_id, dimension, choice`
    probes : the verdicts of several probes by name, for the rows `shift`
    probe : which of those `verdicts` are of, and so have no such row; None finds it as the same object, else "none"
    by : a cases column to break the summary down by, or several, see `mrb_lib.stats.core.subfields.groups`
    dimensions : the dimensions to report; None reports all that were judged
    cluster : the cases column whose values are the units of all intervals
    resamples : 0 gives no intervals; otherwise they are computed from the clusters' residuals, without resampling
    seed : deals the clusters into the folds of recalibration

    Returns
    -------
    DataFrame
        `judge, dimension, subfield, by, part` and then, null where the part has no such column:

        `summary`, one row a judge, dimension and subfield: `n` forecasts on `n_cases`; of the judge's verdicts
        `n_excluded` are none, being `n_no_gold`, `n_gold_tie` or `n_no_probability`; `n_unassigned` cases in no
        subfield; `n_contradicting` verdicts that chose against their own probability.
        `ece` of 10 bins of equal width, an estimate biased upwards, `ece_debiased`, and `ece_low`, `ece_high`,
        an interval of the true error of those bins (it may lie below `ece`); the same for `ece_equal_mass`.
        `brier` of `p_a`, and its exact decomposition, `reliability` - `resolution` + `uncertainty` +
        `within_bin_variance` - `within_bin_covariance`, over 10 bins of `p_a`.
        `log_loss` (natural; null where it is infinite, because `n_zero_probability` forecasts gave the gold label
        0) and `log_loss_clipped`, of probabilities clipped to .001 and .999.
        `auroc` of `p_a` for gold A, `auroc_confidence` of confidence for being right.
        `accuracy` of the side leaned to, `mean_confidence`, `overconfidence` their difference,
        `wrong_at_high_confidence` the share wrong of the `n_high_confidence` forecasts of confidence .9 or more.
        Each with `_low` and `_high`. Recalibrated across folds of clusters, by maps fitted to the whole dimension:
        `temperature` of all folds, and ece, brier and log loss after (`ece_temperature`, `ece_isotonic`...).

        `bin`, the reliability diagram of the whole benchmark, by `binning` (`equal_width`, `equal_mass`): `bin`,
        `n`, `confidence` mean, `accuracy` with its interval `low`, `high`.

        `risk_coverage`, of the whole benchmark: `threshold`, `n` answered, `coverage`, `risk`, `low`, `high`.

        `shift`, of the whole benchmark, one row each other `probe`: over the `n` forecasts that exist under both,
        the value there less the value here of `ece` (debiased), `mean_confidence`, `accuracy`,
        `overconfidence`, `brier`, as `<name>_difference` with its paired interval.

        `reason` says why a value is null.

    Raises
    ------
    InputError
        An option is unknown, `by` or `cluster` cannot be used, or a verdict speaks of an unknown case.

    Notes
    -----
    Sources are with each statistic: `mrb_lib.stats.confidence.ece`, `proper_scores`, `recalibration`, `risk_coverage`,
    `robust`. Validated in `tests/published/test_calibration.py`, `tests/stats/confidence/test_calibration.py` and, for
    coverage, `tests/simulation/test_calibration.py`.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    labels = encode_gold(gold, cases["case_id"], panel.dimensions)
    codes = cluster_codes(cases, cluster)
    parts = groups(cases, by)
    judged = panel.judged().any(axis=2).ravel()
    if not len(codes) or not judged.any():
        return rows.assemble([])
    found = forecasts(panel, labels)
    columns = len(judged)
    whole = layout(parts[:1], codes)
    fold = folds(codes, seed)[found.case]
    scored = score(found)
    with ThreadPoolExecutor(1) as beside:
        stepping = beside.submit(isotonic, found, scored.by_confidence, fold, columns)
        scaled = scale_temperature(found, fold, columns, whole)
        stepped = stepping.result()
    scored.recalibrated["temperature"] = recalibrated(scaled.p, found.outcome)
    scored.recalibrated["isotonic"] = recalibrated(stepped, scored.right)
    counts = rows.Counts(excluded(panel, labels), contradictions(panel, labels))

    def summary_of(kind: list[Group]) -> pd.DataFrame:
        summary = summarize(scored, columns, layout(kind, codes))
        return rows.summary_frame(panel, judged, kind, summary, counts, scaled)

    made: list[Callable[[], pd.DataFrame]] = [partial(summary_of, kind) for kind in one_kind_each(parts)]
    made += [partial(bins_frame, panel, scored, whole), partial(risk_frame, panel, scored, whole)]
    frames = list(ahead(lambda make: make(), made))
    for name in _others(verdicts, probes or {}, probe):
        aligned = as_panel((probes or {})[name], cases["case_id"], panel.dimensions)
        frames.append(shift_frame(panel, aligned, labels, name, whole))
    return rows.assemble(frames, intervals=resamples > 0)


def _others(verdicts: pd.DataFrame | Panel, probes: Mapping[str, Panel], probe: str | None) -> list[str]:
    """The names of the probes that the verdicts are not of; never known by what the verdicts say.

    A probe that changes nothing has the same verdicts, and that is what it is there to show.
    """
    if probe is None:
        probe = next((name for name, other in probes.items() if other is verdicts), NO_PROBE)
    return [name for name in probes if name != probe]
