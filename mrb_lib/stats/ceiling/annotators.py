"""How well people do by the standard that judges are held to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from scipy import sparse

from mrb_lib.schema import CHOICES
from mrb_lib.stats.agreement.coefficients import votes_by_case
from mrb_lib.stats.agreement.labels import Annotations, encode_annotations
from mrb_lib.stats.ceiling.judges import LeaveOneOut
from mrb_lib.stats.core.options import FloatArray, check_policy, join_reasons, mean_of_defined, typed
from mrb_lib.stats.core.scoring import BINARY_POLICIES, credit
from mrb_lib.stats.core.subfields import By, Group, groups
from mrb_lib.stats.resampling.resample import (
    block,
    cluster_codes,
    each_replicates,
    interval,
    interval_reason,
    n_clusters,
    ratio,
)

FEW_ANNOTATORS = "fewer than three annotators: the others have no majority"
NO_CASES = "the others have a majority on none of the annotator's cases"
MEAN = "mean"
_DENSE = 20
COLUMNS = [
    "dimension",
    "subfield",
    "by",
    "policy",
    "annotator",
    "n",
    "n_excluded",
    "n_unassigned",
    "accuracy",
    "low",
    "high",
    "reason",
]


def annotator_ceiling(
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    categories: Sequence[str] = CHOICES,
    policy: str = "balanced",
    by: By = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Accuracy of each annotator against the majority of the other annotators.

    Parameters
    ----------
    annotations, cases, categories : as in `mrb_lib.stats.agreement.agreement`
    policy : under `balanced` and `answered` a tie against a decisive label, or the
        reverse, is worth 1/2; under the others only the same label counts. A person sees each
        case once, so that policies differ in nothing else here.
    by, dimensions, cluster, resamples, seed : as in `mrb_lib.stats.accuracy.accuracy`

    Returns
    -------
    DataFrame
        One row a dimension, group of cases and annotator, and one for the annotator
        "mean", the unweighted mean of the rows above it: `dimension`, `subfield`, `by`, `policy`,
        `annotator`, `n` annotations scored, `n_excluded` annotations by the annotator on
        cases without two other annotators, or whose most frequent label among the others
        is shared by two labels, `n_unassigned`, `accuracy` with the 95% interval `low`, `high` of the
        cluster bootstrap, `reason`. Where a dimension has fewer than three annotators
        there is one row "mean" with nulls and the reason.

    Raises
    ------
    InputError
        As in `mrb_lib.stats.agreement.agreement`, or the policy is unknown.

    Notes
    -----
    The label that judges are held to contains the annotator's own vote; the label here does not,
    so that people are not favoured. Validated in `tests/stats/ceiling/test_ceiling.py`.
    """
    check_policy(policy)
    coded = encode_annotations(annotations, cases, categories, dimensions)
    codes = cluster_codes(cases, cluster)
    scored = [leave_one_out(coded, i, len(cases), categories, policy) for i in range(len(coded.dimensions))]
    n_annotators = len(coded.annotators)
    parts = groups(cases, by)
    if not scored:
        return typed(pd.DataFrame(columns=COLUMNS), COLUMNS)
    table, rates = _sums(scored, len(cases), n_annotators), partial(_rates, dimensions=len(scored))
    blocks = [block(codes[group.cases], table[group.cases], rates) for group in parts]
    drawn = each_replicates(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    absences = [absence(coded, dimension, item) for dimension, item in enumerate(scored)]
    rows: list[dict[str, object]] = []
    for group, own, replicated in zip(parts, blocks, drawn, strict=True):
        ends = np.stack(interval(replicated)).reshape(2, len(scored), n_annotators + 1)
        for i, item in enumerate(scored):
            label = {"dimension": coded.dimensions[i], **group.label(), "policy": policy}
            if absences[i]:
                n_excluded = int(np.isin(item.case, group.cases).sum())
                rows.append(label | _row(MEAN, 0, n_excluded, np.nan, (np.nan, np.nan), absences[i]))
            else:
                sums = own.sums[:, 2 * n_annotators * i : 2 * n_annotators * (i + 1)]
                rows.extend(label | row for row in _rows(coded, item, group, sums, ends[:, i], resamples))
    return typed(pd.DataFrame(rows, columns=COLUMNS), COLUMNS)


def absence(coded: Annotations, dimension: int, item: LeaveOneOut) -> str:
    """Why a dimension has no ceiling; empty if it has one."""
    if not len(item.case):
        return coded.absence(dimension)
    return FEW_ANNOTATORS if len(np.unique(item.annotator)) < 3 else ""


def leave_one_out(
    coded: Annotations, dimension: int, n_cases: int, categories: Sequence[str], policy: str
) -> LeaveOneOut:
    """Score the annotations of a dimension against the majority of the others, as `annotator_ceiling` does."""
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


def _sums(scored: Sequence[LeaveOneOut], n_cases: int, n_annotators: int) -> sparse.csr_array | FloatArray:
    """What each case adds: for each dimension the scores, then the counts, of every annotator."""
    entries = []
    for i, item in enumerate(scored):
        counted = np.isfinite(item.score)
        column = item.annotator[counted] + 2 * n_annotators * i
        entries += [(item.score[counted], item.case[counted], column)]
        entries += [(np.ones(len(column)), item.case[counted], column + n_annotators)]
    value, case, column = (np.concatenate(each) for each in zip(*entries, strict=True))
    table = sparse.csr_array((value, (case, column)), shape=(n_cases, 2 * n_annotators * len(scored)))
    return table if n_annotators > _DENSE else table.toarray()


def _rates(sums: FloatArray, dimensions: int) -> FloatArray:
    """For each dimension the accuracy of each annotator, then their mean, shape (b, dimensions * (annotators + 1))."""
    rates = [ratio(own) for own in np.split(sums, dimensions, axis=1)]
    return np.hstack([values for rate in rates for values in (rate, mean_of_defined(rate))])


def _rows(
    coded: Annotations,
    item: LeaveOneOut,
    group: Group,
    sums: FloatArray | sparse.csr_array,
    ends: FloatArray,
    resamples: int,
) -> list[dict[str, object]]:
    """The rows of one dimension and group, from its sums by cluster."""
    n_annotators = len(coded.annotators)
    inside = np.zeros(int(max(item.case.max(initial=-1), group.cases.max(initial=-1))) + 1, dtype=bool)
    inside[group.cases] = True
    annotated = np.bincount(item.annotator[inside[item.case]], minlength=n_annotators)
    whole = np.asarray(sums.sum(axis=0), dtype=np.float64).reshape(-1)
    present = sums[:, n_annotators:] > 0
    rate, count = _rates(whole[None, :], 1)[0], whole[n_annotators:].astype(np.int64)
    n = np.append(count, count.sum())
    n_clusters = np.append(present.sum(axis=0), np.count_nonzero(np.asarray(present.sum(axis=1))))
    total = np.append(annotated, annotated.sum())
    enough = (n >= 2) & (n_clusters >= 2)
    low, high = (np.where(enough, end, np.nan) for end in ends)
    rows = []
    for who in [*np.flatnonzero(annotated), n_annotators]:
        own = int(n[who])
        bounds = (float(low[who]), float(high[who]))
        reason = interval_reason(own, int(n_clusters[who]), resamples, *bounds) if own else NO_CASES
        name = coded.annotators[who] if who < n_annotators else MEAN
        rows.append(_row(name, own, int(total[who]) - own, float(rate[who]), bounds, reason))
    return rows


def _row(
    annotator: str, n: int, n_excluded: int, accuracy: float, bounds: tuple[float, float], reason: str
) -> dict[str, object]:
    return {
        "annotator": annotator,
        "n": n,
        "n_excluded": n_excluded,
        "accuracy": accuracy,
        "low": bounds[0],
        "high": bounds[1],
        "reason": join_reasons(reason),
    }
