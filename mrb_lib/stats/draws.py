"""Which clusters each resample draws: the same for every table that asks with the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from mrb_lib.errors import InputError
from mrb_lib.stats.options import IntArray, SingleArray

_KEPT = 2**25
_DRAWN_AT_ONCE = 2**24


def are_kept(total: int, resamples: int) -> bool:
    """Whether the draws of a benchmark come in one piece, which is kept for the next to ask."""
    return total * resamples <= _KEPT


def draws(total: int, resamples: int, seed: int) -> Iterator[SingleArray]:
    """How often each cluster is drawn, in chunks of shape (total, resamples in the chunk).

    The draws depend on the `total` number of clusters, `resamples` and `seed` only, not on the size of the chunks.
    Those of a benchmark of ordinary size are kept, since every table of an analysis asks for the same. They are whole
    numbers, which single precision holds exactly.

    Raises
    ------
    InputError
        `resamples` is negative.
    """
    if resamples < 0:
        raise InputError(f"resamples {resamples}: must not be negative; 2000 is the default, 0 gives no intervals.")
    if resamples and are_kept(total, resamples):
        yield _kept(total, resamples, seed)
        return
    generator = np.random.default_rng(seed)
    chunk = max(1, _DRAWN_AT_ONCE // max(1, total))
    for start in range(0, resamples, chunk):
        counts = np.empty((min(chunk, resamples - start), total), dtype=np.float32)
        for row in counts:
            row[:] = _draw(generator, total)
        yield counts.T


def _draw(generator: np.random.Generator, total: int) -> IntArray:
    return np.bincount(generator.integers(0, total, total, dtype=np.uint32), minlength=total)


@lru_cache(maxsize=2)
def _kept(total: int, resamples: int, seed: int) -> SingleArray:
    """All draws at once, shape (total, resamples), not to be written to."""
    generator = np.random.default_rng(seed)
    rows = np.stack([_draw(generator, total).astype(np.uint16) for _ in range(resamples)])  # no count comes near 65,535
    counts = np.ascontiguousarray(rows.T, dtype=np.float32)
    counts.flags.writeable = False
    return counts
