"""Judges by the labels that annotators are held to: for each annotator the majority of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mrb_lib.schema import CHOICES
from mrb_lib.stats.core.options import TINY, BoolArray, FloatArray, IntArray, divide, join_reasons
from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.core.scoring import score
from mrb_lib.stats.core.subfields import Group
from mrb_lib.stats.resampling.distinct import clusters_counted, distinct_rows
from mrb_lib.stats.resampling.resample import Block, block, each_replicates, interval, interval_reason, n_clusters

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
    people : shape (cases, kinds, annotators), the annotator's own score; judges of a kind are scored on the same cases
    counted : shape (cases, kinds, annotators), 1 where both are scored
    kind : shape (judges,), which of the kinds each is
    judged : shape (cases, judges), the judge has a verdict
    """

    judge: FloatArray
    people: FloatArray
    counted: FloatArray
    kind: IntArray
    judged: BoolArray

    def sums(self, cases: IntArray) -> FloatArray:
        """What each of some cases adds, one row a case: the judges' scores, the annotators', and what counts."""
        judge = self.judge[cases].swapaxes(1, 2)
        parts = (judge, self.people[cases], self.counted[cases])
        return np.hstack([values.reshape(len(cases), -1) for values in parts])

    def ceilings(self, sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The ceiling of each kind of judges, (kinds, b), and the weights it is made with.

        Parameters
        ----------
        sums : shape (k, b), as of `sums`, weighted

        Returns
        -------
        weights : shape (kinds, annotators, b), what makes of sums over cases the mean over annotators of their means
        ceilings : shape (kinds, b)
        """
        _, n_kinds, n_people = self.people.shape
        people, counted = sums[len(self.kind) * n_people :].reshape(2, n_kinds, n_people, sums.shape[1])
        there = counted > TINY
        share = np.divide(1.0, counted, out=np.zeros(counted.shape), where=there)
        weights = divide(share, there.sum(axis=1, keepdims=True))
        return weights, np.einsum("kpb,kpb->kb", people, weights)

    def rates(self, sums: FloatArray, out: FloatArray) -> None:
        """Put accuracy and distance to the ceiling of every judge into `out`, (2, judges, b), from sums of (k, b)."""
        _, n_judges, n_people = self.judge.shape
        won = sums[: n_judges * n_people].reshape(n_people, n_judges, sums.shape[1])
        for place, (weights, ceiling) in enumerate(zip(*self.ceilings(sums), strict=True)):
            some = np.flatnonzero(self.kind == place)
            judges = slice(None) if len(some) == n_judges else some
            out[0, judges] = np.einsum("pjb,pb->jb", won[:, judges], weights)
            out[1, judges] = out[0, judges] - ceiling

    def counts(self, group: Group, codes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """How many cases of a group each judge is scored on, of how many clusters, and how many it judged."""
        scored = np.any(self.counted[group.cases] > 0, axis=2)
        clusters = clusters_counted(codes[group.cases], scored)
        return scored.sum(axis=0)[self.kind], clusters[self.kind], self.judged[group.cases].sum(axis=0)


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
    """The rows "judge" of `mrb_lib.stats.ceiling.ceiling.ceiling`.

    Parameters
    ----------
    held, absences : one a dimension of the panel: the annotations and, where there is no ceiling, why
    codes : shape (cases,), the cluster of each case
    """
    if not held:
        return []
    worth = worth_by_label(panel, categories, policy)
    judged = panel.judged()
    sums = [_held(item, worth[:, :, d], judged[:, d]) for d, item in enumerate(held)]
    blocks = [_block(sums, group, codes) for group in groups]
    drawn = each_replicates(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    rows = []
    for group, replicated in zip(groups, drawn, strict=True):
        ends = np.stack(interval(replicated)).reshape(2, len(sums), 2, len(panel.judges))
        for place, dimension in enumerate(panel.dimensions):
            label = {"dimension": dimension, "part": JUDGE, **group.label(), "policy": policy}
            found = _judges(sums[place], group, codes, ends[:, place], absences[place], resamples)
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
    first, kind = distinct_rows(counted.swapaxes(0, 1).reshape(n_judges, -1))
    return _Held(judge, people[:, first], counted[:, first], kind, judged.T)


def _block(held: Sequence[_Held], group: Group, codes: IntArray) -> Block:
    """For each dimension the accuracies of the judges, then their distances to the ceiling."""
    tables = [item.sums(group.cases) for item in held]
    edges = np.cumsum([0, *(table.shape[1] for table in tables)])

    def statistic(sums: FloatArray) -> FloatArray:
        out = np.empty((len(held), 2, len(held[0].kind), len(sums)))
        for item, own, start, stop in zip(held, out, edges, edges[1:], strict=False):
            item.rates(sums.T[start:stop], own)
        return out.reshape(-1, len(sums)).T

    return block(codes[group.cases], np.hstack(tables), statistic)


def _judges(
    item: _Held,
    group: Group,
    codes: IntArray,
    ends: FloatArray,
    absence: str,
    resamples: int,
) -> list[dict[str, object]]:
    whole = item.sums(group.cases).sum(axis=0)[:, None]
    values = np.empty((2, len(item.kind), 1))
    item.rates(whole, values)
    (accuracy, difference), people = values[:, :, 0], item.ceilings(whole)[1][item.kind, 0]
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
