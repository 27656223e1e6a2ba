"""Votes of juries: the verdicts of many judges become those of one, which is scored as any judge is."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb, factorial
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.dawid_skene import em, label_counts, patterns
from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, divide, mean
from mrb_lib.stats.panel import ABSENT, NULL
from mrb_lib.stats.scoring import on_common_cases, ranking, read_by, score
from mrb_lib.stats.verdicts import REFERENCE, Verdicts

MAJORITY, WEIGHTED, DAWID_SKENE, BEST_SINGLE = "majority", "weighted", "dawid_skene", "best_single"
OF_ALL: Final = (MAJORITY, WEIGHTED, DAWID_SKENE)
OF_ORDERED: Final = ("median", "mean")
"""Further juries of ratings by ordered categories."""
FOLDS, EXACT_UP_TO, ORDERINGS = 5, 8, 64
_AT_ONCE, _ROUNDING = 2_000_000, 1e-9
Choices = NDArray[np.int64]


@dataclass(frozen=True)
class Members:
    """Verdicts of the members of a jury in one dimension, in the orders and repeats that all of them have.

    Attributes
    ----------
    verdicts : of the members alone, one cell each
    case, order, repeat : shape (items,), what at least one of them was asked
    said : shape (members, items), a position in the categories; `NULL` without a choice, `ABSENT` without a verdict
    """

    verdicts: Verdicts
    case: IntArray
    order: IntArray
    repeat: IntArray
    said: Choices

    @classmethod
    def of(cls, verdicts: Verdicts, dimension: int) -> Members:
        """Return the members of a dimension, which may be none; all orders and repeats where none is common."""
        own = verdicts.of_cells((verdicts.dimension == dimension) & (verdicts.total().sum(axis=0) > 0))
        slot = 2 * own.repeat + own.order
        present = np.zeros((len(own.cells), int(slot.max(initial=-1)) + 1), dtype=bool)
        present[own.cell, slot] = True
        common = np.asarray(present.all(axis=0), dtype=bool)
        if common.any():
            own = own.where(common[slot])
        key, item = np.unique(own.case * present.shape[1] + 2 * own.repeat + own.order, return_inverse=True)
        case, place = np.divmod(key, max(present.shape[1], 1))
        said = np.full((len(own.cells), len(key)), ABSENT, dtype=np.int64)
        said[own.cell, item] = own.choice
        return cls(own, case, place % 2, place // 2, said)

    @property
    def names(self) -> list[str]:
        """The names of the members."""
        return [str(name) for name in self.verdicts.cells["judge"]]

    def judges(self, choice: Choices, names: Sequence[str], kinds: Sequence[str]) -> Verdicts:
        """Return judges that say something of each item, as cells of this dimension.

        Parameters
        ----------
        choice : shape (judges, items), coded as `said`
        names, kinds : the columns `judge` and `kind` of the cells
        """
        of, item = np.nonzero(choice != ABSENT)
        n, m, whole = len(item), len(choice), self.verdicts
        cells = {"judge": names, "dimension": whole.cells["dimension"].iloc[0], "kind": kinds, "label": None}
        return replace(
            whole,
            cells=pd.DataFrame(cells, index=range(m)),
            dimension=np.repeat(whole.dimension[:1], m),
            seen=np.zeros((whole.n_cases, m), dtype=bool),
            case=self.case[item],
            cell=of,
            order=self.order[item],
            repeat=self.repeat[item],
            choice=choice[of, item],
            p_a=np.broadcast_to(np.nan, n),
            is_bound=np.zeros(n, dtype=bool),
            points=np.broadcast_to(np.nan, (n, 2)),
        )

    def score(self, choice: Choices, labels: IntArray, policy: str) -> FloatArray:
        """Score judges that say something of each item, shape (cases, judges)."""
        names = [str(number) for number in range(len(choice))]
        return score(self.judges(choice, names, names), labels, policy).score

    def majority(self, who: BoolArray | FloatArray) -> Choices:
        """Return the majority of each of some juries, shape (juries, items).

        Parameters
        ----------
        who : shape (juries, members), the votes of each member: one if it is in the jury, or its weight
        """
        votes = np.stack([who.astype(float) @ (self.said == code) for code in range(len(self.verdicts.categories))])
        return largest(votes, who.astype(float) @ (self.said != ABSENT) > 0, self.verdicts.tie)


def largest(counts: FloatArray, somebody: BoolArray, tie: int) -> Choices:
    """Return the choice with most votes: the tie where several have them, of ratings none.

    Parameters
    ----------
    counts : shape (k, ...), the votes for each choice
    somebody : shape (...), whether any member has a verdict; where not, the jury has none
    """
    top = counts.max(axis=0)
    alone = (counts >= top - _ROUNDING).sum(axis=0) == 1
    return np.select([~somebody, top <= 0, alone], [ABSENT, NULL, counts.argmax(axis=0)], tie)


def folds(codes: IntArray, seed: int) -> IntArray:
    """Return the fold of each case; the cases of a cluster are in one."""
    clusters, position = np.unique(codes, return_inverse=True)
    order = np.random.default_rng([seed, 2]).permutation(len(clusters))
    return np.asarray(order[position.reshape(-1)] % max(1, min(FOLDS, len(clusters))), dtype=np.int64)


def weights(members: Members, gold: IntArray, fold: IntArray) -> FloatArray:
    """Return log-odds weights of members from the other folds, shape (folds, members).

    Independent members with probability p of the right one of K labels, errors spread evenly, are best weighted by
    log(p (K - 1) / (1 - p)) (Nitzan and Paroush 1982, doi:10.2307/2526438, for K = 2). p is estimated with one success
    more, and K more trials, than were seen; who is no better than chance has no weight. Of preferences p is decisive:
    over cases whose gold is A or B, with half credit for a tie, so that every constant is at chance.

    Parameters
    ----------
    gold : shape (cases,), codes of gold labels, -1 where there is none
    fold : shape (cases,)
    """
    tie = members.verdicts.tie
    label, own = gold[members.case], fold[members.case]
    used = (members.said >= 0) & (label >= 0) & (label != tie)
    right = used * ((members.said == label) + 0.5 * (members.said == tie) * (tie >= 0))
    kinds = 2.0 if tie >= 0 else max(2.0, float(len(np.unique(gold[gold >= 0]))))
    outside = (own[:, None] != np.arange(fold.max(initial=0) + 1)).astype(np.float64)
    share = ((right @ outside + 1.0) / (used @ outside + kinds)).T
    return np.asarray(np.maximum(np.log(share * (kinds - 1.0) / (1.0 - share)), 0.0))


def weighted(members: Members, weight: FloatArray, fold: IntArray) -> Choices:
    """Return the votes weighted by what other folds say, shape (items,); alike where no vote has a weight."""
    k, own = len(members.verdicts.categories), weight[fold[members.case]].T
    votes = np.stack([((members.said == code) * own).sum(axis=0) for code in range(k)])
    alike = np.stack([(members.said == code).sum(axis=0) for code in range(k)])
    return largest(
        np.where(votes.sum(axis=0) > 0, votes, alike), (members.said != ABSENT).any(axis=0), members.verdicts.tie
    )


def dawid_skene(members: Members) -> Choices:
    """Return the most probable label of each item by Dawid and Skene's model, which sees no gold label."""
    k = len(members.verdicts.categories)
    rows, kind = patterns(np.maximum(members.said, NULL).T)
    times = np.bincount(kind.ravel(), minlength=len(rows)).astype(np.float64)[None]
    posterior = em(label_counts(rows, k), times, tolerance=1e-6, iterations=500).posterior[0]
    known = np.where(np.isfinite(posterior).all(axis=1, keepdims=True), posterior, 0.0)
    return largest(known.T, np.ones(len(rows), dtype=bool), members.verdicts.tie)[kind.ravel()]


