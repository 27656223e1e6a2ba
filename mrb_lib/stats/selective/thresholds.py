"""Thresholds of confidence above which a judge may answer, chosen so that a promise holds.

Two promises, both from calibration cases that are independent draws of the cases to come:

`fixed_sequence` : with probability 1 - delta over the calibration cases, the judge is wrong on at most a share alpha
    of the cases it answers. Thresholds are tested from the strictest down, each by the exact binomial tail, until one
    fails (Jung, Brahman and Choi, ICLR 2025, arXiv 2407.18370; fixed-sequence testing spends delta once).
`conformal_risk_control` : on average over calibration cases, at most a share alpha of all cases is answered
    wrongly (Angelopoulos et al., arXiv 2208.02814). Weaker: it holds over all cases, not over those answered.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from mrb_lib.stats.core.options import FloatArray, IntArray

GRID: FloatArray = special.expit(np.linspace(0.0, 14.0, 141))
NONE = -1
LEAST_COVERAGE = 0.15
_ROUNDING = 1e-12


def grid_place(confidence: FloatArray) -> IntArray:
    """The strictest threshold of `GRID` that each confidence reaches."""
    return np.searchsorted(GRID, confidence + _ROUNDING, side="right").astype(np.int64) - 1


def at_or_above(counts: FloatArray) -> IntArray:
    """How many are answered at each threshold, from how many have each place, along the last axis."""
    return np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1].astype(np.int64)


def most_wrong(largest: int, alpha: float, delta: float) -> IntArray:
    """The most wrong answers among n = 0 .. `largest` that reject "the risk exceeds alpha" at level delta.

    The largest k with P(Binomial(n, alpha) <= k) <= delta, which is where the upper bound of Clopper
    and Pearson at confidence 1 - delta is at most alpha; -1 where even none wrong is not enough.
    """
    from scipy.stats import binom  # slow to load

    n = np.arange(largest + 1)
    k = binom.ppf(delta, n, alpha)
    return np.where(binom.cdf(k, n, alpha) <= delta, k, k - 1).astype(np.int64)


def fixed_sequence(answered: IntArray, wrong: IntArray, alpha: float, delta: float) -> IntArray:
    """The lowest threshold of an unbroken descent of rejected tests, as a place in `GRID`; `NONE` if there is none.

    Parameters
    ----------
    answered, wrong : shape (..., thresholds), at each threshold, see `at_or_above`; one case a cluster

    Notes
    -----
    Passed over is a threshold with too few answers to be rejected even if none were wrong, and one that answers fewer
    than `LEAST_COVERAGE` of the cases: among so few, one wrong answer would end the search. That depends on
    confidences alone. The promise is exact where a lower confidence means no lower risk; in simulation it
    holds where it does not, too (`tests/simulation/test_selective.py`).
    """
    allowed = most_wrong(int(answered.max(initial=0)), alpha, delta)[answered]
    fewest = np.ceil(LEAST_COVERAGE * answered[..., :1] - _ROUNDING).astype(np.int64)
    tested = (allowed >= 0) & (answered >= fewest)
    failed = tested & (wrong > allowed)
    broken = np.logical_or.accumulate(failed[..., ::-1], axis=-1)[..., ::-1]
    passed = tested & ~broken
    return np.where(passed.any(axis=-1), np.argmax(passed, axis=-1), NONE).astype(np.int64)


def conformal_risk_control(answered: IntArray, wrong: IntArray, n: IntArray, alpha: float) -> IntArray:
    """The lowest threshold whose share of wrong answers among all cases, with one more wrong, is at most alpha.

    Parameters
    ----------
    answered, wrong : shape (..., thresholds)
    n : shape (...), all calibration cases
    """
    fits = (wrong + 1 <= alpha * (n[..., None] + 1) + _ROUNDING) & (answered > 0)
    return np.where(fits.any(axis=-1), np.argmax(fits, axis=-1), NONE).astype(np.int64)


def upper_bound(wrong: IntArray, answered: IntArray, delta: float) -> FloatArray:
    """The one-sided upper bound of Clopper and Pearson on a share; 1 where nothing was answered."""
    more = answered - wrong
    bound = special.betaincinv(wrong + 1.0, np.maximum(more, 1), 1 - delta)
    out: FloatArray = np.where(more > 0, bound, 1.0)
    return out
