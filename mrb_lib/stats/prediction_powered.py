"""Means of few labels, helped by predictions on many more cases (PPI++), and how well both go together."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.estimation import BoolArray, Estimate, FloatArray, Quantity, Sampling, divide, estimate

_SUMS, _NO_SPREAD = 8, 1e-9


class Powered(NamedTuple):
    """Means in m cells with the help of predictions and from the labels alone; `power` (lambda) weighs the help."""

    helped: Estimate
    classical: Estimate
    power: FloatArray


def powered_mean(
    score: FloatArray,
    predicted: FloatArray,
    labelled: BoolArray,
    seen: BoolArray,
    unseen: BoolArray,
    sampling: Sampling,
) -> Powered:
    """Estimate mean labels from the cases that annotators saw and predictions on these and the others.

    Parameters
    ----------
    score : shape (n, 1) or (n, m), the labels; read where labelled
    predicted : shape (n, m), read where seen or unseen
    labelled, seen, unseen : shape (n, m); a case that is seen and not labelled was not decided

    Notes
    -----
    Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453: the mean label plus lambda times the mean prediction on unseen
    cases less that on seen ones. Undecided cases have no label, but as many are among the unseen. lambda is the paper's
    plug-in, or with clusters of several cases the value of least variance over clusters; it is kept between 0 and 1 and
    taken as known. The part of the variance that the labels make is CR2's.
    """
    y = np.where(labelled, score, 0.0)
    columns = [y, labelled, predicted * seen, seen, predicted * unseen, unseen]
    adds = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=2)
    by_y, by_f = _moves(y, labelled), _moves(predicted, seen)
    change = _moves(predicted, unseen) - by_f
    n, more = seen.sum(axis=0), unseen.sum(axis=0)
    if sampling.is_independent:
        used = seen | unseen
        spread = divide((_moves(predicted, used) ** 2).sum(axis=0) * (n + more) ** 2, n + more - 1)
        power = divide((by_y * by_f).sum(axis=0) * n, (1 + divide(n, more)) * spread)
    else:
        of_y, of_change = sampling.sums(by_y), sampling.sums(change)
        power = divide(-(of_y * of_change).sum(axis=0), np.asarray((of_change**2).sum(axis=0)))
    power = np.where(more > 0, np.clip(np.nan_to_num(power), 0.0, 1.0), 0.0)

    def statistic(sums: NDArray[Any], weight: FloatArray) -> NDArray[Any]:
        help_ = divide(sums[..., 4], sums[..., 5]) - divide(sums[..., 2], sums[..., 3])
        return np.asarray(divide(sums[..., 0], sums[..., 1]) + np.where(weight > 0, weight * help_, 0.0))

    counted = labelled.astype(np.float64)
    helped, classical = (
        estimate(Quantity(adds, partial(statistic, weight=weight), counted), sampling)
        for weight in (power, np.zeros_like(power))
    )
    return Powered(helped, classical, power)


def correlation(score: FloatArray, predicted: FloatArray, labelled: BoolArray, seen: BoolArray) -> Quantity:
    """Return the correlation of labels and predictions over the cases seen, (co)variances being summed over groups.

    Parameters
    ----------
    score, predicted, labelled, seen : as in `powered_mean`, but of shape (n, m, r) for r groups of cases; an undecided
        case counts with the mean label, and the spread of labels is that of a mean over the decided ones
    """
    n, m = predicted.shape[:2]
    y = np.where(labelled, score, 0.0)
    f = predicted * seen
    columns = [y, y**2, labelled, y * f, f * labelled, f, f**2, seen]
    adds = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=3)

    def statistic(sums: NDArray[Any]) -> NDArray[Any]:
        of_group = np.moveaxis(sums.reshape(*sums.shape[:-1], -1, _SUMS), -1, 0)
        y, yy, n, yf, f_labelled, f, ff, seen = of_group
        cross = divide(yf - divide(y, n) * f_labelled, n)
        spread = divide(yy - divide(y, n) * y, n) * divide(seen, n)
        predicted = divide(ff - divide(f, seen) * f, seen)
        total, first, second = (np.nan_to_num(each).sum(axis=-1) for each in (cross, spread, predicted))
        varies = (np.real(first) > _NO_SPREAD) & (np.real(second) > _NO_SPREAD)
        return divide(total, np.sqrt(np.where(varies, first * second, 0.0)))

    return Quantity(adds.reshape(n, m, -1), statistic)


def _moves(values: FloatArray, counted: BoolArray) -> FloatArray:
    """Return how far each value that counts moves their mean; 0 for the others."""
    n = counted.sum(axis=0)
    centre = np.nan_to_num(divide((values * counted).sum(axis=0), n))
    return np.asarray(counted * (values - centre) / np.maximum(n, 1))
