"""Intervals of the model of Dawid and Skene: the cluster bootstrap of the EM algorithm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from mrb_lib.stats.agreement.labels import Annotations
from mrb_lib.stats.core.options import TINY, BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.gold.dawid_skene import Fit, Model, em, label_counts, patterns
from mrb_lib.stats.resampling.resample import (
    CONFIDENCE,
    NO_RESAMPLES,
    ONE_CLUSTER,
    block,
    n_clusters,
    replicates,
)

FEW_ANNOTATORS = "fewer than three annotators: their errors cannot be told from the true labels"


class Fitted(NamedTuple):
    """The annotations of one dimension under one model.

    Attributes
    ----------
    cases : positions of the annotated cases
    kind : shape (len(cases),), the row of `counts` that each case is like
    counts : shape (P, annotators, K), see `mrb_lib.stats.gold.dawid_skene.em`
    annotators : positions of the annotators among all
    n_labelled : shape (annotators,), cases of each
    n_expected : shape (annotators, K), how many of each annotator's cases are expected to have each true label
    given : shape (K,), which labels somebody gives; the model knows no others
    fit : one sample, all cases
    """

    cases: IntArray
    kind: IntArray
    counts: FloatArray
    annotators: IntArray
    n_labelled: IntArray
    n_expected: FloatArray
    given: BoolArray
    fit: Fit

    def posterior(self) -> FloatArray:
        """The probability of each label for each case, shape (len(cases), K)."""
        found: FloatArray = self.fit.posterior[0][self.kind]
        return found


def fit_dimension(coded: Annotations, dimension: int, n_categories: int, model: Model) -> Fitted | None:
    """Fit a model to the annotations of a dimension; None with fewer than three annotators."""
    case, annotator, choice = coded.of(dimension)
    people, column = np.unique(annotator, return_inverse=True)
    if len(people) < 3:
        return None
    cases, row = np.unique(case, return_inverse=True)
    labels = np.full((len(cases), len(people)), -1, dtype=np.int64)
    labels[row, column] = choice
    found, kind = patterns(labels)
    counts = label_counts(found, n_categories)
    weights = np.bincount(kind, minlength=len(found)).astype(np.float64)
    fit = em(counts, weights[None], model=model)
    expected = (found >= 0).T.astype(np.float64) @ (np.nan_to_num(fit.posterior[0]) * weights[:, None])
    return Fitted(
        cases, kind, counts, people, (labels >= 0).sum(axis=0), expected, np.any(counts > 0, axis=(0, 1)), fit
    )


def right_rate(fit: Fit) -> FloatArray:
    """The probability that each rater is right, shape (b, raters), over the true labels of the rater's own cases."""
    diagonal = np.diagonal(fit.confusion, axis1=2, axis2=3)
    share = np.where(np.isfinite(diagonal), fit.prevalence[:, None, :], 0.0)
    return divide((np.nan_to_num(diagonal) * share).sum(axis=2), share.sum(axis=2))


TOO_MANY = "no interval: too many different rows of labels to fit again in every resample"
_TOLERANCE = 1e-4
_ITERATIONS = 300
_MOST_WORK = 2**28
MOST_REFITS = 1000


class Bootstrap(NamedTuple):
    """What the resamples say of one dimension; NaN where there are none.

    Attributes
    ----------
    confusion : shape (raters, K), how many cases would give each row of probabilities its variance
    right : shape (raters,), the same for the probability of being right
    prevalence : shape (K,), the same for each label's prevalence
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
    fitted : one (cases, kind, counts, fit) a dimension, see `mrb_lib.stats.gold.annotators.Fitted`
    codes : shape (all cases,), the cluster of each
    """
    refits = min(resamples, MOST_REFITS)
    for (_, _, counts, fit), weights in zip(fitted, weights_of_kinds(fitted, codes, refits, seed), strict=True):
        n_raters, n_labels = counts.shape[1:]
        absent = why_not(counts, codes, refits)
        if absent:
            empty = np.full((n_raters, n_labels), np.nan)
            yield Bootstrap(empty, empty[:, 0], empty[0], absent)
            continue
        again = refit(counts, weights, fit, model)
        yield Bootstrap(
            confusion=effective_size(again.confusion),
            right=effective_size(right_rate(again)[:, :, None]),
            prevalence=effective_size(again.prevalence[:, :, None]),
            reason="",
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


def effective_size(found: FloatArray) -> FloatArray:
    """How many cases would give probabilities their variance over resamples: Kish's effective sample size.

    Parameters
    ----------
    found : shape (b, ..., K), a distribution over the last axis, or one probability of two

    Returns
    -------
    Shape (...): infinite where there is no variance, NaN where fewer than half of the resamples have a value
    """
    defined = np.isfinite(found)
    n = np.maximum(defined.sum(axis=0), 1)
    filled = np.where(defined, found, 0.0)
    mean = filled.sum(axis=0) / n
    variance = (np.where(defined, filled - mean, 0.0) ** 2).sum(axis=0) / n
    spread = mean * (1 - mean)
    size = divide(spread.sum(axis=-1), variance.sum(axis=-1))
    size = np.where(variance.sum(axis=-1) <= TINY, np.inf, size)
    return np.where((2 * defined.sum(axis=0) < len(found)).any(axis=-1), np.nan, size)


def wilson(estimate: FloatArray, size: FloatArray, most: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Wilson's interval of probabilities that an effective number of cases stands behind.

    Parameters
    ----------
    estimate : any shape
    size : effective sample sizes, of a shape that goes with it; may be infinite
    most : the most cases that can stand behind each

    Returns
    -------
    low, high : NaN where the estimate or the size is, or there are no cases

    Notes
    -----
    Wilson (1927), doi:10.1080/01621459.1927.10502953, with an effective sample size (Kish 1965, Survey Sampling).
    """
    z = float(ndtri((1 + CONFIDENCE) / 2))
    n = np.where(np.isnan(size) | (most <= TINY), np.nan, np.fmin(size, most))
    centre = divide(estimate + z**2 / (2 * n), 1 + z**2 / n)
    inside = np.sqrt(np.maximum(estimate * (1 - estimate) / n + z**2 / (4 * n**2), 0.0))
    half = divide(z * inside, 1 + z**2 / n)
    return np.clip(centre - half, 0.0, 1.0), np.clip(centre + half, 0.0, 1.0)
