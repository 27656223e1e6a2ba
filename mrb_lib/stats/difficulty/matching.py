"""Cases that are equally hard for the judges, and the judges that they are matched by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from mrb_lib.stats.difficulty.mantel_haenszel import (
    MantelHaenszel,
    TwoGroups,
    ets_class,
    ets_delta,
    mantel_haenszel,
    robust,
)
from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.rasch import REACH, expectation

_STEP, _ROUNDS = 0.5, 10
_INSIDE, _OUTSIDE = 0, 1
FEWEST_JUDGES = 3
_NODES, _STEPS, _CLOSE = 21, 200, 1e-3
_PRIOR_MEAN, _PRIOR_SHARE = np.array([0.0, 1.0]), np.array([1 / 9, 1.0]) / 2000


class Matched(NamedTuple):
    """J judges inside and outside one subfield, on cases that are equally hard.

    Attributes
    ----------
    test : its arrays of shape (J,)
    groups : scores by side and level of difficulty, arrays of shape (J, 2, K)
    anchors : shape (J,), the judges that cases are matched by; a judge always takes part in its own matching
    unclear : too many judges stand out for any to be the measure of the others: all take part
    """

    test: MantelHaenszel
    groups: TwoGroups
    anchors: BoolArray
    unclear: bool


def match(value: FloatArray, side: IntArray, weights: FloatArray, clusters: IntArray | None) -> Matched:
    """Match the cases by the judges that do not stand out in the subfield.

    Parameters
    ----------
    value : shape (J, N), NaN where there is no score
    side : shape (N,), 0 for a case inside the subfield, 1 outside, -1 for one in no subfield
    weights : shape (J,), the discriminations of the judges
    clusters : shape (N,), codes; None where cases are independent

    Notes
    -----
    As in the two steps of Holland and Thayer (1988, in Wainer and Braun, Test Validity), repeated until nothing changes
    (Candell and Drasgow, Appl. Psychol. Meas. 12 (1988) 253-260): judges in class B or C leave the matching of the
    others. The first step takes deltas from their median over judges, since judges that are weak together make all
    others look strong by the same amount. A majority must be left: where it is not, nobody can tell who stands out.
    """
    judged: BoolArray = np.asarray(np.isfinite(value).any(axis=1))
    anchors, unclear = judged, False
    test, groups = compare(value, side, anchors, weights, clusters)
    found = np.isfinite(_log(test.odds_ratio))
    centre = float(np.median(_log(test.odds_ratio)[found])) if found.any() else 0.0
    for _ in range(_ROUNDS):
        kept, unclear = _kept(judged, _log(test.odds_ratio) - centre, test)
        if (kept == anchors).all():
            break
        anchors, centre = kept, 0.0
        test, groups = compare(value, side, anchors, weights, clusters)
    if unclear and (anchors != judged).any():
        anchors = judged
        test, groups = compare(value, side, anchors, weights, clusters)
    return Matched(test, groups, anchors, unclear)


def compare(
    value: FloatArray, side: IntArray, anchors: BoolArray, weights: FloatArray, clusters: IntArray | None
) -> tuple[MantelHaenszel, TwoGroups]:
    """Compare the two sides within levels of difficulty by the anchors; parameters as in `match`."""
    level = levels(value, anchors, weights)
    groups = by_level(value, side, level)
    test = mantel_haenszel(groups)
    return (test if clusters is None else robust(test, groups, value, level, side, clusters)), groups


def levels(value: FloatArray, anchors: BoolArray, weights: FloatArray) -> IntArray:
    """Return the level of each case for each judge, shape (J, N), -1 without a score.

    Level k is k / 2 judges that are right, of the anchors and the judge itself, each counted by its weight.
    """
    seen = np.isfinite(value)
    scores, most = np.where(seen, value, 0.0), int(anchors.sum())
    others = ~anchors[:, None] * weights[:, None]  # a judge that is no anchor counts in its own matching
    right, of = ((anchors * weights) @ each + others * each for each in (scores, seen))
    share = np.nan_to_num(divide(right, of))
    return np.where(seen, np.round(share * (most + ~anchors[:, None]) / _STEP).astype(np.int64), -1)


def by_level(value: FloatArray, side: IntArray, level: IntArray) -> TwoGroups:
    """Count cases, and sum scores and their squares, by judge, side and level of difficulty."""
    shape = len(value), 2, 2 * len(value) + 1
    used = (level >= 0) & (side >= 0)
    judge, case = np.nonzero(used)
    cell = np.ravel_multi_index((judge, side[case], level[used]), shape)
    scores = value[used]
    sums = (np.bincount(cell, each, int(np.prod(shape))).reshape(shape) for each in (None, scores, scores**2))
    return TwoGroups(*(each.astype(np.float64) for each in sums))


def _kept(judged: BoolArray, log_ratio: FloatArray, test: MantelHaenszel) -> tuple[BoolArray, bool]:
    """Return who does not stand out, and whether too many do: then the majority that does so least is kept."""
    ets = ets_delta(np.exp(log_ratio), test.log_se, test.df)
    stands_out = np.isin(ets_class(ets.delta, ets.p_zero, ets.p_small), ("B", "C"))
    kept: BoolArray = np.asarray(judged & ~stands_out)
    most = max(2, int(judged.sum()) // 2 + 1)
    if kept.sum() >= most or not stands_out.any():
        return kept, False
    distance = np.where(judged, np.nan_to_num(np.abs(log_ratio), nan=np.inf), np.inf)
    order = np.lexsort((distance, stands_out, ~judged))
    return np.isin(np.arange(len(judged)), order[: min(most, int(judged.sum()))]), True


def _log(ratio: FloatArray) -> FloatArray:
    return np.log(np.where(ratio > 0, ratio, np.nan))


def discriminations(value: FloatArray) -> FloatArray | None:
    """Return the discrimination of each judge, relative to their mean; None where it cannot be estimated.

    Parameters
    ----------
    value : shape (J, N), scores from 0 to 1, a fraction being a share of a success; NaN where there is none

    Returns
    -------
    float array, shape (J,), with mean 1 over the judges with a score; 0 for one that is right as often on hard cases as
    on easy ones, or more often on hard ones. None with fewer than three judges, where none is right more often on easy
        cases, and where the algorithm has not converged.

    Notes
    -----
    The two-parameter logistic model with judges in the place of test items and cases in that of persons: logit
    P(right) = intercept + discrimination x ease, the cases' ease standard normal and integrated out, the rest by the EM
    algorithm (Bock and Aitkin, doi:10.1007/BF02293801). Priors keep estimates finite: discriminations normal about 1
    with standard deviation 1, intercepts about 0 with 3, once for every 2,000 cases. The sufficient statistic of a case
    is the sum of its scores weighted by discrimination (Birnbaum 1968, in Lord and Novick, Statistical Theories of
    Mental Test Scores): given that, whether a judge is right does not depend on how easy the case is, nor on its
    subfield. Compared with another implementation in `tests/stats/test_discrimination.py`.
    """
    seen = np.isfinite(value)
    judged = seen.any(axis=1)
    if judged.sum() < FEWEST_JUDGES:
        return None
    ease = np.linspace(-REACH, REACH, _NODES)
    n_correct, n_trials = np.where(seen, value, 0.0).T, seen.T.astype(np.float64)
    precision = _PRIOR_SHARE * float(seen.sum() / judged.sum())
    intercept, slope = np.zeros((len(value), 1)), np.ones((len(value), 1))
    for _ in range(_STEPS):
        posterior, _ = expectation(n_correct, n_trials, intercept + slope * ease, ease)
        hits, tries = n_correct.T @ posterior, n_trials.T @ posterior
        mean = expit(intercept + slope * ease)
        residual, weight = hits - tries * mean, tries * mean * (1 - mean)
        score = np.stack([residual.sum(axis=1), residual @ ease], axis=1)
        score -= precision * (np.hstack([intercept, slope]) - _PRIOR_MEAN)
        sums = np.stack([weight.sum(axis=1), weight @ ease, weight @ ease**2], axis=1)
        information = sums[:, [0, 1, 1, 2]].reshape(-1, 2, 2) + precision * np.eye(2)
        step = np.clip(np.linalg.solve(information, score[:, :, None])[:, :, 0], -1.0, 1.0)
        intercept, slope = intercept + step[:, :1], slope + step[:, 1:]
        if np.abs(step).max() < _CLOSE:
            break
    else:
        return None
    slopes = np.where(judged, np.maximum(slope[:, 0], 0.0), 0.0)
    total = float(slopes.sum())
    return slopes * judged.sum() / total if total > 0 else None
