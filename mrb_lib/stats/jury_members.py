"""What each member adds to a jury, and how its accuracy grows with its size."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import factorial
from typing import NamedTuple

import numpy as np

from mrb_lib.stats.jury_votes import Choices, largest, prefixes, share_right, votes
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray
from mrb_lib.stats.panel import ABSENT

FEWEST = 24
LARGEST_GREEDY = 5

Scorer = Callable[[Choices], FloatArray]
"""Scores of juries' choices: (juries, dimensions, cases, orders, repeats) to (juries, dimensions, cases)."""


class Orderings(NamedTuple):
    """Averages over random orders of joining a jury.

    Attributes
    ----------
    added : shape (members, dimensions, cases), what each adds on joining (the value of Shapley, by case)
    error : shape (members, dimensions), its Monte-Carlo standard error over the cases; 0 where all orders were tried
    by_size : shape (members, dimensions, cases), the score of a random jury of 1, 2, ... members
    tried : how many orders
    """

    added: FloatArray
    error: FloatArray
    by_size: FloatArray
    tried: int


def orderings(members: int, seed: int) -> tuple[IntArray, bool]:
    """Orders of joining, shape (orders, members), and whether these are all there are.

    A random order and its rotations, so that each member comes once in every place, as often as it takes to make
    `FEWEST`; the place makes the largest difference to what a member adds.
    """
    if factorial(members) <= FEWEST:
        return np.array(list(itertools.permutations(range(members))), dtype=np.int64).reshape(-1, members), True
    generator = np.random.default_rng([seed, 3])
    rotation = (np.arange(members)[:, None] + np.arange(members)) % members
    return np.vstack([generator.permutation(members)[rotation] for _ in range(-(-FEWEST // members))]), False


def joining(choice: Choices, scorer: Scorer, counted: BoolArray, seed: int) -> Orderings:
    """Let the members join in random orders; a jury of nobody gives no verdict and scores 0.

    Parameters
    ----------
    choice : shape (members, dimensions, cases, orders, repeats)
    counted : shape (dimensions, cases), where the whole jury is scored; elsewhere the result is NaN
    """
    orders, complete = orderings(len(choice), seed)
    added, by_size = np.zeros((2, len(choice), *counted.shape))
    means = np.zeros((len(orders), len(choice), len(counted)))
    share = counted / np.fmax(counted.sum(axis=1, keepdims=True), 1)
    for i, order in enumerate(orders):
        score = np.nan_to_num(scorer(prefixes(choice[order])))
        step = np.diff(score, axis=0, prepend=0.0)
        added[order] += step
        by_size += score
        means[i] = np.einsum("mdn,dn->md", step, share)
    tried = len(orders)
    outside = np.where(counted, 0.0, np.nan)
    error = np.zeros(means.shape[1:]) if complete else _error(means, orders)
    return Orderings(added / tried + outside, error, by_size / tried + outside, tried)


def _error(means: FloatArray, orders: IntArray) -> FloatArray:
    """The standard error of each member's mean, from what neither its place nor it itself explains.

    `means`, of shape (orders, places, dimensions), is what the member in that place added.
    """
    rest = means - means.mean(axis=0)
    tried, members = orders.shape
    of_member = np.zeros((members, tried, means.shape[2]))
    for i, order in enumerate(orders):
        of_member[order, i] = rest[i]
    error: FloatArray = of_member.std(axis=1, ddof=1) / np.sqrt(tried)
    return error


class Greedy(NamedTuple):
    """Juries built member by member, each time the one that helps most on the cases of the other folds.

    Attributes
    ----------
    score : shape (sizes, dimensions, cases)
    members : shape (folds, sizes, dimensions), who joined
    """

    score: FloatArray
    members: IntArray


def greedy(choice: Choices, scorer: Scorer, fold: IntArray) -> Greedy:
    """Choose members on the other folds and score them on this one, so that no case chooses its own judges."""
    n_members, n_dimensions, n_cases = choice.shape[:3]
    sizes, n_folds = min(n_members, LARGEST_GREEDY), int(fold.max(initial=0)) + 1
    somebody = np.broadcast_to((choice != ABSENT).any(axis=0), choice.shape)
    each = votes(choice)
    score = np.full((sizes, n_dimensions, n_cases), np.nan)
    members = np.zeros((n_folds, sizes, n_dimensions), dtype=np.int64)
    everything = np.arange(n_dimensions)
    for i in range(n_folds):
        counts = np.zeros(each.shape[:1] + each.shape[2:], dtype=np.int16)
        free = np.ones((n_members, n_dimensions), dtype=bool)
        outside = (fold != i) if n_folds > 1 else np.ones(n_cases, dtype=bool)
        for size in range(sizes):
            value = scorer(largest(counts[:, None] + each, somebody))
            trained = share_right(value, outside[:, None].astype(np.float64))[..., 0]
            best = np.where(free, np.nan_to_num(trained, nan=-1.0), -2.0).argmax(axis=0)
            members[i, size] = best
            free[best, everything] = False
            counts += each[:, best, everything]
            score[size][:, fold == i] = value[best, everything][:, fold == i]
    return Greedy(score, members)
