"""The scores of everything that the table `jury` compares, case by case: what members add, and juries by size."""

from __future__ import annotations

import itertools
from dataclasses import replace
from math import comb, factorial
from typing import NamedTuple

import numpy as np

from mrb_lib.stats.accuracy.decisive import decisive
from mrb_lib.stats.core.panel import ABSENT, Panel
from mrb_lib.stats.core.scoring import score, score_of_a_coin
from mrb_lib.stats.juries.tally import Tally, tally
from mrb_lib.stats.juries.votes import central, dawid_skene, majority, share_right, spread, weighted, weights
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.subfields import Group
from mrb_lib.tables.schema import CHOICES, category_numbers

KINDS = ("majority", "weighted", "dawid_skene")
OF_ORDERED = ("median", "mean")
"""Further juries of ratings by ordered categories."""
BEST_SINGLE = "best_single"
EXACT_UP_TO = 12
ORDERINGS = 64
LARGEST_GREEDY = 5
_AT_ONCE = 4


class Joining(NamedTuple):
    """What members add on joining a jury, on average over the orders of joining.

    Attributes
    ----------
    added : shape (members, dimensions, cases), what each adds, by case
    error : shape (members, dimensions), the Monte-Carlo standard error of its mean; 0 where all juries were formed
    by_size : shape (members, dimensions, cases), the score of juries of 1, 2, ... members, summed over those with one
    formed : shape (members, dimensions), how many juries of each size have one
    tried : how many orders, all there are where all juries were formed
    """

    added: FloatArray
    error: FloatArray
    by_size: FloatArray
    formed: IntArray
    tried: int


def joining(tally: Tally, counted: BoolArray, seed: int) -> Joining:
    """Let the members join one after the other: in all orders of up to 12 members, in random orders of more.

    A jury of nobody answers as a coin does. So does one that is scored on no case of a dimension.

    Parameters
    ----------
    counted : shape (dimensions, cases), where the whole jury is scored; elsewhere the result is NaN
    """
    k, tie = len(tally.panel.categories), tally.panel.tie
    coin = np.where(counted, score_of_a_coin(tally.labels, tally.somebody.sum(axis=0), tally.policy, k, tie), 0.0)
    if tally.votes.shape[1] <= EXACT_UP_TO:
        return _every_jury(tally, counted, coin)
    return sampled(tally, counted, coin, seed)


def _every_jury(tally: Tally, counted: BoolArray, coin: FloatArray) -> Joining:
    """Shapley's values from all juries there are, and their mean by size; see `joining`."""
    members = tally.votes.shape[1]
    first = min(members, _AT_ONCE)
    inside = np.array(list(itertools.product([False, True], repeat=first)))
    base = np.stack([tally.votes[:, :first][:, some].sum(axis=1) for some in inside], axis=1)
    joins = np.array([1 / (members * comb(members - 1, max(size - 1, 0))) for size in range(members + 1)])
    stays = np.array([1 / (members * comb(members - 1, min(size, members - 1))) for size in range(members + 1)])
    added, by_size = np.zeros((2, members, *counted.shape))
    formed = np.zeros((members, len(counted)), dtype=np.int64)
    for others in itertools.product([False, True], repeat=members - first):
        who = np.hstack([inside, np.tile(np.array(others, dtype=bool), (len(inside), 1))])
        size = who.sum(axis=1)
        value, defined = _values(tally, base + tally.votes[:, first:][:, list(others)].sum(axis=1)[:, None], counted)
        defined[size == 0] = False
        of_size = (size[:, None] == np.arange(1, members + 1)).T
        by_size += np.tensordot(of_size * 1.0, np.where(defined[..., None], value, 0.0), 1)
        formed += of_size @ defined.astype(np.int64)
        share = np.where(who, joins[size][:, None], -stays[size][:, None])
        added += np.tensordot(share.T, np.where(defined[..., None], value, coin), 1)
    outside = np.where(counted, 0.0, np.nan)
    return Joining(added + outside, np.zeros(formed.shape), by_size + outside, formed, factorial(members))


