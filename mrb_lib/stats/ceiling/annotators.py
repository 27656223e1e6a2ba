"""How well people do by the standard that judges are held to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from mrb_lib.stats.annotators import Annotations, votes_by_case
from mrb_lib.stats.ceiling.judges import LeaveOneOut, too_few
from mrb_lib.stats.core.scoring import BINARY_POLICIES, credit
from mrb_lib.stats.options import FloatArray, IntArray, divide, join_reasons, mean_of_defined
from mrb_lib.stats.resampling.resample import (
    Summands,
    block,
    cell_sums,
    n_clusters,
    ratio,
    resampled,
    share_reasons,
)
from mrb_lib.stats.resampling.shares import ShareIntervals, share_intervals
from mrb_lib.stats.subfields import Group

FEW_ANNOTATORS = "fewer than three annotators: the others have no majority"
NO_CASES = "the others have a majority on none of the annotator's cases"
ANNOTATOR, MEAN = "annotator", "mean"


def annotator_rows(
    coded: Annotations,
    held: Sequence[LeaveOneOut],
    absences: Sequence[str],
    groups: Sequence[Group],
    codes: IntArray,
    *,
    resamples: int,
    seed: int,
) -> list[dict[str, object]]:
    """The rows "annotator" of `mrb_lib.stats.ceiling.ceiling`.

    Parameters
    ----------
    held, absences : what `leave_one_out` and `absence` give of each dimension
    codes : shape (cases,), see `mrb_lib.stats.clusters.cluster_codes`
    """
    if not held:
        return []
    n_annotators = len(coded.annotators)
    table, rates = _sums(held, len(codes), n_annotators), partial(_rates, dimensions=len(held))
    blocks = [block(codes[group.cases], table[group.cases], rates) for group in groups]
    drawn = resampled(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    rows: list[dict[str, object]] = []
    for group, own in zip(groups, drawn, strict=True):
        replicates = own.replicates.reshape(len(own.replicates), len(held), n_annotators + 1)
        for i, item in enumerate(held):
            label = {"dimension": coded.dimensions[i], "part": ANNOTATOR, **group.label()}
            if absences[i]:
                n_excluded = int(np.isin(group.cases, item.case).sum())
                rows.append(label | {"annotator": MEAN, "n": 0, "n_excluded": n_excluded, "reason": absences[i]})
            else:
                sums = own.sums[:, 2 * n_annotators * i : 2 * n_annotators * (i + 1)]
                rows.extend(label | row for row in _rows(coded, item, group, sums, replicates[:, i], resamples))
    return rows


def absence(coded: Annotations, dimension: int, item: LeaveOneOut) -> str:
    """Why a dimension has no ceiling; empty if it has one."""
    if not len(item.case):
        return coded.absence(dimension)
    return FEW_ANNOTATORS if len(np.unique(item.annotator)) < 3 else ""


def leave_one_out(
    coded: Annotations, dimension: int, n_cases: int, categories: Sequence[str], policy: str
) -> LeaveOneOut:
    """Score the annotations of a dimension against the majority of the others.

    The label that judges are held to contains the annotator's own vote; the label here does not, so that people are
    not favoured. Under `balanced` and `answered` a tie against a decisive label, or the reverse, is worth 1/2; under
    the other policies only the same label counts.
    """
    case, annotator, choice = coded.of(dimension)
    votes = votes_by_case(case, choice, n_cases, len(categories))
    others = votes[case]
    others[np.arange(len(case)), choice] -= 1
    top = others.max(axis=1) if len(case) else np.zeros(0)
    decided = (others.sum(axis=1) >= 2) & ((others == top[:, None]).sum(axis=1) == 1)
    label = np.where(decided, others.argmax(axis=1), -1).astype(np.int64)
    tie = list(categories).index("tie") if "tie" in categories else -1
    value = credit(choice, label, tie, graded=policy not in BINARY_POLICIES)
    return LeaveOneOut(case, annotator, np.where(decided, value, np.nan), label)


def _sums(held: Sequence[LeaveOneOut], n_cases: int, n_annotators: int) -> Summands:
    """What each case adds: for each dimension the scores, then the counts, of every annotator."""
    entries = []
    for i, item in enumerate(held):
        counted = np.isfinite(item.score)
        column = item.annotator[counted] + 2 * n_annotators * i
        entries += [(item.case[counted], column, item.score[counted])]
        entries += [(item.case[counted], column + n_annotators, np.ones(len(column)))]
    case, column, value = (np.concatenate(each) for each in zip(*entries, strict=True))
    return cell_sums(case, column, value, (n_cases, 2 * n_annotators * len(held)))


def _rates(sums: FloatArray, dimensions: int) -> FloatArray:
    """For each dimension the accuracy of each annotator, then their mean, shape (b, dimensions * (annotators + 1))."""
    rates = [ratio(own) for own in np.split(sums, dimensions, axis=1)]
    return np.hstack([values for rate in rates for values in (rate, mean_of_defined(rate))])


def _rows(
    coded: Annotations, item: LeaveOneOut, group: Group, sums: Summands, replicates: FloatArray, resamples: int
) -> list[dict[str, object]]:
    """The rows of one dimension and group, from its sums by cluster."""
    n_annotators = len(coded.annotators)
    inside = np.isin(item.case, group.cases)
    annotated = np.bincount(item.annotator[inside], minlength=n_annotators)
    scored = [len(np.unique(item.case[inside & kept])) for kept in (np.isfinite(item.score), inside)]
    whole = np.asarray(sums.sum(axis=0), dtype=np.float64).reshape(-1)
    rate, count = _rates(whole[None, :], 1)[0], whole[n_annotators:].astype(np.int64)
    n, total = np.append(count, scored[0]), np.append(annotated, scored[1])
    ends = _intervals(item, group, sums, replicates)
    (low, high), reasons = ends.recommended, share_reasons(n, ends, resamples)
    rows: list[dict[str, object]] = []
    for who in [*np.flatnonzero(annotated), n_annotators]:
        few = too_few(int(n[who]), int(total[who])) if who < n_annotators else too_few(*scored)
        rows.append(
            {
                "annotator": coded.annotators[who] if who < n_annotators else MEAN,
                "n": int(n[who]),
                "n_excluded": int(total[who] - n[who]),
                "accuracy": float(rate[who]),
                "low": float(low[who]),
                "high": float(high[who]),
                "representative": not few,
                "reason": join_reasons(few, reasons[who]) if n[who] else NO_CASES,
            }
        )
    return rows


def _intervals(item: LeaveOneOut, group: Group, sums: Summands, replicates: FloatArray) -> ShareIntervals:
    """The intervals of each annotator's accuracy, then of their mean, in which every annotator weighs alike."""
    num, den = np.hsplit(sums if isinstance(sums, np.ndarray) else sums.toarray(), 2)
    inside = np.isin(item.case, group.cases) & np.isfinite(item.score)
    square = np.bincount(item.annotator[inside], item.score[inside] ** 2, minlength=den.shape[1])
    count = den.sum(axis=0)
    weight = np.nan_to_num(divide(np.full(len(count), count.sum()), count * (count > 0).sum()))
    top, bottom = (np.column_stack([each, each @ weight]) for each in (num, den))
    return share_intervals(top, bottom, np.append(square, square @ weight), replicates)
