"""Latent labels behind several raters' labels: the EM algorithm of Dawid and Skene, for many samples at once.

Arrays in, arrays out. Raters are annotators or judges.
"""

from typing import NamedTuple

import numpy as np

from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, divide

FEW_ANNOTATORS = "fewer than three annotators: their errors cannot be told from the true labels"
_SMALLEST, _ROUNDING = 1e-300, 1e-12
_LONGEST, _LEAST = 64.0, 0.1


class Fit(NamedTuple):
    """Estimates of EM in each of `b` samples of the same items.

    Attributes
    ----------
    prevalence : shape (b, K), the probability of each label
    confusion : shape (b, raters, K, K): the probability that a rater gives the label of the last
        axis where the one before it is true; NaN where the sample says nothing about it
        (no rater gives the true label anywhere, or it has no mass among the rater's items)
    posterior : shape (b, P, K), the probability of each label for each item; NaN for an item without labels
    converged : shape (b,), whether no parameter changed by more than the tolerance in the last iteration
    """

    prevalence: FloatArray
    confusion: FloatArray
    posterior: FloatArray
    converged: BoolArray

    @property
    def right(self) -> FloatArray:
        """The probability that each rater is right, shape (b, raters), over the true labels of its own items."""
        diagonal = np.diagonal(self.confusion, axis1=2, axis2=3)
        share = np.where(np.isfinite(diagonal), self.prevalence[:, None], 0.0)
        return divide((np.nan_to_num(diagonal) * share).sum(axis=2), share.sum(axis=2))


def label_counts(labels: IntArray, n_categories: int) -> FloatArray:
    """Return labels as the counts that `em` takes, shape (P, raters, K).

    Parameters
    ----------
    labels : shape (P, raters), codes; negative where the rater gave the item no label
    """
    return np.asarray(labels[:, :, None] == np.arange(n_categories), dtype=np.float64)


