"""Verdicts of juries from the verdicts of their members: arrays in, arrays out.

A choice is coded as in `mrb_lib.stats.core.panel.Panel`, one of `k` categories, of which `tie` is the tie. A jury's
verdict in an order and repeat comes from its members' verdicts in that order and repeat. The rule is that of
`consensus-of`: the choice with the most votes, a tie where several share them (of ratings, which have no tie, null),
null where no member has a choice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.core.panel import ABSENT, NULL, TIE
from mrb_lib.stats.dawid_skene import em, label_counts, patterns
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.tables.schema import CHOICES

Choices = NDArray[np.int8]
FOLDS = 5
_ROUNDING = 1e-9


def largest(counts: FloatArray | IntArray | NDArray[np.int16], somebody: BoolArray, tie: int = TIE) -> Choices:
    """The choice with the largest count.

    Parameters
    ----------
    counts : shape (k, ...), the votes or weights of the choices
    somebody : shape (...), whether any member of the jury has a verdict; where not, the jury's is absent
    """
    margin = counts.dtype.type(_ROUNDING if counts.dtype.kind == "f" else 0)
    top = counts.max(axis=0)
    choice = np.full(somebody.shape, tie, dtype=np.int8)
    alone = (counts >= top - margin).sum(axis=0) == 1
    np.copyto(choice, counts.argmax(axis=0), where=alone, casting="unsafe")
    np.copyto(choice, NULL, where=top <= 0)
    np.copyto(choice, ABSENT, where=~somebody)
    return choice


def majority(choice: Choices, k: int = len(CHOICES), tie: int = TIE) -> Choices:
    """One vote a member, shape (members, ...) to (...)."""
    counts = np.stack([(choice == code).sum(axis=0, dtype=np.int16) for code in range(k)])
    return largest(counts, (choice != ABSENT).any(axis=0), tie)


def central(choice: Choices, numbers: FloatArray) -> tuple[Choices, Choices]:
    """The categories nearest to the median and to the mean of the members' numbers, the lower one halfway between two.

    Parameters
    ----------
    choice : shape (members, ...), codes of ordered categories
    numbers : shape (k,), what the categories count as, ascending
    """
    given = choice >= 0
    values = np.ma.masked_array(numbers[choice], ~given)
    half = (numbers[1:] + numbers[:-1]) / 2
    out = []
    for middle in (np.ma.median(values, axis=0), values.mean(axis=0)):  # type: ignore[no-untyped-call]  # numpy's
        nearest = np.searchsorted(half, np.ma.filled(middle, numbers[0]) - _ROUNDING).astype(np.int8)
        out.append(np.select([(choice == ABSENT).all(axis=0), ~given.any(axis=0)], [ABSENT, NULL], nearest))
    return out[0].astype(np.int8), out[1].astype(np.int8)


def spread(value: FloatArray, counted: BoolArray) -> tuple[FloatArray, BoolArray]:
    """Scores on some of the cases, spread over all that count, so that their mean stays what it is.

    Parameters
    ----------
    value : shape (..., dimensions, cases), NaN where not scored
    counted : shape (dimensions, cases), the cases to spread over, which include all that are scored

    Returns
    -------
    the scores, 0 outside `counted` and where nothing is scored; and whether anything is, shape (..., dimensions)

    Notes
    -----
    A case that is not scored gets the mean m, and one that is, m + (value - m) N / n, for n of N cases scored: the
    values of the infinitesimal jackknife (Efron 1982, doi:10.1137/1.9781611970319) of a ratio of sums, so
    that a mean of such ratios has one value a case.
    """
    there = np.isfinite(value)
    own, whole = there.sum(axis=-1), counted.sum(axis=-1)
    mean = divide(np.where(there, value, 0.0).sum(axis=-1), own)
    scale = divide(np.broadcast_to(whole, own.shape).astype(np.float64), own)
    defined = own > 0
    mean, scale = np.where(defined, mean, 0.0)[..., None], np.where(defined, scale, 0.0)[..., None]
    return np.where(counted, mean + np.where(there, value - mean, 0.0) * scale, 0.0), defined


def folds(codes: IntArray, seed: int) -> IntArray:
    """The fold of each case, shape (N,); the cases of a cluster are in one."""
    clusters, position = np.unique(codes, return_inverse=True)
    order = np.random.default_rng([seed, 2]).permutation(len(clusters))
    return np.asarray(order[position.reshape(-1)] % max(1, min(FOLDS, len(clusters))), dtype=np.int64)


def weights(choice: Choices, labels: IntArray, fold: IntArray, k: int = len(CHOICES)) -> FloatArray:
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
    outside = (fold[:, None] != np.arange(fold.max(initial=0) + 1)).astype(np.float64)
    n_correct = (used & (choice == labels[None, :, :, None, None])).sum(axis=(3, 4)) @ outside
    n_trials = used.sum(axis=(3, 4)) @ outside
    seen = sum((labels == code).any(axis=1).astype(np.float64) for code in range(k))
    kinds = np.maximum(seen, 2.0)[None, :, None]
    share = (n_correct + 1.0) / (n_trials + kinds)
    return np.moveaxis(np.maximum(np.log(share * (kinds - 1.0) / (1.0 - share)), 0.0), 2, 0)


def weighted(choice: Choices, weight: FloatArray, fold: IntArray, k: int = len(CHOICES), tie: int = TIE) -> Choices:
    """Votes weighted by what is known from the other folds, shape (dimensions, cases, orders, repeats).

    Where every vote has no weight, but there is one, the verdict is a tie, of ratings null.

    Parameters
    ----------
    weight : shape (folds, members, dimensions)
    """
    each = weight[fold].transpose(1, 2, 0)[..., None, None]
    counts = np.stack([np.where(choice == code, each, 0.0).sum(axis=0) for code in range(k)])
    out = largest(counts, (choice != ABSENT).any(axis=0), tie)
    return np.where((out == NULL) & (choice >= 0).any(axis=0), tie, out).astype(np.int8)


def dawid_skene(choice: Choices, k: int = len(CHOICES), tie: int = TIE) -> Choices:
    """The most probable label by Dawid and Skene's model, shape (dimensions, cases, orders, repeats).

    Every case, order and repeat is an item of its own; no gold label is used. Equal probabilities are a tie
    (of ratings null).
    """
    items = np.maximum(choice.reshape(*choice.shape[:2], -1), -1).transpose(1, 2, 0).astype(np.int64)
    rows, kind = patterns(items.reshape(-1, items.shape[2]))
    labels, kind = np.empty(items.shape[:2], dtype=np.int8), kind.reshape(items.shape[:2])
    used = np.stack([(items == code).any(axis=(1, 2)) for code in range(k)], axis=1)
    # A label that nobody gives in a dimension is none of the model there; those with the same ones are fitted at once.
    for given in np.unique(used, axis=0):
        some = np.flatnonzero((used == given).all(axis=1))
        for part in some[None] if len(rows) <= items.shape[1] else some[:, None]:
            labels[part] = _probable(rows, kind[part], k, tie)
    labels = labels.reshape(choice.shape[1:])
    return np.where((choice == ABSENT).all(axis=0), ABSENT, labels).astype(np.int8)


def _probable(rows: IntArray, kind: IntArray, k: int, tie: int) -> Choices:
    """The most probable label of each item, shape (dimensions, items), from the row of members' labels it has."""
    there, which = np.unique(kind, return_inverse=True)
    which = which.reshape(kind.shape)
    times = np.stack([np.bincount(of_dimension, minlength=len(there)) for of_dimension in which]).astype(np.float64)
    posterior = em(label_counts(rows[there], k), times, tolerance=1e-6, iterations=500).posterior
    probability = np.where(np.isfinite(posterior).all(axis=2, keepdims=True), posterior, 0.0)
    labels = largest(np.moveaxis(probability, 2, 0), np.ones(times.shape, dtype=bool), tie)
    return np.take_along_axis(labels, which, axis=1)


def share_right(value: FloatArray, kept: FloatArray) -> FloatArray:
    """The mean over the cases that count, shape (..., k) from scores (..., cases) and which to keep, (cases, k)."""
    counted = np.isfinite(value)
    if counted.all():
        return divide(value @ kept, kept.sum(axis=0))
    return divide(np.where(counted, value, 0.0) @ kept, counted.astype(np.float64) @ kept)
