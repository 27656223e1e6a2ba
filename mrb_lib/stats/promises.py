"""Thresholds of confidence above which a judge may answer, chosen so that a promise holds.

With probability 1 - delta over the calibration cases, which are independent draws of the cases to come, the mean loss
over the cases answered is at most alpha. Thresholds are tested from the strictest down until one fails, which spends
delta once (Bauer 1991; Jung, Brahman and Choi 2025, arXiv 2407.18370; Angelopoulos et al., "Learn then test", arXiv
2110.01052). A loss is from 0 to 1: whether an answer is wrong, or the share of annotators who disagree with it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy import special

from mrb_lib.stats.estimation import FloatArray, IntArray, divide

GRID: Final[FloatArray] = special.expit(np.linspace(0.0, 14.0, 141))
GRID_OF_CHOICE: Final[FloatArray] = np.concatenate([[0.0], special.expit(np.linspace(-3.0, -0.1, 30)), GRID])
"""The same from 0, for the probability of one of several categories."""
NONE: Final = -1
LEAST_COVERAGE: Final = 0.15
_ROUNDING, _HALVINGS = 1e-9, 40


def grid_place(confidence: FloatArray, grid: FloatArray = GRID) -> IntArray:
    """Return the strictest threshold of a grid that each confidence reaches."""
    return np.searchsorted(grid, confidence + 1e-12, side="right").astype(np.int64) - 1


def at_or_above(counts: FloatArray) -> FloatArray:
    """Return the sum over what is answered at each threshold, from the sums at each place, along the last axis."""
    return np.asarray(np.cumsum(counts[..., ::-1], axis=-1)[..., ::-1])


def risk_p(lost: FloatArray, answered: IntArray, alpha: FloatArray | float, *, binary: bool) -> FloatArray:
    """Return the p-value of "the mean loss exceeds alpha"; 1 where nothing was answered.

    Parameters
    ----------
    lost : the sum of the losses of `answered` independent cases
    binary : every loss is 0 or 1: the exact binomial tail. Otherwise it is between them, and the p-value is that of
        Hoeffding and Bentkus (Bates et al. 2021, doi:10.1145/3478535, section 3.1)
    """
    tail = special.bdtr(np.ceil(lost - _ROUNDING), answered, alpha)
    if not binary:
        mean = np.minimum(np.nan_to_num(divide(lost, answered)), alpha)
        entropy = special.rel_entr(mean, alpha) + special.rel_entr(1 - mean, 1 - np.asarray(alpha, dtype=np.float64))
        tail = np.minimum(np.exp(-answered * entropy), np.e * tail)
    return np.where(answered > 0, tail, 1.0)


def fixed_sequence(answered: IntArray, lost: FloatArray, alpha: float, delta: float, *, binary: bool) -> IntArray:
    """Return the lowest threshold of an unbroken descent of rejected tests, as a place in the grid, or `NONE`.

    Parameters
    ----------
    answered, lost : shape (..., thresholds), counts and losses at each threshold, see `at_or_above`

    Notes
    -----
    A threshold is passed over where it answers too few cases to be rejected even if nothing were lost, or fewer than
    `LEAST_COVERAGE` of the cases: among so few, one wrong answer would end the search. That depends on confidences
    alone. The promise is exact where a lower confidence means no lower risk; in simulation it holds elsewhere, too
    (tests/simulation/test_selective.py).
    """
    fewest = np.ceil(LEAST_COVERAGE * answered[..., :1] - _ROUNDING)
    tested = ((1 - alpha) ** answered <= delta) & (answered >= fewest)
    failed = np.zeros(tested.shape, dtype=bool)
    failed[tested] = risk_p(lost[tested], answered[tested], alpha, binary=binary) > delta
    broken = np.logical_or.accumulate(failed[..., ::-1], axis=-1)[..., ::-1]
    passed = tested & ~broken
    return np.where(passed.any(axis=-1), np.argmax(passed, axis=-1), NONE).astype(np.int64)


def upper_bound(lost: FloatArray, answered: IntArray, delta: float, *, binary: bool) -> FloatArray:
    """Return the largest mean loss that `risk_p` does not reject at level delta; 1 where nothing was answered.

    For losses of 0 and 1 it is the one-sided upper bound of Clopper and Pearson.
    """
    low, high = np.nan_to_num(divide(lost, answered)), np.ones(np.shape(lost))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rejected = risk_p(lost, answered, middle, binary=binary) <= delta
        low, high = np.where(rejected, low, middle), np.where(rejected, middle, high)
    return high
