"""What each annotator makes of each true label, and the true labels, by the model of Dawid and Skene."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from mrb_lib.stats.annotators import encode_annotations
from mrb_lib.stats.core.table import register_table
from mrb_lib.stats.dawid_skene import (
    FEW_ANNOTATORS,
    MODELS,
    Fit,
    Fitted,
    Model,
    em,
    fit_dimension,
    right_rate,
)
from mrb_lib.stats.gold import reading
from mrb_lib.stats.options import TINY, FloatArray, IntArray, divide, join_reasons, typed
from mrb_lib.stats.resampling.intervals import wilson
from mrb_lib.stats.resampling.resample import NO_RESAMPLES, ONE_CLUSTER, block, cluster_codes, n_clusters, resampled
from mrb_lib.tables.schema import CHOICES

NO_MASS = "no case is estimated to have this label among the annotator's cases"
NOT_GIVEN = "no annotator gives this label"
NOT_CONVERGED = "the EM algorithm did not converge"
COLUMNS = [
    "dimension",
    "part",
    "model",
    "annotator",
    "gold",
    "label",
    "n",
    "probability",
    "low",
    "high",
    "n_expected",
    "log_likelihood",
    "n_parameters",
    "bic",
    "iterations",
    "reason",
]
TOO_MANY = "no interval: too many different rows of labels to fit again in every resample"
_TOLERANCE = 1e-4
_ITERATIONS = 300
_MOST_WORK = 2**28
MOST_REFITS = 1000


@register_table(
    "annotators",
    question="how often does each annotator err, by the models of Dawid and Skene",
    columns=COLUMNS,
    needs_verdicts=False,
    meanings=reading.MEANINGS_OF_ANNOTATORS,
    sentence=reading.sentence_of_annotators,
)
def annotators(
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    categories: Sequence[str] = CHOICES,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """How often each annotator gives each label to cases whose true label is another, without being told the truth.

    Parameters
    ----------
    annotations, cases, categories : as in `mrb_lib.stats.annotators.encode_annotations`
    dimensions, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`

    Returns
    -------
    DataFrame
        For each dimension and `model` ("dawid_skene", a confusion matrix for each annotator; "one_coin", one
        probability of being right) rows whose `part` is

        "confusion": `probability` that `annotator` gives `label` where the true label is `gold`, with the 95%
        interval `low`, `high`; `n` cases of the annotator, `n_expected` how many of them are estimated
        to have that true label;
        "annotator": `probability` that the annotator is right, over the true labels that are among their cases, each
        with its prevalence;
        "prevalence": `probability` that a case has the true label `gold`; `n` cases, `n_expected` of them with it;
        "model": `log_likelihood`, `n_parameters`, `bic` (the smaller the better), `iterations`.
        A label that no annotator gives on the dimension is not part of the model: its cells are null.
        `reason` says why something is null. With fewer than three annotators there is the last row alone.

    Raises
    ------
    InputError
        As in `mrb_lib.stats.annotators.encode_annotations`.

    Notes
    -----
    Dawid and Skene (1979), doi:10.2307/2346806. The model takes annotators as independent given the
    true label: an error that they share is taken for the truth. The cluster bootstrap runs the EM algorithm
    again in every resample (in 1,000 at most), from the estimate of all cases. The interval of a probability is
    Wilson's for the number of cases that would give the variance of the bootstrap (of a whole row of the confusion
    matrix together, at most the annotator's cases expected to have the true label): an estimate of 0 or 1 has no
    bootstrap variance of its own. There is no interval where annotators' rows of labels are too many. EM climbs to
    the maximum above the shares of the votes, which is the one whose labels mean what they say; others are not sought.
    Validated in `tests/published/test_dawid_skene.py`, `tests/stats/gold/test_annotators.py` and, for recovery and
    coverage, `tests/simulation/test_annotators.py`.
    """
    coded = encode_annotations(annotations, cases, categories, dimensions)
    codes = cluster_codes(cases, cluster)
    rows: list[dict[str, object]] = []
    for model in MODELS:
        fits = [fit_dimension(coded, i, len(categories), model) for i in range(len(coded.dimensions))]
        fitted = [(item.cases, item.kind, item.counts, item.fit) for item in fits if item is not None]
        drawn = iter(bootstrap(fitted, codes, model, resamples=resamples, seed=seed))
        for dimension, item in enumerate(fits):
            label = {"dimension": coded.dimensions[dimension], "model": model}
            if item is None:
                absence = coded.absence(dimension) if not len(coded.of(dimension)[0]) else FEW_ANNOTATORS
                rows.append(label | {"part": "model", "n": 0, "reason": absence})
                continue
            names = [coded.annotators[i] for i in item.annotators]
            rows.extend(label | row for row in _rows(item, next(drawn), names, categories, model))
    order = {name: i for i, name in enumerate(coded.dimensions)}
    rows.sort(key=lambda row: order[str(row["dimension"])])
    return typed(pd.DataFrame(rows), COLUMNS, counts="Int64", n_expected="float64")


def _rows(
    item: Fitted, drawn: Bootstrap, names: Sequence[str], categories: Sequence[str], model: Model
) -> list[dict[str, object]]:
    fit, n = item.fit, len(item.cases)
    late = "" if fit.converged[0] else NOT_CONVERGED
    why = join_reasons(drawn.reason, late)
    right = right_rate(fit)[0]
    low_right, high_right = effective_wilson(right, drawn.right, item.n_labelled.astype(np.float64))
    rows: list[dict[str, object]] = []
    for who, name in enumerate(names):
        ends = (float(low_right[who]), float(high_right[who]))
        rows.extend(
            {"part": "confusion", "annotator": name, "n": int(item.n_labelled[who])} | cell
            for cell in _confusion(item, who, drawn, ends if model == "one_coin" else None, categories, late)
        )
    for who, name in enumerate(names):
        shown = {"annotator": name, "n": int(item.n_labelled[who]), "probability": right[who]}
        rows.append({"part": "annotator", **shown, "low": low_right[who], "high": high_right[who], "reason": why})
    share = np.where(item.given, fit.prevalence[0], np.nan)
    low, high = effective_wilson(share, drawn.prevalence, np.full(len(share), float(n)))
    for i, gold in enumerate(categories):
        shown = {"gold": gold, "n": n, "n_expected": share[i] * n, "probability": share[i]}
        reason = why if item.given[i] else NOT_GIVEN
        rows.append({"part": "prevalence", **shown, "low": low[i], "high": high[i], "reason": reason})
    return [*rows, _model_row(item, model, late)]


def _confusion(
    item: Fitted,
    who: int,
    drawn: Bootstrap,
    right: tuple[float, float] | None,
    categories: Sequence[str],
    late: str,
) -> list[dict[str, object]]:
    """The cells of one annotator's confusion matrix.

    Parameters
    ----------
    right : the interval of being right, where the matrix has that parameter alone
    """
    expected = item.n_expected[who]
    in_model = item.given[:, None] & item.given
    table = np.where(in_model, item.fit.confusion[0, who], np.nan)
    low, high = effective_wilson(table, drawn.confusion[who][:, None], expected[:, None])
    if right is not None:
        one_coin = _one_coin(*right, int(item.given.sum()), len(categories))
        low, high = (np.where(np.isnan(table), np.nan, ends) for ends in one_coin)
    return [
        {
            "gold": gold,
            "label": label,
            "n_expected": expected[i] if item.given[i] else np.nan,
            "probability": table[i, j],
            "low": low[i, j],
            "high": high[i, j],
            "reason": join_reasons(
                NOT_GIVEN if not in_model[i, j] else NO_MASS if np.isnan(table[i, j]) else drawn.reason, late
            ),
        }
        for i, gold in enumerate(categories)
        for j, label in enumerate(categories)
    ]


def _one_coin(low: float, high: float, n_given: int, n_categories: int) -> tuple[FloatArray, FloatArray]:
    """The intervals of a confusion matrix with one parameter, from that of being right."""
    same = np.eye(n_categories, dtype=bool)
    others = max(n_given - 1, 1)
    return np.where(same, low, (1 - high) / others), np.where(same, high, (1 - low) / others)


def _model_row(item: Fitted, model: Model, late: str) -> dict[str, object]:
    """The fit as a whole; its parameters are those that the annotations say something about."""
    others = int(item.given.sum()) - 1
    n_rows = np.isfinite(item.fit.confusion[0]).all(axis=2).sum()
    each = int(n_rows) * others if model == "dawid_skene" else len(item.annotators) * min(others, 1)
    likelihood = float(item.fit.log_likelihood[0])
    return {
        "part": "model",
        "n": len(item.cases),
        "log_likelihood": likelihood,
        "n_parameters": each + others,
        "bic": (each + others) * float(np.log(len(item.cases))) - 2 * likelihood,
        "iterations": int(item.fit.iterations[0]),
        "reason": join_reasons(late),
    }


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
    fitted : one (cases, kind, counts, fit) a dimension, see `mrb_lib.stats.dawid_skene.Fitted`
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
            confusion=kish_size(again.confusion),
            right=kish_size(right_rate(again)[:, :, None]),
            prevalence=kish_size(again.prevalence[:, :, None]),
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
    [drawn] = resampled(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    return [drawn.replicates[:, start:stop] for start, stop in pairwise(bounds)]


def kish_size(probability: FloatArray) -> FloatArray:
    """How many cases would give probabilities their variance over resamples: Kish's effective sample size.

    Parameters
    ----------
    probability : shape (b, ..., K), a distribution over the last axis, or one probability of two

    Returns
    -------
    Shape (...): infinite where there is no variance, NaN where fewer than half of the resamples have a value
    """
    defined = np.isfinite(probability)
    n = np.maximum(defined.sum(axis=0), 1)
    values = np.where(defined, probability, 0.0)
    mean = values.sum(axis=0) / n
    variance = (np.where(defined, values - mean, 0.0) ** 2).sum(axis=0) / n
    spread = mean * (1 - mean)
    size = divide(spread.sum(axis=-1), variance.sum(axis=-1))
    size = np.where(variance.sum(axis=-1) <= TINY, np.inf, size)
    return np.where((2 * defined.sum(axis=0) < len(probability)).any(axis=-1), np.nan, size)


def effective_wilson(estimate: FloatArray, size: FloatArray, most: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Wilson's interval of probabilities that an effective number of cases stands behind.

    Parameters
    ----------
    estimate : any shape
    size : effective sample sizes (Kish 1965, Survey Sampling), of a shape that goes with it; may be infinite
    most : the most cases that can stand behind each

    Returns
    -------
    low, high : NaN where the estimate or the size is, or there are no cases
    """
    return wilson(estimate, np.where(np.isnan(size) | (most <= TINY), np.nan, np.fmin(size, most)))
