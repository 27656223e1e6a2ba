"""Mean scores of many judges over groups of cases, with every interval that the accuracy table shows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.core.subfields import Group
from mrb_lib.stats.resampling import intervals
from mrb_lib.stats.resampling.ahead import ahead
from mrb_lib.stats.resampling.draws import draws
from mrb_lib.stats.resampling.quantiles import TAILS, interval, of_ordered, ordered
from mrb_lib.stats.resampling.resample import interval_reason, n_clusters
from mrb_lib.stats.resampling.weighted_sums import Sums, cluster_sums, weighted_sums

ONE_CLUSTER = "no interval of macro_accuracy: {} of {} subfields lie in one cluster each"
_FEW_CLUSTERS, _FEW_OUTCOMES = 30, 10
_MANY = 200


class Interval(NamedTuple):
    """Both ends of an interval, each of shape (m,); NaN where undefined."""

    low: FloatArray
    high: FloatArray


class Means(NamedTuple):
    """Mean scores over one group of cases; every array has shape (m,).

    Attributes
    ----------
    n, clusters : cases scored, and the clusters they are in
    value : the mean; NaN where no case is scored
    percentile, bca : of the cluster bootstrap
    wilson, clustered : Wilson's interval, of independent cases and with the design effect
    deff : the design effect
    few : whether right or wrong answers, or clusters, are too few for percentiles
    reason : why the bootstrap's interval is NaN or has no width; empty if neither
    """

    n: IntArray
    clusters: IntArray
    value: FloatArray
    percentile: Interval
    bca: Interval
    wilson: Interval
    deff: FloatArray
    clustered: Interval
    few: BoolArray
    reason: list[str]


class Macro(NamedTuple):
    """The unweighted mean over subfields; every array has shape (m,).

    Attributes
    ----------
    value, low, high : the mean over the subfields with a scored case and its 95% percentile interval; no interval
        where one of them lies in one cluster, since nobody knows how it varies
    number : how many these are
    reason : why the interval is NaN; empty if it is not, or if the reason is that of the mean over cases
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    number: IntArray
    reason: list[str]


def means(
    score: FloatArray, parts: Sequence[Group], codes: IntArray, *, resamples: int, seed: int
) -> tuple[list[Means], Macro | None]:
    """The mean of each column of scores over each group of cases.

    Parameters
    ----------
    score : shape (cases, m), between 0 and 1; NaN where a case is not scored
    parts : the whole benchmark, then its subfields by each column, see `mrb_lib.stats.core.subfields.groups`
    codes : the cluster of every case of the benchmark

    Returns
    -------
    One `Means` a group, and the mean over the subfields of the first column; None where there are none
    """
    known = np.isfinite(score)
    counted, which = _distinct(known)
    value = np.where(known, score, 0.0)
    both = np.hstack([value, counted])
    m, total = len(which), n_clusters(codes)
    sums = [cluster_sums(codes[part.cases], both[part.cases]) for part in parts]
    drawn = weighted_sums(sums, partial(draws, total, resamples, seed), total, resamples, np.float64)
    out: list[Means] = []
    middle, defined = np.zeros((m, resamples)), np.zeros((m, resamples))
    shift, everywhere = np.zeros((m, 1)), 0
    first = parts[1].by if len(parts) > 1 else None

    def of(job: tuple[Group, Sums, FloatArray]) -> tuple[Means, FloatArray, bool]:
        part, item, found = job
        divisors = found[m:]
        whole = bool(divisors.all())
        divisors[divisors == 0] = np.nan
        replicated = found[:m]
        replicated /= divisors[which]
        square = (value[part.cases] ** 2).sum(axis=0)
        return _means(item, which, square, replicated, resamples), replicated, whole

    for part, (found, replicated, whole) in zip(parts, ahead(of, zip(parts, sums, drawn, strict=True)), strict=True):
        out.append(found)
        if first is not None and part.by == first:
            factor, rest = _widened(found)
            replicated *= factor
            if whole:
                shift += rest
                everywhere += 1
            else:
                there = np.isfinite(replicated)
                replicated += rest
                replicated[~there] = 0.0
                defined += there
            middle += replicated
    middle += shift
    defined += everywhere
    if len(parts) < 2:
        return out, None
    subfields = [each for part, each in zip(parts, out, strict=True) if part.by == first]
    return out, _macro(subfields, divide(middle, defined))


