"""Judges by the labels that annotators are held to: for each annotator the majority of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mrb_lib.schema import CHOICES
from mrb_lib.stats.options import TINY, BoolArray, FloatArray, IntArray, divide, join_reasons
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.resample import Block, block, each_replicates, interval, interval_reason, n_clusters
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
    judged: BoolArray

    def sums(self, cases: IntArray) -> FloatArray:
        """What each of some cases adds, one row a case."""
        judge = self.judge[cases].swapaxes(1, 2).reshape(len(cases), -1)
        return np.hstack([judge, self.people[cases], self.counted[cases]])

    @property
    def width(self) -> int:
        """The number of columns of `sums`."""
        return self.which.size + 2 * int(self.counted.shape[1])

    def rates(self, sums: FloatArray) -> FloatArray:
        """Accuracy, ceiling and their difference of every judge, (3 x judges, b), from weighted sums, (width, b)."""
        n_judges, n_people = self.which.shape
        people, counted = np.split(sums[n_judges * n_people :], 2)
        won = sums[: n_judges * n_people].reshape(n_people, n_judges, sums.shape[1])
        share = np.nan_to_num(divide(np.ones(counted.shape), counted))
        out = np.zeros((3, n_judges, sums.shape[1]))
        kinds, kind = np.unique(self.which, axis=0, return_inverse=True)
        for place, columns in enumerate(kinds):
            some = np.flatnonzero(kind.reshape(-1) == place)
            judges = slice(None) if len(some) == n_judges else some
            known = (counted[columns] > TINY).sum(axis=0)
            for who, column in enumerate(columns):
                out[0, judges] += won[who, judges] * share[column]
                out[1, judges] += people[column] * share[column]
            out[:2, judges] *= divide(np.ones(len(known)), known)
        out[2] = out[0] - out[1]
        return out.reshape(3 * n_judges, sums.shape[1])


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
    worth = worth_by_label(panel, categories, policy)
    judged = panel.judged()
    sums = [_held(item, worth[:, :, d], judged[:, d]) for d, item in enumerate(held)]
    blocks = [_block(sums, group, codes) for group in groups]
    drawn = each_replicates(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    rows = []
    for group, found_here in zip(groups, drawn, strict=True):
        ends = np.stack(interval(found_here)).reshape(2, len(sums), 2, len(panel.judges))
        for dimension, item in enumerate(sums):
            label = {"dimension": panel.dimensions[dimension], "part": JUDGE, **group.label(), "policy": policy}
            found = _judges(item, group, codes, ends[:, dimension], absences[dimension], resamples)
            rows += [label | {"judge": name} | row for name, row in zip(panel.judges, found, strict=True)]
    return rows


def worth_by_label(panel: Panel, categories: Sequence[str], policy: str) -> FloatArray:
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
    return _Held(judge, distinct[:n_cases], distinct[n_cases:], which, judged.T)


def _block(held: Sequence[_Held], group: Group, codes: IntArray) -> Block:
    """The accuracies of the judges, then their distances to the ceiling, dimension by dimension."""
    bounds = np.cumsum([0, *(item.width for item in held)])

    def statistic(sums: FloatArray) -> FloatArray:
        rows = np.ascontiguousarray(sums.T)
        found = [item.rates(rows[start:stop]) for item, start, stop in zip(held, bounds, bounds[1:], strict=False)]
        third = [len(rates) // 3 for rates in found]
        kept = [part for rates, n in zip(found, third, strict=True) for part in (rates[:n], rates[2 * n :])]
        return np.vstack(kept).T if kept else np.empty((len(sums), 0))

    return block(codes[group.cases], np.hstack([item.sums(group.cases) for item in held]), statistic)


def _judges(
    item: _Held,
    group: Group,
    codes: IntArray,
    ends: FloatArray,
    absence: str,
    resamples: int,
) -> list[dict[str, object]]:
    n_judges = item.which.shape[0]
    estimate = item.rates(item.sums(group.cases).sum(axis=0)[:, None])
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
        bounds = ends[:, :, judge].T.tolist() if known else [[np.nan, np.nan]] * 2
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
                "reason": join_reasons(interval_reason(n, clusters, resamples, bounds[0][0], bounds[0][1])),
            }
        )
    return rows
