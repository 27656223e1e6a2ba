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
    """The log-odds of the last predictor where it is not 0 in ten cases at least; `none` says why it is 0 in all.

    The other predictors are finite wherever `y` is.
    """
    last = predictors[-1]
    shows = np.isfinite(last) & (last != 0)
    used = np.isfinite(y) & np.isfinite(last)
    enough = (used & shows).sum(axis=1) >= FEWEST
    n = used.sum(axis=1)
    value, low, high, p_value = found = np.full((4, len(y)), np.nan)
    reason = np.where(n > 0, np.where(shows.any(axis=1), FEW_SHOW_IT, none), logistic.NO_CASES).astype(object)
    if enough.any():
        x = np.stack([values[enough] for values in predictors], axis=2)
        fits = logistic.fit(x, np.where(used, y, np.nan)[enough], codes)
        found[:, enough] = fits.coefficient[:, -1], *fits.interval(-1), fits.p_value(-1)
        reason[enough] = [why or None for why in fits.reason]
    nothing = np.full(len(y), np.nan)
    return Measure("bias", name, "log_odds", marker, n, value, low, high, p_value, nothing, nothing, reason)


def error_asymmetry(
    name: str, preferred: FloatArray, gold: FloatArray, side: FloatArray, codes: IntArray, none: str
) -> Measure:
    """Errors towards responses of a kind minus errors away from it; `none` says why no case has one."""
    met = (np.isfinite(preferred) & np.isfinite(side) & (side != 0)).any(axis=1)
    contrast = asymmetry(preferred[met], gold[met], np.broadcast_to(side, gold.shape)[met])
    return _contrast(name, "error_asymmetry", contrast, codes, met, none)


def excess_choice(preferred: FloatArray, gold: FloatArray, side: FloatArray, codes: IntArray) -> Measure:
    """The share choosing the longer response minus gold's share, and both shares.

    A tie is half a choice. It has no p-value: a judge that guesses has an excess wherever gold leans, and no bias.
    """
    taken, right = chosen(preferred, side), chosen((gold + 1) / 2, side)
    both = np.isfinite(taken) & np.isfinite(right)
    judge, clinicians = (divide(np.where(both, share, 0.0).sum(axis=1), both.sum(axis=1)) for share in (taken, right))
    met: BoolArray = np.asarray(np.isfinite(taken).any(axis=1))
    out = _contrast("length", "excess_choice", excess(taken[met], right[met]), codes, met, SAME_LENGTH)
    return out._replace(uncontrolled=judge, gold_share=clinicians, p_value=np.full(len(preferred), np.nan))


def _contrast(name: str, measure: str, contrast: Contrast, codes: IntArray, met: BoolArray, none: str) -> Measure:
    """The measure of all rows from the contrast of those that met the kind; `none` says why the others have none."""
    n, reason = np.zeros(len(met), dtype=np.int64), np.full(len(met), none, dtype=object)
    value, low, high, p_value = every = np.full((4, len(met)), np.nan)
    if met.any():
        found = estimate(contrast, codes)
        n[met] = found.n
        every[:, met] = found.value, found.low, found.high, found.p_value
        reason[met] = [NOT_LABELLED if n == 0 else why or None for n, why in zip(found.n, found.reason, strict=True)]
    nothing = np.full(len(met), np.nan)
    return Measure("bias", name, measure, None, n, value, low, high, p_value, nothing, nothing, reason)


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