def _widened(found: Means) -> tuple[FloatArray, FloatArray]:
    """By what to multiply the resampled means of a subfield, and what to add, that they have the mean's variance.

    Drawing c clusters of c has (c - 1) / c of it; in the mean over many small subfields the rest would be missed. Rao
    and Wu (1988), doi:10.1080/01621459.1988.10478591, scale the departures from the mean so. Both have shape (m, 1).
    """
    scaled = np.sqrt(found.clusters / np.maximum(found.clusters - 1, 1))
    factor = np.where((found.clusters > 0) & (found.clusters < _MANY), scaled, 1.0)[:, None]
    return factor, (1.0 - factor) * np.nan_to_num(found.value)[:, None]


def _distinct(known: np.typing.NDArray[np.bool_]) -> tuple[FloatArray, IntArray]:
    """The sets of cases that occur, a column each, and the one of each column."""
    seen: dict[bytes, int] = {}
    which = np.array([seen.setdefault(np.packbits(column).tobytes(), len(seen)) for column in known.T], dtype=np.int64)
    first = np.unique(which, return_index=True)[1]
    return known[:, first].astype(np.float64), which


def _means(item: Sums, which: IntArray, square: FloatArray, replicated: FloatArray, resamples: int) -> Means:
    m = len(which)
    num, den = item.values[:, :m], item.values[:, m:][:, which]
    n = den.sum(axis=0)
    value = divide(num.sum(axis=0), n)
    known = np.nan_to_num(value)
    variance = np.nan_to_num(np.maximum(divide(square, n) - known**2, 0.0))
    deff, clusters = intervals.design_effect(num - known * den, den, variance)
    cases = n.astype(np.int64)
    size = intervals.equivalent_size(known, variance, cases)
    effective = intervals.effective_size(size, deff, den, clusters)
    rows = ordered(replicated.T)
    levels = intervals.bca_levels(rows, value, intervals.acceleration(num, den))
    ends = of_ordered(rows, np.vstack([np.broadcast_to(TAILS[:, None], levels.shape), levels]))
    ends[:, (cases < 2) | (clusters < 2)] = np.nan
    reason = [
        interval_reason(int(cases[i]), int(clusters[i]), resamples, float(ends[0, i]), float(ends[1, i]))
        for i in range(m)
    ]
    return Means(
        cases,
        clusters,
        value,
        Interval(ends[0], ends[1]),
        Interval(ends[2], ends[3]),
        Interval(*intervals.wilson(value, size)),
        deff,
        Interval(*intervals.wilson(value, np.nan_to_num(effective))),
        (clusters < _FEW_CLUSTERS) | ~(np.minimum(known, 1 - known) * effective >= _FEW_OUTCOMES),
        reason,
    )


def _macro(parts: Sequence[Means], replicated: FloatArray) -> Macro:
    values = np.array([part.value for part in parts])
    there = np.isfinite(values)
    number = there.sum(axis=0).astype(np.int64)
    low, high = interval(replicated.T)
    alone = (there & (np.array([part.clusters for part in parts]) < 2)).sum(axis=0)
    low[alone > 0], high[alone > 0] = np.nan, np.nan
    reason = [
        ONE_CLUSTER.format(few, of) if few else "" for few, of in zip(alone.tolist(), number.tolist(), strict=True)
    ]
    return Macro(divide(np.where(there, values, 0.0).sum(axis=0), number), low, high, number, reason)
