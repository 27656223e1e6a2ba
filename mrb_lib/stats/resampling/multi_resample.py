"""Many statistics of many parts of a benchmark, resampled together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from mrb_lib.stats.core.options import FloatArray, IntArray
from mrb_lib.stats.resampling.resample import Statistic, block, each_replicates, n_clusters

Sums = FloatArray | sparse.csr_array
_DENSE = 128


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
    groups : measures on about the same cases
    codes : shape (n_cases,), the cluster of every case of the benchmark
    """
    blocks = [block(codes[item.cases], item.values, item.statistic) for measures in groups for item in measures]
    each = each_replicates(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    drawn = zip((item.sums for item in blocks), each, strict=True)
    return [[Resampled(item, *next(drawn)) for item in measures] for measures in groups]
