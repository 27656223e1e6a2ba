"""The rows of the table `calibration`, one function a kind of row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.confidence.calibration_summary import Summary
from mrb_lib.stats.confidence.confidence import Excluded, gives_probabilities
from mrb_lib.stats.confidence.recalibration import Temperature
from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, join_reasons
from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.core.subfields import Group
from mrb_lib.stats.resampling.resample import NO_RESAMPLES, ONE_CLUSTER
from mrb_lib.stats.resampling.robust import Estimate, log_interval, logit_interval, share_interval, t_interval

NO_PROBABILITIES = "the judge gives no probabilities"
NO_FORECAST = "no verdict with a probability is on a case whose gold label is A or B"
INFINITE = "log_loss is infinite: the gold label was given probability 0"
ONE_OUTCOME = "auroc is undefined: gold is the same everywhere"
ALL_RIGHT = "auroc_confidence is undefined: all are right, or all wrong"
NONE_HIGH = "wrong_at_high_confidence is undefined: no confidence reaches .9"
NO_TEMPERATURE = "temperature has no best value"
NO_FOLD_TEMPERATURE = "not recalibrated by temperature: of some fold it has no best value"
NOT_RECALIBRATED = "not recalibrated: all forecasts are in one fold"
FEW_OF = "no interval of {}: fewer than two clusters count"
NO_ERROR = "no interval of {}: the cases do not differ, or it is at an end of its range"

_KEYS = ["judge", "dimension", "subfield", "by", "part"]
_TEXT = {"judge", "dimension", "subfield", "by", "part", "binning", "probe", "reason"}
_MEANS = ["accuracy", "mean_confidence", "overconfidence", "brier", "log_loss", "log_loss_clipped"]
_PARTS = ["reliability", "resolution", "uncertainty", "within_bin_variance", "within_bin_covariance"]
_AFTER = [f"{name}_{kind}" for kind in ("temperature", "isotonic") for name in ("ece", "brier", "log_loss")]
_RANGES = {"mean_confidence": (0.5, 1.0), "overconfidence": (-0.5, 1.0)}
_SHIFTS = ["ece", "mean_confidence", "accuracy", "overconfidence", "brier"]


def _bounded(names: Sequence[str]) -> list[str]:
    return [name + end for name in names for end in ("", "_low", "_high")]


COLUMNS = [
    *_KEYS,
    "n",
    "n_cases",
    "n_excluded",
    "n_no_gold",
    "n_gold_tie",
    "n_no_probability",
    "n_unassigned",
    "n_contradicting",
    *_bounded(["ece"]),
    "ece_debiased",
    *_bounded(["ece_equal_mass"]),
    "ece_equal_mass_debiased",
    *_bounded(["brier"]),
    *_PARTS,
    *_bounded(["log_loss"]),
    "n_zero_probability",
    *_bounded(["log_loss_clipped", "auroc", "auroc_confidence", "wrong_at_high_confidence"]),
    "n_high_confidence",
    *_bounded(["accuracy", "mean_confidence", "overconfidence", "temperature"]),
    *_bounded(_AFTER),
    "binning",
    "bin",
    "confidence",
    "threshold",
    "coverage",
    "risk",
    "low",
    "high",
    "probe",
    *_bounded([f"{name}_difference" for name in _SHIFTS]),
    "reason",
]
_COUNTED = {name for name in COLUMNS if name in ("n", "bin") or name.startswith("n_")}
INTERVALS = [name for name in COLUMNS if name in ("low", "high") or name.endswith(("_low", "_high"))]


class Counts(NamedTuple):
    """What is counted of each column and case, beside the forecasts."""

    excluded: Excluded
    contradicting: IntArray


def assemble(frames: Sequence[pd.DataFrame], *, intervals: bool = True) -> pd.DataFrame:
    """All rows with all columns, in order and with their types."""
    out = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    out = out.reindex(columns=COLUMNS)
    if not intervals:
        out[INTERVALS] = np.nan
        out["reason"] = [join_reasons(text if isinstance(text, str) else "", NO_RESAMPLES) for text in out["reason"]]
    types = {name: "str" if name in _TEXT else "Int64" if name in _COUNTED else "float64" for name in COLUMNS}
    return out.astype({name: kind for name, kind in types.items() if out[name].dtype != kind})


def names(panel: Panel, column: IntArray) -> dict[str, object]:
    judge, dimension = np.divmod(column, len(panel.dimensions))
    return {
        "judge": pd.Index(panel.judges, dtype="str").take(judge),
        "dimension": pd.Index(panel.dimensions, dtype="str").take(dimension),
    }


def spread(name: str, found: Estimate, ends: tuple[FloatArray, FloatArray]) -> dict[str, FloatArray]:
    return {name: found.value, f"{name}_low": ends[0], f"{name}_high": ends[1]}


def _interval(name: str, found: Estimate) -> tuple[FloatArray, FloatArray]:
    """The interval of a measure, on the scale that fits its range."""
    if name.startswith(("brier", "auroc")):
        return logit_interval(found)
    if name.startswith("log_loss"):
        return log_interval(found)
    if name in _RANGES:
        return t_interval(found, *_RANGES[name])
    return share_interval(found)


def _estimates(summary: Summary) -> dict[str, Estimate]:
    return summary.means | {
        "auroc": summary.auroc,
        "auroc_confidence": summary.auroc_confidence,
        "wrong_at_high_confidence": summary.wrong_at_high,
    }


def _measures(summary: Summary, scaled: Temperature) -> dict[str, FloatArray]:
    """Every column of the summary that is a measure, each of shape (columns, G)."""
    shape = summary.n.shape
    out: dict[str, FloatArray] = {}
    for name, found in _estimates(summary).items():
        out |= spread(name, found, _interval(name, found))
    errors = {"ece": summary.ece, "ece_equal_mass": summary.ece_equal_mass}
    errors |= {f"ece_{kind}": found for kind, found in summary.recalibrated.items()}
    for name, error in errors.items():
        out |= {name: error.value, f"{name}_low": error.low, f"{name}_high": error.high}
        out[f"{name}_debiased"] = error.debiased
    out |= {name: part.reshape(shape) for name, part in zip(_PARTS, summary.brier, strict=True)}
    names = ("temperature", "temperature_low", "temperature_high")
    out |= {
        name: np.broadcast_to(values[:, None], shape)
        for name, values in zip(names, (scaled.value, scaled.low, scaled.high), strict=True)
    }
    for name in _bounded(["log_loss"]):
        out[name] = np.where(summary.n_zero > 0, np.nan, out[name])
    return {name: np.where(summary.n > 0, values, np.nan) for name, values in out.items() if name in COLUMNS}


def summary_frame(
    panel: Panel, judged: BoolArray, parts: Sequence[Group], summary: Summary, counts: Counts, scaled: Temperature
) -> pd.DataFrame:
    """One row a group and judged column: by group, then judge, then dimension."""
    member = np.zeros((panel.shape[2], len(parts)), dtype=np.float64)
    for i, part in enumerate(parts):
        member[part.cases, i] = 1.0

    def counted(values: IntArray) -> IntArray:
        return (values @ member).astype(np.int64)

    silent = np.repeat(~gives_probabilities(panel), len(panel.dimensions))[:, None] & np.ones(len(parts), dtype=bool)
    measures: dict[str, FloatArray | IntArray] = {
        "n": summary.n,
        "n_cases": summary.n_cases,
        "n_excluded": counted(counts.excluded.total),
        "n_no_gold": counted(counts.excluded.no_gold),
        "n_gold_tie": counted(counts.excluded.gold_tie),
        "n_no_probability": counted(counts.excluded.no_probability),
        "n_contradicting": counted(counts.contradicting),
        "n_zero_probability": summary.n_zero,
        "n_high_confidence": summary.n_high,
        **_measures(summary, scaled),
    }
    reason = _reasons(summary, measures, silent)
    column = np.flatnonzero(judged)
    kinds = [part.label() for part in parts]
    return pd.DataFrame(
        {
            **names(panel, np.tile(column, len(parts))),
            **{key: np.repeat(np.array([kind[key] for kind in kinds]), len(column)) for key in kinds[0]},
            "part": "summary",
            **{name: values[column].T.ravel() for name, values in (measures | {"reason": reason}).items()},
        }
    )


def _reasons(
    summary: Summary, measures: Mapping[str, FloatArray | IntArray], silent: BoolArray
) -> np.ndarray[tuple[int, ...], np.dtype[np.object_]]:
    """Why something is null, shape (columns, G)."""
    some = summary.n > 0
    alone = summary.means["brier"].clusters < 2
    mapped = ~np.isnan(measures["brier_isotonic"])
    said = {
        NO_PROBABILITIES: silent,
        NO_FORECAST: ~some & ~silent,
        INFINITE: summary.n_zero > 0,
        ONE_OUTCOME: some & np.isnan(summary.auroc.value),
        ALL_RIGHT: some & np.isnan(summary.auroc_confidence.value),
        NONE_HIGH: some & (summary.n_high == 0),
        NO_TEMPERATURE: some & np.isnan(measures["temperature"]),
        NOT_RECALIBRATED: some & ~mapped,
        NO_FOLD_TEMPERATURE: mapped & np.isnan(measures["brier_temperature"]),
        ONE_CLUSTER: some & alone,
    }
    estimates = _estimates(summary)
    few, still = {}, {}
    for name in COLUMNS:
        if f"{name}_low" in measures:
            bare = some & ~alone & ~np.isnan(measures[name]) & np.isnan(measures[f"{name}_low"])
            lone = np.isnan(estimates[name].error) if name in estimates else np.zeros_like(bare)
            few[name], still[name] = bare & lone, bare & ~lone
    return texts(said, {FEW_OF: few, NO_ERROR: still})


def texts(
    said: Mapping[str, BoolArray], unbounded: Mapping[str, Mapping[str, BoolArray]]
) -> np.ndarray[tuple[int, ...], np.dtype[np.object_]]:
    """The reasons that hold in each place as one text, None where none does.

    Parameters
    ----------
    said : by text, where it holds; arrays of one shape
    unbounded : by a text that has a place for names, where it holds of each name
    """
    flags = [*said.values(), *(flag for each in unbounded.values() for flag in each.values())]
    code = np.zeros(flags[0].shape, dtype=np.int64)
    for i, flag in enumerate(flags):
        code |= flag.astype(np.int64) << i
    known, position = np.unique(code, return_inverse=True)
    out = []
    for value in known:
        true = iter([bool(value >> i & 1) for i in range(len(flags))])
        found = [text for text in said if next(true)]
        for text, each in unbounded.items():
            of = [name for name in each if next(true)]
            found += [text.format(", ".join(of))] if of else []
        out.append(join_reasons(*found))
    return np.array(out, dtype=object)[position].reshape(code.shape)
