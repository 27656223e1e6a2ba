"""The one bootstrap: clusters are drawn with replacement, never rows.

Every interval of `mrb_lib.stats` is made here. Clusters of the whole benchmark are
drawn once a resample, and the same draw serves every judge, dimension and subfield
of a call, so that differences between them are paired. A statistic is a function of
sums over cases; a resample weights each cluster's sums by how often it was drawn,
which makes the whole bootstrap a matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from mrb_lib.errors import InputError
from mrb_lib.stats.options import FloatArray, IntArray, divide

CONFIDENCE = 0.95
ONE_CLUSTER = "no interval: all cases are in one cluster"
FEW_CASES = "no interval: fewer than two cases"
NO_RESAMPLES = "no interval: no resamples were asked for"
FEW_DEFINED = "no interval: undefined in most resamples"
NO_VARIATION = "the interval has no width because the cases do not differ, which is not certainty"

_DRAWN_AT_ONCE = 2**24
_ESTIMATED_AT_ONCE = 2**22
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


def draws(total: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    """How often each cluster is drawn, in chunks of shape (resamples in the chunk, total).

    The draws depend on the `total` number of clusters, `resamples` and `seed` only, not on the size of the chunks.

    Raises
    ------
    InputError
        `resamples` is negative.
    """
    if resamples < 0:
        raise InputError(f"resamples {resamples}: must not be negative; 2000 is the default, 0 gives no intervals.")
    generator = np.random.default_rng(seed)
    chunk = max(1, _DRAWN_AT_ONCE // max(1, total))
    for start in range(0, resamples, chunk):
        counts = np.empty((min(chunk, resamples - start), total))
        for row in counts:
            row[:] = np.bincount(generator.integers(0, total, total), minlength=total)
        yield counts


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

    Parameters
    ----------
    total : the number of clusters in the whole benchmark
    """
    parts: list[list[FloatArray]] = [[] for _ in blocks]
    if total == 0:
        return [np.empty((0, _width(item))) for item in blocks]
    for counts in draws(total, resamples, seed):
        for item, found in zip(blocks, parts, strict=True):
            everyone = len(item.clusters) == total
            weights = counts if everyone else counts[:, item.clusters]
            step = max(1, _ESTIMATED_AT_ONCE // max(1, item.sums.shape[1]))
            found.extend(
                item.statistic(_weighted(weights[start : start + step], item.sums))
                for start in range(0, len(weights), step)
            )
    return [
        np.concatenate(found) if found else np.empty((0, _width(item)))
        for item, found in zip(blocks, parts, strict=True)
    ]


def _width(item: Block) -> int:
    return int(item.statistic(np.ones((1, item.sums.shape[1]))).shape[1])


def _weighted(weights: FloatArray, sums: FloatArray | sparse.csr_array) -> FloatArray:
    if isinstance(sums, np.ndarray):
        return weights @ sums
    return np.asarray((sums.T @ weights.T).T, dtype=np.float64)


def ratio(sums: FloatArray) -> FloatArray:
    """The ratio of sums: the first half of the columns over the second half; NaN where nothing was counted."""
    half = sums.shape[1] // 2
    return divide(sums[:, :half], sums[:, half:])


def interval(found: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The 95% percentile interval of each column of replicates, shape (resamples, m).

    Replicates in which the statistic is undefined are left out; where they are more
    than half, or there are no replicates, the interval is NaN.
    """
    tails = [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2]
    out = np.full((2, found.shape[1]), np.nan)
    if not len(found):
        return out[0], out[1]
    defined = np.isfinite(found)
    complete = defined.all(axis=0)
    if complete.any():
        out[:, complete] = np.quantile(found[:, complete], tails, axis=0)
    for column in np.flatnonzero(~complete & (2 * defined.sum(axis=0) >= len(found))):
        out[:, column] = np.quantile(found[defined[:, column], column], tails)
    return out[0], out[1]


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
    blocks = [block(codes[cases], np.hstack([num, den]), ratio) for cases, num, den in parts]
    found = replicates(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    out = []
    for (_, num, den), item, replicated in zip(parts, blocks, found, strict=True):
        n = (den > 0).sum(axis=0).astype(np.int64)
        value = ratio(np.hstack([num.sum(axis=0), den.sum(axis=0)])[None, :])[0]
        clusters = (item.sums[:, den.shape[1] :] > 0).sum(axis=0)
        low, high = interval(replicated)
        unknown = (n < 2) | (clusters < 2)
        low[unknown], high[unknown] = np.nan, np.nan
        reason = [interval_reason(int(n[i]), int(clusters[i]), resamples, low[i], high[i]) for i in range(len(n))]
        out.append(Ratios(n, value, low, high, reason))
    return out


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
