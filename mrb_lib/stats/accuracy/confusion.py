"""Tables of counts of two labelings: Cohen's kappa, what moves it, and the macro averages.

scikit-learn computes these for one pair of labelings at a time, at about a
millisecond each; a benchmark has thousands of judge x dimension x subfield tables, so
they are computed here for all tables at once. `tests/stats/tables/test_accuracy.py` ties
each to scikit-learn.
"""

from __future__ import annotations

import numpy as np

from mrb_lib.stats.options import FloatArray, IntArray, divide


def counts(cells: IntArray, first: IntArray, second: IntArray, n_cells: int, n_categories: int) -> FloatArray:
    """Count pairs of labels in many tables at once.

    Parameters
    ----------
    cells : shape (n,), the table each pair belongs to
    first, second : shape (n,), the labels as codes

    Returns
    -------
    float array, shape (n_cells, n_categories, n_categories), first labels in rows
    """
    shape = (n_cells, n_categories, n_categories)
    position = np.ravel_multi_index((cells, first, second), shape)
    return np.bincount(position, minlength=n_cells * n_categories**2).reshape(shape).astype(np.float64)


def cohen_kappa(table: FloatArray) -> FloatArray:
    """Cohen's kappa.

    Parameters
    ----------
    table : shape (..., n_categories, n_categories), counts

    Returns
    -------
    float array, shape (...): kappa; NaN where nothing was labelled, or where both
    sides gave one and the same label only (agreement by chance is then certain).

    Notes
    -----
    Cohen (1960), doi:10.1177/001316446002000104.
    """
    total = table.sum(axis=(-2, -1))
    observed = divide(np.trace(table, axis1=-2, axis2=-1), total)
    expected = divide((table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1), total**2)
    return divide(observed - expected, 1 - expected)


def influence(table: FloatArray) -> FloatArray:
    """What one more pair of labels in each cell does to Cohen's kappa, times the number of pairs.

    Parameters
    ----------
    table : shape (..., k, k), counts; gold in rows, verdicts in columns

    Returns
    -------
    float array of the same shape; its mean over the pairs counted is 0; NaN where kappa is undefined

    Notes
    -----
    The derivative behind the standard error of Fleiss, Cohen and Everitt (1969), doi:10.1037/h0028106: with p the
    share of pairs that agree and e the share expected by chance,
    ((1 - e)(agree - p) - (1 - p)(change of e)) / (1 - e)^2.
    """
    share = divide(table, table.sum(axis=(-2, -1))[..., None, None])
    rows, columns = share.sum(axis=-1), share.sum(axis=-2)
    agreeing = np.trace(share, axis1=-2, axis2=-1)[..., None, None]
    chance = (rows * columns).sum(axis=-1)[..., None, None]
    moved = columns[..., :, None] + rows[..., None, :] - 2 * chance
    same = np.eye(table.shape[-1])
    return divide((1 - chance) * (same - agreeing) - (1 - agreeing) * moved, (1 - chance) ** 2)


def accuracy(table: FloatArray) -> FloatArray:
    """The share of pairs with the same label; NaN where there are none."""
    return divide(np.trace(table, axis1=-2, axis2=-1), table.sum(axis=(-2, -1)))


def macro(table: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Macro-averaged precision, recall and F1 of the second labels (columns) against the first (rows).

    Returns
    -------
    three float arrays, shape (...); NaN where the table is empty

    Notes
    -----
    The average is over the categories that occur on either side. As in scikit-learn,
    and so as in the published tables, a category that was never predicted adds a
    precision of 0, and one that never occurs in the first labels a recall of 0.
    """
    hits = np.diagonal(table, axis1=-2, axis2=-1)
    truth, predicted = table.sum(axis=-1), table.sum(axis=-2)
    occurs = (truth + predicted) > 0
    number = occurs.sum(axis=-1).astype(np.float64)

    def mean(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
        value = np.nan_to_num(divide(numerator, denominator))
        return divide((value * occurs).sum(axis=-1), number)

    return mean(hits, predicted), mean(hits, truth), mean(2 * hits, truth + predicted)
