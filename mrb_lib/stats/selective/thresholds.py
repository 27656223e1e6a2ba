"""Thresholds of confidence above which a judge may answer, chosen so that a promise holds.

Two promises, both from calibration cases that are independent draws of the cases to come. What an answer loses lies
between 0 and 1: whether it is wrong, or the share of annotators who disagree with it.

`fixed_sequence` : with probability 1 - delta over the calibration cases, the judge loses at most alpha a case, on
    average over the cases it answers. Thresholds are tested from the strictest down until one fails (Jung, Brahman
    and Choi, ICLR 2025, arXiv 2407.18370; fixed-sequence testing spends delta once).
`conformal_risk_control` : on average over calibration cases, at most alpha a case is lost, over all cases, answered
    or not (Angelopoulos et al., arXiv 2208.02814). Weaker: it holds over all cases, not over those answered.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from mrb_lib.stats.options import FloatArray, IntArray, divide

GRID: FloatArray = special.expit(np.linspace(0.0, 14.0, 141))
GRID_OF_CHOICE: FloatArray = np.concatenate([[0.0], special.expit(np.linspace(-3.0, -0.1, 30)), GRID])
"""The same from 0, for the probability of one of several categories."""
NONE = -1
LEAST_COVERAGE = 0.15
_ROUNDING = 1e-9
_HALVINGS = 40


def grid_place(confidence: FloatArray, grid: FloatArray = GRID) -> IntArray:
    """The strictest threshold of a grid that each confidence reaches."""
    return np.searchsorted(grid, confidence + 1e-12, side="right").astype(np.int64) - 1


def at_or_above(counts: FloatArray) -> FloatArray:
    """The sum over what is answered at each threshold, from the sums at each place, along the last axis."""
    out: FloatArray = np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1]
    return out


def risk_p(lost: FloatArray, answered: IntArray, alpha: FloatArray | float, *, binary: bool) -> FloatArray:
    """The p-value of "the mean loss exceeds alpha"; 1 where nothing was answered.

    Parameters
    ----------
    lost : the sum of the losses of `answered` independent cases
    binary : every loss is 0 or 1: the exact binomial tail. Otherwise it is between them, and the p-value is that of
        Hoeffding and Bentkus (Bates et al. 2021, doi:10.1145/3478535, section 3.1; Angelopoulos et al., "Learn then
        test", arXiv 2110.01052, proposition 2): valid for any distribution of such losses
    """
    whole = np.ceil(lost - _ROUNDING)
    tail = special.bdtr(whole, answered, alpha)
    if binary:
        return np.where(answered > 0, tail, 1.0)
    mean = np.minimum(np.nan_to_num(divide(lost, answered)), alpha)
    entropy = special.rel_entr(mean, alpha) + special.rel_entr(1 - mean, 1 - np.asarray(alpha, dtype=np.float64))
    return np.where(answered > 0, np.minimum(np.exp(-answered * entropy), np.e * tail), 1.0)


def fixed_sequence(answered: IntArray, lost: FloatArray, alpha: float, delta: float, *, binary: bool) -> IntArray:
    """The lowest threshold of an unbroken descent of rejected tests, as a place in the grid; `NONE` if there is none.

    Parameters
    ----------
    answered, lost : shape (..., thresholds), at each threshold, see `at_or_above`; one case a cluster
    binary : see `risk_p`

    Notes
    -----
    Passed over is a threshold with too few answers to be rejected even if nothing were lost, and one that answers
    fewer than `LEAST_COVERAGE` of the cases: among so few, one wrong answer would end the search. That depends on
    confidences alone. The promise is exact where a lower confidence means no lower risk; in simulation it
    holds where it does not, too (`tests/simulation/test_selective.py`).
    """
    fewest = np.ceil(LEAST_COVERAGE * answered[..., :1] - _ROUNDING)
    tested = ((1 - alpha) ** answered <= delta) & (answered >= fewest)
    failed = np.zeros(tested.shape, dtype=bool)
    failed[tested] = risk_p(lost[tested], answered[tested], alpha, binary=binary) > delta
    broken = np.logical_or.accumulate(failed[..., ::-1], axis=-1)[..., ::-1]
    passed = tested & ~broken
    return np.where(passed.any(axis=-1), np.argmax(passed, axis=-1), NONE).astype(np.int64)


def conformal_risk_control(answered: IntArray, lost: FloatArray, n: IntArray, alpha: float) -> IntArray:
    """The lowest threshold whose loss as a share of all cases, with one more case lost, is at most alpha.

    Parameters
    ----------
    answered, lost : shape (..., thresholds)
    n : shape (...), all calibration cases
    """
    fits = (lost + 1 <= alpha * (n[..., None] + 1) + _ROUNDING) & (answered > 0)
    return np.where(fits.any(axis=-1), np.argmax(fits, axis=-1), NONE).astype(np.int64)


def upper_bound(lost: FloatArray, answered: IntArray, delta: float, *, binary: bool) -> FloatArray:
    """The largest mean loss that `risk_p` does not reject at level delta; 1 where nothing was answered.

    For losses of 0 and 1 the one-sided upper bound of Clopper and Pearson.
    """
    low, high = np.nan_to_num(divide(lost, answered)), np.ones(np.shape(lost))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rejected = risk_p(lost, answered, middle, binary=binary) <= delta
        low, high = np.where(rejected, low, middle), np.where(rejected, middle, high)
    return high
