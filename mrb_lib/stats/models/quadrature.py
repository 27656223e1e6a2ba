"""Quadrature rules for normal random intercepts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.options import FloatArray

# Judges on a case, whose few verdicts have no mode to speak of, have a trapezoid sum: with such steps, in logistic
# scales and in standard deviations, its error moves an estimate by less than 1% of its standard error.
_JUDGE_REACH, _JUDGE_STEPS = 5.0, (2.0, 0.7)
_GRID_REACH, _GRID_STEP = 8.0, 0.5


class Rule(NamedTuple):
    """A quadrature: nodes and logarithms of their weights, without the density, shape (K,).

    Those of cases are centred and scaled at each case's mode if `own`. Others stand still: where the standard deviation
    is so wide that a case with all verdicts alike has no mode to speak of, only a fine grid follows its likelihood.
    """

    z: FloatArray
    log_weight: FloatArray
    own: bool
    widest: float


ONE_NODE = Rule(np.zeros(1), np.array([np.log(2 * np.pi) / 2]), own=False, widest=np.inf)


def centred(count: int, widest: float) -> Rule:
    """Gauss and Hermite's rule of so many nodes, good up to that standard deviation."""
    z, weight = np.polynomial.hermite_e.hermegauss(count)
    return Rule(z, np.log(weight) + z**2 / 2, True, widest)


def for_judges(widest: float) -> Rule:
    """A trapezoid sum for judges on a case, up to that standard deviation."""
    logistic, normal = _JUDGE_STEPS
    return _trapezoid(min(normal, logistic / widest), _JUDGE_REACH, widest)


def grid(sd: float) -> Rule:
    """A trapezoid sum for cases, whose steps are half a logistic scale or less, up to twice `sd`."""
    widest = 2 * sd
    return _trapezoid(min(_GRID_STEP, 1 / widest), _GRID_REACH, widest)


def _trapezoid(step: float, reach: float, widest: float) -> Rule:
    count = int(np.ceil(reach / step))
    z = step * np.arange(-count, count + 1.0)
    return Rule(z, np.full(len(z), np.log(step)), False, widest)
