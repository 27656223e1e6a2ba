"""Judges by the labels that annotators are held to: for each annotator the majority of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mrb_lib.schema import CHOICES
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, divide, join_reasons, mean_of_defined
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.resample import Block, block, interval, interval_reason, n_clusters, replicates
from mrb_lib.stats.scoring import score
from mrb_lib.stats.subfields import Group

JUDGE = "judge"
NOT_SCORED = "the judge is scored on no case on which an annotator's others have a majority"


class Loo(NamedTuple):
    """The annotations of one dimension, each scored against the others' majority; one entry an annotation.

    Attributes
    ----------
    score : what the annotation is worth; NaN where the others have no majority
    label : the others' majority, a position among the categories; -1 where there is none
    """

    case: IntArray
    annotator: IntArray
    score: FloatArray
    label: IntArray


class _Held(NamedTuple):
    """Sums by case of one dimension: judges and annotators by the same labels on the same cases.

    Attributes
    ----------
    judge : shape (cases, judges, annotators), the judge's score against the majority without the annotator
    people : shape (cases, p), the annotator's own score, for each distinct set of cases of an annotator
    counted : shape (cases, p), 1 where both are scored
    which : shape (judges, annotators), the column of `people` and `counted`
    judged : shape (cases, judges), the judge has a verdict
    """

    judge: FloatArray
    people: FloatArray
    counted: FloatArray
    which: IntArray
    judged: FloatArray

    def sums(self, cases: IntArray) -> FloatArray:
        """What each of some cases adds, one row a case."""
        return np.hstack([self.judge[cases].reshape(len(cases), -1), self.people[cases], self.counted[cases]])

    def rates(self, sums: FloatArray) -> FloatArray:
        """Accuracy, ceiling and their difference of every judge, shape (b, 3 x judges), from weighted sums."""
        n_judges, n_people = self.which.shape
        width, distinct = n_judges * n_people, self.counted.shape[1]
        counted = sums[:, width + distinct :]
        people = divide(sums[:, width : width + distinct], counted)
        columns: list[FloatArray] = []
        for judge, which in enumerate(self.which):
            won = divide(sums[:, judge * n_people : (judge + 1) * n_people], counted[:, which])
            columns += [mean_of_defined(won), mean_of_defined(people[:, which])]
        table = np.hstack(columns).reshape(len(sums), n_judges, 2)
        return np.hstack([table[:, :, 0], table[:, :, 1], table[:, :, 0] - table[:, :, 1]])


def judge_rows(
    panel: Panel,
    held: Sequence[Loo],
    absences: Sequence[str],
    groups: Sequence[Group],
    codes: IntArray,
    categories: Sequence[str],
    policy: str,
    *,
    resamples: int,
    seed: int,
) -> list[dict[str, object]]:
    """The rows "judge" of `mrb_lib.stats.ceiling.ceiling`.

    Parameters
    ----------
    held, absences : one a dimension of the panel: the annotations and, where there is no ceiling, why
    codes : shape (cases,), the cluster of each case
    """
    worth = _worth(panel, categories, policy)
    judged = panel.judged()
    sums = [_held(item, worth[:, :, d], judged[:, d]) for d, item in enumerate(held)]
    blocks = [_block(item, group, codes) for group in groups for item in sums]
    drawn = iter(replicates(blocks, n_clusters(codes), resamples=resamples, seed=seed))
    rows = []
    for group in groups:
        for dimension, item in enumerate(sums):
            ends = interval(next(drawn))
            label = {"dimension": panel.dimensions[dimension], "part": JUDGE, **group.label(), "policy": policy}
            found = _judges(item, group, codes, ends, absences[dimension], resamples)
            rows += [label | {"judge": name} | row for name, row in zip(panel.judges, found, strict=True)]
    return rows


def _worth(panel: Panel, categories: Sequence[str], policy: str) -> FloatArray:
    """What a judge's verdicts would be worth were a category the label, (categories, judges, dimensions, cases)."""
    _, n_dimensions, n_cases = panel.shape
    out = np.full((len(categories), *panel.shape), np.nan)
    for place, name in enumerate(categories):
        if name in CHOICES:
            label = np.full((n_dimensions, n_cases), CHOICES.index(name), dtype=np.int64)
            out[place] = score(panel, label, policy).score
    return out


def _held(item: Loo, worth: FloatArray, judged: BoolArray) -> _Held:
    _, n_judges, n_cases = worth.shape
    names, annotator = np.unique(item.annotator, return_inverse=True)
    shape = (n_cases, n_judges, len(names))
    judge, people, counted = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    decided = item.label >= 0
    case, who = item.case[decided], annotator[decided]
    found = worth[item.label[decided], :, case]
    both = np.isfinite(found)
    judge[case, :, who] = np.where(both, found, 0.0)
    counted[case, :, who] = both
    people[case, :, who] = np.where(both, item.score[decided][:, None], 0.0)
    stacked = np.vstack([people.reshape(n_cases, -1), counted.reshape(n_cases, -1)])
    distinct, which = np.unique(stacked, axis=1, return_inverse=True)
    which = which.reshape(n_judges, len(names)).astype(np.int64)
    return _Held(judge, distinct[:n_cases], distinct[n_cases:], which, judged.T.astype(np.float64))


def _block(item: _Held, group: Group, codes: IntArray) -> Block:
    return block(codes[group.cases], item.sums(group.cases), item.rates)


def _judges(
    item: _Held,
    group: Group,
    codes: IntArray,
    ends: tuple[FloatArray, FloatArray],
    absence: str,
    resamples: int,
) -> list[dict[str, object]]:
    n_judges = item.which.shape[0]
    estimate = item.rates(item.sums(group.cases).sum(axis=0)[None])[0]
    low, high = (end.reshape(3, n_judges) for end in ends)
    rows: list[dict[str, object]] = []
    for judge, (accuracy, people, difference) in enumerate(estimate.reshape(3, n_judges).T):
        scored = item.counted[np.ix_(group.cases, item.which[judge])].any(axis=1)
        n, clusters = int(scored.sum()), len(np.unique(codes[group.cases[scored]]))
        n_excluded = int(item.judged[group.cases, judge].sum()) - n
        if absence or not n:
            n_excluded += n
            rows.append({"n": 0, "n_excluded": n_excluded, "reason": join_reasons(absence or NOT_SCORED)})
            continue
        known = n >= 2 and clusters >= 2
        bounds = [(float(low[i, judge]), float(high[i, judge])) if known else (np.nan, np.nan) for i in (0, 2)]
        rows.append(
            {
                "n": n,
                "n_excluded": n_excluded,
                "accuracy": accuracy,
                "low": bounds[0][0],
                "high": bounds[0][1],
                "ceiling": people,
                "difference": difference,
                "difference_low": bounds[1][0],
                "difference_high": bounds[1][1],
                "reason": join_reasons(interval_reason(n, clusters, resamples, *bounds[0])),
            }
        )
    return rows
