"""The one bootstrap: clusters are drawn with replacement, never rows.

Clusters of the whole benchmark are drawn once a resample, and the same draw serves every judge, dimension and subfield
of a call, so that differences between them are paired. A statistic is a function of sums over cases; a resample weights
each cluster's sums by how often it was drawn, which makes the whole bootstrap a matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Generic, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from mrb_lib.stats.clusters import cluster_codes as cluster_codes
from mrb_lib.stats.clusters import n_clusters as n_clusters
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.distinct import distinct_rows
from mrb_lib.stats.resampling.draws import Counts, are_kept, draws
from mrb_lib.stats.resampling.quantiles import CONFIDENCE as CONFIDENCE
from mrb_lib.stats.resampling.quantiles import interval as interval
from mrb_lib.stats.resampling.quantiles import quantiles as quantiles
from mrb_lib.stats.resampling.robust import Estimate, effective_clusters, layout, ratio_of_sums
from mrb_lib.stats.resampling.shares import ShareIntervals, share_intervals
from mrb_lib.stats.subfields import Group

ONE_CLUSTER = "no interval: all cases are in one cluster"
FEW_CASES = "no interval: fewer than two cases"
NO_RESAMPLES = "no interval: no resamples were asked for"
FEW_DEFINED = "no interval: undefined in most resamples"
NO_VARIATION = "the interval has no width because the cases do not differ, which is not certainty"

_ESTIMATED_AT_ONCE = 2**20
_NO_WIDTH = 1e-12
_DENSE, _TOGETHER = 128, 128
_TWELFTHS, _EXACT = 12, 2**24

Statistic = Callable[[FloatArray], FloatArray]
Summands = FloatArray | sparse.csr_array
S = TypeVar("S", bound=Summands)
S_co = TypeVar("S_co", bound=Summands, covariant=True)


class Sums(NamedTuple, Generic[S_co]):
    """What the cases of a group add up to in each cluster.

    Attributes
    ----------
    clusters : shape (c,), the clusters that contribute, each once
    values : shape (c, k), dense or sparse
    """

    clusters: IntArray
    values: S_co


def cluster_sums(codes: IntArray, values: S) -> Sums[S]:
    """Sum what cases add, shape (n, k), by their clusters, shape (n,)."""
    clusters, position = np.unique(codes, return_inverse=True)
    if len(clusters) == len(codes):
        return Sums(clusters, cast("S", values[np.argsort(position)]))
    cases = np.arange(len(codes))
    indicator = sparse.csr_array((np.ones(len(codes)), (position, cases)), shape=(len(clusters), len(codes)))
    return Sums(clusters, cast("S", indicator @ values))


def clusters_counted(codes: IntArray, counted: BoolArray) -> IntArray:
    """The number of clusters with a case that counts, shape (m,).

    Parameters
    ----------
    codes : shape (n,), the cluster of each case
    counted : shape (n, m), which cases count for each estimate
    """
    by_cluster = cluster_sums(codes, counted.astype(np.float64)).values
    return np.asarray((by_cluster > 0).sum(axis=0), dtype=np.int64)


def resampled_sums(groups: Sequence[Sums[Summands]], total: int, *, resamples: int, seed: int) -> Iterator[FloatArray]:
    """The sums of each group of cases in each resample, shape (k, resamples); the draws are shared by all groups.

    Parameters
    ----------
    total : the number of clusters in the whole benchmark
    """
    products = (_Product.of(batch, total) for batch in _of_the_same_clusters(groups))
    if total and are_kept(total, resamples):
        (counts,) = draws(total, resamples, seed)
        for product in products:
            yield from product.sums(counts)
        return
    out = [np.empty((group.values.shape[1], resamples if total else 0)) for group in groups]
    every, start = list(products), 0
    for counts in draws(total, resamples, seed) if total else ():
        columns = slice(start, start + counts.shape[1])
        each = (part for product in every for part in product.sums(counts))
        for sums, part in zip(out, each, strict=True):
            sums[:, columns] = part
        start = columns.stop
    yield from out


def _of_the_same_clusters(groups: Sequence[Sums[Summands]]) -> Iterator[list[Sums[Summands]]]:
    """Groups in a row whose sums are one product together, which reads the weights once; wide and sparse ones alone."""
    batch: list[Sums[Summands]] = []
    for group in groups:
        columns = sum(each.values.shape[1] for each in [*batch, group])
        if batch and (
            columns > _TOGETHER
            or not all(isinstance(each.values, np.ndarray) for each in (batch[0], group))
            or not np.array_equal(group.clusters, batch[0].clusters)
        ):
            yield batch
            batch = []
        batch.append(group)
    if batch:
        yield batch


class _Product(NamedTuple):
    """The sums of groups of the same clusters, ready to be weighted.

    Attributes
    ----------
    values : shape (clusters, k), in units of 1 / `unit`
    ends : where the columns of each group but the last end
    """

    clusters: IntArray
    values: Summands | NDArray[np.float32]
    unit: int
    ends: IntArray

    @classmethod
    def of(cls, batch: Sequence[Sums[Summands]], total: int) -> _Product:
        """Groups side by side, in single precision where that is exact, which takes half the time.

        Scores of judges and shares of two, three or four annotators are twelfths; below 2^24 of them add up exactly.
        """
        values = batch[0].values if len(batch) == 1 else np.hstack([np.asarray(group.values) for group in batch])
        ends = np.cumsum([group.values.shape[1] for group in batch])[:-1]
        units = values * _TWELFTHS
        entries = units if isinstance(units, np.ndarray) else units.data
        if np.abs(entries).max(initial=0.0) * total < _EXACT and np.array_equal(entries, np.rint(entries)):
            return cls(batch[0].clusters, units.astype(np.float32), _TWELFTHS, ends)
        return cls(batch[0].clusters, values, 1, ends)

    def sums(self, counts: Counts) -> list[FloatArray]:
        """Of each group under weights of shape (clusters of the benchmark, b), shape (k, b)."""
        weights = counts if len(self.clusters) == len(counts) else counts[self.clusters]
        return np.split(np.divide(self.values.T @ weights, self.unit, dtype=np.float64), self.ends)


class Block(NamedTuple):
    """Something to bootstrap: sums by cluster, and what is computed from them.

    Attributes
    ----------
    clusters : shape (c,), the clusters that contribute, each once
    sums : shape (c, k), dense or sparse
    total : shape (1, k), the sums over all cases
    statistic : maps weighted sums, shape (b, k), to estimates, shape (b, m); NaN where undefined
    """

    clusters: IntArray
    sums: Summands
    total: FloatArray
    statistic: Statistic


def block(codes: IntArray, values: Summands, statistic: Statistic) -> Block:
    """Sum the values of cases by cluster.

    Parameters
    ----------
    codes : shape (n,), the cluster of each case
    values : shape (n, k), what each case adds to the sums
    """
    total = np.asarray(values.sum(axis=0), dtype=np.float64).reshape(1, -1)
    return Block(*cluster_sums(codes, values), total, statistic)


class Resampled(NamedTuple):
    """The sums of a block over all cases, shape (1, k), and by cluster, (c, k), and its estimates, (resamples, m)."""

    total: FloatArray
    sums: Summands
    replicates: FloatArray


def resampled(blocks: Sequence[Block], total: int, *, resamples: int, seed: int) -> Iterator[Resampled]:
    """Bootstrap each block, with draws shared by all; one at a time, so that not all need be in memory.

    Parameters
    ----------
    total : the number of clusters in the whole benchmark
    """
    groups = [Sums(item.clusters, item.sums) for item in blocks]
    for item, sums in zip(blocks, resampled_sums(groups, total, resamples=resamples, seed=seed), strict=True):
        yield Resampled(item.total, item.sums, _estimates(item, sums))


def _estimates(item: Block, sums: FloatArray) -> FloatArray:
    """The estimates of all resamples, a part of them at a time; those of one column lie next to each other."""
    step = max(1, _ESTIMATED_AT_ONCE // max(1, len(sums)))
    first = item.statistic(sums[:, :step].T if sums.size else np.ones((1, len(sums))))
    out = np.empty((first.shape[1], sums.shape[1])).T
    out[:step] = first[: len(out)]
    for start in range(step, len(out), step):
        out[start : start + step] = item.statistic(sums[:, start : start + step].T)
    return out


def indicator(group: IntArray, count: int) -> sparse.csr_array:
    """Which of `count` groups each row is in, shape (rows, count); sums by group are a product with it."""
    return sparse.csr_array((np.ones(len(group)), (np.arange(len(group)), group)), shape=(len(group), count))


def ratio(sums: FloatArray) -> FloatArray:
    """The ratio of sums: the first half of the columns over the second half; NaN where nothing was counted."""
    half = sums.shape[1] // 2
    return divide(sums[:, :half], sums[:, half:])


class Ratios(NamedTuple):
    """Ratios of sums over the cases of a group with their intervals; every array has shape (m,).

    Attributes
    ----------
    n : cases that count
    value, low, high : the estimate and its 95% interval; NaN where undefined
    reason : why something is NaN, or why an interval has no width; empty if neither
    """

    n: IntArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    reason: list[str]


def ratios(
    parts: Sequence[tuple[IntArray, FloatArray, FloatArray]],
    codes: IntArray,
    *,
    shares: bool | Sequence[BoolArray] = False,
    resamples: int,
    seed: int,
) -> list[Ratios]:
    """Estimate ratios of sums, with intervals from draws shared by all parts and columns.

    Parameters
    ----------
    parts : one (cases, numerator, denominator) a group of cases: positions of shape (n,),
        and what each case adds, of shape (n, m). A denominator of 0 means that the case
        does not count; a mean has a denominator of 1.
    codes : shape (n_cases,), the cluster of every case of the benchmark, see `cluster_codes`
    shares : which columns are shares or mean scores, of which each case adds from 0 to its denominator; an array of
        shape (m,) a part. Their interval is the recommended one of `mrb_lib.stats.resampling.shares`, which has
        width where all cases are right; other columns have percentiles.

    Notes
    -----
    Coverage of the intervals, with and without clusters, is checked in
    `tests/simulation/test_coverage.py`.
    """
    blocks = []
    for cases, num, den in parts:
        columns, which = distinct_rows(den.T)  # most measures count the same cases
        values = np.hstack([num, den[:, columns]])
        blocks.append(block(codes[cases], values, partial(_ratio_of, which=which)))
    each = resampled(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    out = []
    for number, ((cases, num, den), drawn) in enumerate(zip(parts, each, strict=True)):
        n = (den > 0).sum(axis=0).astype(np.int64)
        value = divide(num.sum(axis=0), den.sum(axis=0))
        clusters = clusters_counted(codes[cases], den > 0)
        low, high = interval(drawn.replicates)
        unknown = (n < 2) | (clusters < 2)
        low[unknown], high[unknown] = np.nan, np.nan
        reason = [interval_reason(int(n[i]), int(clusters[i]), resamples, low[i], high[i]) for i in range(len(n))]
        is_share = np.flatnonzero(np.broadcast_to(shares if isinstance(shares, bool) else shares[number], n.shape))
        if len(is_share):
            own = _share_intervals(codes[cases], num[:, is_share], den[:, is_share], drawn.replicates[:, is_share])
            low[is_share], high[is_share] = own.recommended
            for i, why in zip(is_share.tolist(), share_reasons(n[is_share], own, resamples), strict=True):
                reason[i] = why
        out.append(Ratios(n, value, low, high, reason))
    return out


def _share_intervals(codes: IntArray, num: FloatArray, den: FloatArray, replicates: FloatArray) -> ShareIntervals:
    """The intervals of shares, from what each case adds: shape (n, m)."""
    top, bottom = np.hsplit(cluster_sums(codes, np.hstack([num, den])).values, 2)
    return share_intervals(top, bottom, np.nan_to_num(divide(num**2, den)).sum(axis=0), replicates)


def _ratio_of(sums: FloatArray, which: IntArray) -> FloatArray:
    """The first columns over the denominators that they share."""
    return divide(sums[:, : len(which)], sums[:, len(which) + which])


def mean_over_clusters(top: FloatArray, bottom: FloatArray, codes: IntArray) -> Estimate:
    """Ratios of sums over cases, such as mean differences, whose `clusters` are those of `effective_clusters`.

    Parameters
    ----------
    top, bottom : shape (cases, m), what each case adds to both sums
    codes : shape (cases,), the cluster of each case

    Returns
    -------
    Estimate
        Each array of shape (m,).
    """
    sums, weights = np.hsplit(cluster_sums(codes, np.hstack([top, bottom])).values, 2)
    by_cluster, by_case = (_over_rows(*each) for each in ((sums, weights), (top, bottom)))
    effect = divide(by_cluster.error, by_case.error) ** 2
    return by_cluster._replace(clusters=effective_clusters(weights, effect))


def _over_rows(top: FloatArray, bottom: FloatArray) -> Estimate:
    rows = np.arange(len(top))
    found = ratio_of_sums(top.T, bottom.T, layout([Group(None, None, rows, 0)], rows))
    return Estimate(found.value[:, 0], found.error[:, 0], found.clusters[:, 0])


def share_reasons(n: IntArray, ends: ShareIntervals, resamples: int) -> list[str]:
    """Why the recommended intervals of shares over `n` cases are null or have no width; empty where neither."""
    low, high = ends.recommended
    return [
        ""
        if ends.method[i] != "percentile" and np.isfinite(low[i])
        else interval_reason(int(n[i]), clusters, resamples, low[i], high[i])
        for i, clusters in enumerate(ends.clusters.tolist())
    ]


def interval_reason(n: int, clusters: int, resamples: int, low: float, high: float) -> str:
    """Why an interval over `n` cases in that many clusters is null, or has no width; empty if neither."""
    if n == 0:
        return ""
    if resamples == 0:
        return NO_RESAMPLES
    if n < 2:
        return FEW_CASES
    if clusters < 2:
        return ONE_CLUSTER
    if np.isnan(low):
        return FEW_DEFINED
    return NO_VARIATION if high - low < _NO_WIDTH else ""
