"""How well people do by the standard that judges are held to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from scipy import sparse

from mrb_lib.schema import CHOICES
from mrb_lib.stats.agreement_kernel import votes_by_case
from mrb_lib.stats.ceiling_judges import Loo
from mrb_lib.stats.labels import Annotations, encode_annotations
from mrb_lib.stats.options import FloatArray, IntArray, check_policy, join_reasons, mean_of_defined, typed
from mrb_lib.stats.resample import (
    Block,
    block,
    cluster_codes,
    each_replicates,
    interval,
    interval_reason,
    n_clusters,
    ratio,
)
from mrb_lib.stats.scoring import BINARY_POLICIES, credit
from mrb_lib.stats.subfields import Group, groups

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
    by: str | None = None,
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
    so that people are not favoured. Validated in `tests/stats/test_ceiling.py`.
    """
    check_policy(policy)
    coded = encode_annotations(annotations, cases, categories, dimensions)
    codes = cluster_codes(cases, cluster)
    scored = [leave_one_out(coded, i, len(cases), categories, policy) for i in range(len(coded.dimensions))]
    n_annotators = len(coded.annotators)
    found = groups(cases, by)
    blocks = [_block(scored, group, codes, n_annotators) for group in found]
    drawn = each_replicates(blocks, n_clusters(codes), resamples=resamples, seed=seed)
    rows: list[dict[str, object]] = []
    for group, replicated in zip(found, drawn, strict=True):
        low, high = (end.reshape(len(scored), n_annotators + 1) for end in interval(replicated))
        for dimension, item in enumerate(scored):
            label = {"dimension": coded.dimensions[dimension], **group.label(), "policy": policy}
            ends = (low[dimension], high[dimension])
            why = absence(coded, dimension, item)
            if why:
                n_excluded = int(np.isin(item.case, group.cases).sum())
                rows.append(label | _row(MEAN, 0, n_excluded, np.nan, (np.nan, np.nan), why))
            else:
                rows.extend(label | row for row in _rows(coded, item, group, codes, ends, resamples))
    return typed(pd.DataFrame(rows, columns=COLUMNS), COLUMNS)


def absence(coded: Annotations, dimension: int, item: Loo) -> str:
    """Why a dimension has no ceiling; empty if it has one."""
    if not len(item.case):
        return coded.absence(dimension)
    return FEW_ANNOTATORS if len(np.unique(item.annotator)) < 3 else ""


def leave_one_out(coded: Annotations, dimension: int, n_cases: int, categories: Sequence[str], policy: str) -> Loo:
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
    return Loo(case, annotator, np.where(decided, value, np.nan), label)


def _sums(item: Loo, group: Group, n_cases: int, n_annotators: int) -> sparse.csr_array:
    """What each case of the group adds: the scores, then the counts, of every annotator."""
    counted = np.isfinite(item.score)
    case, annotator, value = item.case[counted], item.annotator[counted], item.score[counted]
    table = sparse.csr_array(
        (
            np.concatenate([value, np.ones(len(value))]),
            (np.tile(case, 2), np.concatenate([annotator, annotator + n_annotators])),
        ),
        shape=(n_cases, 2 * n_annotators),
    )
    return table[group.cases]


def _block(scored: Sequence[Loo], group: Group, codes: IntArray, n_annotators: int) -> Block:
    """The accuracies of the annotators and their mean, dimension by dimension."""
    parts = [_sums(item, group, len(codes), n_annotators) for item in scored]
    sums = sparse.csr_array(sparse.hstack(parts)) if parts else sparse.csr_array((len(group.cases), 0))
    return block(
        codes[group.cases],
        sums if n_annotators > _DENSE else sums.toarray(),
        partial(_all_rates, n_annotators, len(scored)),
    )


def _all_rates(n_annotators: int, n_dimensions: int, sums: FloatArray) -> FloatArray:
    step = 2 * n_annotators
    parts = [_rates(sums[:, at * step : (at + 1) * step]) for at in range(n_dimensions)]
    return np.hstack([np.empty((len(sums), 0)), *parts])


def _rates(sums: FloatArray) -> FloatArray:
    """The accuracy of each annotator, then their mean, shape (b, annotators + 1)."""
    rate = ratio(sums)
    return np.hstack([rate, mean_of_defined(rate)])


def _rows(
    coded: Annotations,
    item: Loo,
    group: Group,
    codes: IntArray,
    ends: tuple[FloatArray, FloatArray],
    resamples: int,
) -> list[dict[str, object]]:
    low, high = ends
    n_annotators = len(coded.annotators)
    inside = np.zeros(len(codes), dtype=bool)
    inside[group.cases] = True
    own = inside[item.case]
    counted = own & np.isfinite(item.score)
    rate = _rates(np.asarray(_sums(item, group, len(codes), n_annotators).sum(axis=0), dtype=np.float64)[None, :])[0]
    annotated = np.bincount(item.annotator[own], minlength=n_annotators)
    rows = []
    for who in [*np.flatnonzero(annotated), n_annotators]:
        mine = counted & (item.annotator == who) if who < n_annotators else counted
        n = int(mine.sum())
        clusters = len(np.unique(codes[item.case[mine]]))
        known = n >= 2 and clusters >= 2
        bounds = (float(low[who]), float(high[who])) if known else (np.nan, np.nan)
        reason = interval_reason(n, clusters, resamples, *bounds) if n else NO_CASES
        total = int(annotated[who]) if who < n_annotators else int(own.sum())
        name = coded.annotators[who] if who < n_annotators else MEAN
        rows.append(_row(name, n, total - n, float(rate[who]), bounds, reason))
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
