"""What each member adds to a jury, and how its accuracy grows with its size."""

from __future__ import annotations

import itertools
from math import factorial
from typing import NamedTuple

import numpy as np

from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.juries.jury_tally import Tally, spread
from mrb_lib.stats.juries.jury_votes import share_right

FEWEST = 24
LARGEST_GREEDY = 5


class Orderings(NamedTuple):
    """Random orders of joining a jury.

    Attributes
    ----------
    added : shape (members, dimensions, cases), what each adds on joining, by case, summed over the orders
    error : shape (members, dimensions), the Monte-Carlo standard error of its mean; 0 where all orders were tried
    by_size : shape (members, dimensions, cases), the score of juries of 1, 2, ... members, summed over those with one
    formed : shape (members, dimensions), how many juries of each size have one
    tried : how many orders
    """

    added: FloatArray
    error: FloatArray
    by_size: FloatArray
    formed: IntArray
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


def joining(tally: Tally, counted: BoolArray, seed: int) -> Orderings:
    """Let the members join in random orders; a jury of nobody, or without any answer, gives no verdict and scores 0.

    Parameters
    ----------
    counted : shape (dimensions, cases), where the whole jury is scored; elsewhere the result is NaN
    """
    members = tally.votes.shape[1]
    orders, complete = orderings(members, seed)
    added, by_size = np.zeros((2, members, *counted.shape))
    formed = np.zeros((members, len(counted)), dtype=np.int64)
    means = np.zeros((len(orders), members, len(counted)))
    cases = counted.sum(axis=1)
    for i, order in enumerate(orders):
        value = tally.scores(np.cumsum(tally.votes[:, order], axis=1))
        known = np.broadcast_to(cases > 0, formed.shape)
        if tally.excludes:
            value, known = spread(value, counted)
        by_size += value
        formed += known
        value[1:] -= value[:-1].copy()
        added[order] += value
        means[i] = divide(np.where(counted, value, 0.0).sum(axis=2), cases)
    outside = np.where(counted, 0.0, np.nan)
    error = np.zeros(means.shape[1:]) if complete else _error(means, orders)
    return Orderings(added + outside, error, by_size + outside, formed, len(orders))


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


def greedy(tally: Tally, fold: IntArray, known: BoolArray) -> Greedy:
    """Choose members on the other folds and score them on this one, so that no case chooses its own judges.

    Parameters
    ----------
    fold : shape (cases,)
    known : shape (dimensions, cases), whether any case of the other folds has a label; where not, the score is NaN
    """
    n_members, n_dimensions, n_cases = tally.votes.shape[1:]
    sizes, n_folds = min(n_members, LARGEST_GREEDY), int(fold.max(initial=0)) + 1
    score = np.full((sizes, n_dimensions, n_cases), np.nan)
    members = np.zeros((n_folds, sizes, n_dimensions), dtype=np.int64)
    everything = np.arange(n_dimensions)
    first = tally.scores(tally.votes)
    for i in range(n_folds):
        sums = np.zeros_like(tally.votes[:, 0])
        free = np.ones((n_members, n_dimensions), dtype=bool)
        others = (fold != i).astype(np.float64)[:, None]
        for size in range(sizes):
            value = tally.scores(sums[:, None] + tally.votes) if size else first
            trained = share_right(value, others)[..., 0]
            best = np.where(free, np.nan_to_num(trained, nan=-1.0), -2.0).argmax(axis=0)
            members[i, size] = best
            free[best, everything] = False
            sums += tally.votes[:, best, everything]
            score[size][:, fold == i] = value[best, everything][:, fold == i]
    return Greedy(np.where(known, score, np.nan), members)
