"""Prediction-powered means (PPI++): a few labels, helped by predictions on many more cases. Arrays in, arrays out.

A case that annotators saw and could not decide has no label, but it is in the sample that they saw: what is estimated
is the mean over the cases that can be decided, a ratio.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse, special

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide
from mrb_lib.stats.resampling.resample import CONFIDENCE


class Estimates(NamedTuple):
    """Estimates of one mean with each of `j` predictors; every array has shape (j,), NaN where undefined.

    Attributes
    ----------
    n_labelled, n_undecided, n_unlabelled : cases that annotators decided, saw and did not decide, and did not see
    clusters : those with a labelled case
    estimate, variance : with the predictor's help
    classical, classical_variance : without
    power : lambda, the weight of the predictor
    cross, spread, predicted_spread : covariance of labels and predictions, and their variances, over the cases seen;
        an undecided case counts with the mean label over the share decided, as it does in the variance of a ratio
    """

    n_labelled: FloatArray
    n_undecided: FloatArray
    n_unlabelled: FloatArray
    clusters: FloatArray
    estimate: FloatArray
    variance: FloatArray
    classical: FloatArray
    classical_variance: FloatArray
    power: FloatArray
    cross: FloatArray
    spread: FloatArray
    predicted_spread: FloatArray


def mean(
    score: FloatArray,
    predicted: FloatArray,
    labelled: BoolArray,
    unlabelled: BoolArray,
    codes: IntArray,
    undecided: BoolArray | None = None,
) -> Estimates:
    """The mean of labels that are known on some cases, with the help of each of `j` predictors.

    Parameters
    ----------
    score : shape (cases,), or (cases, j) for j means of their own; used where labelled
    predicted : shape (cases, j), used where labelled, undecided or unlabelled
    labelled, unlabelled : shape (cases, j)
    codes : shape (cases,), the cluster of each case
    undecided : shape (cases, j), cases seen as the labelled ones were, on which there was no decision; None for none

    Notes
    -----
    Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453: the mean label plus lambda times the difference of the
    mean predictions of unlabelled and of seen cases. What is estimated is E[Y D] / E[D], where D says that a case can
    be decided: the root of E[D (Y - theta)] = 0, the paper's estimating equation, so that a seen case has the
    influence D (Y - theta) / E[D]. Undecided cases have none, but they are among those whose predictions are compared
    with the unlabelled ones, of which as many cannot be decided. lambda is the paper's plug-in, or, where clusters
    have several cases, the value that minimises the cluster-robust variance; it is kept between 0 and 1. Variances
    are of sums over clusters, times C / (C - 1) for C clusters with a label. Validated in
    `tests/stats/responders/test_ppi.py`.
    """
    seen = labelled if undecided is None else labelled | undecided
    y: FloatArray = np.where(labelled, score.reshape(len(score), -1), 0.0)
    f: FloatArray = np.where(seen | unlabelled, predicted, 0.0)
    n, all_seen, more = (mask.sum(axis=0).astype(np.float64) for mask in (labelled, seen, unlabelled))
    mean_y = divide(np.asarray(y.sum(axis=0), dtype=np.float64), n)
    mean_f = divide(np.asarray((f * seen).sum(axis=0), dtype=np.float64), all_seen)
    mean_u = divide(np.asarray((f * unlabelled).sum(axis=0), dtype=np.float64), more)
    dy, df = _influence(y, mean_y, labelled, n), _influence(f, mean_f, seen, all_seen)
    change = _influence(f, mean_u, unlabelled, more) - df
    clustered = len(np.unique(codes)) < len(codes)
    sums = _by_cluster(codes) if clustered else None
    by_y, by_change, has_label = dy, change, labelled
    if sums is not None:
        by_y, by_change, has_label = np.asarray(sums @ dy), np.asarray(sums @ change), (sums @ (labelled * 1.0)) > 0
        power = divide(-(by_y * by_change).sum(axis=0), (by_change**2).sum(axis=0))
    else:
        power = _power(dy, df, f, seen | unlabelled, all_seen, more)
    power = np.where(more > 0, np.clip(np.nan_to_num(power), 0.0, 1.0), 0.0)
    clusters = np.asarray(has_label).sum(axis=0).astype(np.float64)
    small = divide(clusters, clusters - 1)
    return Estimates(
        n_labelled=n,
        n_undecided=all_seen - n,
        n_unlabelled=more,
        clusters=clusters,
        estimate=mean_y + np.where(more > 0, power * np.nan_to_num(mean_u - mean_f), 0.0),
        variance=small * ((by_y + power * by_change) ** 2).sum(axis=0),
        classical=mean_y,
        classical_variance=small * (by_y**2).sum(axis=0),
        power=power,
        cross=(dy * df).sum(axis=0) * all_seen,
        spread=(dy**2).sum(axis=0) * all_seen,
        predicted_spread=(df**2).sum(axis=0) * all_seen,
    )


def bounds(estimates: Estimates, *, classical: bool = False) -> tuple[FloatArray, FloatArray]:
    """The 95% interval of a mean between 0 and 1, by Student's quantile; NaN with fewer than two labels or clusters."""
    centre, variance = (
        (estimates.classical, estimates.classical_variance) if classical else (estimates.estimate, estimates.variance)
    )
    defined = (estimates.n_labelled >= 2) & (estimates.clusters >= 2)
    multiple = special.stdtrit(np.maximum(estimates.clusters - 1, 1), (1 + CONFIDENCE) / 2)
    half = np.where(defined, multiple * np.sqrt(variance), np.nan)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def _influence(values: FloatArray, mean: FloatArray, counted: BoolArray, n: FloatArray) -> FloatArray:
    """How far each value that counts moves their mean; 0 for the others."""
    return np.asarray(counted / np.maximum(n, 1) * (values - np.nan_to_num(mean)))


def _power(
    dy: FloatArray, df: FloatArray, f: FloatArray, used: BoolArray, n: FloatArray, more: FloatArray
) -> FloatArray:
    """The paper's plug-in lambda: Cov(label, prediction) / ((1 + n/N) Var(prediction)), the variance over all cases."""
    total = n + more
    centre = np.nan_to_num(divide((f * used).sum(axis=0), total))
    variance = divide((used * (f - centre) ** 2).sum(axis=0), total - 1)
    return divide((dy * df).sum(axis=0) * n, (1 + np.nan_to_num(divide(n, more))) * np.nan_to_num(variance))


def _by_cluster(codes: IntArray) -> sparse.csr_array:
    _, position = np.unique(codes, return_inverse=True)
    n = len(codes)
    return sparse.csr_array((np.ones(n), (position, np.arange(n))), shape=(int(position.max(initial=-1)) + 1, n))
