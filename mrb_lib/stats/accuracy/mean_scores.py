"""Mean scores of many judges over groups of cases, with the intervals that the accuracy table shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.options import TINY, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.distinct import distinct_rows
from mrb_lib.stats.resampling.quantiles import interval
from mrb_lib.stats.resampling.resample import Sums, cluster_sums, n_clusters, resampled_sums, share_reasons
from mrb_lib.stats.resampling.shares import Interval, ShareIntervals, share_intervals
from mrb_lib.stats.subfields import Group

ONE_CLUSTER = "no interval of macro_accuracy: {} of {} subfields lie in one cluster each"
_MANY = 200


class Means(NamedTuple):
    """Mean scores over one group of cases; every array has shape (m,).

    Attributes
    ----------
    n : cases scored
    value : the mean; NaN where no case is scored
    ends : its intervals, of which one is recommended
    reason : why the recommended interval is NaN or has no width; empty if neither
    """

    n: IntArray
    value: FloatArray
    ends: ShareIntervals
    reason: list[str]

    @property
    def clusters(self) -> IntArray:
        """The clusters that the cases are in."""
        return self.ends.clusters

    @property
    def recommended(self) -> Interval:
        """The interval to show."""
        return self.ends.recommended

    @property
    def method(self) -> NDArray[np.str_]:
        """The name of the recommended interval."""
        return self.ends.method


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
    parts : the whole benchmark, then its subfields by each column, see `mrb_lib.stats.subfields.groups`
    codes : the cluster of every case of the benchmark

    Returns
    -------
    One `Means` a group, and the mean over the subfields of the first column; None where there are none
    """
    scored = np.isfinite(score)
    value = np.where(scored, score, 0.0)
    first_columns, which = distinct_rows(scored.T)
    counted = scored[:, first_columns].astype(np.float64)
    both = np.hstack([value, counted])
    m, total = len(which), n_clusters(codes)
    sums = [cluster_sums(codes[part.cases], both[part.cases]) for part in parts]
    drawn = resampled_sums(sums, total, resamples=resamples, seed=seed)
    first = parts[1].by if len(parts) > 1 else None

    out: list[Means] = []
    spread = np.empty((m, resamples))
    total_of_means, n_defined = np.zeros((m, resamples)), np.zeros((len(first_columns), resamples))
    for part, item, weighted in zip(parts, sums, drawn, strict=True):
        bottom = np.where(weighted[m:] > TINY, weighted[m:], np.nan)
        # Into the same memory each time: so much of it anew takes longer than the division.
        replicates = np.divide(weighted[:m], np.take(bottom, which, axis=0, out=spread, mode="clip"), out=weighted[:m])
        square = (value[part.cases] ** 2).sum(axis=0)
        estimates = _means(item, which, square, replicates, resamples)
        out.append(estimates)
        if first is not None and part.by == first:
            defined = np.isfinite(bottom)
            replicates = _widened(estimates, replicates)
            if not defined.all():
                replicates[~defined[which]] = 0.0
            total_of_means += replicates
            n_defined += defined
    if first is None:
        return out, None
    subfields = [each for part, each in zip(parts, out, strict=True) if part.by == first]
    return out, _macro(subfields, divide(total_of_means, n_defined[which]))


def _widened(estimates: Means, replicates: FloatArray) -> FloatArray:
    """The resampled means of a subfield, shape (m, resamples), with the variance of the mean; changed in place.

    Drawing c clusters of c has (c - 1) / c of it; in the mean over many small subfields the rest would be missed. Rao
    and Wu (1988), doi:10.1080/01621459.1988.10478591, scale the departures from the mean so.
    """
    scaled = np.sqrt(estimates.clusters / np.maximum(estimates.clusters - 1, 1))
    factor = np.where((estimates.clusters > 0) & (estimates.clusters < _MANY), scaled, 1.0)[:, None]
    replicates *= factor
    replicates += (1.0 - factor) * np.nan_to_num(estimates.value)[:, None]
    return replicates


def _means(
    item: Sums[FloatArray], which: IntArray, square: FloatArray, replicates: FloatArray, resamples: int
) -> Means:
    m = len(which)
    num, den = item.values[:, :m], item.values[:, m:][:, which]
    n = den.sum(axis=0)
    ends = share_intervals(num, den, square, replicates.T)
    cases, value = n.astype(np.int64), divide(num.sum(axis=0), n)
    return Means(cases, value, ends, share_reasons(cases, ends, resamples))


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