def central(members: Members, numbers: Sequence[float]) -> list[Choices]:
    """Return the categories nearest to the median and to the mean of the members' numbers, the lower one halfway.

    Parameters
    ----------
    numbers : shape (k,), what each category counts as
    """
    given, scale, order = members.said >= 0, np.asarray(numbers, dtype=np.float64), np.argsort(numbers, kind="stable")
    values = np.where(given, scale[members.said], np.nan)
    nobody, silent = (members.said == ABSENT).all(axis=0), ~given.any(axis=0)
    values[:, silent] = scale[0]
    out = []
    for middle in (np.nanmedian(values, axis=0), np.nanmean(values, axis=0)):
        nearest = order[np.abs(middle[:, None] - scale[order]).round(9).argmin(axis=1)]
        out.append(np.select([nobody, silent], [ABSENT, NULL], nearest))
    return out


def best_member(members: Members, labels: IntArray, policy: str, cases: IntArray) -> int:
    """Return the member that is best on some cases by decisive accuracy on those that all share; -1 where none is.

    Where gold names one side only, or none, by accuracy.
    """
    place = ranking(members.verdicts, labels, policy, cases).rank
    if np.isnan(place).all():
        scores = score(members.verdicts, labels, policy).score[cases]
        place = on_common_cases(members.verdicts, mean(scores), None).rank
    return -1 if np.isnan(place).all() else int(np.nanargmin(place))


