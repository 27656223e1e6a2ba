"""The measures of a judge's biases, each over the rows (a judge on a dimension) of one group of cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from mrb_lib.stats.bias import logistic
from mrb_lib.stats.bias.logistic import members
from mrb_lib.stats.core.panel import TIE, Panel
from mrb_lib.stats.core.scoring import columns_used
from mrb_lib.stats.options import TINY, BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.robust import t_quantile

NO_CASES = "no case can be used"
SAME_LENGTH = "the responses do not differ in length"
FEW_SHOW_IT = "undefined: fewer than ten cases with a gold label show it"
NOT_LABELLED = "undefined: no case that shows it has a decisive gold label"
ONE_SIDE = "undefined: gold never prefers one of the two kinds of response"
FEW = "no interval: fewer than ten cases on one of the two sides, or fewer than ten clusters"
NO_VARIATION = "no interval: the cases do not differ"
FEWEST = 10


class Difference(NamedTuple):
    """A difference between two means over cases, of each row, each array of shape (rows,); NaN where undefined.

    Attributes
    ----------
    n : cases that count
    value, low, high : the difference and its 95% interval
    reason : why something is NaN; empty if nothing is
    """

    n: IntArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    reason: list[str]


def difference_of_means(first: FloatArray, second: FloatArray, codes: IntArray) -> Difference:
    """Estimate the mean of the one minus the mean of the other, in each row.

    Parameters
    ----------
    first, second : shape (rows, cases), NaN where a case does not count
    codes : shape (cases,), the cluster of each case

    Notes
    -----
    The two means are ratios of sums over clusters. Their difference is linearised (Cochran, Sampling Techniques, 3rd
    ed., 1977, section 6.3), so that its variance is that of what clusters add; the interval is Student's with
    clusters - 1 degrees of freedom and ends at -1 and 1. Its coverage: `tests/simulation/test_bias.py`.
    """
    member = members(codes)
    counted = np.isfinite(first), np.isfinite(second)
    n_first, n_second = (each.sum(axis=1) for each in counted)
    means, influence = [], np.zeros(first.shape)
    for values, counts, sign in ((first, counted[0], 1.0), (second, counted[1], -1.0)):
        n = counts.sum(axis=1)
        mean = divide(np.where(counts, values, 0.0).sum(axis=1), n)
        influence += sign * np.where(counts, values - mean[:, None], 0.0) / np.maximum(n, 1)[:, None]
        means.append(mean)
    used = counted[0] | counted[1]
    clusters = ((used @ member) > 0).sum(axis=1).astype(np.int64)
    correction = divide(clusters.astype(np.float64), clusters - 1)
    error = np.sqrt((np.asarray(influence @ member) ** 2).sum(axis=1) * correction)
    value: FloatArray = means[0] - means[1]
    fewest = np.minimum(np.minimum(n_first, n_second), clusters)
    bounded = np.isfinite(value) & (fewest >= FEWEST) & (error > TINY)
    error = np.where(bounded, error, np.nan)
    reach = error * t_quantile(clusters.astype(np.float64))
    n = used.sum(axis=1).astype(np.int64)
    reason = [_reason(*row) for row in zip(n, fewest, np.isfinite(value), bounded, strict=True)]
    return Difference(n, value, np.maximum(value - reach, -1), np.minimum(value + reach, 1), reason)


def _reason(n: int, fewest: float, defined: bool, bounded: bool) -> str:
    if n == 0:
        return NO_CASES
    if not defined:
        return ONE_SIDE
    if bounded:
        return ""
    return FEW if fewest < FEWEST else NO_VARIATION


def preferred_share(panel: Panel, policy: str) -> FloatArray:
    """The share of the verdicts read that choose response A, ties half, shape (judges, dimensions, cases)."""
    choice = panel.choice[..., *columns_used(panel, policy)]
    answered = (choice >= 0).sum(axis=(3, 4))
    return divide((choice == 0).sum(axis=(3, 4)) + 0.5 * (choice == TIE).sum(axis=(3, 4)), answered)


def chosen(preferred: FloatArray, side: FloatArray) -> FloatArray:
    """The share choosing the response of a kind; NaN where neither or both responses are of it.

    Parameters
    ----------
    preferred : share choosing response A
    side : 1 where response A is of the kind and B is not, -1 where B is, 0 otherwise
    """
    out: FloatArray = np.where(side > 0, preferred, np.where(side < 0, 1 - preferred, np.nan))
    return out


class BiasMeasure(NamedTuple):
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
) -> BiasMeasure:
    """The log-odds of the last predictor where it is not 0 in ten cases at least; `none` says why it is 0 in all.

    The other predictors are finite wherever `y` is.
    """
    last = predictors[-1]
    shows = np.isfinite(last) & (last != 0)
    used = np.isfinite(y) & np.isfinite(last)
    enough = (used & shows).sum(axis=1) >= FEWEST
    n = used.sum(axis=1)
    value, low, high, nothing = every = np.full((4, len(y)), np.nan)
    reason = np.where(n > 0, np.where(shows.any(axis=1), FEW_SHOW_IT, none), logistic.NO_CASES).astype(object)
    if enough.any():
        x = np.stack([values[enough] for values in predictors], axis=2)
        fits = logistic.fit(x, np.where(used, y, np.nan)[enough], codes)
        every[:3, enough] = fits.coefficient[:, -1], *fits.interval(-1)
        reason[enough] = [why or None for why in fits.reason]
    return BiasMeasure("bias", name, "log_odds", marker, n, value, low, high, nothing, nothing, nothing, reason)


def error_asymmetry(
    name: str, preferred: FloatArray, gold: FloatArray, side: FloatArray, codes: IntArray, none: str
) -> BiasMeasure:
    """Errors towards responses of a kind where gold prefers the other, minus errors away from it where gold prefers it.

    Parameters
    ----------
    preferred : shape (rows, cases), share choosing response A; NaN without a choice
    gold : shape (rows, cases), 1 for A, -1 for B, 0 for a tie, which says nothing here; NaN without a label
    side : as in `chosen`, shape (rows, cases) or (cases,)
    none : why no case is of the kind
    """
    side = np.broadcast_to(side, gold.shape)
    met = (np.isfinite(preferred) & np.isfinite(side) & (side != 0)).any(axis=1)
    share, direction = chosen(preferred[met], side[met]), gold[met] * side[met]
    against, along = np.where(direction < 0, share, np.nan), np.where(direction > 0, 1 - share, np.nan)
    return _difference(name, "error_asymmetry", against, along, codes, met, none)


def excess_choice(preferred: FloatArray, gold: FloatArray, side: FloatArray, codes: IntArray) -> BiasMeasure:
    """The share choosing the longer response minus gold's share, and both shares; a tie is half a choice.

    A judge that guesses has an excess wherever gold leans, and no bias.
    """
    judge, clinicians = chosen(preferred, side), chosen((gold + 1) / 2, side)
    met: BoolArray = np.asarray(np.isfinite(judge).any(axis=1))
    excess = judge - clinicians
    both = np.isfinite(excess)
    out = _difference("length", "excess_choice", excess[met], np.where(both, 0.0, np.nan)[met], codes, met, SAME_LENGTH)
    taken, gold_share = (
        divide(np.where(both, each, 0.0).sum(axis=1), both.sum(axis=1)) for each in (judge, clinicians)
    )
    return out._replace(uncontrolled=taken, gold_share=gold_share)


def _difference(
    name: str, measure: str, first: FloatArray, second: FloatArray, codes: IntArray, met: BoolArray, none: str
) -> BiasMeasure:
    """The measure of all rows from the values of those that met the kind; `none` says why the others have none."""
    n, reason = np.zeros(len(met), dtype=np.int64), np.full(len(met), none, dtype=object)
    value, low, high, nothing = every = np.full((4, len(met)), np.nan)
    if met.any():
        of_met = difference_of_means(first, second, codes)
        n[met] = of_met.n
        every[:3, met] = of_met.value, of_met.low, of_met.high
        reason[met] = [NOT_LABELLED if n == 0 else why or None for n, why in zip(of_met.n, of_met.reason, strict=True)]
    return BiasMeasure("bias", name, measure, None, n, value, low, high, nothing, nothing, nothing, reason)


def equal_length_accuracy(scores: FloatArray, gold: FloatArray, longer: FloatArray, codes: IntArray) -> BiasMeasure:
    """Accuracy at equal length: the regression of the score on how much longer the response is that gold prefers."""
    advantage = np.where(gold != 0, gold, np.nan) * longer
    y = np.where(np.isfinite(advantage), scores, np.nan)
    used = np.isfinite(y)
    fits = logistic.fit(np.stack([np.ones(gold.shape), advantage], axis=2), y, codes)
    low, high = fits.interval(0)
    nothing = np.full(len(y), np.nan)
    uncontrolled = divide(np.where(used, y, 0.0).sum(axis=1), used.sum(axis=1))
    reason = [why or None for why in fits.reason]
    return BiasMeasure(
        "accuracy", "length", "length_controlled", None, fits.n,
        expit(fits.coefficient[:, 0]), expit(low), expit(high), nothing, uncontrolled, nothing, reason,
    )  # fmt: skip
