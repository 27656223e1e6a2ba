"""Exact tests of a fair coin: of the cases that one of two judges wins, does each win half?"""

from __future__ import annotations

import numpy as np
from scipy.special import bdtr, gammaln

from mrb_lib.stats.options import FloatArray, IntArray


def sign_test(first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
    """The two-sided exact p and the mid-p of each pair of counts, which are McNemar's where a case is right or wrong.

    Parameters
    ----------
    first, second : shape (p,), cases that only the first, only the second judge has right (or scores higher on)

    Returns
    -------
    exact, mid_p : shape (p,); 1 where no case differs

    Notes
    -----
    The exact p is twice the smaller tail, at most 1: its size is never above the level and often far below it. The
    mid-p counts the observed outcome half, which brings the size close to the level: Lancaster
    (1961), doi:10.2307/2282247; Fagerland, Lydersen and Laake (2013), doi:10.1186/1471-2288-13-91.
    Validated in `tests/published/test_mcnemar.py`.
    """
    total = first + second
    smaller = np.minimum(first, second)
    tail = np.asarray(bdtr(smaller.astype(np.float64), total, 0.5), dtype=np.float64)
    log_ways = gammaln(total + 1) - gammaln(smaller + 1) - gammaln(total - smaller + 1)
    point = np.exp(log_ways - total * np.log(2.0))
    exact: FloatArray = np.minimum(1.0, 2 * tail)
    mid_p: FloatArray = np.minimum(1.0, 2 * tail - point)
    return exact, mid_p
