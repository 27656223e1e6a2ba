"""Latent labels behind several raters' labels: the EM algorithm of Dawid and Skene, for many samples at once.

Arrays in, arrays out, but for `fit_dimension`. Raters are annotators or judges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.annotators import Annotations
from mrb_lib.stats.estimation import divide
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray
from mrb_lib.tables.errors import InputError

FEW_ANNOTATORS = "fewer than three annotators: their errors cannot be told from the true labels"
_SMALLEST = 1e-300
_CELLS_AT_ONCE = 2**21
_LONGEST, _LEAST = 64.0, 0.1
_ROUNDING = 1e-12


class Fit(NamedTuple):
    """What EM estimates in each of `b` samples of the same items.

    Attributes
    ----------
    prevalence : shape (b, K), the probability of each label
    confusion : shape (b, raters, K, K): the probability that a rater gives the label of the last
        axis where the one before it is true; NaN where the sample says nothing about it
        (no rater gives the true label anywhere, or it has no mass among the rater's items)
    posterior : shape (b, P, K), the probability of each label for each item; NaN for an item without labels
    log_likelihood : shape (b,)
    iterations : shape (b,)
    converged : shape (b,), whether no parameter moved by more than the tolerance in the last iteration
    """

    prevalence: FloatArray
    confusion: FloatArray
    posterior: FloatArray
    log_likelihood: FloatArray
    iterations: IntArray
    converged: BoolArray


def label_counts(labels: IntArray, n_categories: int) -> FloatArray:
    """One label a rater and item as the counts that `em` takes, shape (P, raters, K).

    Parameters
    ----------
    labels : shape (P, raters), codes; negative where the rater gave the item no label
    """
    counts: FloatArray = (labels[:, :, None] == np.arange(n_categories)).astype(np.float64)
    return counts


def patterns(labels: IntArray) -> tuple[IntArray, IntArray]:
    """The different rows of labels, and which of them each item has.

    Items with the same row are alike to the model: three raters with three labels know 27 kinds of items
    (64 with missing labels), however many items there are.

    Parameters
    ----------
    labels : shape (items, raters), codes; all negative ones mean "none" and should be the same

    Returns
    -------
    (P, raters) and (items,)
    """
    if not len(labels):
        return labels, np.zeros(0, dtype=np.int64)
    rows, inverse = np.unique(labels, axis=0, return_inverse=True)
    return rows, inverse.reshape(-1).astype(np.int64)


def em(
    counts: FloatArray,
    weights: FloatArray | None = None,
    *,
    start: FloatArray | None = None,
    tolerance: float = 1e-8,
    iterations: int = 5000,
) -> Fit:
    """Maximum-likelihood prevalence of the true labels and each rater's confusion of them.

    Parameters
    ----------
    counts : shape (P, raters, K), how often each rater gave each label to an item (or to a
        pattern of labels, see `patterns`); zeros where a rater saw it not
    weights : shape (b, P), how often each item is in each sample, such as a bootstrap's; None is one sample with
        each item once
    start : shape (P, K), the probabilities of the labels to begin with; None takes the shares of the votes
        (equation 3.1)
    tolerance : stop when no parameter moves by more
    iterations : the most to make; samples that need more are marked as not converged

    Returns
    -------
    Fit

    Raises
    ------
    InputError
        The counts are not three-dimensional.

    Notes
    -----
    Dawid and Skene (1979), Applied Statistics 28(1), 20-28, doi:10.2307/2346806, equations 2.3 to 2.5. A label that no
    rater gives is not a label of the model: its prevalence is 0. The start gives the labels their names, on the
    assumption that votes are right more often than not. Raters are taken as independent given the true label: errors
    that they share are taken for truth. Two raters leave the model unidentified. Every third iteration begins further
    along the direction of the two before it, where that is no less likely than EM alone would be (SQUAREM: Varadhan and
    Roland 2008, Scandinavian Journal of Statistics 35(2), doi:10.1111/j.1467-9469.2007.00585.x): the same maximum in a
    fraction of the iterations. It is the maximum that lies uphill of the start, which need not be the highest. The
    paper's table and a plain implementation are compared in `tests/published/test_dawid_skene.py` and
    `tests/stats/test_dawid_skene.py`.
    """
    if counts.ndim != 3:
        raise InputError(f"counts: {counts.ndim} dimensions; needs items, raters and labels.")
    n_items, _, n_labels = counts.shape
    sample_weights = np.ones((1, n_items)) if weights is None else weights
    used = np.flatnonzero(counts.any(axis=(0, 1)))
    counts = counts[:, :, used]
    begin = counts.sum(axis=1) if start is None else start[:, used]
    begin = divide(begin, begin.sum(axis=1, keepdims=True))
    begin = np.where(np.isfinite(begin), begin, 1.0 / max(len(used), 1))
    first, pattern = _patterns(counts, begin)
    of_patterns = np.zeros((len(sample_weights), len(first)))
    np.add.at(of_patterns.T, pattern, sample_weights.T)
    step = max(1, _CELLS_AT_ONCE // max(1, len(first) * n_labels))
    fits = [
        _run(counts[first], of_patterns[i : i + step], begin[first], tolerance, iterations)
        for i in range(0, max(len(sample_weights), 1), step)
    ]
    fit = Fit(*(np.concatenate(parts) for parts in zip(*fits, strict=True)))
    return _with_unused(fit._replace(posterior=fit.posterior[:, pattern]), used, n_labels)


def _with_unused(fit: Fit, used: IntArray, n_labels: int) -> Fit:
    """The fit with the labels that no rater gives back in their places."""
    if len(used) == n_labels:
        return fit
    b, n_raters = fit.confusion.shape[:2]
    prevalence = np.zeros((b, n_labels))
    prevalence[:, used] = fit.prevalence
    posterior = np.where(np.isnan(fit.posterior[:, :, :1]).all(axis=2, keepdims=True), np.nan, 0.0)
    posterior = np.repeat(posterior, n_labels, axis=2)
    posterior[:, :, used] = fit.posterior
    confusion = np.full((b, n_raters, n_labels, n_labels), np.nan)
    confusion[:, :, used] = np.where(np.isnan(fit.confusion[..., :1]), np.nan, 0.0)
    confusion[:, :, used[:, None], used] = fit.confusion
    return fit._replace(prevalence=prevalence, posterior=posterior, confusion=confusion)


def _patterns(counts: FloatArray, start: FloatArray) -> tuple[IntArray, IntArray]:
    """The first item of each pattern of labels, and the pattern of each item: items with the same labels are alike."""
    rows = np.hstack([counts.reshape(len(counts), -1), start])
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first, which.reshape(-1)


class _Sample(NamedTuple):
    """What EM works on: `counts` (P, raters K), how often each item is in each sample, `mass` (P, b), and K.

    The parameters of the samples are one array, shape (K + raters K K, b): prevalences, then confusions by rater,
    given and true label. What a sample says nothing about is zero.
    """

    counts: FloatArray
    mass: FloatArray
    n_labels: int

    def of(self, samples: BoolArray) -> _Sample:
        """Some of the samples."""
        return self._replace(mass=self.mass[:, samples])

    def split(self, state: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The prevalences, shape (K, b), and the confusions, (raters, given K, true K, b)."""
        k = self.n_labels
        return state[:k], state[k:].reshape(-1, k, k, state.shape[1])

    def maximise(self, expected: FloatArray) -> FloatArray:
        """The M-step, from how much of each item is expected to have each label, shape (P, K, b)."""
        n_items, n_labels, b = expected.shape
        state = np.empty(((1 + self.counts.shape[1]) * n_labels, b))
        prevalence, confusion = self.split(state)
        expected.sum(axis=0, out=prevalence)
        prevalence /= _positive(prevalence.sum(axis=0))
        np.matmul(self.counts.T, expected.reshape(n_items, -1), out=state[n_labels:].reshape(-1, n_labels * b))
        confusion /= _positive(confusion.sum(axis=1))[:, None]
        return state

    def joint(self, state: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The E-step: each label's probability up to a factor, (P, K, b), the factor, (P, b), and the log evidence."""
        logs = np.log(np.maximum(state, _SMALLEST))
        joint = self.counts @ logs[self.n_labels :].reshape(self.counts.shape[1], -1)
        joint = joint.reshape(len(joint), self.n_labels, -1)
        joint += logs[: self.n_labels]
        top = joint.max(axis=1)
        joint -= top[:, None]
        np.exp(joint, out=joint)
        evidence = joint.sum(axis=1)
        return joint, evidence, top + np.log(evidence)

    def step(self, state: FloatArray) -> tuple[FloatArray, FloatArray]:
        """One iteration of EM, and the log-likelihood before it, shape (b,)."""
        joint, evidence, logs = self.joint(state)
        joint *= (self.mass / evidence)[:, None]
        return self.maximise(joint), (self.mass * logs).sum(axis=0)


def _positive(total: FloatArray) -> FloatArray:
    """A divisor: where there is nothing to divide, the ratio is zero."""
    out: FloatArray = np.where(total > 0, total, 1.0)
    return out


def _run(counts: FloatArray, weights: FloatArray, start: FloatArray, tolerance: float, iterations: int) -> Fit:
    """EM on one chunk of samples; samples that have converged leave the work to the others."""
    flat = np.ascontiguousarray(counts).reshape(len(counts), -1)
    every = _Sample(flat, np.ascontiguousarray(weights.T), counts.shape[2])
    done = every.maximise(start[:, :, None] * every.mass[:, None, :])
    needed = np.full(len(weights), iterations, dtype=np.int64)
    converged = np.zeros(len(weights), dtype=bool)
    active, sample, state = np.arange(len(weights)), every, done.copy()
    made = 0
    while made < iterations and len(active):
        state, still, steps = _cycle(sample, state, tolerance, iterations - made)
        made += steps
        if still.all():
            continue
        stopped = active[~still]
        done[:, stopped], needed[stopped], converged[stopped] = state[:, ~still], made, True
        state, sample, active = state[:, still], sample.of(still), active[still]
    done[:, active] = state
    prevalence, confusion = every.split(done)
    joint, evidence, logs = every.joint(done)
    posterior = joint / evidence[:, None]
    posterior[counts.sum(axis=(1, 2)) == 0] = np.nan
    is_estimated = np.broadcast_to(confusion.sum(axis=1, keepdims=True) > 0, confusion.shape)
    return Fit(
        prevalence=np.where(prevalence.sum(axis=0) > 0, prevalence, np.nan).T,
        confusion=np.moveaxis(np.where(is_estimated, confusion, np.nan), (3, 0, 2, 1), (0, 1, 2, 3)),
        posterior=np.moveaxis(posterior, 2, 0),
        log_likelihood=(logs * every.mass).sum(axis=0),
        iterations=needed,
        converged=converged,
    )


def _cycle(sample: _Sample, state: FloatArray, tolerance: float, left: int) -> tuple[FloatArray, BoolArray, int]:
    """Two iterations and a third from a point further along their direction, where that is no worse.

    Returns
    -------
    The new parameters, which samples have not converged, and how many iterations it took
    """
    first, before = sample.step(state)
    moved = first - state
    if left < 2:
        return first, _largest(moved) > tolerance, 1
    second, between = sample.step(first)
    again = second - first
    still = _largest(again) > tolerance
    if left < 3 or not still.any():
        return second, still, 2
    bend = again - moved
    length = np.sqrt((moved**2).sum(axis=0) / np.maximum((bend**2).sum(axis=0), _SMALLEST))
    length = np.clip(length, 1.0, _LONGEST)
    far = state + 2 * length * moved + length**2 * bend
    far = np.maximum(far, _LEAST * second)
    third, after = sample.step(far)
    better = after >= 2 * between - before - _ROUNDING * (1 + np.abs(between))
    return np.where(better & still, third, second), still, 3


def _largest(change: FloatArray) -> FloatArray:
    """The largest change of each sample's parameters; that of a label which loses all its mass counts."""
    out: FloatArray = np.abs(change).max(axis=0, initial=0.0)
    return out


class Fitted(NamedTuple):
    """The annotations of one dimension under the model.

    Attributes
    ----------
    cases : positions of the annotated cases
    kind : shape (len(cases),), the row of `counts` that each case is like
    counts : shape (P, annotators, K), see `em`
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
        return np.asarray(self.fit.posterior[0][self.kind], dtype=np.float64)


def fit_dimension(coded: Annotations, dimension: int, n_categories: int) -> Fitted | None:
    """Fit the model to the annotations of a dimension; None with fewer than three annotators."""
    case, annotator, choice = coded.of(dimension)
    people, column = np.unique(annotator, return_inverse=True)
    if len(people) < 3:
        return None
    cases, row = np.unique(case, return_inverse=True)
    labels = np.full((len(cases), len(people)), -1, dtype=np.int64)
    labels[row, column] = choice
    rows, kind = patterns(labels)
    counts = label_counts(rows, n_categories)
    weights = np.bincount(kind, minlength=len(rows)).astype(np.float64)
    fit = em(counts, weights[None])
    expected = (rows >= 0).T.astype(np.float64) @ (np.nan_to_num(fit.posterior[0]) * weights[:, None])
    return Fitted(
        cases, kind, counts, people, (labels >= 0).sum(axis=0), expected, np.any(counts > 0, axis=(0, 1)), fit
    )


def right_rate(fit: Fit) -> FloatArray:
    """The probability that each rater is right, shape (b, raters), over the true labels of the rater's own cases."""
    diagonal = np.diagonal(fit.confusion, axis1=2, axis2=3)
    share = np.where(np.isfinite(diagonal), fit.prevalence[:, None, :], 0.0)
    return divide((np.nan_to_num(diagonal) * share).sum(axis=2), share.sum(axis=2))
