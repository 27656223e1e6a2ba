"""Sums over clusters under many sets of weights at once: one matrix product for all judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.options import FloatArray, IntArray

Single = NDArray[np.float32]
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
    chunks: Callable[[], Iterable[NDArray[np.floating]]],
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
    dtype : float32 is twice as fast. Where scores are halves and weights whole, its sums are exact up to eight million
        cases; otherwise they are right to six digits.

    Yields
    ------
    for each block, shape (k, resamples)
    """
    if not total or not resamples:
        yield from (np.empty((item.values.shape[1], 0), dtype=dtype) for item in blocks)
        return
    kept = [part.astype(dtype, copy=False) for part in chunks()] if total * resamples <= _KEPT else None
    at_once = len(blocks) if kept is None else 1
    for start in range(0, len(blocks), max(1, at_once)):
        yield from _sums(blocks[start : start + at_once], chunks() if kept is None else kept, total, resamples, dtype)


def _sums(
    blocks: Sequence[Sums], chunks: Iterable[NDArray[np.floating]], total: int, resamples: int, dtype: type[F]
) -> list[NDArray[F]]:
    values = [np.ascontiguousarray(item.values.T, dtype=dtype) for item in blocks]
    out = [np.empty((len(item), resamples), dtype=dtype) for item in values]
    start = 0
    for chunk in chunks:
        weights = chunk.astype(dtype, copy=False)
        stop = start + weights.shape[1]
        for item, value, found in zip(blocks, values, out, strict=True):
            np.matmul(
                value,
                weights if len(item.clusters) == total else weights[item.clusters],
                out=found[:, start:stop],
            )
        start = stop
    return out
