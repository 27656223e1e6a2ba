"""The next pairs to annotate: those whose outcome the annotations so far leave most open."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import expit, log_expit

from mrb_lib.build.construct.pairing.balance import NONE
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray

PRIOR: Final = 1.0
_STEPS, _DRAWS = 50, 64


def posterior(wins: FloatArray, ties: FloatArray, *, prior: float = PRIOR) -> tuple[FloatArray, FloatArray]:
    """Log strengths and their covariance after some comparisons, by Laplace's approximation; defined without any, too.

    Parameters
    ----------
    wins, ties : shape (r, r), wins of the row over the column; ties, symmetric, count half a win of either
    prior : standard deviation of the normal prior of every log strength

    Returns
    -------
    tuple of float arrays of shapes (r,) and (r, r)
    """
    r = len(wins)
    scored = wins + ties / 2
    n, x = scored + scored.T, np.zeros(r)
    for _ in range(_STEPS):
        p = expit(x[:, None] - x[None, :])
        weight = n * p * (1 - p)
        information = np.diag(weight.sum(axis=1)) - weight + np.eye(r) / prior**2
        step = np.linalg.solve(information, (scored - n * p).sum(axis=1) - x / prior**2)
        x = x + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-9:
            break
    return x, np.asarray(np.linalg.inv(information), dtype=np.float64)


def adaptive_pairs(
    allowed: BoolArray,
    pairs: IntArray,
    n_new: int,
    wins: FloatArray,
    ties: FloatArray,
    waiting: FloatArray,
    rng: np.random.Generator,
) -> IntArray:
    """Choose pairs one after the other, every other one where an annotation is expected to narrow the ranking most.

    Parameters
    ----------
    allowed : shape (n, p), which pairs of responders an item may still have
    pairs : shape (p, 2), the responders of each pair
    n_new : cases to add, at most one an item
    wins, ties : shape (r, r), the gold labels so far
    waiting : shape (p,), cases of each pair that are dealt out and have no label yet
    rng : draws the items of a pair, strengths, and the order of equals

    Returns
    -------
    shape (n,), the pair that each item gets, `NONE` for items that get none

    Notes
    -----
    A comparison with win probability p adds the information p (1 - p), largest where its outcome is most open, to the
    difference of two log strengths; it is worth most where that difference is still vague. The gain is the expected
    fall of the variances, relative to what they are now, of the log strengths and of the strengths (which sum to 1)
    together (A-optimality); p (1 - p) is a mean over the posterior. Labels still to come count as if they were there.
    Every second case goes to the pair that met least often, whatever the labels say: where luck alone decides who
    is asked about again, estimates keep that luck. What it saves, and what bias remains:
    `tests/simulation/test_adaptive_pairs.py`.
    """
    r = len(wins)
    x, covariance = posterior(wins, ties)
    draws = rng.multivariate_normal(x, covariance, size=_DRAWS, method="cholesky")
    direction = np.eye(r)[pairs[:, 0]] - np.eye(r)[pairs[:, 1]]
    gap = draws @ direction.T
    weight = np.exp(log_expit(gap) + log_expit(-gap)).mean(axis=0)
    centre = np.eye(r) - 1 / r
    strength = np.exp(x - x.max()) / np.exp(x - x.max()).sum()
    slope = np.diag(strength) - np.outer(strength, strength)
    of_log, of_strength = np.trace(centre @ covariance @ centre), np.trace(slope @ covariance @ slope.T)
    target = centre @ centre.T / of_log + slope.T @ slope / of_strength
    for pair in np.flatnonzero(waiting > 0).tolist():
        covariance = _after(covariance, direction[pair], waiting[pair] * weight[pair])
    met = (wins + wins.T + ties)[pairs[:, 0], pairs[:, 1]] + waiting
    chosen = np.full(len(allowed), NONE, dtype=np.int64)
    free = allowed.copy()
    for number in range(n_new):
        possible = free.any(axis=0)
        if not possible.any():
            break
        moved = direction @ covariance
        vague = (moved * direction).sum(axis=1)
        gain = weight * np.einsum("pi,ij,pj->p", moved, target, moved) / (1 + weight * vague)
        worth = -met if number % 2 else gain
        best = np.flatnonzero(possible & (worth >= worth[possible].max() - 1e-12))
        pair = int(best[rng.integers(len(best))])
        met[pair] += 1
        able = np.flatnonzero(free[:, pair])
        item = able[rng.integers(len(able))]
        chosen[item] = pair
        free[item] = False
        covariance = _after(covariance, direction[pair], weight[pair])
    return chosen


def _after(covariance: FloatArray, direction: FloatArray, weight: float) -> FloatArray:
    """The covariance once a difference of log strengths has so much more information (Sherman and Morrison)."""
    moved = covariance @ direction
    out: FloatArray = covariance - np.outer(moved, moved) * (weight / (1 + weight * float(direction @ moved)))
    return out
