"""The model of Dawid and Skene fitted to the annotations of one dimension."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.dawid_skene import Fit, Model, em, label_counts, patterns
from mrb_lib.stats.labels import Annotations
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide

FEW_ANNOTATORS = "fewer than three annotators: their errors cannot be told from the true labels"


class Fitted(NamedTuple):
    """The annotations of one dimension under one model.

    Attributes
    ----------
    cases : positions of the annotated cases
    kind : shape (len(cases),), the row of `counts` that each case is like
    counts : shape (P, annotators, K), see `mrb_lib.stats.dawid_skene.em`
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
