"""How well people do by the standard that judges are held to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from mrb_lib.schema import CHOICES
from mrb_lib.stats.agreement_kernel import votes_by_case
from mrb_lib.stats.labels import Annotations, encode_annotations
from mrb_lib.stats.options import FloatArray, IntArray, check_policy, join_reasons, mean_of_defined, typed
from mrb_lib.stats.resample import block, cluster_codes, interval, interval_reason, n_clusters, ratio, replicates
from mrb_lib.stats.scoring import BINARY_POLICIES, credit
from mrb_lib.stats.subfields import Group, groups

FEW_ANNOTATORS = "fewer than three annotators: the others have no majority"
NO_CASES = "the others have a majority on none of the annotator's cases"
MEAN = "mean"
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


class _Scored(NamedTuple):
    """The annotations of one dimension, scored against the others; one entry an annotation."""

    case: IntArray
    annotator: IntArray
    score: FloatArray


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
    scored = [_score(coded, i, len(cases), categories, policy) for i in range(len(coded.dimensions))]
    n_annotators = len(coded.annotators)
    found = groups(cases, by)
    blocks = [
        block(codes[group.cases], _sums(item, group, len(cases), n_annotators), _rates)
        for group in found
        for item in scored
    ]
    replicated = iter(replicates(blocks, n_clusters(codes), resamples=resamples, seed=seed))
    rows: list[dict[str, object]] = []
    for group in found:
        for dimension, item in enumerate(scored):
            label = {"dimension": coded.dimensions[dimension], **group.label(), "policy": policy}
            drawn = next(replicated)
            absence = coded.absence(dimension) if not len(item.case) else FEW_ANNOTATORS
            if len(np.unique(item.annotator)) < 3:
                n_excluded = int(np.isin(item.case, group.cases).sum())
                rows.append(label | _row(MEAN, 0, n_excluded, np.nan, (np.nan, np.nan), absence))
            else:
                rows.extend(label | row for row in _rows(coded, item, group, codes, drawn, resamples))
    return typed(pd.DataFrame(rows, columns=COLUMNS), COLUMNS)


def _score(coded: Annotations, dimension: int, n_cases: int, categories: Sequence[str], policy: str) -> _Scored:
    case, annotator, choice = coded.of(dimension)
    votes = votes_by_case(case, choice, n_cases, len(categories))
    others = votes[case]
    others[np.arange(len(case)), choice] -= 1
    top = others.max(axis=1) if len(case) else np.zeros(0)
    decided = (others.sum(axis=1) >= 2) & ((others == top[:, None]).sum(axis=1) == 1)
    tie = list(categories).index("tie") if "tie" in categories else -1
    value = credit(choice, others.argmax(axis=1).astype(np.int64), tie, graded=policy not in BINARY_POLICIES)
    return _Scored(case, annotator, np.where(decided, value, np.nan))


def _sums(item: _Scored, group: Group, n_cases: int, n_annotators: int) -> sparse.csr_array:
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


def _rates(sums: FloatArray) -> FloatArray:
    """The accuracy of each annotator, then their mean, shape (b, annotators + 1)."""
    rate = ratio(sums)
    return np.hstack([rate, mean_of_defined(rate)])


def _rows(
    coded: Annotations, item: _Scored, group: Group, codes: IntArray, drawn: FloatArray, resamples: int
) -> list[dict[str, object]]:
    low, high = interval(drawn)
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