def em(
    counts: FloatArray,
    weights: FloatArray | None = None,
    *,
    start: FloatArray | None = None,
    tolerance: float = 1e-8,
    iterations: int = 5000,
) -> Fit:
    """Return the maximum-likelihood prevalence of the true labels and each rater's confusion of them.

    Parameters
    ----------
    counts : shape (P, raters, K), how often each rater gave each label to an item (or to a
        pattern of labels, see `fit_labels`); zeros where a rater did not see it
    weights : shape (b, P), how often each item is in each sample, such as a bootstrap's; None is one sample with
        each item once
    start : shape (P, K), the probabilities of the labels to begin with; None takes the shares of the votes
        (equation 3.1)
    tolerance : stop when no parameter changes by more
    iterations : the most to make, in steps of three; samples that need more are marked as not converged

    Notes
    -----
    Dawid and Skene (1979), Applied Statistics 28(1), 20-28, doi:10.2307/2346806, equations 2.3 to 2.5. A label that no
    rater gives is not a label of the model: its prevalence is 0. The start gives the labels their names, on the
    assumption that votes are right more often than not. Raters are taken as independent given the true label: errors
    that they share are taken for truth. Two raters leave the model unidentified. Every third iteration begins further
    along the direction of the two before it, where that is no less likely than EM alone would be (SQUAREM: Varadhan and
    Roland 2008, Scandinavian Journal of Statistics 35(2), doi:10.1111/j.1467-9469.2007.00585.x): the same maximum in a
    fraction of the iterations. It is the maximum that lies uphill of the start, which need not be the highest. The
    paper's table and a plain implementation are compared in `tests/published/test_dawid_skene.py`.
    """
    p, raters, k = counts.shape
    given = np.hstack([np.ones((p, 1)), counts.reshape(p, -1)])
    weight = np.ones((1, p)) if weights is None else weights

    def maximise(expected: FloatArray) -> FloatArray:
        """Return the parameters, shape (b, K, 1 + raters K): of each true label its prevalence, then what raters give.

        `expected`, shape (b, K, P), is how much of each item is expected to have each label.
        """
        sums = expected @ given
        confusion = _shares(sums[..., 1:].reshape(-1, k, raters, k), 3)
        return np.concatenate([_shares(sums[..., :1], 1), confusion.reshape(-1, k, raters * k)], axis=2)

    def expect(state: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return each label's probability times a factor, shape (b, K, P), the factor, and log likelihoods, (b, P)."""
        logs = np.log(np.maximum(state, _SMALLEST)) @ given.T
        top = logs.max(axis=1, keepdims=True)
        joint = np.exp(logs - top)
        evidence = joint.sum(axis=1, keepdims=True)
        return joint, evidence, (top + np.log(evidence))[:, 0]

    def step(state: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the parameters after one iteration, and the log likelihood of the sample before it, shape (b,)."""
        joint, evidence, logs = expect(state)
        return maximise(joint * (weight[:, None] / evidence)), (weight * logs).sum(axis=1)

    votes = counts.sum(axis=1) if start is None else start
    begin = np.where(votes.sum(axis=1, keepdims=True) > 0, votes, counts.any(axis=(0, 1)))
    state = maximise((begin / begin.sum(axis=1, keepdims=True)).T * weight[:, None])
    active = np.arange(len(weight))
    for _ in range(iterations // 3):
        now, own = state[active], weight[active]
        first, before = step(now, own)
        second, between = step(first, own)
        change, again = first - now, second - first
        bend, still = again - change, np.abs(again).max(axis=(1, 2)) > tolerance
        length = np.sqrt((change**2).sum(axis=(1, 2)) / np.maximum((bend**2).sum(axis=(1, 2)), _SMALLEST))
        length = np.clip(length, 1.0, _LONGEST)[:, None, None]
        far = np.maximum(now + 2 * length * change + length**2 * bend, _LEAST * second)
        third, after = step(far, own)
        better = still & (after >= 2 * between - before - _ROUNDING * (1 + np.abs(between)))
        state[active] = np.where(better[:, None, None], third, second)
        active = active[still]
        if not len(active):
            break
    joint, evidence, _ = expect(state)
    posterior = np.where(counts.sum(axis=(1, 2)) > 0, joint / evidence, np.nan).swapaxes(1, 2)
    confusion = state[..., 1:].reshape(-1, k, raters, k).swapaxes(1, 2)
    confusion = np.where(confusion.sum(axis=3, keepdims=True) > 0, confusion, np.nan)
    return Fit(state[..., 0], confusion, posterior, ~np.isin(np.arange(len(weight)), active))


def _shares(values: FloatArray, axis: int) -> FloatArray:
    """Return values over their sum, 0 where that is 0."""
    total = values.sum(axis=axis, keepdims=True)
    return np.asarray(values / np.where(total > 0, total, 1.0))


class Fitted(NamedTuple):
    """The model of the labels of some items, as patterns of labels.

    Attributes
    ----------
    items, raters : positions of the items that have a label, and of the raters who give one
    kind : shape (len(items),), the row of `counts` that each item is like
    counts : shape (P, len(raters), K), see `em`
    fit : one sample, all items
    """

    items: IntArray
    raters: IntArray
    kind: IntArray
    counts: FloatArray
    fit: Fit


def fit_labels(labels: IntArray, n_categories: int) -> Fitted | None:
    """Fit the model to labels of shape (items, raters), -1 for none; None with fewer than three raters.

    Items with the same row of labels are alike to the model: three raters with three labels know 27 kinds of items (64
    with missing labels), however many items there are.
    """
    items, raters = (np.flatnonzero((labels >= 0).any(axis=axis)) for axis in (1, 0))
    if len(raters) < 3:
        return None
    rows, kind = np.unique(labels[np.ix_(items, raters)], axis=0, return_inverse=True)
    counts = label_counts(rows, n_categories)
    return Fitted(items, raters, kind, counts, em(counts, np.bincount(kind).astype(np.float64)[None]))
