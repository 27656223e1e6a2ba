"""Judges by the labels that annotators are held to: for each annotator the majority of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mrb_lib.schema import CHOICES
from mrb_lib.stats.counted import clusters_counted, distinct_columns
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

    def rates(self, sums: FloatArray) -> FloatArray:
        """Accuracy, distance to the ceiling, and ceiling of every judge, (3, judges, b), from weighted sums, (k, b)."""
        n_judges, n_people = self.which.shape
        people, counted = np.split(sums[n_judges * n_people :], 2)
        won = sums[: n_judges * n_people].reshape(n_people, n_judges, sums.shape[1])
        share = np.nan_to_num(divide(np.ones(counted.shape), counted))
        out = np.empty((3, n_judges, sums.shape[1]))
        kinds, kind = np.unique(self.which, axis=0, return_inverse=True)
        for place, columns in enumerate(kinds):
            some = np.flatnonzero(kind.reshape(-1) == place)
            judges = slice(None) if len(some) == n_judges else some
            mean = share[columns] * divide(np.ones(1), (counted[columns] > TINY).sum(axis=0))
            out[0, judges] = np.einsum("pjb,pb->jb", won[:, judges], mean)
            out[2, judges] = np.einsum("pb,pb->b", people[columns], mean)
        np.subtract(out[0], out[2], out=out[1])
        return out

    def counts(self, group: Group, codes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """How many cases of a group each judge is scored on, of how many clusters, and how many it judged."""
        kinds, kind = np.unique(self.which, axis=0, return_inverse=True)
        scored = np.any(self.counted[group.cases][:, kinds] > 0, axis=2)
        clusters = clusters_counted(codes[group.cases], scored)
        kind = kind.reshape(-1)
        return scored.sum(axis=0)[kind], clusters[kind], self.judged[group.cases].sum(axis=0)


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
    every = [(group, dimension) for group in groups for dimension in range(len(sums))]
    blocks = [_block(sums[dimension], group, codes) for group, dimension in every]
    drawn = each_replicates(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    rows = []
    for (group, dimension), replicated in zip(every, drawn, strict=True):
        label = {"dimension": panel.dimensions[dimension], "part": JUDGE, **group.label(), "policy": policy}
        ends = np.stack(interval(replicated)).reshape(2, 2, len(panel.judges))
        found = _judges(sums[dimension], group, codes, ends, absences[dimension], resamples)
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
    distinct, which = distinct_columns(np.vstack([people.reshape(n_cases, -1), counted.reshape(n_cases, -1)]))
    return _Held(judge, distinct[:n_cases], distinct[n_cases:], which.reshape(n_judges, len(names)), judged.T)


def _block(held: _Held, group: Group, codes: IntArray) -> Block:
    """The accuracies of the judges, then their distances to the ceiling."""

    def statistic(sums: FloatArray) -> FloatArray:
        rates = held.rates(np.ascontiguousarray(sums.T))
        return rates[:2].reshape(-1, len(sums)).T

    return block(codes[group.cases], held.sums(group.cases), statistic)


def _judges(
    item: _Held,
    group: Group,
    codes: IntArray,
    ends: FloatArray,
    absence: str,
    resamples: int,
) -> list[dict[str, object]]:
    accuracy, difference, people = item.rates(item.sums(group.cases).sum(axis=0)[:, None])[:, :, 0]
    n, clusters, judged = item.counts(group, codes)
    if absence:
        n = np.zeros_like(n)
    known = (n >= 2) & (clusters >= 2)
    (low, difference_low), (high, difference_high) = np.where(known, ends, np.nan)
    rows: list[dict[str, object]] = []
    for judge in range(len(n)):
        row: dict[str, object] = {"n": int(n[judge]), "n_excluded": int(judged[judge] - n[judge])}
        if not n[judge]:
            rows.append(row | {"reason": join_reasons(absence or NOT_SCORED)})
            continue
        counts = (int(n[judge]), int(clusters[judge]), resamples)
        own = interval_reason(*counts, low[judge], high[judge])
        apart = interval_reason(*counts, difference_low[judge], difference_high[judge])
        rows.append(
            row
            | {
                "accuracy": accuracy[judge],
                "low": low[judge],
                "high": high[judge],
                "ceiling": people[judge],
                "difference": difference[judge],
                "difference_low": difference_low[judge],
                "difference_high": difference_high[judge],
                "reason": join_reasons(own or (f"difference: {apart}" if apart else "")),
            }
        )
    return rows
