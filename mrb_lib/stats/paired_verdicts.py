"""Verdicts with and without a change, paired by case, order and repeat: what the change did to each case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.scoring import score
from mrb_lib.stats.verdicts import JUDGE, Verdicts, agreeing_repeats, mean_over_orders, votes_of
from mrb_lib.tables.schema import CHOICES, ORDERS

A = CHOICES.index("A")


class Effects(NamedTuple):
    """Effects of a change on each case, each array of shape (cases, cells); NaN where that is undefined.

    Attributes
    ----------
    presented : whether there is a verdict under the change
    answered : share of the verdicts under the change that have a choice
    changed : share of verdicts with a choice without and with the change in which the choice differs
    noise : share of pairs of repeats in one order that differ, a mean over the orders
    beyond : `changed` less `noise` within an order, a mean over the orders that have both
    target : share choosing the target with the change less that without, over the verdicts of `changed`; a tie is half
    probability : the same of the probability of the target
    plain, probed : the score without and with the change, over the verdicts that are there in both
    orders : share of pairs of verdicts of one prompt, one in each order, that differ, the mean of both prompts
    shared : share of pairs of verdicts, one of each prompt and each order, that differ, less `orders`
    """

    presented: BoolArray
    answered: FloatArray
    changed: FloatArray
    noise: FloatArray
    beyond: FloatArray
    target: FloatArray
    probability: FloatArray
    plain: FloatArray
    probed: FloatArray
    orders: FloatArray
    shared: FloatArray


def on_cells(verdicts: Verdicts, judges: Sequence[str]) -> Verdicts:
    """Return the verdicts with a cell for each judge and dimension, judges in this order, with verdicts or without."""
    d = len(verdicts.dimensions)
    own = pd.Index(judges).get_indexer(pd.Index(verdicts.cells["judge"])) * d + verdicts.dimension
    seen = np.zeros((verdicts.n_cases, len(judges) * d), dtype=bool)
    seen[:, own] = verdicts.seen
    names = {"judge": np.repeat(judges, d), "dimension": np.tile(verdicts.dimensions, len(judges))}
    cells = pd.DataFrame(names, dtype=object).assign(kind=JUDGE, label=None)
    dimension = np.tile(np.arange(d), len(judges))
    return replace(verdicts, cells=cells, dimension=dimension, seen=seen, cell=own[verdicts.cell])


def aligned(first: Verdicts, second: Verdicts) -> tuple[Verdicts, Verdicts]:
    """Return the verdicts of both that share the case, cell, order and repeat, one beside the other."""
    most = 1 + max(int(each.repeat.max(initial=0)) for each in (first, second))
    shape = (first.n_cases, len(first.cells), len(ORDERS), most)
    key, its = (np.ravel_multi_index((v.case, v.cell, v.order, v.repeat), shape) for v in (first, second))
    _, one, other = np.intersect1d(key, its, assume_unique=True, return_indices=True)
    return first.where(one), second.where(other)


def means(verdicts: Verdicts, values: FloatArray) -> FloatArray:
    """Return the mean over the verdicts of each case, shape (cases, cells); NaN values do not count."""
    return divide(verdicts.total(np.nan_to_num(values)), verdicts.total(np.isfinite(values)))


def means_by_order(verdicts: Verdicts, values: FloatArray) -> FloatArray:
    """Return the same within each order, shape (orders, cases, cells)."""
    return np.stack([means(verdicts, np.where(verdicts.order == o, values, np.nan)) for o in range(len(ORDERS))])


def compare(
    first: Verdicts,
    second: Verdicts,
    labels: IntArray,
    policy: str,
    *,
    is_a: BoolArray | None = None,
    noise: float | None = None,
    noise_of_both: bool = False,
    of_prompts: bool = False,
) -> Effects:
    """Compare verdicts without a change and with it, of the same cells.

    Parameters
    ----------
    labels : the gold labels, shape (cases, dimensions)
    is_a : shape (cases,), whether response A is what the change speaks for; None of a change without such a target
    noise : the noise of judges that answered no case twice; None where nobody knows
    noise_of_both : whether repeats with the change tell the noise as well, not only those without
    of_prompts : whether to pair every repeat with all others and every order with the other, which tells more of two
        prompts; else the same repeat and order alone

    Notes
    -----
    With probabilities p, q of the choices in one order and p', q' in the other, `shared` estimates, without bias,
    (p - q).(p' - q') / 2 (Hoeffding 1948, doi:10.1214/aoms/1177730196): what a prompt changes alike in both orders.
    """
    before, after = aligned(first, second)
    answered = (before.choice >= 0) & (after.choice >= 0)
    differs = np.where(answered, before.choice != after.choice, np.nan)
    repeated = [1 - agreeing_repeats(votes_of(each)) for each in ((first, second) if noise_of_both else (first,))]
    noises = np.asarray(np.stack(repeated).sum(axis=0) / 2) if of_prompts else mean_over_orders(np.stack(repeated))
    if noise is not None:
        noises = np.where(np.isnan(noises).all(axis=(0, 1)), noise, noises)
    by_order = _between_repeats(first, second, before, differs) if of_prompts else means_by_order(before, differs)
    target = probability = np.full(len(differs), np.nan)
    if is_a is not None:
        for_target = [
            np.where(v.choice == v.tie, 0.5, (v.choice == A) == is_a[v.case]).astype(float) for v in (before, after)
        ]
        target = np.where(answered, for_target[1] - for_target[0], np.nan)
        probability = np.where(is_a[before.case], 1.0, -1.0) * (after.p_a - before.p_a)
    worth = [score(each, labels, policy).score for each in (before, after)]
    unscored = np.isnan(worth[0] + worth[1])
    unknown = np.full(unscored.shape, np.nan)
    orders, shared = _across_orders(first, second) if of_prompts else (unknown, unknown)
    return Effects(
        presented=(second.total() > 0) | (noise_of_both & (first.total() > 0)),
        answered=means(second, (second.choice >= 0).astype(float)),
        changed=mean_over_orders(by_order) if of_prompts else means(before, differs),
        noise=mean_over_orders(noises),
        beyond=mean_over_orders(np.asarray(by_order - noises)),
        target=means(before, target),
        probability=means(before, probability),
        plain=np.where(unscored, np.nan, worth[0]),
        probed=np.where(unscored, np.nan, worth[1]),
        orders=orders,
        shared=shared,
    )


def _between_repeats(first: Verdicts, second: Verdicts, before: Verdicts, differs: FloatArray) -> FloatArray:
    """Return the share of pairs of verdicts that differ in each order, of different repeats where there are several.

    Repeats of one number may share a seed, which two repeats of one side never do.
    """
    one, other = votes_of(first), votes_of(second)
    pairs, agree = one.sum(axis=1) * other.sum(axis=1), (one * other).sum(axis=1)
    once, same = (
        np.stack([before.total(is_pair & (before.order == o)) for o in range(len(ORDERS))])
        for is_pair in (np.isfinite(differs), differs == 0)
    )
    apart = pairs - once
    return 1 - divide(np.where(apart > 0, agree - same, same), np.where(apart > 0, apart, once))


def _across_orders(first: Verdicts, second: Verdicts) -> tuple[FloatArray, FloatArray]:
    """Return the shares `orders` and `shared` of `Effects`, which need no repeats."""
    one, other = votes_of(first), votes_of(second)

    def differ(votes: FloatArray, others: FloatArray) -> FloatArray:
        return 1 - divide((votes * others).sum(axis=0), votes.sum(axis=0) * others.sum(axis=0))

    orders = (differ(one[0], one[1]) + differ(other[0], other[1])) / 2
    return orders, (differ(one[0], other[1]) + differ(one[1], other[0])) / 2 - orders