def best_outside(members: Members, labels: IntArray, policy: str, fold: IntArray) -> IntArray:
    """Return the member that is best on the other folds, by fold; -1 where they have no labelled case."""
    every = range(int(fold.max(initial=0)) + 1)
    return np.array([best_member(members, labels, policy, np.flatnonzero(fold != number)) for number in every])


def coin(members: Members, gold: IntArray, policy: str) -> FloatArray:
    """Return the expected score of a judge that draws every verdict, shape (cases,); NaN where it cannot be scored.

    A, B and, where some gold label is a tie, tie are equally probable; of ratings all categories.

    Parameters
    ----------
    gold : shape (cases,), codes of gold labels, -1 where there is none
    """
    tie = members.verdicts.tie
    with_tie = tie >= 0 and bool((gold == tie).any())
    k = len(members.verdicts.categories) - (tie >= 0 and not with_tie)
    anything = members.judges(np.zeros((1, len(members.case)), dtype=np.int64), ["coin"], ["coin"])
    asked, is_tie = read_by(anything, policy).total()[:, 0], (gold == tie) & (tie >= 0)
    value = np.full(len(gold), np.nan)
    for n, of_tie in itertools.product(np.unique(asked[asked > 0]).astype(int), (False, True)):
        half = (k - 1 if of_tie else 1) if with_tie else 0
        if policy == "net":
            neutral = 1 if with_tie and not of_tie else 0
            chances = np.ones(1)
            for _ in range(n):
                chances = np.convolve(chances, np.array([k - 1 - neutral, neutral, 1]) / k)
            expected = chances[n + 1 :].sum()
        else:
            expected = float(k) ** -n if policy in ("official", "strict") else (1 + half / 2) / k
        value[(asked == n) & (is_tie == of_tie) & (gold >= 0)] = expected
    return value


