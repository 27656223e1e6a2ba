"""Rankings of judges by one gold rule and another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mrb_lib.stats.agreement.labels import Annotations
from mrb_lib.stats.core.options import FloatArray, divide

ONE_JUDGE = "fewer than two judges are scored by both rules"
NO_ORDER = "the judges are all equal by one of the rules"


def ranks(values: FloatArray) -> FloatArray:
    """Ranks from the highest value, NaN where there is none."""
    shown = values.round(12)
    above = (shown[None, :] > shown[:, None]).sum(axis=1)
    return np.where(np.isfinite(values), above + 1.0, np.nan)


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
    tau = np.nan if reason else _tau_b(pair)
    return {"kendall_tau": tau, "n_judges": n, "reason": reason or None}


def _tau_b(pair: FloatArray) -> float:
    """Kendall's tau-b of two columns, neither of them constant."""
    first, second = (np.sign(column[:, None] - column[None, :]) for column in pair.T)
    return float((first * second).sum() / np.sqrt((first**2).sum() * (second**2).sum()))


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
        known = np.flatnonzero((rest == rest.max(axis=1, keepdims=True)).sum(axis=1) == 1)
        score = worth[rest[known].argmax(axis=1), :, known]
        counted = np.isfinite(score)
        accuracy = divide(np.where(counted, score, 0.0).sum(axis=0), counted.sum(axis=0))
        rows.append({"annotator": coded.annotators[who], "n": len(known), **_tau(majority, accuracy)})
    return rows
