"""The measures of a judge's biases, each over the rows (a judge on a dimension) of one group of cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mrb_lib.stats.bias import logistic
from mrb_lib.stats.bias.logistic import indicator, quantile, two_sided
from mrb_lib.stats.core.options import TINY, BoolArray, FloatArray, IntArray, divide

NO_CASES = "no case can be used"
ONE_SIDE = "undefined: gold never prefers one of the two kinds of response"
FEW = "no interval: fewer than ten cases on one of the two sides, or fewer than ten clusters"
NO_VARIATION = "no interval: the cases do not differ"
FEWEST = 10


class Contrast(NamedTuple):
    """A difference between two means over cases, each array of shape (rows, cases); a count is 0 or 1."""

    first_sum: FloatArray
    first_count: FloatArray
    second_sum: FloatArray
    second_count: FloatArray


class Found(NamedTuple):
    """The difference of each row, each array of shape (rows,); NaN where undefined.

    Attributes
    ----------
    n : cases that count
    value, low, high : the difference and its 95% interval
    p_value : of no difference, two-sided
    reason : why something is NaN; empty if nothing is
    """

    n: IntArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    p_value: FloatArray
    reason: list[str]


def chosen(preferred: FloatArray, side: FloatArray) -> FloatArray:
    """The share choosing the response of a kind; NaN where neither or both responses are of it.

    Parameters
    ----------
    preferred : share choosing response A
    side : 1 where response A is of the kind and B is not, -1 where B is, 0 otherwise
    """
    out: FloatArray = np.where(side > 0, preferred, np.where(side < 0, 1 - preferred, np.nan))
    return out


def asymmetry(preferred: FloatArray, gold: FloatArray, side: FloatArray) -> Contrast:
    """Errors towards responses of a kind where gold prefers the other, minus errors away from it where gold prefers it.

    Parameters
    ----------
    preferred : shape (rows, cases), share choosing response A; NaN without a choice
    gold : shape (rows, cases), 1 for A, -1 for B, 0 for a tie, which says nothing here; NaN without a label
    side : as in `chosen`, shape (rows, cases) or (cases,)
    """
    share = chosen(preferred, side)
    usable, direction = np.isfinite(share), gold * side
    against, along = usable & (direction < 0), usable & (direction > 0)
    return Contrast(
        np.where(against, share, 0.0),
        against.astype(np.float64),
        np.where(along, 1 - share, 0.0),
        along.astype(np.float64),
    )


def excess(share: FloatArray, right: FloatArray) -> Contrast:
    """The share choosing responses of a kind minus gold's share, see `chosen`, over the same cases."""
    usable = np.isfinite(share) & np.isfinite(right)
    count = usable.astype(np.float64)
    return Contrast(np.where(usable, share - right, 0.0), count, np.zeros(count.shape), count)


def estimate(contrast: Contrast, codes: IntArray) -> Found:
    """Estimate a contrast in each row.

    Parameters
    ----------
    codes : shape (cases,), the cluster of each case

    Notes
    -----
    The two means are ratios of sums over clusters. Their difference is linearised (Cochran, Sampling Techniques, 3rd
    ed., 1977, section 6.3), so that its variance is that of what clusters add; interval and test are Student's with
    clusters - 1 degrees of freedom; the interval ends at -1 and 1. Size of the test and coverage of the
    interval: `tests/simulation/test_bias.py`.
    """
    n = ((contrast.first_count + contrast.second_count) > 0).sum(axis=1).astype(np.int64)
    first = divide(contrast.first_sum.sum(axis=1), contrast.first_count.sum(axis=1))
    second = divide(contrast.second_sum.sum(axis=1), contrast.second_count.sum(axis=1))
    value = first - second
    error, clusters = _errors(contrast, first, second, codes)
    fewest = np.minimum(contrast.first_count.sum(axis=1), contrast.second_count.sum(axis=1))
    fewest = np.minimum(fewest, clusters)
    known = np.isfinite(value) & (fewest >= FEWEST) & (error > TINY)
    error = np.where(known, error, np.nan)
    reach = error * quantile(clusters)
    p_value = two_sided(value, error, clusters)
    reason = [_reason(*row) for row in zip(n, fewest, np.isfinite(value), known, strict=True)]
    return Found(n, value, np.maximum(value - reach, -1), np.minimum(value + reach, 1), p_value, reason)


def _reason(n: int, fewest: float, defined: bool, known: bool) -> str:
    if n == 0:
        return NO_CASES
    if not defined:
        return ONE_SIDE
    if known:
        return ""
    return FEW if fewest < FEWEST else NO_VARIATION


def _errors(contrast: Contrast, first: FloatArray, second: FloatArray, codes: IntArray) -> tuple[FloatArray, IntArray]:
    """Standard errors from what each cluster adds to the differences, and how many clusters there are."""
    influence = np.zeros(contrast.first_sum.shape)
    for sums, count, mean, sign in (
        (contrast.first_sum, contrast.first_count, first, 1.0),
        (contrast.second_sum, contrast.second_count, second, -1.0),
    ):
        total = np.maximum(count.sum(axis=1), 1.0)
        influence += sign * (sums - np.where(np.isfinite(mean), mean, 0.0)[:, None] * count) / total[:, None]
    counted = contrast.first_count + contrast.second_count
    if len(np.unique(codes)) < len(codes):
        member = indicator(codes)
        influence, counted = np.asarray(influence @ member), np.asarray(counted @ member)
    clusters = (counted > 0).sum(axis=1).astype(np.int64)
    correction = divide(clusters.astype(np.float64), clusters - 1)
    error: FloatArray = np.sqrt((influence**2).sum(axis=1) * correction)
    return error, clusters


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