def _values(tally: Tally, sums: IntArray, counted: BoolArray) -> tuple[FloatArray, BoolArray]:
    """What juries are worth, 0 outside `counted`, and whether they are scored on any case of a dimension."""
    value = tally.scores(sums)
    if tally.excludes:
        return spread(value, counted)
    return np.where(counted, value, 0.0), np.tile(counted.any(axis=1), (len(value), 1))


def orderings(members: int, seed: int) -> IntArray:
    """Random orders of joining, each followed by its reverse, shape (`ORDERINGS`, members).

    Who joins early in the one joins late in the other, so that the two differ less in what they say together.
    """
    generator = np.random.default_rng([seed, 3])
    orders = generator.permuted(np.tile(np.arange(members), (ORDERINGS // 2, 1)), axis=1)
    return np.stack([orders, orders[:, ::-1]], axis=1).reshape(-1, members)


def sampled(tally: Tally, counted: BoolArray, coin: FloatArray, seed: int) -> Joining:
    """As `joining`, in random orders.

    The place makes the largest difference to what a member adds (a jury of even size is tied more often). What all
    members add in a place, on average, is taken out and given back as if each had been in every place equally often.
    """
    members = tally.votes.shape[1]
    orders = orderings(members, seed)
    added, by_size, by_place = np.zeros((3, members, *counted.shape))
    formed = np.zeros((members, len(counted)), dtype=np.int64)
    means = np.zeros((len(orders), members, len(counted)))
    cases = counted.sum(axis=1)
    for i, order in enumerate(orders):
        value, defined = _values(tally, np.cumsum(tally.votes[:, order], axis=1), counted)
        by_size += value
        formed += defined
        value = np.where(defined[..., None], value, coin)
        value[1:] -= value[:-1].copy()
        value[0] -= coin
        added[order] += value
        by_place += value
        means[i] = divide(value.sum(axis=2), cases)
    place = np.argsort(orders, axis=1)
    too_often = (place[..., None] == np.arange(members)).mean(axis=0) - 1 / members
    added = (added - np.tensordot(too_often, by_place, 1)) / len(orders)
    rest = (means - means.mean(axis=0))[np.arange(len(orders))[:, None], place]
    pairs = rest.reshape(-1, 2, *rest.shape[1:]).mean(axis=1)  # an order and its reverse are not independent
    error = pairs.std(axis=0, ddof=1) / np.sqrt(len(pairs))
    outside = np.where(counted, 0.0, np.nan)
    return Joining(added + outside, error, by_size + outside, formed, len(orders))


class Greedy(NamedTuple):
    """Juries built member by member, each time the one that helps most on the cases of the other folds.

    Attributes
    ----------
    score : shape (sizes, dimensions, cases)
    members : shape (folds, sizes, dimensions), who joined
    """

    score: FloatArray
    members: IntArray


def greedy(tally: Tally, fold: IntArray, chosen_on: BoolArray) -> Greedy:
    """Choose members on the other folds and score them on this one, so that no case chooses its own judges.

    Parameters
    ----------
    fold : shape (cases,)
    chosen_on : shape (dimensions, cases), whether any case of the other folds has a label; where not, the score is NaN
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
    return Greedy(np.where(chosen_on, score, np.nan), members)


class JuryScores(NamedTuple):
    """Scores, NaN where a case is not scored.

    Attributes
    ----------
    singles : shape (judges, dimensions, cases)
    names : of the juries of all judges, see `kinds_of`
    kinds : shape (kinds, dimensions, cases), of these juries
    best : shape (dimensions,), the judge that is best over all cases
    crossfit : shape (dimensions, cases), of the judge that is best in the other folds
    crossfit_judge : shape (dimensions, cases), which one that is
    decisive : shape (judges + kinds + 1, dimensions), the decisive accuracy of the judges, of the juries of all and of
        the judge that is best in the other folds, with its interval, see `mrb_lib.stats.accuracy.decisive.decisive`
    without : shape (judges, dimensions, cases), what the majority loses without each judge
    joined, chosen : see `Joining` and `Greedy`
    of_ratings : whether the judges rate one response, so that nothing is decisive
    """

    singles: FloatArray
    names: tuple[str, ...]
    kinds: FloatArray
    best: IntArray
    crossfit: FloatArray
    crossfit_judge: IntArray
    decisive: dict[str, FloatArray]
    without: FloatArray
    joined: Joining
    chosen: Greedy
    of_ratings: bool = False


def _outside(fold: IntArray) -> FloatArray:
    """Whether each case is outside each fold, shape (cases, folds)."""
    return np.asarray(fold[:, None] != np.arange(fold.max(initial=0) + 1), dtype=np.float64)


def chosen_on(labels: IntArray, fold: IntArray) -> BoolArray:
    """Whether any case of the other folds has a label, shape (dimensions, cases); see `scores_of`."""
    return np.asarray(((labels >= 0).astype(np.float64) @ _outside(fold) > 0)[:, fold])


def kinds_of(panel: Panel, level: str) -> tuple[str, ...]:
    """The juries of all judges there are: `KINDS`, and of ratings by ordered categories `OF_ORDERED`."""
    return (*KINDS, *OF_ORDERED) if panel.categories != CHOICES and level != "nominal" else KINDS


def with_juries(panel: Panel, labels: IntArray, fold: IntArray, has_labels: BoolArray, level: str = "nominal") -> Panel:
    """The panel with the juries of all its judges after them, in the order of `kinds_of`; see `scores_of`."""
    choice, k, tie = panel.choice, len(panel.categories), panel.tie
    every = [majority(choice, k, tie), weighted(choice, weights(choice, labels, fold, k), fold, k, tie)]
    every[1] = np.where(has_labels[..., None, None], every[1], ABSENT)
    every.append(dawid_skene(choice, k, tie) if len(choice) > 2 else np.full_like(every[0], ABSENT))
    names = kinds_of(panel, level)
    if names != KINDS:
        numbers = category_numbers(panel.categories) if level == "interval" else range(k)
        every += central(choice, np.array(numbers, dtype=np.float64))
    return replace(panel, judges=[*panel.judges, *names], choice=np.concatenate([choice, np.stack(every)]))


def scores_of(
    panel: Panel,
    labels: IntArray,
    policy: str,
    fold: IntArray,
    codes: IntArray,
    seed: int,
    level: str = "nominal",
) -> JuryScores:
    """Form the juries of all judges of a panel, and score them.

    Parameters
    ----------
    labels : shape (dimensions, cases), -1 for none
    fold, codes : shape (cases,), the fold and the cluster of each
    level : of measurement of the categories
    """
    choice = panel.choice
    outside, has_labels = _outside(fold), chosen_on(labels, fold)
    together = with_juries(panel, labels, fold, has_labels, level)
    scored = score(together, labels, policy).score
    singles, kinds = scored[: len(choice)], scored[len(choice) :]
    counted = np.isfinite(kinds[0])
    best_outside = np.nan_to_num(share_right(singles, outside), nan=-1.0).argmax(axis=0)
    everyone = share_right(singles, np.ones((len(fold), 1)))[..., 0]
    dimension, case = np.indices(counted.shape)
    whose = best_outside[dimension, fold[case]]
    crossfit = np.where(has_labels, singles[whose, dimension, case], np.nan)
    found = replace(
        together,
        judges=[*together.judges, BEST_SINGLE],
        choice=np.concatenate([together.choice, choice[whose, dimension, case][None]]),
    )
    applies = np.isfinite(np.concatenate([scored, crossfit[None]]))
    juries = tally(panel, labels, policy)
    rest, _ = spread(juries.scores(juries.votes.sum(axis=1, keepdims=True) - juries.votes), counted)
    return JuryScores(
        singles=singles,
        names=kinds_of(panel, level),
        kinds=kinds,
        best=np.nan_to_num(everyone, nan=-1.0).argmax(axis=0).astype(np.int64),
        crossfit=crossfit,
        crossfit_judge=whose.astype(np.int64),
        decisive=decisive(found, labels, [Group(None, None, np.arange(len(fold)), 0)], policy, applies, codes)[0],
        without=kinds[0] - rest,
        joined=joining(juries, counted, seed),
        chosen=greedy(juries, fold, has_labels),
        of_ratings=panel.categories != CHOICES,
    )
