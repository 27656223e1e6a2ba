"""How near a share over simulated benchmarks is to what it ought to be."""

import numpy as np


def is_near(share: float | np.ndarray, level: float, benchmarks: int, least: float) -> bool:
    """Whether all shares are within three Monte-Carlo standard errors of the level, or within `least` if that is more.

    Over 500 benchmarks 95% intervals are to cover 92.1 to 97.9%; those that are a fifth too narrow cover 88%, which
    that tells apart 499 times of 500. Over 1,000 a test at 5% may reject 2.9 to 7.1%; one that rejects 10% is found out
    as surely.
    """
    error = np.sqrt(level * (1 - level) / benchmarks)
    return bool((np.abs(np.asarray(share) - level) <= max(least, 3 * error)).all())
