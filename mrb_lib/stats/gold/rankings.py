"""Rankings of judges by one gold rule and another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import kendalltau, rankdata

from mrb_lib.stats.annotators import Annotations
from mrb_lib.stats.options import FloatArray, divide

ONE_JUDGE = "fewer than two judges are scored by both rules"
NO_ORDER = "the judges are all equal by one of the rules"


def ranks(values: FloatArray) -> FloatArray:
    """Ranks from the highest value; equal ones share the better rank, NaN has none."""
    return np.asarray(rankdata(-values.round(12), method="min", nan_policy="omit"), dtype=np.float64)


def rankings(value: FloatArray, rules: Sequence[str]) -> list[dict[str, object]]:
    """Kendall's tau-b between the majority's accuracies and each rule's, from shape (judges, rules)."""
    return [
        {"part": "ranking", "rule": rule, **_tau(value[:, 0], value[:, column])} for column, rule in enumerate(rules)
    ]


def _tau(first: FloatArray, second: FloatArray) -> dict[str, object]:
    """Kendall's tau-b between two columns of accuracies, NaN where a judge has none."""
    both = np.isfinite(first + second)
    pair = np.stack([first[both], second[both]], axis=1).round(12)
    n = len(pair)
    reason = ONE_JUDGE if n < 2 else NO_ORDER if (pair == pair[0]).all(axis=0).any() else ""
    tau = np.nan if reason else float(kendalltau(*pair.T).statistic)
    return {"kendall_tau": tau, "n_judges": n, "reason": reason or None}


def left_out(
    coded: Annotations, dimension: int, votes: FloatArray, worth: FloatArray, majority: FloatArray
) -> list[dict[str, object]]:
    """What becomes of the ranking when the majority is that of all but one annotator, one row an annotator.

    Parameters
    ----------
    worth : shape (K, judges, cases); majority : shape (judges,), the accuracies by the majority of all
    """
    case, annotator, choice = coded.of(dimension)
    rows: list[dict[str, object]] = []
    for who in np.unique(annotator):
        mine = annotator == who
        rest = votes.copy()
        rest[case[mine], choice[mine]] -= 1
        decided = np.flatnonzero((rest == rest.max(axis=1, keepdims=True)).sum(axis=1) == 1)
        score = worth[rest[decided].argmax(axis=1), :, decided]
        counted = np.isfinite(score)
        accuracy = divide(np.where(counted, score, 0.0).sum(axis=0), counted.sum(axis=0))
        rows.append({"annotator": coded.annotators[who], "n": len(decided), **_tau(majority, accuracy)})
    return rows
