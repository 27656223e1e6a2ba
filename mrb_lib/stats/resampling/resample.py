"""The one bootstrap: clusters are drawn with replacement, never rows.

Every interval of `mrb_lib.stats` is made here. Clusters of the whole benchmark are
drawn once a resample, and the same draw serves every judge, dimension and subfield
of a call, so that differences between them are paired. A statistic is a function of
sums over cases; a resample weights each cluster's sums by how often it was drawn,
which makes the whole bootstrap a matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from mrb_lib.errors import InputError
from mrb_lib.stats.core.options import FloatArray, IntArray, SingleArray, divide
from mrb_lib.stats.resampling import products
from mrb_lib.stats.resampling.ahead import ahead
from mrb_lib.stats.resampling.distinct import distinct_rows
from mrb_lib.stats.resampling.draws import are_kept, draws
from mrb_lib.stats.resampling.quantiles import CONFIDENCE as CONFIDENCE
from mrb_lib.stats.resampling.quantiles import interval as interval
from mrb_lib.stats.resampling.quantiles import quantiles as quantiles
from mrb_lib.stats.resampling.quantiles import ratio_intervals

ONE_CLUSTER = "no interval: all cases are in one cluster"
FEW_CASES = "no interval: fewer than two cases"
NO_RESAMPLES = "no interval: no resamples were asked for"
FEW_DEFINED = "no interval: undefined in most resamples"
NO_VARIATION = "the interval has no width because the cases do not differ, which is not certainty"

_ESTIMATED_AT_ONCE = 2**19
_NO_WIDTH = 1e-12

Statistic = Callable[[FloatArray], FloatArray]


def cluster_codes(cases: pd.DataFrame, cluster: str | None = None) -> IntArray:
    """Which cluster each case belongs to; the only place that decides it.

    Parameters
    ----------
    cluster : a column of `cases`. None takes the column `cluster` where there is
        one. A case without a value is a cluster of its own.

    Returns
    -------
    int array, shape (n_cases,), values 0 to n_clusters - 1

    Raises
    ------
    InputError
        The column is absent or entirely empty.
    """
    n = len(cases)
    if cluster is None:
        if "cluster" not in cases.columns:
            return np.arange(n, dtype=np.int64)
        values = cases["cluster"]
    elif cluster not in cases.columns:
        raise InputError(f"cluster {cluster!r}: the cases have no such column; use one of {', '.join(cases.columns)}.")
    else:
        values = cases[cluster]
        if n and values.isna().all():
            raise InputError(f"cluster {cluster!r}: the column is empty in every case; fill it in, or choose another.")
    codes, names = pd.factorize(values)
    alone = codes < 0
    codes = codes.astype(np.int64)
    codes[alone] = len(names) + np.arange(alone.sum())
    return codes


class Block(NamedTuple):
    """Something to bootstrap: sums by cluster, and what is computed from them.

    Attributes
    ----------
    clusters : shape (c,), the clusters that contribute, each once
    sums : shape (c, k), dense or sparse
    statistic : maps weighted sums, shape (b, k), to estimates, shape (b, m); NaN where undefined
    """

    clusters: IntArray
    sums: FloatArray | sparse.csr_array
    statistic: Statistic


def block(codes: IntArray, values: FloatArray | sparse.csr_array, statistic: Statistic) -> Block:
    """Sum the values of cases by cluster.

    Parameters
    ----------
    codes : shape (n,), the cluster of each case
    values : shape (n, k), what each case adds to the sums
    """
    clusters, position = np.unique(codes, return_inverse=True)
    if len(clusters) == len(codes):
        order = np.argsort(position)
        return Block(clusters, values[order], statistic)
    indicator = sparse.csr_array(
        (np.ones(len(codes)), (position, np.arange(len(codes)))), shape=(len(clusters), len(codes))
    )
    sums = indicator @ values
    return Block(clusters, sums if isinstance(sums, np.ndarray) else sparse.csr_array(sums), statistic)


def replicates(blocks: Sequence[Block], total: int, *, resamples: int, seed: int) -> list[FloatArray]:
    """The estimates of each block in each resample, shape (resamples, m); the draws are shared by all blocks.

    The estimates of one column lie next to each other in memory.

    Parameters
    ----------
    total : the number of clusters in the whole benchmark
    """
    return list(each_replicates(blocks, total, resamples=resamples, seed=seed))


def each_replicates(blocks: Sequence[Block], total: int, *, resamples: int, seed: int) -> Iterator[FloatArray]:
    """As `replicates`, a few blocks at a time, so that the estimates of all need not be in memory."""
    if len(blocks) < 2 or not are_kept(total, resamples):
        yield from _replicates(blocks, total, resamples, seed)
        return
    for _ in draws(total, resamples, seed):
        pass  # once, before several ask for them
    yield from ahead(lambda item: _replicates([item], total, resamples, seed)[0], blocks)


def _replicates(blocks: Sequence[Block], total: int, resamples: int, seed: int) -> list[FloatArray]:
    out = [np.empty((_width(item), resamples if total else 0)).T for item in blocks]
    exact = [_is_exact(item.sums, total) for item in blocks]
    start = 0
    for counts in draws(total, resamples, seed) if total else ():
        stop = start + counts.shape[1]
        for item, found, single in zip(blocks, out, exact, strict=True):
            weights = counts if len(item.clusters) == total else counts[item.clusters]
            step = max(1, _ESTIMATED_AT_ONCE // max(1, item.sums.shape[1]))
            for first in range(0, stop - start, step):
                part = weights[:, first : first + step]
                found[start + first : start + first + part.shape[1]] = item.statistic(
                    _weighted(part, item.sums, single)
                )
        start = stop
    return out


def _width(item: Block) -> int:
    return int(item.statistic(np.ones((1, item.sums.shape[1]))).shape[1])


def _is_exact(sums: FloatArray | sparse.csr_array, total: int) -> bool:
    return products.is_exact(sums if isinstance(sums, np.ndarray) else sums.data, total)


def _weighted(weights: SingleArray, sums: FloatArray | sparse.csr_array, exact: bool) -> FloatArray:
    """The sums of each resample, shape (b, k), from weights of shape (clusters, b)."""
    if isinstance(sums, np.ndarray):
        return products.weighted(sums.T, weights, exact=exact).T
    kind = np.float32 if exact else np.float64
    return np.asarray(sums.astype(kind).T @ weights.astype(kind, copy=False), dtype=np.float64).T


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

    Notes
    -----
    Coverage of the intervals, with and without clusters, is checked in
    `tests/simulation/test_coverage.py`.
    """
    blocks, shared = [], []
    for cases, num, den in parts:
        columns, which = distinct_rows(den.T)  # most measures count the same cases
        shared.append(which)
        blocks.append(block(codes[cases], np.hstack([num, den[:, columns]]), partial(_ratio_of, which=which)))
    found = _bounds(blocks, shared, n_clusters(codes), resamples, seed)
    out = []
    for (_, num, den), which, item, (low, high) in zip(parts, shared, blocks, found, strict=True):
        n = (den > 0).sum(axis=0).astype(np.int64)
        value = divide(num.sum(axis=0), den.sum(axis=0))
        clusters = (item.sums[:, num.shape[1] :] > 0).sum(axis=0)[which]
        unknown = (n < 2) | (clusters < 2)
        low[unknown], high[unknown] = np.nan, np.nan
        reason = [interval_reason(int(n[i]), int(clusters[i]), resamples, low[i], high[i]) for i in range(len(n))]
        out.append(Ratios(n, value, low, high, reason))
    return out


def _bounds(
    blocks: Sequence[Block], shared: Sequence[IntArray], total: int, resamples: int, seed: int
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """The intervals of the ratios of each block; without their replicates in memory where the draws are kept."""
    if not (total and resamples and are_kept(total, resamples)):
        yield from (interval(found) for found in replicates(blocks, total, resamples=resamples, seed=seed))
        return
    (counts,) = draws(total, resamples, seed)
    for item, which in zip(blocks, shared, strict=True):
        weights = counts if len(item.clusters) == total else counts[item.clusters]
        yield ratio_intervals(
            np.asarray(item.sums[:, : len(which)]), np.asarray(item.sums[:, len(which) :]), which, weights, total
        )


def _ratio_of(sums: FloatArray, which: IntArray) -> FloatArray:
    """The first columns over the denominators that they share."""
    return divide(sums[:, : len(which)], sums[:, len(which) + which])


def n_clusters(codes: IntArray) -> int:
    """The number of clusters in the whole benchmark, from the codes of all its cases."""
    return int(codes.max()) + 1 if len(codes) else 0


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
