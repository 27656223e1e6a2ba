"""Error rates of each annotator: by the model of Dawid and Skene, and beside the agreement of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.clusters import MOST_OF_ONE
from mrb_lib.stats.dawid_skene import Fit, Fitted, em, right_rate
from mrb_lib.stats.estimation import BoolArray, FloatArray, IntArray, Sampling, divide, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.intervals import wilson
from mrb_lib.stats.multiplicity import adjust_families
from mrb_lib.stats.options import join_reasons

ANNOTATOR, CONFUSION, PREVALENCE = "annotator", "confusion", "prevalence"
NO_MASS = "no case is estimated to have this label among the annotator's cases"
NOT_GIVEN = "no annotator gives this label"
NOT_CONVERGED = "the EM algorithm did not converge"
TOO_MANY = "too many different rows of labels to fit again in every resample"
CROSSED = "two columns of clusters cross, which resamples of one do not show"
NO_PEERS = "no case has the labels of two other annotators"
MOST_REFITS = 1000
_TOLERANCE, _ITERATIONS, _MOST_WORK, _TINY = 1e-4, 300, 2**28, 1e-12


def model_rows(item: Fitted, names: Sequence[str], categories: Sequence[str], sampling: Sampling) -> pd.DataFrame:
    """Return what the model estimates, with 95% intervals: rows of parts confusion, annotator and prevalence.

    Parameters
    ----------
    item : the model of one dimension
    names : all annotators
    categories : the K labels
    sampling : of all cases

    Notes
    -----
    Dawid and Skene (1979), doi:10.2307/2346806. The model takes annotators as independent given the true label: an
    error that they share is taken for the truth. It is fitted again in every resample of clusters (1,000 at most). The
    interval is Wilson's for the number of cases that would give the variance of the bootstrap (of a whole row of a
    confusion matrix together), at most the annotator's cases expected to have the true label: an estimate of 0 or 1 has
    no bootstrap variance. Recovery and coverage: tests/simulation/test_annotators.py.
    """
    fit, n, own = item.fit, len(item.cases), sampling.take(item.cases)
    again, lacks = _refitted(item, own)
    people, labels = np.array(names, dtype=object)[item.annotators], np.array(categories, dtype=object)
    who, gold, given = (each.ravel() for each in np.indices(fit.confusion.shape[1:]))
    used = item.given[gold] & item.given[given]
    right = right_rate(fit)[0]
    share = np.where(item.given, fit.prevalence[0], np.nan)
    sizes = [np.full(len(who), np.nan), np.full(len(people), np.nan), np.full(len(labels), np.nan)]
    if again is not None:
        of_truth = kish_size(again.confusion)
        sizes = [of_truth[who, gold], *(kish_size(each[:, :, None]) for each in (right_rate(again), again.prevalence))]
    expected = item.n_expected[who, gold]
    confusion = {"annotator": people[who], "gold": labels[gold], "label": labels[given], "n": item.n_labelled[who]}
    confusion |= {"n_expected": np.where(item.given[gold], expected, np.nan)}
    confusion |= {"probability": np.where(used, fit.confusion[0].ravel(), np.nan)}
    annotator = {"annotator": people, "n": item.n_labelled, "probability": right}
    prevalence = {"gold": labels, "n": n, "n_expected": share * n, "probability": share}
    frames = []
    made: list[tuple[str, dict[str, Any], BoolArray, FloatArray | IntArray | int]] = [
        (CONFUSION, confusion, used, expected),
        (ANNOTATOR, annotator, np.ones(len(people), dtype=bool), item.n_labelled),
        (PREVALENCE, prevalence, item.given, n),
    ]
    for (part, columns, in_model, most), size in zip(made, sizes, strict=True):
        alike = np.where(np.isnan(size) | (np.asarray(most) <= _TINY), np.nan, np.fmin(size, most))
        low, high = wilson(columns["probability"], alike)
        frame = pd.DataFrame(columns).assign(part=part, probability_low=low, probability_high=high)
        frame["reason"] = np.select([~in_model, frame["probability"].isna()], [NOT_GIVEN, NO_MASS], "")
        frames.append(frame)
    rows = pd.concat(frames, ignore_index=True)
    if not fit.converged[0]:
        rows["reason"] = [join_reasons(each, NOT_CONVERGED) for each in rows["reason"]]
    return rows.assign(n_clusters=own.draws.shape[1], largest=_largest(own), lacks=lacks)


def _largest(sampling: Sampling) -> float:
    return float(np.bincount(sampling.codes).max() / len(sampling.codes))


def _refitted(item: Fitted, sampling: Sampling) -> tuple[Fit | None, str | None]:
    """Return the model in every resample, or None, and why where it is not for want of clusters or resamples."""
    draws, counts = sampling.draws[:MOST_REFITS], item.counts
    if sampling.crossed is not None:
        return None, CROSSED
    if counts.size * counts.shape[2] * len(draws) > _MOST_WORK:
        return None, TOO_MANY
    if not len(draws) or draws.shape[1] < 2 or _largest(sampling) > MOST_OF_ONE:
        return None, None
    weights = draws @ sampling.sums((item.kind[:, None] == np.arange(len(counts))).astype(np.float64))
    start = item.fit.posterior[0]
    return em(counts, weights, start=start, tolerance=_TOLERANCE, iterations=_ITERATIONS), None


def kish_size(probability: FloatArray) -> FloatArray:
    """Return how many cases would give probabilities their variance over resamples (Kish 1965).

    Parameters
    ----------
    probability : shape (b, ..., K), a distribution over the last axis, or one probability of two

    Returns
    -------
    Shape (...): infinite where there is no variance, NaN where fewer than half of the resamples have a value
    """
    known = np.isfinite(probability)
    n = np.maximum(known.sum(axis=0), 1)
    mean_of = np.nansum(probability, axis=0) / n
    variance = (np.nansum((probability - mean_of) ** 2, axis=0) / n).sum(axis=-1)
    size = np.where(variance > _TINY, divide((mean_of * (1 - mean_of)).sum(axis=-1), variance), np.inf)
    return np.where((known.mean(axis=0) < 0.5).any(axis=-1), np.nan, size)


def peer_gaps(labels: IntArray, k: int) -> FloatArray:
    """Return how much more an annotator agrees with the others of a case than those with each other.

    Parameters
    ----------
    labels : shape (cases, dimensions, annotators), codes of k labels, -1 for none

    Returns
    -------
    The share of the others with the same label less the share of their pairs with one label, of the same shape; NaN
    where a case has fewer than two others. Its mean is 0 for annotators who are alike.
    """
    given = (labels[..., None] == np.arange(k)).astype(np.float64)
    votes = given.sum(axis=2, keepdims=True)
    others, rest = votes.sum(axis=-1) - 1, votes - given
    agree = divide((given * rest).sum(axis=-1), others)
    together = divide((rest * (rest - 1)).sum(axis=-1), others * (others - 1))
    return np.where((labels >= 0) & (others >= 2), agree - together, np.nan)


def peer_rows(analysis: Analysis, labels: IntArray, annotators: Sequence[str], k: int) -> pd.DataFrame:
    """Return for each annotator and dimension the mean of `peer_gaps`, with a test corrected over the annotators.

    Notes
    -----
    Student's t test. The standard error is the larger of that over clusters and that if annotators of a cluster could
    change places, since few cases of disagreement make the first too small. Any innocent one of several annotators is
    accused in at most 7%: tests/simulation/test_innocent_annotators.py.
    """
    gaps = peer_gaps(labels, k)
    names = pd.MultiIndex.from_product([analysis.names, annotators], names=["dimension", "annotator"])
    measures = {"peer_gap": Measure(mean(gaps.reshape(len(gaps), len(names))))}
    rows, made = grid(analysis, names.to_frame(index=False), measures)
    [e] = made["peer_gap"]
    sums = analysis.sampling.sums(np.nan_to_num(gaps))
    there = analysis.sampling.sums(np.isfinite(gaps)) > 0
    spread = divide((sums**2).sum(axis=2), there.sum(axis=2))
    placed = np.sqrt(np.einsum("gda,gd->da", there, np.nan_to_num(spread)).ravel())
    error = np.maximum(e.error, divide(placed, e.n))
    p = 2 * stdtr(e.df, -np.abs(divide(e.value, error)))
    family = np.asarray(
        rows.groupby("dimension", sort=False).ngroup() * (analysis.family == "dimension"), dtype=np.int64
    )
    half = stdtrit(e.df, 0.975) * np.where(error > _TINY, error, np.nan)
    correction = analysis.correction or "holm"
    return rows.assign(
        peer_gap_low=np.maximum(e.value - half, -1.0),
        peer_gap_high=np.minimum(e.value + half, 1.0),
        p_value=p,
        p_adjusted=adjust_families(p, family, correction)[0],
        correction=correction,
    )
