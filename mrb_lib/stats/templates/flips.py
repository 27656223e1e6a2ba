"""How often choices flip between two prompts, and how often between orders and repeats of the same prompt."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.options import FloatArray, divide
from mrb_lib.tables.schema import CHOICES

Choices = NDArray[np.int8]


class Flips(NamedTuple):
    """Flip rates by case, each of shape (..., cases); NaN where the verdicts do not say.

    Attributes
    ----------
    between : share of pairs of verdicts, one of each prompt, same order, that differ
    repeats : share of pairs of verdicts of the same prompt and order that differ, the mean of both prompts
    excess : the first less the second, in the orders where both are defined
    orders : share of pairs of verdicts of the same prompt, one in each order, that differ, the mean of both prompts
    shared : share of pairs of verdicts, one of each prompt and each order, that differ, less `orders`
    """

    between: FloatArray
    repeats: FloatArray
    excess: FloatArray
    orders: FloatArray
    shared: FloatArray


def flips(first: Choices, second: Choices, categories: int = len(CHOICES)) -> Flips:
    """Compare the verdicts of two prompts.

    Parameters
    ----------
    first, second : shape (..., cases, 2 orders, repeats), codes of `CHOICES` in the case's own frame, or of the
        categories of a rating, negative where there is no choice
    categories : how many codes there are

    Notes
    -----
    See `mrb_lib.stats.templates.table.templates` for what the differences estimate. Of a case with several repeats,
    `between` pairs different repeats only: repeats of one number may share a seed, which those of one prompt never do.
    """
    votes, others = _votes(first, categories), _votes(second, categories)
    n, m = votes.sum(axis=-1), others.sum(axis=-1)
    both = (first >= 0) & (second >= 0)
    at_once, alike = both.sum(axis=-1), (both & (first == second)).sum(axis=-1)
    apart = n * m - at_once
    agree = (votes * others).sum(axis=-1)
    crossed = _differ(np.where(apart > 0, agree - alike, alike), np.where(apart > 0, apart, at_once))
    again = (_within(votes) + _within(others)) / 2
    swapped = _differ((votes * others[..., ::-1, :]).sum(axis=-1), n * m[..., ::-1])
    orders = (_across(votes) + _across(others)) / 2
    return Flips(
        between=_mean(crossed),
        repeats=_mean(again),
        excess=_mean(crossed - again),
        orders=orders,
        shared=swapped.mean(axis=-1) - orders,
    )


def _votes(choice: Choices, categories: int) -> FloatArray:
    """How often each choice was made, shape (..., cases, 2 orders, choices)."""
    return np.stack([(choice == code).sum(axis=-1) for code in range(categories)], axis=-1).astype(np.float64)


def _differ(agree: FloatArray, pairs: FloatArray) -> FloatArray:
    """The share of pairs that do not agree; NaN of no pair."""
    return np.asarray(1 - divide(np.asarray(agree, dtype=np.float64), np.asarray(pairs, dtype=np.float64)))


def _within(votes: FloatArray) -> FloatArray:
    n = votes.sum(axis=-1)
    return _differ((votes * (votes - 1)).sum(axis=-1), n * (n - 1))


def _across(votes: FloatArray) -> FloatArray:
    n = votes.sum(axis=-1)
    return _differ((votes[..., 0, :] * votes[..., 1, :]).sum(axis=-1), n[..., 0] * n[..., 1])


def _mean(values: FloatArray) -> FloatArray:
    """The mean over the orders in which it is defined, shape (..., 2) to (...)."""
    defined = np.isfinite(values)
    return divide(np.where(defined, values, 0.0).sum(axis=-1), defined.sum(axis=-1))
