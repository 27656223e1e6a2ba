"""Sums over clusters under many sets of weights at once: one matrix product for all judges.

In single precision: scores are halves and weights are whole, so that the sums of a
benchmark of ordinary size are exact; on the largest ones they are right to six digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.options import FloatArray, IntArray

Single = NDArray[np.float32]

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
) -> Iterator[Single]:
    """The sums of each block under all weights.

    Parameters
    ----------
    chunks : makes the weights, in chunks of shape (total, resamples in the chunk): the draws of
        the bootstrap or the flips of a permutation test
    total : the number of clusters in the whole benchmark
    resamples : the number of sets of weights in all chunks

    Yields
    ------
    for each block, shape (k, resamples)
    """
    if not total or not resamples:
        yield from (np.empty((item.values.shape[1], 0), dtype=np.float32) for item in blocks)
        return
    kept = [part.astype(np.float32, copy=False) for part in chunks()] if total * resamples <= _KEPT else None
    at_once = len(blocks) if kept is None else 1
    for start in range(0, len(blocks), max(1, at_once)):
        yield from _sums(blocks[start : start + at_once], chunks() if kept is None else kept, total, resamples)


def _sums(blocks: Sequence[Sums], chunks: Iterable[NDArray[np.floating]], total: int, resamples: int) -> list[Single]:
    values = [np.ascontiguousarray(item.values.T, dtype=np.float32) for item in blocks]
    out = [np.empty((len(item), resamples), dtype=np.float32) for item in values]
    start = 0
    for chunk in chunks:
        weights = chunk.astype(np.float32, copy=False)
        stop = start + weights.shape[1]
        for item, value, found in zip(blocks, values, out, strict=True):
            found[:, start:stop] = value @ (weights if len(item.clusters) == total else weights[item.clusters])
        start = stop
    return out
