"""Accuracy against the truth, from accuracy against a majority label that may be wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mrb_lib.stats.annotator_fit import Fitted
from mrb_lib.stats.annotator_intervals import MOST_REFITS, refit, weights_of_kinds, why_not
from mrb_lib.stats.options import FloatArray, IntArray, divide, join_reasons
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.resample import block, interval, interval_reason, n_clusters, replicates

NO_CASES = "the judge is scored on no case with a majority label"
UNRELIABLE = "the majority label says too little about the true one to correct for it"
_WORST_CONDITION = 1e3


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
    """The rows "corrected" of `mrb_lib.stats.gold_rules.gold_rules`, a list a dimension.

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
    doi:10.1093/oxfordjournals.aje.a112510. An estimate may leave [0, 1]; it is cut off there, its interval too. Without
    the first assumption a wrong label moves the score of a case by 1 at most: the accuracy is within e, the share of
    wrong majority labels, of the observed one (`bound_low`, `bound_high`, for the estimated e).
    The interval fits the model again in every resample, in 1,000 at most. Bias and coverage are simulated in
    `tests/simulation/test_annotators.py`.
    """
    refits = min(resamples, MOST_REFITS)
    kept = [(fit.cases, fit.kind, fit.counts, fit.fit) for fit in fits if fit is not None]
    kinds = iter(weights_of_kinds(kept, codes, refits, seed))
    out = []
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
        estimate, ends = _estimates(fit, label, sums, next(kinds), codes, refits, seed)
        scored = np.isfinite(worth[:, :, dimension].sum(axis=0)) & label.any(axis=1)
        wrong = np.zeros(len(label))
        wrong[fit.cases] = 1 - (fit.posterior() * label[fit.cases]).sum(axis=1)
        observed = np.einsum("kjn,nk->jn", np.nan_to_num(worth[:, :, dimension]), label)
        rows = [
            _row(observed[judge, mine], wrong[mine], codes[mine], estimate[judge], ends[:, judge].tolist(), refits)
            for judge, mine in enumerate(scored)
        ]
        for place, (row, name) in enumerate(zip(rows, panel.judges, strict=True)):
            row |= {"judge": name, "n_excluded": int(counted[place]) - int(scored[place].sum())}
            if not row.get("reason") and why_not(fit.counts, codes, refits):
                row["reason"] = why_not(fit.counts, codes, refits)
        out.append(rows)
    return out


def _estimates(
    fit: Fitted, label: FloatArray, sums: FloatArray, weights: FloatArray, codes: IntArray, refits: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """The corrected accuracies, shape (judges,), and the ends of their intervals, (2, judges)."""
    n_labels = label.shape[1]
    n_judges = sums.shape[1] // (n_labels**2 + 1)
    by_kind = np.zeros((len(fit.counts), n_labels))
    by_kind[fit.kind] = label[fit.cases]
    whole = np.bincount(fit.kind, minlength=len(by_kind)).astype(np.float64)[None]
    estimate = _corrected(sums.sum(axis=0)[None], _confusion(fit.fit.posterior, whole, by_kind), n_judges)[0]
    if why_not(fit.counts, codes, refits):
        return estimate, np.full((2, n_judges), np.nan)
    again = refit(fit.counts, weights, fit.fit, "dawid_skene")
    blocks = [block(codes, sums, lambda found: found)]
    (drawn,) = replicates(blocks, n_clusters(codes), resamples=refits, seed=seed)
    found = _corrected(drawn, _confusion(again.posterior, weights, by_kind), n_judges)
    return estimate, np.stack(interval(found))


def _row(
    observed: FloatArray, wrong: FloatArray, codes: IntArray, estimate: float, ends: list[float], refits: int
) -> dict[str, object]:
    """The columns of one judge, from its scores by the majority and the probability of each label being wrong."""
    n, clusters = len(observed), len(np.unique(codes))
    out: dict[str, object] = {"part": "corrected", "rule": "majority", "n": n}
    if not n:
        return out | {"reason": NO_CASES}
    error, accuracy = float(wrong.mean()), float(observed.mean())
    low, high = ends if n >= 2 and clusters >= 2 else (np.nan, np.nan)
    reason = UNRELIABLE if np.isnan(estimate) else interval_reason(n, clusters, refits, low, high)
    return out | {
        "accuracy": float(estimate),
        "low": low,
        "high": high,
        "label_error": error,
        "bound_low": max(accuracy - error, 0.0),
        "bound_high": min(accuracy + error, 1.0),
        "reason": join_reasons(reason),
    }


def _sums(worth: FloatArray, label: FloatArray) -> FloatArray:
    """The score if l were the label, by majority m, and whether the case counts, (cases, judges x (K K + 1))."""
    _, n_judges, n_cases = worth.shape
    scored = np.isfinite(worth.sum(axis=0)).T & (label.sum(axis=1) > 0)[:, None]
    filled = np.where(scored[:, :, None], np.nan_to_num(worth).transpose(2, 1, 0), 0.0)
    table = filled[:, :, :, None] * label[:, None, None, :]
    return np.concatenate([table.reshape(n_cases, n_judges, -1), scored[:, :, None]], axis=2).reshape(n_cases, -1)


def _confusion(posterior: FloatArray, weights: FloatArray, label: FloatArray) -> FloatArray:
    """The probability of each majority label, where there is one, given the true one: shape (b, truth, majority).

    Parameters
    ----------
    posterior : shape (b, P, K); weights : shape (b, P); label : shape (P, K), zeros where there is no majority
    """
    joint = np.einsum("bpk,bp,pm->bkm", np.nan_to_num(posterior), weights, label, optimize=True)
    return divide(joint, joint.sum(axis=2, keepdims=True))


def _corrected(sums: FloatArray, table: FloatArray, n_judges: int) -> FloatArray:
    """The corrected accuracies, shape (b, judges); NaN where the majority cannot be inverted."""
    n_labels = table.shape[1]
    parts = sums.reshape(len(sums), n_judges, n_labels**2 + 1)
    found = divide(parts[:, :, :-1], parts[:, :, -1:]).reshape(len(sums), n_judges, n_labels, n_labels)
    absent = np.isnan(table.sum(axis=2))
    filled = np.where(absent[:, :, None], np.eye(n_labels), table)
    bad = np.linalg.cond(filled) > _WORST_CONDITION
    inverse = np.linalg.inv(np.where(bad[:, None, None], np.eye(n_labels), filled))
    out: FloatArray = np.einsum("bjlm,bml->bj", found, inverse, optimize=True)
    return np.where(bad[:, None], np.nan, np.clip(out, 0.0, 1.0))
