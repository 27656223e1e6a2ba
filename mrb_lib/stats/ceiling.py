"""How well people do by the standard that judges are held to, and how far judges are from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import sparse

from mrb_lib.schema import CHOICES
from mrb_lib.stats import alttest
from mrb_lib.stats.agreement_kernel import votes_by_case
from mrb_lib.stats.alttest_kernel import labels_by_policy
from mrb_lib.stats.ceiling_judges import Loo, judge_rows
from mrb_lib.stats.labels import Annotations, encode_annotations
from mrb_lib.stats.options import FloatArray, IntArray, check_policy, join_reasons, mean_of_defined, typed
from mrb_lib.stats.panel import Panel, as_panel
from mrb_lib.stats.resample import block, cluster_codes, interval, interval_reason, n_clusters, ratio, replicates
from mrb_lib.stats.scoring import BINARY_POLICIES, credit
from mrb_lib.stats.subfields import Group, groups

FEW_ANNOTATORS = "fewer than three annotators: the others have no majority"
NO_CASES = "the others have a majority on none of the annotator's cases"
MEAN = "mean"
ANNOTATOR = "annotator"
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


ALL_COLUMNS = [
    "dimension",
    "part",
    "judge",
    "annotator",
    "subfield",
    "by",
    "policy",
    "n",
    "n_excluded",
    "n_unassigned",
    "accuracy",
    "low",
    "high",
    "ceiling",
    "difference",
    "difference_low",
    "difference_high",
    *alttest.COLUMNS[6:-1],
    "reason",
]


def ceiling(
    verdicts: pd.DataFrame | Panel | None,
    annotations: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    categories: Sequence[str] = CHOICES,
    policy: str = "balanced",
    by: str | None = None,
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    level: str = "nominal",
    epsilon: float = 0.15,
    correction: str = "by",
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """How well annotators agree with each other's majority, how near judges come, and whether one may stand in for one.

    Parameters
    ----------
    verdicts : the verdicts table or its panel; None or without judges gives the annotators' rows alone
    annotations, cases, categories, policy, by, dimensions, cluster, resamples, seed : as in `annotator_ceiling`
    level, epsilon, correction : of the alternative annotator test, see `mrb_lib.stats.alttest.alternative_annotator`

    Returns
    -------
    DataFrame
        Columns that a row's kind does not have are null; `part` says the kind.

        "annotator": see `annotator_ceiling`.
        "judge", one a dimension, group of cases and judge: `accuracy` of the judge against the very labels that
        the annotators are held to (for each annotator the majority of the others), by the same policy, on
        the cases it is scored on, the mean over annotators, with `low`, `high`; `ceiling`, the mean accuracy of the
        annotators on those same cases; `difference`, the one minus the other, with the paired interval
        `difference_low`, `difference_high` of the same draws; `n` cases, `n_excluded` cases with a verdict that
        cannot be scored, `n_unassigned`, `reason`.
        "alt_test" and "alt_test_annotator", over all cases: see `mrb_lib.stats.alttest.alternative_annotator`;
        which of a judge's verdicts count is `mrb_lib.stats.alttest_kernel.labels_by_policy`.

    Raises
    ------
    InputError
        As in `annotator_ceiling`, or an option of the test is out of range.

    Notes
    -----
    A judge's accuracy here differs from the table `accuracy`: a label that one annotator had no part in is
    less reliable than the gold label, for people and judges alike, and only so can the two be compared.
    Validated in `tests/stats/test_ceiling.py`; the test's own validation is named with it.
    """
    people = annotator_ceiling(
        annotations,
        cases,
        categories=categories,
        policy=policy,
        by=by,
        dimensions=dimensions,
        cluster=cluster,
        resamples=resamples,
        seed=seed,
    ).assign(part=ANNOTATOR)
    frames = [people]
    coded = encode_annotations(annotations, cases, categories, dimensions)
    panel = None if verdicts is None else as_panel(verdicts, cases["case_id"], coded.dimensions)
    if panel is not None and panel.judges:
        codes = cluster_codes(cases, cluster)
        held = [_score(coded, i, len(cases), categories, policy) for i in range(len(coded.dimensions))]
        absences = [_absence(coded, i, item) for i, item in enumerate(held)]
        judges = judge_rows(
            panel, held, absences, groups(cases, by), codes, categories, policy, resamples=resamples, seed=seed
        )
        options = alttest.Options(level, epsilon, correction, resamples, seed)
        labels, present = labels_by_policy(panel, categories, policy)
        tests = alttest.alt_test_rows(panel.judges, labels, present, coded, codes, categories, options)
        frames += [pd.DataFrame(judges), tests.assign(policy=policy)]
    return _typed(frames)


def _typed(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    text = ("dimension", "part", "judge", "annotator", "subfield", "by", "policy", "correction", "reason")
    counts = ("n", "n_excluded", "n_unassigned", "n_annotators", "n_items")
    types = dict.fromkeys(ALL_COLUMNS, "float64") | dict.fromkeys(text, "str") | dict.fromkeys(counts, "Int64")
    types["passes"] = "boolean"
    whole = [frame.reindex(columns=ALL_COLUMNS).astype(types) for frame in frames if len(frame)]
    return pd.concat(whole, ignore_index=True) if whole else pd.DataFrame(columns=ALL_COLUMNS).astype(types)


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
            absence = _absence(coded, dimension, item)
            if absence:
                n_excluded = int(np.isin(item.case, group.cases).sum())
                rows.append(label | _row(MEAN, 0, n_excluded, np.nan, (np.nan, np.nan), absence))
            else:
                rows.extend(label | row for row in _rows(coded, item, group, codes, drawn, resamples))
    return typed(pd.DataFrame(rows, columns=COLUMNS), COLUMNS)


def _absence(coded: Annotations, dimension: int, item: Loo) -> str:
    """Why a dimension has no ceiling; empty if it has one."""
    if not len(item.case):
        return coded.absence(dimension)
    return FEW_ANNOTATORS if len(np.unique(item.annotator)) < 3 else ""


def _score(coded: Annotations, dimension: int, n_cases: int, categories: Sequence[str], policy: str) -> Loo:
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


def _rates(sums: FloatArray) -> FloatArray:
    """The accuracy of each annotator, then their mean, shape (b, annotators + 1)."""
    rate = ratio(sums)
    return np.hstack([rate, mean_of_defined(rate)])


def _rows(
    coded: Annotations, item: Loo, group: Group, codes: IntArray, drawn: FloatArray, resamples: int
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
