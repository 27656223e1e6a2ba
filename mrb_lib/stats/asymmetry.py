"""Whether a judge errs more often towards one kind of response than away from it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.logistic import indicator, quantile, two_sided
from mrb_lib.stats.options import TINY, FloatArray, IntArray, divide

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
