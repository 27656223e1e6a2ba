"""Estimates of a judge's consistency in groups of cases, with intervals that keep their width at 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.accuracy import confusion
from mrb_lib.stats.accuracy.confusion import influence
from mrb_lib.stats.consistency.order_effects import over_repeats
from mrb_lib.stats.options import TINY, BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.resample import FEW_CASES, ONE_CLUSTER
from mrb_lib.stats.resampling.robust import (
    Estimate,
    Layout,
    by_group,
    independent_size,
    ratio_of_sums,
    share_interval,
    standard_error,
)
from mrb_lib.tables.schema import CHOICES

_HALVINGS = 45
_WHY = ("", FEW_CASES, ONE_CLUSTER)


class GroupEstimate(NamedTuple):
    """A measure in each row and group, each array of shape (rows, G).

    Attributes
    ----------
    n : the sum of the denominators: cases, questions or verdicts; where it is 0, all below are NaN
    cases, clusters : the cases that count, and the clusters they are from
    value, low, high : the estimate and its 95% interval
    """

    n: IntArray
    cases: FloatArray
    clusters: FloatArray
    value: FloatArray
    low: FloatArray
    high: FloatArray


def signed_interval(difference: Estimate, forward: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The 95% interval of a difference of two shares of the same cases, never without width.

    Parameters
    ----------
    difference : with its cluster-robust standard error
    forward : the first of the two shares, of the shape of the difference: the mean of what lies above 0

    Returns
    -------
    low, high : float arrays, within -1 and 1

    Notes
    -----
    The values whose score test is not rejected: Tango, Statistics in Medicine 1998, 17:891, for the number of
    independent cases that lean wholly one way, the other way or not at all and would have the standard error
    given, with Student's t. Where all cases lean alike there is no error to go by: that number is then the number
    of clusters, and the quantile the normal one. Compared with the score statistic in
    `tests/stats/consistency/test_signed_share.py`; coverage in `tests/simulation/test_position_bias.py`.
    """
    backward = forward - difference.value
    size, z2 = independent_size(difference, forward + backward - difference.value**2)
    return score_interval(forward, backward, divide(z2, size))


