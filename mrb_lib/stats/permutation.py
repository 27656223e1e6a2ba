"""Sign flips: what differences would look like if the two judges could be exchanged.

Under the null hypothesis a cluster's difference is as likely to have come out the other
way round. The flips are drawn once for the whole benchmark and shared by all
comparisons, and the flipped sum of a difference is the difference of the judges' own
flipped sums, so that a matrix product over judges serves all their pairs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mrb_lib.stats.options import FloatArray, SingleArray

_FLIPPED_AT_ONCE = 2**24
# Sums of scores are whole multiples of 1/24 for four rows a case or fewer: nearer than this, two sums are tied.
_TIED = 1e-3


def flips(total: int, resamples: int, seed: int) -> Iterator[SingleArray]:
    """The sign of each cluster, in chunks of shape (total, resamples in the chunk).

    They are another stream than the bootstrap's, and do not depend on the size of the chunks.
    """
    generator = np.random.default_rng([seed, 1])
    chunk = max(8, _FLIPPED_AT_ONCE // max(1, total))
    for start in range(0, resamples, chunk):
        size = (min(chunk, resamples - start), (total + 7) // 8)
        bits = np.unpackbits(generator.integers(0, 256, size, dtype=np.uint8), axis=1, count=total)
        signs = np.ascontiguousarray(bits.T).astype(np.float32)
        signs *= 2
        signs -= 1
        yield signs


def p_values(flipped: SingleArray, observed: FloatArray) -> FloatArray:
    """The two-sided p of each sum among its flipped ones.

    Parameters
    ----------
    flipped : shape (p, resamples), at least one resample; overwritten
    observed : shape (p,), the sums as they were

    Notes
    -----
    (1 + flipped sums farther from 0 + half of those as far) / (1 + resamples), which is never 0: Phipson and
    Smyth (2010), doi:10.2202/1544-6115.1585. To count ties half (mid-p) brings the size, on scores of so few
    values, up to the level; on scores of 0 and 1 this is McNemar's mid-p. A sum of 0 has p 1.
    `tests/stats/test_permutation.py` compares with all flips of a small benchmark and with
    scipy; the size is simulated in `tests/simulation/test_size.py`.
    """
    np.abs(flipped, out=flipped)
    bound = np.abs(observed)[:, None]
    twice = (flipped >= (bound + _TIED).astype(np.float32)).view(np.uint8)
    twice += (flipped >= (bound - _TIED).astype(np.float32)).view(np.uint8)
    found: FloatArray = (1.0 + twice.sum(axis=1, dtype=np.int32) / 2) / (1.0 + flipped.shape[1])
    return np.where(np.abs(observed) < _TIED, 1.0, found)
