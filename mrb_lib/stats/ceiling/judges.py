"""Judges by the labels that annotators are held to: for each annotator the majority of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mrb_lib.stats.core.panel import ABSENT, NULL, TIE, Panel
from mrb_lib.stats.core.scoring import columns_used, score
from mrb_lib.stats.options import TINY, BoolArray, FloatArray, IntArray, divide, join_reasons
from mrb_lib.stats.resampling.distinct import distinct_rows
from mrb_lib.stats.resampling.resample import (
    Block,
    block,
    cluster_sums,
    clusters_counted,
    interval,
    interval_reason,
    mean_over_clusters,
    n_clusters,
    resampled,
    share_reasons,
)
from mrb_lib.stats.resampling.robust import few_clusters, t_interval
from mrb_lib.stats.resampling.shares import ShareIntervals, share_intervals
from mrb_lib.stats.subfields import Group

JUDGE = "judge"
LEAST_CASES = 30
BELOW, WITHIN, ABOVE = "below", "within", "above"
ALIKE = "no interval: the cases do not differ"
NOT_SCORED = "the judge is scored on no case on which an annotator's others have a majority"


def too_few(n: int, total: int) -> str:
    """Why what is measured on `n` of `total` annotated or judged cases gives no verdict; empty where it does."""
    if 0 < n < LEAST_CASES:
        return f"no verdict: fewer than {LEAST_CASES} cases"
    return f"no verdict: {n:,} of {total:,} cases, under half" if 2 * n < total else ""


class LeaveOneOut(NamedTuple):
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


class _CaseSums(NamedTuple):
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
        sums : shape (k, b), see `sums`, weighted

        Returns
        -------
        weights : shape (kinds, annotators, b), what makes of sums over cases the mean over annotators of their means
        ceilings : shape (kinds, b)
        """
        _, n_kinds, n_people = self.people.shape
        people, counted = sums[len(self.kind) * n_people :].reshape(2, n_kinds, n_people, sums.shape[1])
        has_cases = counted > TINY
        share = np.divide(1.0, counted, out=np.zeros(counted.shape), where=has_cases)
        weights = divide(share, has_cases.sum(axis=1, keepdims=True))
        return weights, np.einsum("kpb,kpb->kb", people, weights)

    def rates(self, sums: FloatArray, out: FloatArray) -> None:
        """Write accuracy and distance to the ceiling of every judge into `out`, (2, judges, b), from sums of (k, b)."""
        _, n_judges, n_people = self.judge.shape
        won = sums[: n_judges * n_people].reshape(n_people, n_judges, sums.shape[1])
        for kind, (weights, ceiling) in enumerate(zip(*self.ceilings(sums), strict=True)):
            of_kind = np.flatnonzero(self.kind == kind)
            judges = slice(None) if len(of_kind) == n_judges else of_kind
            out[0, judges] = np.einsum("pjb,pb->jb", won[:, judges], weights)
            out[1, judges] = out[0, judges] - ceiling

    def intervals(
        self, group: Group, codes: IntArray, replicates: FloatArray
    ) -> tuple[ShareIntervals, tuple[FloatArray, FloatArray]]:
        """The intervals of the judges' accuracies, and of their distances to the ceiling.

        Every annotator's cases weigh alike together. Distances have Student's t where clusters are few, see
        `mrb_lib.stats.resampling.robust.few_clusters`, else percentiles.

        Parameters
        ----------
        replicates : shape (resamples, 2, judges), see `rates`
        """
        counted, codes = self.counted[group.cases][:, self.kind], codes[group.cases]
        count = counted.sum(axis=0)
        total, people = count.sum(axis=1, keepdims=True), (count > 0).sum(axis=1, keepdims=True)
        weight = np.nan_to_num(divide(np.broadcast_to(total, count.shape), count * people))
        won = self.judge[group.cases]
        top, apart, bottom = (
            np.einsum("cjp,jp->cj", each, weight)
            for each in (won, won - self.people[group.cases][:, self.kind], counted)
        )
        square = np.einsum("cjp,jp->j", won**2, weight)
        distance = mean_over_clusters(apart, bottom, codes)
        low, high = np.where(few_clusters(distance), t_interval(distance, -1.0, 1.0), interval(replicates[:, 1]))
        top, bottom = np.hsplit(cluster_sums(codes, np.hstack([top, bottom])).values, 2)
        return share_intervals(top, bottom, square, replicates[:, 0]), (low, high)

    def counts(self, group: Group, codes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """How many cases of a group each judge is scored on, of how many clusters, and how many it judged."""
        scored = np.any(self.counted[group.cases] > 0, axis=2)
        clusters = clusters_counted(codes[group.cases], scored)
        return scored.sum(axis=0)[self.kind], clusters[self.kind], self.judged[group.cases].sum(axis=0)


def judge_rows(
    panel: Panel,
    held: Sequence[LeaveOneOut],
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
    if not held:
        return []
    worth = worth_by_label(panel, categories, policy)
    judged = panel.judged()
    sums = [_case_sums(item, worth[:, :, d], judged[:, d]) for d, item in enumerate(held)]
    blocks = [_block(sums, group, codes) for group in groups]
    drawn = resampled(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    rows = []
    for group, item in zip(groups, drawn, strict=True):
        replicates = item.replicates.reshape(len(item.replicates), len(sums), 2, len(panel.judges))
        for i, dimension in enumerate(panel.dimensions):
            label = {"dimension": dimension, "part": JUDGE, **group.label()}
            of_dimension = _judges(sums[i], group, codes, replicates[:, i], absences[i], resamples)
            rows += [label | {"judge": name} | row for name, row in zip(panel.judges, of_dimension, strict=True)]
    return rows


def worth_by_label(panel: Panel, categories: Sequence[str], policy: str) -> FloatArray:
    """What a judge's verdicts would be worth were a category the label, (categories, judges, dimensions, cases)."""
    _, n_dimensions, n_cases = panel.shape
    out = np.full((len(categories), *panel.shape), np.nan)
    for i, name in enumerate(categories):
        if name in panel.categories:
            label = np.full((n_dimensions, n_cases), panel.categories.index(name), dtype=np.int64)
            out[i] = score(panel, label, policy).score
    return out


def labels_by_policy(
    panel: Panel, categories: Sequence[str], policy: str, *, null_disagrees: bool
) -> tuple[NDArray[np.int64], BoolArray]:
    """The verdicts of each judge on each case that stand beside an annotator's label.

    A verdict without a choice is left out, as the authors of the alternative annotator test do, unless
    `null_disagrees`: then it agrees with nobody.

    `official`: the one in order AB, repeat 0. `balanced`: all of them, each compared on its own and then averaged,
    which is the probability for a verdict drawn at random (an order with more repeats has more weight). `answered`:
    those with a choice, always. `strict`: one, the choice of them all, null where they differ. `net`: one, the
    response with more verdicts, a tie where there are more ties than other choices, else null. The last two need both
    orders; verdicts that differ agree with nobody.

    Returns
    -------
    Codes in `categories`, -1 for null, and which of them count; shape (judges, dimensions, cases, verdicts)
    """
    codes = {name: i for i, name in enumerate(categories)}
    into = np.array([*(codes.get(name, NULL) for name in panel.categories), NULL, NULL], dtype=np.int64)
    used = panel.choice[..., *columns_used(panel, policy)]
    flat = used.reshape(*panel.shape, -1)
    present = flat != ABSENT if null_disagrees and policy != "answered" else flat >= 0
    if policy in ("strict", "net"):
        both = (used != ABSENT).any(axis=4).all(axis=3) & present.any(axis=3)
        whole = _unanimous(flat) if policy == "strict" else _net(flat)
        return into[whole[..., None]], both[..., None]
    return into[flat.astype(np.int64)], present


def _unanimous(flat: NDArray[np.int8]) -> NDArray[np.int64]:
    """The choice of all verdicts, null where they differ; shape (..., verdicts) to (...)."""
    top = flat.max(axis=-1).astype(np.int64)
    same = ((flat == ABSENT) | (flat == top[..., None])).all(axis=-1)
    return np.where(same & (top >= 0), top, NULL)


def _net(flat: NDArray[np.int8]) -> NDArray[np.int64]:
    a, b, tie = ((flat == choice).sum(axis=-1) for choice in (0, 1, TIE))
    return np.select([a > b, b > a, tie > a + b], [0, 1, TIE], NULL).astype(np.int64)


def _case_sums(item: LeaveOneOut, worth: FloatArray, judged: BoolArray) -> _CaseSums:
    _, n_judges, n_cases = worth.shape
    names, annotator = np.unique(item.annotator, return_inverse=True)
    shape = (n_cases, n_judges, len(names))
    judge, people, counted = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    decided = item.label >= 0
    case, who = item.case[decided], annotator[decided]
    scores = worth[item.label[decided], :, case]
    both = np.isfinite(scores)
    judge[case, :, who] = np.where(both, scores, 0.0)
    counted[case, :, who] = both
    people[case, :, who] = np.where(both, item.score[decided][:, None], 0.0)
    first, kind = distinct_rows(counted.swapaxes(0, 1).reshape(n_judges, -1))
    return _CaseSums(judge, people[:, first], counted[:, first], kind, judged.T)


def _block(held: Sequence[_CaseSums], group: Group, codes: IntArray) -> Block:
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
    item: _CaseSums,
    group: Group,
    codes: IntArray,
    replicates: FloatArray,
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
    enough = (n >= 2) & (clusters >= 2)
    ends, distance = item.intervals(group, codes, replicates)
    difference_low, difference_high = np.where(enough, distance, np.nan)
    (low, high), reasons = ends.recommended, share_reasons(n, ends, resamples)
    rows: list[dict[str, object]] = []
    for judge in range(len(n)):
        row: dict[str, object] = {"n": int(n[judge]), "n_excluded": int(judged[judge] - n[judge])}
        if not n[judge]:
            rows.append(row | {"reason": join_reasons(absence or NOT_SCORED)})
            continue
        counts = (int(n[judge]), int(clusters[judge]), resamples)
        few = too_few(counts[0], int(judged[judge]))
        apart = ""
        if not difference_high[judge] - difference_low[judge] > TINY:
            apart = interval_reason(*counts, difference_low[judge], np.nan) or ALIKE
            difference_low[judge] = difference_high[judge] = np.nan
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
                "verdict": None if few else _verdict(difference_low[judge], difference_high[judge]),
                "representative": not few,
                "reason": join_reasons(few, reasons[judge] or (f"difference: {apart}" if apart else "")),
            }
        )
    return rows


def _verdict(low: float, high: float) -> str | None:
    """Where the interval of the difference lies; None where there is none."""
    if np.isnan(low):
        return None
    return BELOW if high < 0 else ABOVE if low > 0 else WITHIN