def score_interval(forward: FloatArray, backward: FloatArray, allowed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The differences between two shares of the same n cases that a score test does not reject.

    Parameters
    ----------
    forward, backward : the shares that lean one way and the other, at most 1 together
    allowed : the largest squared score, over n; NaN gives NaN
    """
    low, high = (_last_kept(forward, backward, allowed, end) for end in (-1.0, 1.0))
    return low, high


def _last_kept(forward: FloatArray, backward: FloatArray, allowed: FloatArray, end: float) -> FloatArray:
    """The farthest difference towards `end` whose squared score is allowed; by halving the distance."""
    difference: FloatArray = forward - backward
    kept, lost = difference, np.full(difference.shape, end)
    for _ in range(_HALVINGS):
        middle = (kept + lost) / 2
        inside = (difference - middle) ** 2 <= allowed * variance(middle, forward, backward)
        kept, lost = np.where(inside, middle, kept), np.where(inside, lost, middle)
    return np.where(np.isnan(allowed), np.nan, kept)


def variance(difference: FloatArray, forward: FloatArray, backward: FloatArray) -> FloatArray:
    """The variance of one case's lean if the shares truly differed by so much, at the likeliest such shares.

    Parameters
    ----------
    difference : what the first share minus the second is supposed to be
    forward, backward : the two shares observed
    """
    linear = (2 - forward + backward) * difference - forward - backward
    constant = -backward * difference * (1 - difference)
    likeliest = (np.sqrt(np.maximum(linear**2 - 8 * constant, 0.0)) - linear) / 4
    out: FloatArray = np.maximum(2 * likeliest + difference * (1 - difference), 0.0)
    return out


def unit_sums(values: FloatArray, grouping: Layout) -> FloatArray:
    """Sum what cases add, shape (rows, cases), by the units of a layout, shape (rows, P)."""
    order = np.argsort(grouping.unit, kind="stable")
    order = order[np.searchsorted(grouping.unit[order], 0) :]
    if len(order) == grouping.shape[1]:
        return values[:, order]
    starts = np.searchsorted(grouping.unit[order], np.arange(grouping.shape[1]))
    out: FloatArray = np.add.reduceat(values[:, order], starts, axis=1)
    return out


def share(value: FloatArray, count: FloatArray, grouping: Layout, most: float = 1.0) -> GroupEstimate:
    """A ratio of sums between 0 and `most`.

    Parameters
    ----------
    value, count : shape (rows, cases), numerators and denominators

    Notes
    -----
    The interval is `mrb_lib.stats.resampling.robust.share_interval` of the part of `most`.
    """
    ratio = ratio_of_sums(unit_sums(value, grouping), unit_sums(count, grouping), grouping)
    low, high = share_interval(ratio._replace(value=ratio.value / most, error=ratio.error / most))
    return _of_ratio(ratio, count, grouping, low * most, high * most)


def signed(value: FloatArray, count: FloatArray, grouping: Layout) -> GroupEstimate:
    """A ratio of sums between -1 and 1, with `signed_interval`."""
    counts = unit_sums(count, grouping)
    ratio = ratio_of_sums(unit_sums(value, grouping), counts, grouping)
    forward = divide(by_group(unit_sums(np.maximum(value, 0.0), grouping), grouping), by_group(counts, grouping))
    return _of_ratio(ratio, count, grouping, *signed_interval(ratio, forward))


def _of_ratio(ratio: Estimate, count: FloatArray, grouping: Layout, low: FloatArray, high: FloatArray) -> GroupEstimate:
    total, cases = (by_group(unit_sums(each, grouping), grouping) for each in (count, (count > 0).astype(np.float64)))
    ends = np.minimum(low, ratio.value), np.maximum(high, ratio.value)
    return GroupEstimate(total.astype(np.int64), cases, ratio.clusters, ratio.value, *ends)


def half(difference: GroupEstimate) -> GroupEstimate:
    """The share that leans forward where nothing leans neither way: (1 + difference) / 2."""
    value, low, high = ((1 + each) / 2 for each in (difference.value, difference.low, difference.high))
    return difference._replace(value=value, low=low, high=high)


def order_kappa(choice: NDArray[np.int8], grouping: Layout) -> GroupEstimate:
    """Cohen's kappa between the two orders.

    Parameters
    ----------
    choice : shape (rows, cases, 2 orders, repeats), as in `mrb_lib.stats.core.panel.Panel.choice`

    Notes
    -----
    The standard error is that of Fleiss, Cohen and Everitt over clusters
    (`mrb_lib.stats.accuracy.confusion.influence`). The interval is that of a share, (1 + kappa) / 2, with half
    that error (`mrb_lib.stats.resampling.robust.share_interval`): a plain t interval would be too short for a kappa
    near 1. Where all cases agree it is what the interval of the share that differs leaves at the chance observed. Of a
    judge that nearly always takes the same position kappa is made by a handful of cases, and the interval covers less
    than claimed (88 of 100 at 95%).
    """
    rows, cases, *_ = choice.shape
    groups, k = grouping.shape[0], len(CHOICES)
    ab, ba = choice[:, :, 0].astype(np.int64), choice[:, :, 1].astype(np.int64)
    both: BoolArray = (ab >= 0) & (ba >= 0) & (grouping.group >= 0)[:, None]
    row, case, _ = np.nonzero(both)
    cell = row * groups + grouping.group[case]
    table = confusion.counts(cell, ab[both], ba[both], rows * groups, k)
    each = np.nan_to_num(influence(table))[cell, ab[both], ba[both]]
    moved = np.bincount(row * cases + case, weights=each, minlength=rows * cases).astype(np.float64)
    n = table.sum(axis=(1, 2)).reshape(rows, groups)
    some = unit_sums((over_repeats(both) > 0).astype(np.float64), grouping)
    agreeing = ratio_of_sums(_sums_of(both & (ab == ba), grouping), _sums_of(both, grouping), grouping)
    clusters = agreeing.clusters
    error = divide(standard_error(unit_sums(moved.reshape(rows, cases), grouping), clusters, grouping), n)
    value = confusion.cohen_kappa(table).reshape(rows, groups)
    by_chance = (table.sum(axis=2) * (n.reshape(-1, 1) - table.sum(axis=1))).sum(axis=1).reshape(rows, groups)
    expected = divide(by_chance, n**2)
    low, high = (2 * end - 1 for end in share_interval(agreeing._replace(value=(1 + value) / 2, error=error / 2)))
    differs = 1 - agreeing.value
    _, most = share_interval(agreeing._replace(value=differs, error=error * expected))
    low = np.where(differs < TINY, np.maximum(1 - divide(most, expected), -1.0), low)
    return GroupEstimate(
        n.astype(np.int64), by_group(some, grouping), clusters, value, np.minimum(low, value), np.maximum(high, value)
    )


def _sums_of(holds: BoolArray, grouping: Layout) -> FloatArray:
    """How often something holds in each unit, shape (rows, cases, repeats) to (rows, P)."""
    return unit_sums(over_repeats(holds), grouping)


def reasons(estimates: Mapping[str, GroupEstimate]) -> NDArray[np.object_]:
    """Why intervals are null, shape (rows, G); a measure that is null itself is not mentioned."""
    names = list(estimates)
    kinds = np.stack([_kinds(each) for each in estimates.values()])
    defined = np.stack([np.isfinite(each.value) for each in estimates.values()])
    out = np.full(kinds.shape[1:], "", dtype=object)
    for row, group in np.argwhere((kinds > 0).any(axis=0)):
        here = kinds[:, row, group]
        texts = []
        for kind in np.unique(here[here > 0]):
            which = here == kind
            alike = which.sum() == defined[:, row, group].sum()
            concerned = ", ".join(name for name, is_one in zip(names, which, strict=True) if is_one)
            texts.append(_WHY[kind] if alike else f"{concerned}: {_WHY[kind]}")
        out[row, group] = "; ".join(texts)
    return out


def _kinds(estimate: GroupEstimate) -> IntArray:
    null = np.isfinite(estimate.value) & np.isnan(estimate.low)
    out: IntArray = np.where(null, np.where(estimate.cases < 2, 1, 2), 0).astype(np.int64)
    return out