class Orders(NamedTuple):
    """The juries that arise as members join one after the other, and what Shapley's values make of their accuracies.

    Attributes
    ----------
    who : shape (juries, members)
    gain : shape (juries, members), how the accuracy of each jury counts in the value of each member
    of_coin : shape (members,), how that of a coin, which is a jury of nobody, counts
    orders : shape (orders, members), those tried, each followed by its reverse; None where all juries were formed
    n : how many orders
    """

    who: BoolArray
    gain: FloatArray
    of_coin: FloatArray
    orders: IntArray | None
    n: int

    def error(self, accuracy: FloatArray, of_a_coin: float) -> FloatArray:
        """Return the Monte-Carlo standard error of each value, shape (members,); 0 where all juries were formed."""
        if self.orders is None:
            return np.zeros(self.who.shape[1])
        steps = np.diff(accuracy.reshape(self.orders.shape), axis=1, prepend=of_a_coin)
        rest = np.take_along_axis(steps - steps.mean(axis=0), np.argsort(self.orders, axis=1), axis=1)
        pairs = rest.reshape(-1, 2, rest.shape[1]).mean(axis=1)  # an order and its reverse are not independent
        return np.asarray(pairs.std(axis=0, ddof=1) / np.sqrt(len(pairs)))


def orders_of(members: int, seed: int, exact_up_to: int = EXACT_UP_TO) -> Orders:
    """Let members join in all orders where they are few, else in random ones.

    The place in a random order makes the largest difference to what a member adds (a jury of even size is tied more
    often), so that what all add in a place is taken out and given back as if each had been in every place alike.
    Shapley (1953), doi:10.1515/9781400881970-018; by random orders: Castro, Gomez and Tejada (2009),
    doi:10.1016/j.cor.2008.04.004.
    """
    if members <= exact_up_to:
        who = np.array(list(itertools.product([False, True], repeat=members)))[1:]
        size = who.sum(axis=1)
        joins = np.array([1 / (members * comb(members - 1, s - 1)) for s in size])
        stays = np.array([1 / (members * comb(members - 1, min(s, members - 1))) for s in size])
        gain = np.where(who, joins[:, None], -stays[:, None])
        return Orders(who, gain, np.full(members, -1 / members), None, factorial(members))
    drawn = np.random.default_rng([seed, 3]).permuted(np.tile(np.arange(members), (ORDERINGS // 2, 1)), axis=1)
    orders = np.stack([drawn, drawn[:, ::-1]], axis=1).reshape(-1, members)
    place = np.argsort(orders, axis=1)
    step = place[:, :, None] == np.arange(members)  # whose step each place of each order is: (orders, members, places)
    share = (step - step.mean(axis=0) + 1 / members) / len(orders)
    gain = (share - np.concatenate([share[..., 1:], np.zeros_like(share[..., :1])], axis=2)).swapaxes(1, 2)
    who = place[:, None, :] <= np.arange(members)[:, None]
    return Orders(who.reshape(-1, members), gain.reshape(-1, members), -share[..., 0].sum(axis=0), orders, len(orders))


class Joined(NamedTuple):
    """Gains from members that join, case by case; NaN where the jury of all is not scored.

    Attributes
    ----------
    without : shape (cases, members), the majority of all less that without each
    shapley : shape (cases, members), what each adds on average over the orders of joining
    error : shape (members,), the Monte-Carlo standard error of the mean of `shapley`
    by_size : shape (cases, members), the mean score of the juries of 1, 2, ... members
    formed : shape (members,), how many juries of each size have a score
    n_orders : how many orders were tried
    """

    without: FloatArray
    shapley: FloatArray
    error: FloatArray
    by_size: FloatArray
    formed: IntArray
    n_orders: int


def joined(members: Members, labels: IntArray, policy: str, seed: int, exact_up_to: int = EXACT_UP_TO) -> Joined:
    """Let the members join one after the other, a coin first, which stands as well for juries that are not scored."""
    m, gold = len(members.said), labels[:, members.verdicts.dimension[0]]
    plan = orders_of(m, seed, exact_up_to)
    whole = members.score(members.majority(np.ones((1, m))), labels, policy)
    counted = np.isfinite(whole[:, 0])
    of_coin = coin(members, gold, policy)[counted]
    value, by_size = np.zeros((2, int(counted.sum()), m))
    formed, accuracy = np.zeros(m, dtype=np.int64), np.empty(len(plan.who))
    step = max(1, _AT_ONCE // max(1, len(members.case)))
    for first in range(0, len(plan.who), step):
        some = slice(first, first + step)
        who = plan.who[some]
        scores, has = spread(members.score(members.majority(who), labels, policy)[counted])
        of_size = (who.sum(axis=1)[:, None] == np.arange(1, m + 1)) & has[:, None]
        by_size += scores @ of_size
        formed += of_size.sum(axis=0)
        worth = np.where(has, scores, of_coin[:, None])
        value += worth @ plan.gain[some]
        accuracy[some] = worth.mean(axis=0) if len(worth) else np.nan
    value += of_coin[:, None] * plan.of_coin
    rest, _ = spread(members.score(members.majority(~np.eye(m, dtype=bool)), labels, policy)[counted])
    found = [np.full((len(gold), m), np.nan) for _ in range(3)]
    for out, own in zip(found, (whole[counted] - rest, value, divide(by_size, formed)), strict=True):
        out[counted] = own
    error = plan.error(accuracy, float(of_coin.mean())) if counted.any() else np.full(m, np.nan)
    return Joined(found[0], found[1], error, found[2], formed, plan.n)


def spread(value: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Spread scores on some of the cases over all, so that their mean stays what it is.

    A case without a score gets the mean, and one with, mean + (value - mean) N / n, for n of N cases scored: the values
    of the infinitesimal jackknife of a ratio of sums (Efron 1982, doi:10.1137/1.9781611970319).

    Parameters
    ----------
    value : shape (cases, juries), NaN where not scored

    Returns
    -------
    the scores, 0 where a jury is scored on no case; and whether it is scored on any, shape (juries,)
    """
    there = np.isfinite(value)
    n = there.sum(axis=0)
    average = np.nan_to_num(divide(np.nansum(value, axis=0), n))
    scale = np.nan_to_num(divide(np.full(len(n), float(len(value))), n))
    return average + np.where(there, value - average, 0.0) * scale, n > 0


def juries_of(
    members: Members, labels: IntArray, policy: str, fold: IntArray, numbers: Sequence[float] | None
) -> tuple[Verdicts, IntArray]:
    """Return the members, the juries of all of them and the judge that is best on other folds, as judges.

    Parameters
    ----------
    labels : shape (cases, dimensions)
    fold : shape (cases,)
    numbers : what ordered categories of ratings count as; None without an order

    Returns
    -------
    verdicts : a cell each, of the kinds "judge", "jury" and, of the best on other folds, "reference"
    chosen : shape (folds,), which member that is; -1 where there is none
    """
    m, gold = len(members.said), labels[:, members.verdicts.dimension[0]]
    chosen = best_outside(members, labels, policy, fold)
    nothing = np.full(len(members.case), ABSENT, dtype=np.int64)
    juries = dict.fromkeys((*OF_ALL, *(OF_ORDERED if numbers is not None else ())), nothing)
    if m > 1:
        juries[MAJORITY] = members.majority(np.ones((1, m)))[0]
        other = np.array([((gold >= 0) & (fold != number)).any() for number in range(len(chosen))])
        by_weight = weighted(members, weights(members, gold, fold), fold)
        juries[WEIGHTED] = np.where(other[fold[members.case]], by_weight, ABSENT)
        if numbers is not None:
            juries |= dict(zip(OF_ORDERED, central(members, numbers), strict=True))
    if m > 2:
        juries[DAWID_SKENE] = dawid_skene(members)
    whose = chosen[fold[members.case]]
    single = np.where(whose >= 0, members.said[whose, np.arange(len(whose))], ABSENT)
    said = np.vstack([members.said, *juries.values(), single])
    kinds = ["judge"] * m + ["jury"] * len(juries) + [REFERENCE]
    return members.judges(said, [*members.names, *juries, BEST_SINGLE], kinds), chosen
