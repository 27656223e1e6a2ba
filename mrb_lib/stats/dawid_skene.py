"""Latent labels behind several raters' labels: the EM algorithm of Dawid and Skene, for many samples at once.

Arrays in, arrays out. Raters are annotators in `annotators.py` and judges in `jury.py`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from mrb_lib.errors import InputError
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide

Model = Literal["dawid_skene", "one_coin"]
MODELS: tuple[Model, ...] = ("dawid_skene", "one_coin")
_SMALLEST = 1e-300
_CELLS_AT_ONCE = 2**21


class Fit(NamedTuple):
    """What EM found in each of `b` samples of the same items.

    Attributes
    ----------
    prevalence : shape (b, K), the probability of each label
    confusion : shape (b, raters, K, K): the probability that a rater gives the label of the last
        axis where the one before it is true; NaN where the sample says nothing about it
        (`dawid_skene`: the label has no mass among the rater's items)
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
    found, inverse = np.unique(labels, axis=0, return_inverse=True)
    return found, inverse.reshape(-1).astype(np.int64)


def em(
    counts: FloatArray,
    weights: FloatArray | None = None,
    *,
    model: Model = "dawid_skene",
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
    model : `dawid_skene` gives every rater a confusion matrix; `one_coin` one probability of being right, with errors
        spread evenly over the other labels
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
        The model is unknown, or the counts are not three-dimensional.

    Notes
    -----
    Dawid and Skene (1979), Applied Statistics 28(1), 20-28, doi:10.2307/2346806, equations 2.3 to 2.5; the one-coin
    form ties each confusion matrix to one parameter. The start gives the labels their names, on the assumption that
    votes are right more often than not. Raters are taken as independent given the true label, so that errors they
    share are taken for truth. Two raters leave the model unidentified. The paper's table and a plain implementation
    are compared in `tests/published/test_dawid_skene.py` and `tests/stats/test_dawid_skene.py`.
    """
    if model not in MODELS:
        raise InputError(f"model {model!r} is unknown; use one of {', '.join(MODELS)}.")
    if counts.ndim != 3:
        raise InputError(f"counts: {counts.ndim} dimensions; needs items, raters and labels.")
    n_items, _, n_labels = counts.shape
    given = np.ones((1, n_items)) if weights is None else weights
    begin = divide(counts.sum(axis=1), counts.sum(axis=(1, 2))[:, None]) if start is None else start
    begin = np.where(np.isfinite(begin), begin, 1.0 / max(n_labels, 1))
    first, pattern = _patterns(counts, begin)
    of_patterns = np.zeros((len(given), len(first)))
    np.add.at(of_patterns.T, pattern, given.T)
    step = max(1, _CELLS_AT_ONCE // max(1, len(first) * n_labels))
    fits = [
        _run(counts[first], of_patterns[at : at + step], begin[first], model, tolerance, iterations)
        for at in range(0, max(len(given), 1), step)
    ]
    fit = Fit(*(np.concatenate(parts) for parts in zip(*fits, strict=True)))
    return fit._replace(posterior=fit.posterior[:, pattern])


def _patterns(counts: FloatArray, start: FloatArray) -> tuple[IntArray, IntArray]:
    """The first item of each pattern of labels, and the pattern of each item: items with the same labels are alike."""
    rows = np.hstack([counts.reshape(len(counts), -1), start])
    _, first, pattern = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first.astype(np.int64), pattern.reshape(-1).astype(np.int64)


class _State(NamedTuple):
    """The parameters of the samples, the last axis: prevalence (K, b), confusion (raters, given K, true K, b)."""

    prevalence: FloatArray
    confusion: FloatArray


def _run(
    counts: FloatArray, weights: FloatArray, start: FloatArray, model: Model, tolerance: float, iterations: int
) -> Fit:
    """EM on one chunk of samples; samples that have converged leave the work to the others."""
    n_samples = len(weights)
    mass = weights.T[:, None, :]
    state = _maximise(counts, start[:, :, None] * mass, model)
    done = _State(state.prevalence.copy(), state.confusion.copy())
    needed = np.full(n_samples, iterations, dtype=np.int64)
    active = np.arange(n_samples)
    for iteration in range(1, iterations + 1):
        posterior, _ = _expect(counts, state)
        moved = _maximise(counts, posterior * mass, model)
        change = np.maximum(_largest(moved.prevalence, state.prevalence), _largest(moved.confusion, state.confusion))
        state, still = moved, change > tolerance
        if still.all():
            continue
        stopped = active[~still]
        done.prevalence[:, stopped] = state.prevalence[:, ~still]
        done.confusion[..., stopped] = state.confusion[..., ~still]
        needed[stopped] = iteration
        state = _State(state.prevalence[:, still], state.confusion[..., still])
        mass, active = mass[..., still], active[still]
        if not len(active):
            break
    done.prevalence[:, active] = state.prevalence
    done.confusion[..., active] = state.confusion
    posterior, evidence = _expect(counts, done)
    posterior[counts.sum(axis=(1, 2)) == 0] = np.nan
    return Fit(
        prevalence=done.prevalence.T,
        confusion=np.moveaxis(done.confusion, (3, 0, 2, 1), (0, 1, 2, 3)),
        posterior=np.moveaxis(posterior, 2, 0),
        log_likelihood=(evidence * weights.T).sum(axis=0),
        iterations=needed,
        converged=~np.isin(np.arange(n_samples), active),
    )


def _largest(new: FloatArray, old: FloatArray) -> FloatArray:
    """The largest change of each sample; what is undefined in both has not changed."""
    change = np.abs(new - old)
    out: FloatArray = np.fmax.reduce(change.reshape(-1, change.shape[-1]), axis=0, initial=0.0)
    return out


def _maximise(counts: FloatArray, expected: FloatArray, model: Model) -> _State:
    """The M-step, from how much of each item is expected to have each label, shape (P, K, b)."""
    n_items, n_raters, n_labels = counts.shape
    total = expected.sum(axis=0)
    prevalence = divide(total, total.sum(axis=0)[None])
    table = (counts.reshape(n_items, -1).T @ expected.reshape(n_items, -1)).reshape(n_raters, n_labels, n_labels, -1)
    if model == "dawid_skene":
        return _State(prevalence, divide(table, table.sum(axis=1)[:, None]))
    same = np.arange(n_labels)
    right = divide(table[:, same, same].sum(axis=1), table.sum(axis=(1, 2)))[:, None, None]
    wrong = (1 - right) / max(n_labels - 1, 1)
    return _State(prevalence, np.where(np.eye(n_labels, dtype=bool)[None, :, :, None], right, wrong))


def _expect(counts: FloatArray, state: _State) -> tuple[FloatArray, FloatArray]:
    """The E-step: the probability of each label, shape (P, K, b), and the log of each item's evidence, (P, b)."""
    n_items, n_raters, n_labels = counts.shape
    logs = np.log(np.fmax(state.confusion, _SMALLEST)).reshape(n_raters * n_labels, -1)
    joint = (counts.reshape(n_items, -1) @ logs).reshape(n_items, n_labels, -1)
    joint += np.log(np.fmax(state.prevalence, _SMALLEST))
    top = joint.max(axis=1)
    joint -= top[:, None]
    np.exp(joint, out=joint)
    evidence = joint.sum(axis=1)
    joint /= evidence[:, None]
    return joint, top + np.log(evidence)
