"""Accuracy against the truth, from accuracy against a majority label that may be wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mrb_lib.stats.core.options import FloatArray, IntArray, divide, join_reasons
from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.gold.annotators import MOST_REFITS, refit, weights_of_kinds, why_not
from mrb_lib.stats.gold.dawid_skene import Fitted
from mrb_lib.stats.resampling.resample import block, interval, interval_reason, n_clusters, resampled

NO_CASES = "the judge is scored on no case with a majority label"
UNRELIABLE = "the majority label says too little about the true one to correct for it"
CUT_OFF = "the correction overshoots what an accuracy can be, and is cut off there"
_WORST_CONDITION = 1e3
_SLACK = 1e-9


def corrected_rows(
    panel: Panel,
    worth: FloatArray,
    majority: Sequence[FloatArray],
    fits: Sequence[Fitted | None],
    codes: IntArray,
    judged: IntArray,
    *,
    resamples: int,
    seed: int,
) -> list[list[dict[str, object]]]:
    """The rows "corrected" of `mrb_lib.stats.gold.gold_rules.gold_rules`, a list a dimension.

    Parameters
    ----------
    worth : shape (K, judges, dimensions, cases), what the verdicts are worth if a label is the true one
    majority : shape (cases, K) each, the majority label as 0 and 1, NaN where there is none
    fits : the model of Dawid and Skene of each dimension; None where it cannot be fitted
    judged : shape (judges, dimensions), cases with a verdict

    Notes
    -----
    Assumed: given the true label, a judge's verdict is independent of the annotators' votes, and they of each other
    (the model of Dawid and Skene). Let M[k, m] be the probability that the majority is m where the truth is k, and
    b_l[m] the mean over cases of the judge's score if l were the label, counted where the majority is m. Then
    b_l = M' x_l, where x_l[k] is the mean of that score counted where the truth is k, so that the sum of x_l[l] is the
    accuracy against the truth: the matrix method of Barron (1977), doi:10.2307/2529795. With two labels that are
    mistaken for each other equally often it is (observed - e) / (1 - 2 e), as in Lam and Stork (2003), "Evaluating
    classifiers by means of test data with noisy labels", IJCAI, and in Rogan and Gladen (1978),
    doi:10.1093/oxfordjournals.aje.a112510. An estimate may leave [0, 1]; it is cut off there, its interval too, and
    `reason` says so. Without the first assumption a wrong label moves the score of a case by 1 at most: the accuracy is
    within e, the share of wrong majority labels, of the observed one. `bound_low` is the 2.5% quantile of observed - e
    over the resamples, `bound_high` the 97.5% quantile of observed + e. That e is the model's, which takes annotators
    as independent of each other: errors that they share make it too small and the bounds too narrow.
    The interval fits the model again in every resample, in 1,000 at most. Bias and coverage are simulated in
    `tests/simulation/test_annotators.py`.
    """
    refits = min(resamples, MOST_REFITS)
    kept = [(fit.cases, fit.kind, fit.counts, fit.fit) for fit in fits if fit is not None]
    kinds = iter(weights_of_kinds(kept, codes, refits, seed))
    out: list[list[dict[str, object]]] = []
    for dimension, fit in enumerate(fits):
        counted = judged[:, dimension]
        if fit is None:
            empty = {"part": "corrected", "rule": "majority", "n": 0}
            out.append(
                [{**empty, "judge": name, "n_excluded": int(n)} for name, n in zip(panel.judges, counted, strict=True)]
            )
            continue
        label = np.nan_to_num(majority[dimension])
        sums = _sums(worth[:, :, dimension], label)
        scored = np.isfinite(worth[:, :, dimension].sum(axis=0)) & label.any(axis=1)
        wrong = np.zeros(len(label))
        wrong[fit.cases] = 1 - (fit.posterior() * label[fit.cases]).sum(axis=1)
        error = divide((scored * wrong).sum(axis=1), scored.sum(axis=1))
        estimates = _estimates(fit, label, sums, error, next(kinds), codes, refits, seed)
        absent = why_not(fit.counts, codes, refits)
        clusters = (np.asarray(block(codes, scored.T, lambda sums: sums).sums) > 0).sum(axis=0)
        out.append([])
        for judge, (name, mine) in enumerate(zip(panel.judges, scored, strict=True)):
            counts = (int(mine.sum()), int(clusters[judge]), refits)
            row = _row(counts, float(error[judge]), estimates[:, judge].tolist(), absent)
            out[-1].append({"judge": name, "n_excluded": int(counted[judge]) - counts[0]} | row)
    return out


def _estimates(
    fit: Fitted,
    label: FloatArray,
    sums: FloatArray,
    error: FloatArray,
    weights: FloatArray,
    codes: IntArray,
    refits: int,
    seed: int,
) -> FloatArray:
    """The corrected accuracies, the ends of their intervals and the bounds without assumption, shape (5, judges).

    Parameters
    ----------
    error : shape (judges,), the share of wrong labels among the cases of each
    """
    n_judges = len(error)
    by_kind = np.zeros((len(fit.counts), label.shape[1]))
    by_kind[fit.kind] = label[fit.cases]
    whole = np.bincount(fit.kind, minlength=len(by_kind)).astype(np.float64)[None]
    once = _joint(fit.fit.posterior, whole, by_kind)
    estimate = _corrected(_scores(sums.sum(axis=0)[None], n_judges), once)[0]
    if why_not(fit.counts, codes, refits):
        return np.stack([estimate, *np.full((4, n_judges), np.nan)])
    again = _joint(refit(fit.counts, weights, fit.fit, "dawid_skene").posterior, weights, by_kind)
    blocks = [block(codes, sums, lambda sums: sums)]
    [drawn] = resampled(blocks, n_clusters(codes), resamples=refits, seed=seed)
    scores = _scores(drawn.replicates, n_judges)
    low, high = interval(np.clip(_corrected(scores, again), 0.0, 1.0))
    observed = np.trace(scores, axis1=2, axis2=3)
    mistaken = error + (_wrong(again) - _wrong(once))[:, None]
    bound_low, _ = interval(np.clip(observed - mistaken, 0.0, 1.0))
    _, bound_high = interval(np.clip(observed + mistaken, 0.0, 1.0))
    return np.stack([estimate, low, high, bound_low, bound_high])


def _row(counts: tuple[int, int, int], error: float, estimates: list[float], absent: str) -> dict[str, object]:
    """The columns of one judge.

    Parameters
    ----------
    counts : its cases, their clusters, and the resamples
    estimates : see `_estimates`
    absent : why there are no intervals; empty if there are
    """
    n, clusters, _ = counts
    out: dict[str, object] = {"part": "corrected", "rule": "majority", "n": n}
    if not n:
        return out | {"reason": NO_CASES}
    estimate, *ends = estimates if n >= 2 and clusters >= 2 else [estimates[0], *[np.nan] * 4]
    reason = absent or interval_reason(*counts, ends[0], ends[1])
    if np.isnan(estimate):
        ends[:2], reason = [np.nan, np.nan], UNRELIABLE
    cut = CUT_OFF if estimate < -_SLACK or estimate > 1 + _SLACK else ""
    return out | {
        "accuracy": float(np.clip(estimate, 0.0, 1.0)),
        "low": ends[0],
        "high": ends[1],
        "label_error": error,
        "bound_low": ends[2],
        "bound_high": ends[3],
        "reason": join_reasons(cut, reason),
    }


def _sums(worth: FloatArray, label: FloatArray) -> FloatArray:
    """The score if l were the label, by majority m, and whether the case counts, (cases, judges x (K K + 1))."""
    _, n_judges, n_cases = worth.shape
    scored = np.isfinite(worth.sum(axis=0)).T & (label.sum(axis=1) > 0)[:, None]
    filled = np.where(scored[:, :, None], np.nan_to_num(worth).transpose(2, 1, 0), 0.0)
    table = filled[:, :, :, None] * label[:, None, None, :]
    return np.concatenate([table.reshape(n_cases, n_judges, -1), scored[:, :, None]], axis=2).reshape(n_cases, -1)


def _joint(posterior: FloatArray, weights: FloatArray, label: FloatArray) -> FloatArray:
    """How many cases have each majority label and each true one, of those with a majority: shape (b, truth, majority).

    Parameters
    ----------
    posterior : shape (b, P, K); weights : shape (b, P); label : shape (P, K), zeros where there is no majority
    """
    joint: FloatArray = np.einsum("bpk,bp,pm->bkm", np.nan_to_num(posterior), weights, label, optimize=True)
    return joint


def _wrong(joint: FloatArray) -> FloatArray:
    """The share of wrong majority labels, shape (b,)."""
    return 1 - divide(np.trace(joint, axis1=1, axis2=2), joint.sum(axis=(1, 2)))


def _scores(sums: FloatArray, n_judges: int) -> FloatArray:
    """The mean scores if l were the label, where the majority is m, from the sums of `_sums`: (b, judges, l, m)."""
    parts = sums.reshape(len(sums), n_judges, -1)
    n_labels = round((parts.shape[2] - 1) ** 0.5)
    return divide(parts[:, :, :-1], parts[:, :, -1:]).reshape(len(sums), n_judges, n_labels, n_labels)


def _corrected(scores: FloatArray, joint: FloatArray) -> FloatArray:
    """The corrected accuracies, shape (b, judges), not cut off; NaN where the majority cannot be inverted."""
    table = divide(joint, joint.sum(axis=2, keepdims=True))
    identity = np.eye(table.shape[1])
    absent = np.isnan(table.sum(axis=2))
    filled = np.where(absent[:, :, None], identity, table)
    bad = np.linalg.cond(filled) > _WORST_CONDITION
    inverse = np.linalg.inv(np.where(bad[:, None, None], identity, filled))
    out: FloatArray = np.einsum("bjlm,bml->bj", scores, inverse, optimize=True)
    return np.where(bad[:, None], np.nan, out)
