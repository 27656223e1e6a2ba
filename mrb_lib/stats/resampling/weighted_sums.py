"""Sums over clusters under many sets of weights at once: one matrix product for all judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.core.options import FloatArray, IntArray, SingleArray
from mrb_lib.stats.resampling import products
from mrb_lib.stats.resampling.threads import threaded_map

F = TypeVar("F", np.float32, np.float64)

_KEPT = 2**25


class Sums(NamedTuple):
    """What the cases of a group add up to in each cluster.

    Attributes
    ----------
    clusters : shape (c,), the clusters that contribute, each once
    values : shape (c, k)
    """

    clusters: IntArray
    values: FloatArray


def cluster_sums(codes: IntArray, values: FloatArray) -> Sums:
    """Sum what cases add, shape (n, k), by their clusters, shape (n,)."""
    clusters, position = np.unique(codes, return_inverse=True)
    out = np.zeros((len(clusters), values.shape[1]))
    if len(clusters) == len(codes):
        out[position] = values
    else:
        np.add.at(out, position, values)
    return Sums(clusters, out)


def weighted_sums(
    blocks: Sequence[Sums],
    chunks: Callable[[], Iterable[SingleArray]],
    total: int,
    resamples: int,
    dtype: type[F],
) -> Iterator[NDArray[F]]:
    """The sums of each block under all weights.

    Parameters
    ----------
    chunks : makes the weights, in chunks of shape (total, resamples in the chunk): the draws of
        the bootstrap or the flips of a permutation test
    total : the number of clusters in the whole benchmark
    resamples : the number of sets of weights in all chunks
    dtype : of the sums. Those that single precision holds exactly, see `products.is_exact`, of the values or of three
        times them (shares of three annotators), are computed in it whatever is asked for, since that is twice as fast.

    Yields
    ------
    for each block, shape (k, resamples)
    """
    if not total or not resamples:
        yield from (np.empty((item.values.shape[1], 0), dtype=dtype) for item in blocks)
        return
    if total * resamples > _KEPT:
        yield from _sums(blocks, chunks(), total, resamples, dtype)
        return
    kept = list(chunks())
    yield from threaded_map(lambda item: _sums([item], kept, total, resamples, dtype)[0], blocks)


def _sums(
    blocks: Sequence[Sums], chunks: Iterable[SingleArray], total: int, resamples: int, dtype: type[F]
) -> list[NDArray[F]]:
    times = [next((n for n in (1, 3) if products.is_exact(n * item.values, total)), 0) for item in blocks]
    values = [
        np.ascontiguousarray((n or 1) * item.values.T, dtype=np.float32 if n else dtype)
        for item, n in zip(blocks, times, strict=True)
    ]
    out = [np.empty((len(item), resamples), dtype=dtype) for item in values]
    start = 0
    for chunk in chunks:
        stop = start + chunk.shape[1]
        for item, value, n, found in zip(blocks, values, times, out, strict=True):
            weights = chunk if len(item.clusters) == total else chunk[item.clusters]
            sums = value @ weights.astype(value.dtype, copy=False)
            found[:, start:stop] = sums if n < 2 else np.divide(sums, n, dtype=dtype)
        start = stop
    return out
