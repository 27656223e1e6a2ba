"""The measures of a judge's biases, each over the rows (a judge on a dimension) of one group of cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mrb_lib.stats import logistic
from mrb_lib.stats.asymmetry import Contrast, asymmetry, chosen, estimate, excess
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide

SAME_LENGTH = "the responses do not differ in length"
FEW_SHOW_IT = "undefined: fewer than ten cases with a gold label show it"
NOT_LABELLED = "undefined: no case that shows it has a decisive gold label"
FEWEST = 10


class Measure(NamedTuple):
    """One measure of all rows, each array of shape (rows,)."""

    part: str
    bias: str
    measure: str
    marker: str | None
    n: IntArray
    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    p_value: FloatArray
    uncontrolled: FloatArray
    gold_share: FloatArray
    reason: Sequence[str | None] | NDArray[np.object_]


def log_odds(
    name: str, marker: str | None, y: FloatArray, predictors: Sequence[FloatArray], codes: IntArray, none: str
) -> Measure:
    """The log-odds of the last predictor where it is not 0 in ten cases at least; `none` says why it is 0 in all."""
    x = np.stack(predictors, axis=2)
    met = ((x[:, :, -1] != 0) & np.isfinite(x[:, :, -1])).any(axis=1)
    y = np.where(np.isfinite(x).all(axis=2), y, np.nan)
    shown = (np.isfinite(y) & (x[:, :, -1] != 0)).sum(axis=1)
    enough = shown >= FEWEST
    fits = logistic.fit(x[enough], y[enough], codes)
    low, high = fits.interval(-1)
    found, low, high, p_value = (
        _spread(values, enough) for values in (fits.coefficient[:, -1], low, high, fits.p_value(-1))
    )
    n = np.isfinite(y).sum(axis=1)
    reason = np.where(n > 0, np.where(met, FEW_SHOW_IT, none), logistic.NO_CASES).astype(object)
    reason[enough] = fits.reason
    nothing = np.full(len(y), np.nan)
    why = [text or None for text in reason]
    return Measure("bias", name, "log_odds", marker, n, found, low, high, p_value, nothing, nothing, why)


def _spread(values: FloatArray, rows: BoolArray) -> FloatArray:
    out = np.full(len(rows), np.nan)
    out[rows] = values
    return out


def error_asymmetry(
    name: str, preferred: FloatArray, gold: FloatArray, side: FloatArray, codes: IntArray, none: str
) -> Measure:
    """Errors towards responses of a kind minus errors away from it; `none` says why no case has one."""
    return _contrast(name, "error_asymmetry", asymmetry(preferred, gold, side), codes, _why_none(preferred, side, none))


def excess_choice(preferred: FloatArray, gold: FloatArray, side: FloatArray, codes: IntArray) -> Measure:
    """The share choosing the longer response minus gold's share, and both shares.

    It has no p-value: a judge that guesses has an excess wherever gold leans, and no bias.
    """
    taken, right = chosen(preferred, side), chosen((gold + 1) / 2, side)
    both = np.isfinite(taken) & np.isfinite(right)
    judge, clinicians = (divide(np.where(both, share, 0.0).sum(axis=1), both.sum(axis=1)) for share in (taken, right))
    none = _why_none(preferred, side, SAME_LENGTH)
    out = _contrast("length", "excess_choice", excess(preferred, gold, side), codes, none)
    return out._replace(uncontrolled=judge, gold_share=clinicians, p_value=np.full(len(preferred), np.nan))


def _why_none(preferred: FloatArray, side: FloatArray, none: str) -> list[str]:
    """Why no case of a row counts: none is of the kind, or those that are have no label that tells."""
    met = (np.isfinite(preferred) & np.isfinite(side) & (side != 0)).any(axis=1)
    return [NOT_LABELLED if found else none for found in met]


def _contrast(name: str, measure: str, contrast: Contrast, codes: IntArray, none: Sequence[str]) -> Measure:
    found = estimate(contrast, codes)
    nothing = np.full(len(found.n), np.nan)
    reason = [absent if n == 0 else why or None for n, why, absent in zip(found.n, found.reason, none, strict=True)]
    return Measure(
        "bias", name, measure, None, found.n,
        found.value, found.low, found.high, found.p_value, nothing, nothing, reason,
    )  # fmt: skip


def equal_length_accuracy(scores: FloatArray, gold: FloatArray, longer: FloatArray, codes: IntArray) -> Measure:
    """Accuracy at equal length: the regression of the score on how much longer the response is that gold prefers."""
    advantage = np.where(gold != 0, gold, np.nan) * longer
    y = np.where(np.isfinite(advantage), scores, np.nan)
    known = np.isfinite(y)
    fits = logistic.fit(np.stack([np.ones(gold.shape), advantage], axis=2), y, codes)
    low, high = fits.interval(0)
    nothing = np.full(len(y), np.nan)
    uncontrolled = divide(np.where(known, y, 0.0).sum(axis=1), known.sum(axis=1))
    reason = [why or None for why in fits.reason]
    return Measure(
        "accuracy", "length", "length_controlled", None, fits.n,
        expit(fits.coefficient[:, 0]), expit(low), expit(high), nothing, uncontrolled, nothing, reason,
    )  # fmt: skip
