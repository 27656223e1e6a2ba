"""Verdicts of juries from the verdicts of their members: arrays in, arrays out.

A choice is coded as in `mrb_lib.stats.core.panel.Panel`. A jury's verdict in an order and repeat comes from its
members'
verdicts in that order and repeat. The rule is that of `consensus-of`: the choice with the most votes, a tie where
several share them, null where no member has a choice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrb_lib.schema import CHOICES
from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.core.panel import ABSENT, NULL, TIE
from mrb_lib.stats.gold.dawid_skene import em, label_counts
from mrb_lib.stats.juries.jury_tally import Choices

FOLDS = 5
_FEW = 8
_ROUNDING = 1e-9


def largest(counts: FloatArray | NDArray[np.int16], somebody: BoolArray) -> Choices:
    """The choice with the largest count.

    Parameters
    ----------
    counts : shape (3, ...), the votes or weights of A, B and tie
    somebody : shape (...), whether there is a verdict of any member of the whole jury; where not, it is absent
    """
    a, b, tie = counts
    choice = np.full(somebody.shape, ABSENT, dtype=np.int8)
    choice[somebody] = TIE
    choice[somebody & (a > np.maximum(b, tie) + _ROUNDING)] = 0
    choice[somebody & (b > np.maximum(a, tie) + _ROUNDING)] = 1
    choice[somebody & (np.maximum(np.maximum(a, b), tie) <= 0)] = NULL
    return choice


def votes(choice: Choices) -> NDArray[np.int16]:
    """The vote of each member, shape (3, members, ...) from (members, ...)."""
    return np.stack([choice == code for code in range(len(CHOICES))]).astype(np.int16)


def majority(choice: Choices) -> Choices:
    """One vote a member, shape (members, ...) to (...)."""
    return largest(votes(choice).sum(axis=1, dtype=np.int16), (choice != ABSENT).any(axis=0))


def folds(codes: IntArray, seed: int) -> IntArray:
    """The fold of each case, shape (N,); the cases of a cluster are in one."""
    clusters, position = np.unique(codes, return_inverse=True)
    order = np.random.default_rng([seed, 2]).permutation(len(clusters))
    return np.asarray(order[position.reshape(-1)] % max(1, min(FOLDS, len(clusters))), dtype=np.int64)


def weights(choice: Choices, labels: IntArray, fold: IntArray) -> FloatArray:
    """Log-odds weights of members from the other folds, shape (folds, members, dimensions).

    Parameters
    ----------
    choice : shape (members, dimensions, cases, orders, repeats)
    labels : shape (dimensions, cases), -1 for none

    Notes
    -----
    Independent members with probability p of the right one of K labels, errors spread evenly, are best weighted by
    log(p (K - 1) / (1 - p)) (Nitzan and Paroush 1982, doi:10.2307/2526438, for K = 2). p is estimated with one success
    more, and K more trials, than were seen, from verdicts with a choice; who is no better than chance has no weight.
    """
    used = (choice >= 0) & (labels >= 0)[None, :, :, None, None]
    right = (used & (choice == labels[None, :, :, None, None])).sum(axis=(3, 4)).astype(np.float64)
    given = used.sum(axis=(3, 4)).astype(np.float64)
    outside = (fold[:, None] != np.arange(fold.max(initial=0) + 1)).astype(np.float64)
    right, given = right @ outside, given @ outside
    seen = sum((labels == code).any(axis=1).astype(np.float64) for code in range(len(CHOICES)))
    kinds = np.maximum(seen, 2.0)[None, :, None]
    share = (right + 1.0) / (given + kinds)
    return np.moveaxis(np.maximum(np.log(share * (kinds - 1.0) / (1.0 - share)), 0.0), 2, 0)


def weighted(choice: Choices, weight: FloatArray, fold: IntArray) -> Choices:
    """Votes weighted by what is known from the other folds, shape (dimensions, cases, orders, repeats).

    Where every vote has no weight, but there is one, the verdict is a tie.

    Parameters
    ----------
    weight : shape (folds, members, dimensions)
    """
    each = weight[fold].transpose(1, 2, 0)[..., None, None]
    counts = np.stack([np.where(choice == code, each, 0.0).sum(axis=0) for code in range(len(CHOICES))])
    out = largest(counts, (choice != ABSENT).any(axis=0))
    return np.where((out == NULL) & (choice >= 0).any(axis=0), TIE, out).astype(np.int8)


def dawid_skene(choice: Choices) -> Choices:
    """The most probable label by Dawid and Skene's model, shape (dimensions, cases, orders, repeats).

    Every case, order and repeat is an item of its own; no gold label is used. Equal probabilities are a tie.
    """
    out = np.where((choice != ABSENT).any(axis=0), NULL, ABSENT).astype(np.int8)
    n_dimensions = choice.shape[1]
    flat = out.reshape(n_dimensions, -1)
    if len(choice) <= _FEW:
        kinds, item = _kinds(choice.reshape(len(choice), n_dimensions, -1))
        if 2 * len(kinds) <= flat.shape[1]:
            times = np.stack([np.bincount(those, minlength=len(kinds)) for those in item]).astype(np.float64)
            flat[:] = np.where(flat == ABSENT, ABSENT, np.take_along_axis(_probable(kinds, times), item, axis=1))
            return out
    items = np.maximum(choice.reshape(len(choice), n_dimensions, -1), -1).transpose(1, 2, 0).astype(np.int64)
    for those, found in zip(items, flat, strict=True):
        found[:] = np.where(found == ABSENT, ABSENT, _probable(those)[0])
    return out


def _kinds(choice: Choices) -> tuple[IntArray, IntArray]:
    """The `patterns` of the items of all dimensions, of few members: shape (members, dimensions, items)."""
    digits = len(CHOICES) + 1
    code = np.zeros(choice.shape[1:], dtype=np.int64)
    for given in choice:
        code = digits * code + (np.maximum(given, -1) + 1)
    found = np.flatnonzero(np.bincount(code.ravel(), minlength=digits ** len(choice)))
    place = np.zeros(digits ** len(choice), dtype=np.int64)
    place[found] = np.arange(len(found))
    return found[:, None] // digits ** np.arange(len(choice))[::-1] % digits - 1, place[code]


def _probable(kinds: IntArray, times: FloatArray | None = None) -> Choices:
    """The most probable label of each kind of item, shape (b, kinds), that comes `times`, of that shape; None: once."""
    posterior = em(label_counts(kinds, len(CHOICES)), times, tolerance=1e-6, iterations=500).posterior
    known = np.where(np.isfinite(posterior).all(axis=2, keepdims=True), posterior, 0.0)
    return largest(np.moveaxis(known, 2, 0), np.ones(known.shape[:2], dtype=bool))


def share_right(value: FloatArray, kept: FloatArray) -> FloatArray:
    """The mean over the cases that count, shape (..., k) from scores (..., cases) and which to keep, (cases, k)."""
    counted = np.isfinite(value)
    if counted.all():
        return divide(value @ kept, kept.sum(axis=0))
    return divide(np.where(counted, value, 0.0) @ kept, counted.astype(np.float64) @ kept)
