"""Many statistics of many parts of a benchmark, resampled together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from mrb_lib.stats.core.options import FloatArray, IntArray
from mrb_lib.stats.resampling import weighted_sums
from mrb_lib.stats.resampling.ahead import ahead
from mrb_lib.stats.resampling.draws import draws
from mrb_lib.stats.resampling.resample import Block, Statistic, block, n_clusters, replicates

Sums = FloatArray | sparse.csr_array
_DENSE = 128
_ESTIMATED_AT_ONCE = 2**20


def table(row: IntArray, column: IntArray, values: FloatArray, shape: tuple[int, int]) -> Sums:
    """Sum values into the cells of a table: dense where it has few columns, which is faster, else sparse."""
    if shape[1] > _DENSE:
        return sparse.csr_array((values, (row, column)), shape=shape)
    found = np.bincount(row * shape[1] + column, weights=values, minlength=shape[0] * shape[1])
    return np.asarray(found, dtype=np.float64).reshape(shape)


class Measure(NamedTuple):
    """Something to estimate on some cases.

    Attributes
    ----------
    cases : shape (n,), positions in the cases table, each once
    values : shape (n, k), dense or sparse, what each case adds to the sums
    statistic : maps weighted sums, shape (b, k), to estimates, shape (b, m); NaN where undefined
    """

    cases: IntArray
    values: Sums
    statistic: Statistic

    def total(self) -> FloatArray:
        """The sums over all cases, shape (1, k)."""
        return np.asarray(self.values.sum(axis=0), dtype=np.float64).reshape(1, -1)


class Resampled(NamedTuple):
    """A measure, its sums by cluster and its replicates.

    Attributes
    ----------
    sums : shape (c, k)
    replicates : shape (resamples, m)
    """

    measure: Measure
    sums: Sums
    replicates: FloatArray


def resampled(
    groups: Sequence[Sequence[Measure]], codes: IntArray, *, resamples: int, seed: int
) -> list[list[Resampled]]:
    """Bootstrap the measures of several groups of cases with draws shared by all.

    Parameters
    ----------
    groups : measures on about the same cases; the dense ones of a group become one matrix product
    codes : shape (n_cases,), the cluster of every case of the benchmark
    """
    total = n_clusters(codes)
    together = [_joined([item for item in measures if _is_dense(item)], codes) for measures in groups]
    dense = iter(zip(together, _replicates(together, total, resamples, seed), strict=True))
    alone = [item for measures in groups for item in measures if not _is_dense(item)]
    blocks = [block(codes[item.cases], item.values, item.statistic) for item in alone]
    found = iter(zip(blocks, replicates(blocks, total, resamples=resamples, seed=seed), strict=True))
    out = []
    for measures in groups:
        joined, drawn = next(dense)
        column, at, rows = 0, 0, []
        for item in measures:
            if _is_dense(item):
                width, m = item.values.shape[1], _width(item)
                sums = joined.sums[:, column : column + width]
                rows.append(Resampled(item, sums, drawn[:, at : at + m]))
                column, at = column + width, at + m
            else:
                own, replicated = next(found)
                rows.append(Resampled(item, own.sums, replicated))
        out.append(rows)
    return out


def _is_dense(item: Measure) -> bool:
    return isinstance(item.values, np.ndarray)


def _replicates(blocks: Sequence[Block], total: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    """As `resample.replicates`, for dense blocks: the draws are made ready for multiplication once for all."""
    sums = [weighted_sums.Sums(item.clusters, np.asarray(item.sums)) for item in blocks]
    weighted = weighted_sums.weighted_sums(sums, lambda: draws(total, resamples, seed), total, resamples, np.float64)
    yield from ahead(_estimated, zip(blocks, weighted, strict=True))


def _estimated(job: tuple[Block, FloatArray]) -> FloatArray:
    item, found = job
    step = max(1, _ESTIMATED_AT_ONCE // max(1, len(found)))
    parts = [item.statistic(found[:, i : i + step].T).T for i in range(0, found.shape[1], step)]
    m = item.statistic(np.ones((1, len(found)))).shape[1]
    return (np.concatenate(parts, axis=1) if parts else np.empty((m, 0))).T


def _joined(measures: Sequence[Measure], codes: IntArray) -> Block:
    """One block of all measures; a case that a measure does not have adds nothing to it."""
    cases = np.unique(np.concatenate([item.cases for item in measures])) if measures else np.array([], dtype=np.int64)
    ends = np.cumsum([0, *(item.values.shape[1] for item in measures)])
    values = np.zeros((len(cases), int(ends[-1])))
    for i, item in enumerate(measures):
        values[np.searchsorted(cases, item.cases), ends[i] : ends[i + 1]] = np.asarray(item.values)

    alike: dict[tuple[Statistic, int], list[int]] = {}
    for i, item in enumerate(measures):
        alike.setdefault((item.statistic, item.values.shape[1]), []).append(i)

    def statistic(sums: FloatArray) -> FloatArray:
        """Measures with the same statistic and number of sums are estimated together, which is faster."""
        b, found = len(sums), [np.empty((0, len(sums)))] * len(measures)
        for (shared, _), which in alike.items():
            stacked = np.concatenate([sums.T[ends[i] : ends[i + 1]] for i in which], axis=1).T
            estimates = shared(stacked).T
            for j, i in enumerate(which):
                found[i] = estimates[:, j * b : (j + 1) * b]
        return np.concatenate(found).T if found else np.empty((b, 0))

    return block(codes[cases], values, statistic)


def _width(item: Measure) -> int:
    return int(item.statistic(np.ones((1, item.values.shape[1]))).shape[1])
