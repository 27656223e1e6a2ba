"""Accuracy against the truth, from accuracy against a majority label that may be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.dawid_skene import Fitted
from mrb_lib.stats.gold.annotators import MOST_REFITS, refit, weights_of_kinds, why_not
from mrb_lib.stats.options import TINY, BoolArray, FloatArray, IntArray, divide, join_reasons
from mrb_lib.stats.resampling.resample import block, cluster_sums, interval, interval_reason, n_clusters, resampled
from mrb_lib.stats.resampling.robust import Estimate, few_clusters, t_interval
from mrb_lib.stats.resampling.shares import ShareIntervals, share_intervals

NO_CASES = "the judge is scored on no case with a majority label"
UNRELIABLE = "the majority label says too little about the true one to correct for it"
NO_INDEPENDENT = "no independent interval: the cases do not differ"
CUT_OFF = "the correction overshoots what an accuracy can be, and is cut off there"
DEPENDENT = (
    "judge and annotators do not err independently: the judge scores {} where the annotators are split than "
    "independent errors would give; do not use the corrected accuracy, read low and high"
)
_WORST_CONDITION = 1e3
_SLACK = 1e-9
_UNANIMOUS = 1 / 3
_OF_SPLITS = 4
ENDS = ("low", "high", "independent_low", "independent_high", "dependence_low", "dependence_high")


def corrected_rows(
    panel: Panel,
    worth: FloatArray,
    majority: Sequence[FloatArray],
    votes: Sequence[FloatArray],
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
    votes : shape (cases, K) each, how many annotators gave each label
    fits : the model of Dawid and Skene of each dimension; None where it cannot be fitted
    judged : shape (judges, dimensions), cases with a verdict

    Notes
    -----
    `accuracy` assumes that given the true label a judge's verdict is independent of the annotators' votes, and they of
    each other (the model of Dawid and Skene). Let M[k, m] be the probability that the majority is m where the truth is
    k, and b_l[m] the mean over cases of the judge's score if l were the label, counted where the majority is m. Then
    b_l = M' x_l, where x_l[k] is the mean of that score counted where the truth is k, so that the sum of x_l[l] is the
    accuracy against the truth: the matrix method of Barron (1977), doi:10.2307/2529795. With two labels that are
    mistaken for each other equally often it is (observed - e) / (1 - 2 e), as in Lam and Stork (2003), "Evaluating
    classifiers by means of test data with noisy labels", IJCAI, and in Rogan and Gladen (1978),
    doi:10.1093/oxfordjournals.aje.a112510. An estimate may leave [0, 1]; it is cut off there, its interval
    `independent_low`, `independent_high` too, and `reason` says so.

    Where some cases are hard for all, that model is wrong: annotators who err together look reliable, and a judge that
    errs with them looks better or worse than it is. `dependence` shows it: by how much the judge's score on cases with
    a split panel differs from what the model expects there. `low` and `high` need no such assumption: cases may
    differ in difficulty as they please, if given the case annotators and judge err independently and the true label is
    the one an annotator gives most probably. A wrong majority moves the score of a case by 1 at most, so that the
    accuracy is within `label_error_most` of the observed one. That share is bounded thus: given such a case, a judge
    agrees with a split majority at most as often as that majority is right, so that at most 1 less its agreement
    there (and at most (K - 1) / K) of split majorities are wrong; and for each of them, with three votes or more, at
    most a third of an unanimous one is (all labels then have a probability of 1/2 at most: p^3 against 3 p^2 (1 - p)).
    Majorities of fewer votes count as wrong with probability (K - 1) / K. `low` is the 2.5% quantile over
    the resamples of observed less this share, or the lower end of the interval that the table `accuracy` would
    recommend of the observed accuracy, less this share, where that is further out, as it is where all cases are right;
    `high` likewise; or the ends of the independent interval where those lie further out. That one is by Student's t
    where clusters are few (see `mrb_lib.stats.resampling.robust.few_clusters`), and null where the cases do not differ.
    The intervals fit the model again in every resample, in 1,000 at most. Bias and coverage are simulated in
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
        sums = _sums(worth[:, :, dimension], label, votes[dimension])
        scored = np.isfinite(worth[:, :, dimension].sum(axis=0)) & label.any(axis=1)
        wrong = np.zeros(len(label))
        wrong[fit.cases] = 1 - (fit.posterior() * label[fit.cases]).sum(axis=1)
        error = divide((scored * wrong).sum(axis=1), scored.sum(axis=1))
        split = votes[dimension].max(axis=1) < votes[dimension].sum(axis=1)
        estimates = _estimates(fit, label, split, sums, len(panel.judges), next(kinds), codes, refits, seed)
        absent = why_not(fit.counts, codes, refits)
        clusters = (np.asarray(block(codes, scored.T, lambda sums: sums).sums) > 0).sum(axis=0)
        out.append([])
        for judge, (name, mine) in enumerate(zip(panel.judges, scored, strict=True)):
            counts = (int(mine.sum()), int(clusters[judge]), refits)
            own = {key: float(values[judge]) for key, values in estimates.items()} | {"label_error": error[judge]}
            out[-1].append({"judge": name, "n_excluded": int(counted[judge]) - counts[0]} | _row(counts, own, absent))
    return out


class _Model(NamedTuple):
    """The corrected accuracies, and the scores where the panel is split that the model expects; shape (b, judges)."""

    accuracy: FloatArray
    on_splits: FloatArray


def _estimates(
    fit: Fitted,
    label: FloatArray,
    split: BoolArray,
    sums: FloatArray,
    n_judges: int,
    weights: FloatArray,
    codes: IntArray,
    refits: int,
    seed: int,
) -> dict[str, FloatArray]:
    """The columns of `corrected_rows` that are estimates or ends of intervals, each of shape (judges,).

    Parameters
    ----------
    split : shape (cases,), whether the annotators are not unanimous
    sums : see `_sums`
    """
    by_kind, split_kind = np.zeros((len(fit.counts), label.shape[1])), np.zeros(len(fit.counts))
    by_kind[fit.kind], split_kind[fit.kind] = label[fit.cases], split[fit.cases]
    whole = np.bincount(fit.kind, minlength=len(by_kind)).astype(np.float64)[None]
    cap = 1 - 1 / max(int(fit.given.sum()), 1)

    def model(posterior: FloatArray, weights: FloatArray, totals: FloatArray) -> _Model:
        joint, on_splits = (_joint(posterior, weights, each) for each in (by_kind, by_kind * split_kind[:, None]))
        return _corrected(_scores(totals, n_judges), joint, on_splits)

    total = sums.sum(axis=0)[None]
    once = model(fit.fit.posterior, whole, total)
    observed = _observed(total, n_judges, cap)
    out = {
        "accuracy": once.accuracy[0],
        "label_error_most": observed.most_wrong[0],
        "dependence": (observed.on_splits - once.on_splits)[0],
    }
    if why_not(fit.counts, codes, refits):
        return out | dict.fromkeys(ENDS, np.full(n_judges, np.nan))
    again = refit(fit.counts, weights, fit.fit, "dawid_skene").posterior
    [drawn] = resampled([block(codes, sums, lambda each: each)], n_clusters(codes), resamples=refits, seed=seed)
    models, seen = model(again, weights, drawn.replicates), _observed(drawn.replicates, n_judges, cap)
    ends = _of_observed(sums, n_judges, codes, seen.accuracy)
    low, _ = interval(np.clip(seen.accuracy - seen.most_wrong, 0.0, 1.0))
    _, high = interval(np.clip(seen.accuracy + seen.most_wrong, 0.0, 1.0))
    low = np.fmin(low, np.maximum(ends.recommended.low - observed.most_wrong[0], 0.0))
    high = np.fmax(high, np.minimum(ends.recommended.high + observed.most_wrong[0], 1.0))
    clusters = ends.clusters
    corrected = Estimate(
        np.clip(once.accuracy[0], 0.0, 1.0),
        np.sqrt(divide(clusters.astype(np.float64), clusters - 1)) * models.accuracy.std(axis=0),
        ends.df + 1,
    )
    independent = np.where(
        few_clusters(corrected), t_interval(corrected, 0.0, 1.0), interval(np.clip(models.accuracy, 0.0, 1.0))
    )
    independent[:, ~(independent[1] - independent[0] > TINY)] = np.nan
    by_name = (
        np.fmin(low, independent[0]),
        np.fmax(high, independent[1]),
        *independent,
        *interval(seen.on_splits - models.on_splits),
    )
    return out | dict(zip(ENDS, by_name, strict=True))


def _of_observed(sums: FloatArray, n_judges: int, codes: IntArray, replicates: FloatArray) -> ShareIntervals:
    """The intervals of the accuracies against the majority, from what each case adds, see `_sums`."""
    parts = sums.reshape(len(sums), n_judges, -1)
    n_labels = round((parts.shape[2] - 1 - _OF_SPLITS) ** 0.5)
    score, counted = parts[:, :, : n_labels**2 : n_labels + 1].sum(axis=2), parts[:, :, n_labels**2]
    top, bottom = np.hsplit(cluster_sums(codes, np.hstack([score, counted])).values, 2)
    return share_intervals(top, bottom, (score**2).sum(axis=0), replicates)


def _row(counts: tuple[int, int, int], own: dict[str, float], absent: str) -> dict[str, object]:
    """The columns of one judge.

    Parameters
    ----------
    counts : its cases, their clusters, and the resamples
    own : its estimates
    absent : why there are no intervals; empty if there are
    """
    n, clusters, _ = counts
    out: dict[str, object] = {"part": "corrected", "rule": "majority", "n": n}
    if not n:
        return out | {"reason": NO_CASES}
    if n < 2 or clusters < 2:
        own = own | dict.fromkeys(ENDS, np.nan)
    reason = absent or interval_reason(*counts, own["low"], own["high"])
    if not reason and np.isnan(own["independent_low"]):
        reason = NO_INDEPENDENT
    estimate = own["accuracy"]
    if np.isnan(estimate):
        own, reason = own | dict.fromkeys(ENDS[2:], np.nan), UNRELIABLE
    cut = CUT_OFF if estimate < -_SLACK or estimate > 1 + _SLACK else ""
    dependent = ""
    if own["dependence_high"] < 0 or own["dependence_low"] > 0:
        dependent = DEPENDENT.format("lower" if own["dependence_high"] < 0 else "higher")
    return out | own | {"accuracy": float(np.clip(estimate, 0.0, 1.0)), "reason": join_reasons(dependent, cut, reason)}


def _sums(worth: FloatArray, label: FloatArray, votes: FloatArray) -> FloatArray:
    """What each case adds to the sums of each judge, (cases, judges x (K K + 1 + 4)).

    The score if l were the label, by majority m; whether the case counts; and where the majority is of three votes or
    more and not unanimous, whether it counts, the score, and whether every verdict is the majority's label; and
    whether the majority is of fewer votes.
    """
    _, n_judges, n_cases = worth.shape
    scored = np.isfinite(worth.sum(axis=0)).T & (label.sum(axis=1) > 0)[:, None]
    filled = np.where(scored[:, :, None], np.nan_to_num(worth).transpose(2, 1, 0), 0.0)
    table = filled[:, :, :, None] * label[:, None, None, :]
    score, total = (filled * label[:, None, :]).sum(axis=2), votes.sum(axis=1)
    split = scored & ((total >= 3) & (votes.max(axis=1) < total))[:, None]
    others = (split, split * score, split & (score > 1 - _SLACK), scored & (total < 3)[:, None])
    parts = [table.reshape(n_cases, n_judges, -1), *(each[:, :, None] for each in (scored, *others))]
    return np.concatenate(parts, axis=2).reshape(n_cases, -1)


class _Observed(NamedTuple):
    """What needs no model, each of shape (b, judges).

    Attributes
    ----------
    accuracy : against the majority
    on_splits : the same where the panel is split
    most_wrong : the largest share of wrong majorities that goes with the judge's agreement, see `corrected_rows`
    """

    accuracy: FloatArray
    on_splits: FloatArray
    most_wrong: FloatArray


def _observed(sums: FloatArray, n_judges: int, cap: float) -> _Observed:
    """From the sums of `_sums`, weighted; `cap` is the largest probability that a majority is wrong."""
    n, split, score, agreed, few = np.moveaxis(sums.reshape(len(sums), n_judges, -1)[:, :, -1 - _OF_SPLITS :], 2, 0)
    wrong = np.minimum(1 - np.nan_to_num(divide(agreed, split)), cap)
    most = divide((1 + _UNANIMOUS) * split * wrong + few * cap, n)
    return _Observed(np.trace(_scores(sums, n_judges), axis1=2, axis2=3), divide(score, split), most)


def _joint(posterior: FloatArray, weights: FloatArray, label: FloatArray) -> FloatArray:
    """How many cases have each majority label and each true one, of those with a majority: shape (b, truth, majority).

    Parameters
    ----------
    posterior : shape (b, P, K); weights : shape (b, P); label : shape (P, K), zeros where there is no majority
    """
    joint: FloatArray = np.einsum("bpk,bp,pm->bkm", np.nan_to_num(posterior), weights, label, optimize=True)
    return joint


def _scores(sums: FloatArray, n_judges: int) -> FloatArray:
    """The mean scores if l were the label, where the majority is m, from the sums of `_sums`: (b, judges, l, m)."""
    parts = sums.reshape(len(sums), n_judges, -1)
    n_labels = round((parts.shape[2] - 1 - _OF_SPLITS) ** 0.5)
    counted = parts[:, :, n_labels**2, None]
    return divide(parts[:, :, : n_labels**2], counted).reshape(len(sums), n_judges, n_labels, n_labels)


def _corrected(scores: FloatArray, joint: FloatArray, on_splits: FloatArray) -> _Model:
    """What the model makes of scores, not cut off; NaN where the majority cannot be inverted.

    Parameters
    ----------
    joint, on_splits : see `_joint`, of all cases and of those with a split panel
    """
    table = divide(joint, joint.sum(axis=2, keepdims=True))
    identity = np.eye(table.shape[1])
    absent = np.isnan(table.sum(axis=2))
    filled = np.where(absent[:, :, None], identity, table)
    bad = np.linalg.cond(filled) > _WORST_CONDITION
    inverse = np.linalg.inv(np.where(bad[:, None, None], identity, filled))
    by_truth = np.einsum("bjlm,bmk->bjlk", scores, inverse, optimize=True)
    accuracy = np.where(bad[:, None], np.nan, np.trace(by_truth, axis1=2, axis2=3))
    truth = divide(joint.sum(axis=2), joint.sum(axis=(1, 2))[:, None])
    mean_score = np.nan_to_num(divide(by_truth, truth[:, None, None, :]))
    expected = np.einsum("bjmk,bkm->bj", mean_score, on_splits, optimize=True)
    expected = divide(expected, on_splits.sum(axis=(1, 2))[:, None])
    return _Model(accuracy, np.where(bad[:, None], np.nan, expected))
