"""Which clusters each resample draws: the same for every table that asks with the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from mrb_lib.tables.errors import InputError

Counts = NDArray[np.float32]
"""Whole numbers, which single precision holds exactly in half the memory."""

_KEPT = 2**25
_DRAWN_AT_ONCE = 2**23
_COUNTED_AT_ONCE = 2**16


def are_kept(total: int, resamples: int) -> bool:
    """Whether the draws of a benchmark come in one piece, which is kept for the next to ask."""
    return resamples > 0 and total * resamples <= _KEPT


def draws(total: int, resamples: int, seed: int) -> Iterator[Counts]:
    """How often each cluster is drawn, in chunks of shape (total, resamples in the chunk).

    The draws depend on the `total` number of clusters, `resamples` and `seed` only, not on the size of the chunks.
    Those of a benchmark of ordinary size are kept, since every table of an analysis asks for the same.

    Raises
    ------
    InputError
        `resamples` is negative.
    """
    if resamples < 0:
        raise InputError(f"resamples {resamples}: must not be negative; 2000 is the default, 0 gives no intervals.")
    if are_kept(total, resamples):
        yield _kept(total, resamples, seed)
        return
    generator = np.random.default_rng(seed)
    chunk = max(1, _DRAWN_AT_ONCE // max(1, total))
    for start in range(0, resamples, chunk):
        yield _draw(generator, total, min(chunk, resamples - start)).T


def _draw(generator: np.random.Generator, total: int, resamples: int) -> Counts:
    """How often each cluster is drawn, shape (resamples, total); one stream, however many are asked for at once."""
    counts = np.empty((resamples, total), dtype=np.float32)
    step = max(1, _COUNTED_AT_ONCE // max(1, total))
    for start in range(0, resamples, step):
        here = counts[start : start + step]
        cells = generator.integers(0, total, here.shape, dtype=np.uint32).astype(np.int64)
        cells += np.arange(len(here))[:, None] * total
        here[:] = np.bincount(cells.ravel(), minlength=here.size).reshape(here.shape)
    return counts


@lru_cache(maxsize=2)
def _kept(total: int, resamples: int, seed: int) -> Counts:
    """All draws at once, shape (total, resamples), not to be written to."""
    counts = np.ascontiguousarray(_draw(np.random.default_rng(seed), total, resamples).T)
    counts.flags.writeable = False
    return counts
