"""Intervals of the model of Dawid and Skene: the cluster bootstrap of the EM algorithm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from mrb_lib.stats.dawid_skene import Fit, Model, em
from mrb_lib.stats.options import FloatArray, IntArray, divide
from mrb_lib.stats.resample import (
    CONFIDENCE,
    NO_RESAMPLES,
    ONE_CLUSTER,
    block,
    interval,
    n_clusters,
    replicates,
)

TOO_MANY = "no interval: too many different rows of labels to fit again in every resample"
_TOLERANCE = 1e-4
_ITERATIONS = 300
_MOST_WORK = 2**28
MOST_REFITS = 1000


class Bootstrap(NamedTuple):
    """What the resamples say of one dimension; NaN where there are none.

    Attributes
    ----------
    confusion : shape (raters, K, K), variance of each probability
    right : shape (raters,), variance of the probability of being right
    prevalence : shape (2, K), the ends of the percentile intervals
    reason : why there are no resamples, else empty
    """

    confusion: FloatArray
    right: FloatArray
    prevalence: FloatArray
    reason: str


def bootstrap(
    fitted: Sequence[tuple[IntArray, IntArray, FloatArray, Fit]],
    codes: IntArray,
    model: Model,
    *,
    resamples: int,
    seed: int,
) -> Iterator[Bootstrap]:
    """Fit the model again in every resample of clusters.

    Parameters
    ----------
    fitted : one (cases, kind, counts, fit) a dimension, see `mrb_lib.stats.annotators.Fitted`
    codes : shape (all cases,), the cluster of each
    """
    refits = min(resamples, MOST_REFITS)
    for (_, _, counts, fit), weights in zip(fitted, weights_of_kinds(fitted, codes, refits, seed), strict=True):
        n_raters, n_labels = counts.shape[1:]
        absent = why_not(counts, codes, refits)
        if absent:
            empty = np.full((n_raters, n_labels, n_labels), np.nan)
            yield Bootstrap(empty, empty[:, 0, 0], np.full((2, n_labels), np.nan), absent)
            continue
        again = em(counts, weights, model=model, start=fit.posterior[0], tolerance=_TOLERANCE, iterations=_ITERATIONS)
        right = np.nan_to_num(np.diagonal(again.confusion, axis1=2, axis2=3)) * again.prevalence[:, None, :]
        yield Bootstrap(
            _variance(again.confusion), _variance(right.sum(axis=2)), np.stack(interval(again.prevalence)), ""
        )


def refit(counts: FloatArray, weights: FloatArray, fit: Fit, model: Model) -> Fit:
    """The model in resamples, shape (b, P), from what it is in all cases."""
    start = fit.posterior[0]
    return em(counts, weights, model=model, start=start, tolerance=_TOLERANCE, iterations=_ITERATIONS)


def why_not(counts: FloatArray, codes: IntArray, resamples: int) -> str:
    """Why the model is not fitted again in resamples; empty if it is."""
    if not resamples:
        return NO_RESAMPLES
    if n_clusters(codes) < 2:
        return ONE_CLUSTER
    return TOO_MANY if counts.size * counts.shape[2] * resamples > _MOST_WORK else ""


def weights_of_kinds(
    fitted: Sequence[tuple[IntArray, IntArray, FloatArray, Fit]], codes: IntArray, resamples: int, seed: int
) -> list[FloatArray]:
    """How often each kind of case is in each resample, shape (resamples, P), one array a dimension."""
    used = [item if not why_not(item[2], codes, resamples) else None for item in fitted]
    sizes = [0 if item is None else len(item[2]) for item in used]
    bounds = np.cumsum([0, *sizes])
    indicator = np.zeros((len(codes), bounds[-1]))
    for item, start in zip(used, bounds, strict=False):
        if item is not None:
            indicator[item[0], start + item[1]] = 1.0
    if not bounds[-1]:
        return [np.empty((0, 0)) for _ in fitted]
    blocks = [block(codes, indicator, lambda sums: sums)]
    (drawn,) = replicates(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    return [drawn[:, start:stop] for start, stop in pairwise(bounds)]


def _variance(found: FloatArray) -> FloatArray:
    """The variance over the first axis of what is defined; NaN where fewer than half is."""
    defined = np.isfinite(found)
    n = defined.sum(axis=0)
    mean = divide(np.where(defined, found, 0.0).sum(axis=0), n)
    squares = (np.where(defined, found - mean, 0.0) ** 2).sum(axis=0)
    return np.where(2 * n >= len(found), divide(squares, np.maximum(n - 1, 0)), np.nan)


def wilson(estimate: FloatArray, variance: FloatArray, most: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Wilson's interval for as many cases as would give the variance of a row of probabilities.

    Parameters
    ----------
    estimate, variance : shape (..., m); a row is a whole distribution, or one probability of two
    most : shape (..., 1), the most cases that can stand behind the row; taken where there is no variance

    Returns
    -------
    low, high : NaN where the estimate or the variance is

    Notes
    -----
    Wilson (1927), doi:10.1080/01621459.1927.10502953, with an effective sample size (Kish 1965, Survey Sampling).
    """
    z = float(ndtri((1 + CONFIDENCE) / 2))
    spread = (estimate * (1 - estimate)).sum(axis=-1, keepdims=True)
    total = variance.sum(axis=-1, keepdims=True)
    n = np.where(np.isnan(total), np.nan, most)
    n = np.fmin(divide(spread, total), n) + 0 * n
    centre = divide(estimate + z**2 / (2 * n), 1 + z**2 / n)
    inside = np.sqrt(np.maximum(estimate * (1 - estimate) / n + z**2 / (4 * n**2), 0.0))
    half = divide(z * inside, 1 + z**2 / n)
    return np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)
