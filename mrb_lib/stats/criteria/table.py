"""How much each criterion of a rubric has to do with a judge's errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mrb_lib.stats.core.panel import NULL, TIE, Panel, as_panel
from mrb_lib.stats.core.scoring import NO_GOLD, encode_gold, score
from mrb_lib.stats.core.table import Option, register_table
from mrb_lib.stats.criteria import reading
from mrb_lib.stats.criteria.decisions import Decisions, decisions
from mrb_lib.stats.multiplicity import CORRECTIONS, FAMILIES, adjust_families
from mrb_lib.stats.options import (
    BoolArray,
    FloatArray,
    IntArray,
    check_choice,
    divide,
    join_reasons,
    typed,
    with_ends,
)
from mrb_lib.stats.resampling.resample import cluster_codes, mean_over_clusters
from mrb_lib.stats.resampling.robust import share_interval, t_interval, t_test
from mrb_lib.tables.schema import CHOICES

NO_CRITERIA: Final = "no verdict says what was decided of a rubric: `mrb judge --judge NAME+rubric` keeps it"
NEVER_SEPARATES: Final = "agreement is undefined: it never separates two responses of which gold prefers one"
NONE_WRONG: Final = "decisive_share is undefined: no verdict is wrong"
NO_SPREAD: Final = "no interval or test of the difference: fewer than two clusters count, or all are alike"
_SHARES: Final = ("met_share", "agreement", "decisive_share")
_NOTHING: Final = {
    **dict.fromkeys(("n_criteria", "n", "n_scored", "n_wrong", "n_clusters"), 0),
    "reason": NO_CRITERIA,
}
_EQUAL: Final = 1e-9  # of the points of a case: sums of decimals are equal but for rounding
_AT_ONCE: Final = 100
COLUMNS = [
    "judge", "dimension", "criterion", "n_criteria", "policy", "n", "n_scored", "coverage", "weight",
    *with_ends("met_share"), "separation", *with_ends("agreement"), "n_wrong", *with_ends("decisive_share"),
    "accuracy", "accuracy_without", "difference", "low", "high", "p_value", "p_adjusted", "correction",
    "family", "family_scope", "n_clusters", "reason",
]  # fmt: skip


@register_table(
    "criteria",
    question="which criteria of a rubric decide a judge's errors",
    columns=COLUMNS,
    reads=("criteria",),
    meanings=reading.MEANINGS,
    headline=("criterion", "n", "weight", "agreement", "decisive_share", "difference", "low", "high", "p_adjusted"),
    sentence=reading.sentence,
    options={"least": Option("the fewest cases that give a criterion a row of its own", least=1)},
)
def criteria(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    offered: Sequence[str] = CHOICES,
    *,
    policy: str = "balanced",
    correction: str = "holm",
    family: str = "dimension",
    dimensions: Sequence[str] | None = None,
    cluster: str | None = None,
    least: float = 10,
) -> pd.DataFrame:
    """What each criterion adds to a judge's verdicts, and what they would be without it.

    Parameters
    ----------
    verdicts : with the column `criteria`, as rubric judges write it
    gold, policy, dimensions, cluster : as in `mrb_lib.stats.accuracy.accuracy`
    correction, family : as in `mrb_lib.stats.significance.significance`; a family is of the judges and criteria on one
        dimension
    cases : with the column `rubric`; criteria are the same where their texts are
    offered : the choices of the benchmark; without a tie equal points give none
    least : criteria in the rubrics of fewer cases share a row, in which `criterion` is null

    Returns
    -------
    DataFrame
        One row a judge, dimension and criterion that counts there. Over the `n` cases that have it, verdicts of a case
        weighted alike: `coverage`, `met_share`, `separation`. Where gold is A or B: `agreement`, of the points by
        which the criterion separates the two responses the share that goes to the gold one (1/2 is chance), and
        `decisive_share`, of the wrong verdicts those that would be right had the criterion been decided the other way
        for one response or for both (probabilities p become 1 - p), the other criteria as they are; with 95% intervals
        over clusters. Over the `n_scored` cases that the policy can score: `accuracy`, `accuracy_without` when the
        verdicts are by all other criteria, equal points being a tie, and the `difference` with its paired interval and
        test of 0 by Student's t over clusters; of a criterion whose `difference` is the same in every cluster there is
        no test, and it counts in the family as one that is not rejected. `reason` says why a value is null.

    Raises
    ------
    InputError
        An option is unknown, or decisions are not on the rubric that a case has now.

    Notes
    -----
    A criterion of great weight is decisive in many errors whether or not it is decided well: read `decisive_share`
    beside `agreement` and `difference`. Validated by tests/stats/criteria/test_criteria.py against plain loops, and by
    tests/simulation/test_rubrics.py.
    """
    check_choice("correction", correction, CORRECTIONS)
    check_choice("family", family, FAMILIES)
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    labels, codes = encode_gold(gold, cases["case_id"], panel.dimensions), cluster_codes(cases, cluster)
    equal = TIE if CHOICES[TIE] in offered else NULL
    frames = [pd.DataFrame(columns=COLUMNS)]
    for judge, dimension in np.argwhere(panel.takes_part()):
        made = decisions(panel, cases, judge, dimension)
        names = {"judge": panel.judges[judge], "dimension": panel.dimensions[dimension]}
        if made is None:
            frames.append(pd.DataFrame([{**names, **_NOTHING}]))
            continue
        groups, texts = _groups(made, least)
        rows = _rows(made, groups, panel.choice[judge, dimension], labels[dimension], codes)
        scores = _scores(made, groups, panel, judge, dimension, labels[dimension], policy, equal)
        rows |= _without(made, groups, scores, codes)
        rows["reason"] = [_reason(*each) for each in zip(*(rows[name] for name in _REASONS), strict=True)]
        frames.append(pd.DataFrame({**rows, **texts, **names}))
    out = pd.concat([frame for frame in frames if len(frame)] or frames, ignore_index=True)
    return typed(
        _corrected(out.assign(policy=policy), correction, family), COLUMNS, criterion="str", family_scope="str"
    )


def _corrected(rows: pd.DataFrame, correction: str, family: str) -> pd.DataFrame:
    """The rows with p values corrected; an undefined one of two clusters or more counts as 1, and stays null."""
    families: IntArray = np.zeros(len(rows), dtype=np.int64)
    if family == "dimension":
        families = np.asarray(rows.groupby("dimension").ngroup(), dtype=np.int64)
    p_value = rows["p_value"].to_numpy(np.float64) if "p_value" in rows else np.full(len(rows), np.nan)
    is_tested = np.asarray(rows["n_clusters"] >= 2) & np.asarray(rows["n_scored"] >= 2)
    adjusted, size = adjust_families(np.where(np.isnan(p_value) & is_tested, 1.0, p_value), families, correction)
    adjusted[np.isnan(p_value)] = np.nan
    return rows.assign(
        p_value=p_value, p_adjusted=adjusted, correction=correction, family=size, family_scope=family
    ).reindex(columns=COLUMNS)


def _groups(made: Decisions, least: float) -> tuple[IntArray, dict[str, object]]:
    """The row of each entry, and what each row is called; rare criteria share the last."""
    pairs = np.unique(np.stack([made.text, made.case[made.verdict]]), axis=1)
    n = np.bincount(pairs[0], minlength=len(made.texts))
    common = np.flatnonzero(n >= least)
    row = np.full(len(made.texts), len(common))
    row[common] = np.arange(len(common))
    n_rare = len(made.texts) - len(common)
    names: list[str | None] = [made.texts[i] for i in common]
    names += [None] if n_rare else []
    return row[made.text], {"criterion": names, "n_criteria": [1] * len(common) + ([n_rare] if n_rare else [])}


def _rows(
    made: Decisions, groups: IntArray, choice: NDArray[np.int8], labels: IntArray, codes: IntArray
) -> dict[str, object]:
    """The columns that describe decisions, by row."""
    sign = np.select([labels == 0, labels == 1], [1.0, -1.0], 0.0)[made.case]
    picked = choice.ravel()[made.cell]
    wrong = (picked >= 0) & (sign != 0) & (picked != labels[made.case])
    pull, decided = made.pull, ~made.undecided
    share = 1.0 / np.bincount(made.case, minlength=len(labels))[made.case]  # each case counts once
    own = sign[made.verdict]
    towards = np.maximum(own * pull, 0.0)
    at_fault = wrong[made.verdict] & decided
    measures = {
        "met_share": (np.nan_to_num((made.a + made.b) / 2), decided),
        "agreement": (towards, np.abs(pull) * (own != 0)),
        "decisive_share": (_rights(made, sign) & at_fault, at_fault),
        "coverage": (decided, np.ones(len(pull))),
        "separation": (np.nan_to_num(np.abs(made.a - made.b)), decided),
        "weight": (made.weight, np.ones(len(pull))),
    }
    n_rows, n_cases = groups.max() + 1, len(labels)

    def by_case(values: FloatArray | BoolArray) -> FloatArray:
        flat = made.case[made.verdict] * n_rows + groups
        sums = np.bincount(flat, values * share[made.verdict], minlength=n_cases * n_rows)
        return sums.reshape(n_cases, n_rows).astype(np.float64)

    out: dict[str, object] = {}
    for name, (top, bottom) in measures.items():
        estimate = mean_over_clusters(by_case(top), by_case(bottom), codes)
        ends = share_interval(estimate) if name in _SHARES else ()
        out |= dict(zip(with_ends(name), (estimate.value, *ends), strict=False))
    has = by_case(np.ones(len(pull))) > 0
    out["n"], out["n_wrong"] = has.sum(axis=0), (by_case(at_fault) > 0).sum(axis=0)
    out["n_clusters"] = [len(np.unique(codes[column])) for column in has.T]
    return out


def _rights(made: Decisions, sign: FloatArray) -> BoolArray:
    """Whether the other decision on one response, or on both, gives the gold response more points, shape (entries,)."""
    rest = made.by_verdict(made.pull)[made.verdict] - made.pull
    least = _EQUAL * made.by_verdict(np.abs(made.weight))[made.verdict]
    others = [(1 - made.a, made.b), (made.a, 1 - made.b), (1 - made.a, 1 - made.b)]
    flipped = [rest + np.nan_to_num(made.weight * (a - b)) for a, b in others]
    rights: BoolArray = np.any([sign[made.verdict] * each > least for each in flipped], axis=0)
    return rights


def _scores(
    made: Decisions,
    groups: IntArray,
    panel: Panel,
    judge: int,
    dimension: int,
    labels: IntArray,
    policy: str,
    equal: int,
) -> FloatArray:
    """The scores of the verdicts as they are, and without the criteria of each row, shape (1 + rows, cases)."""
    choice = panel.choice[judge, dimension]
    total, open_ = made.by_verdict(made.pull), made.by_verdict(made.undecided)
    least = _EQUAL * made.by_verdict(np.abs(made.weight))
    every = [choice]
    for row in range(groups.max() + 1):
        own = groups == row
        left = total - made.by_verdict(made.pull * own)
        still_open = open_ - made.by_verdict(made.undecided & own)
        has = (made.by_verdict(own) > 0) & (still_open == 0)
        changed = choice.copy().ravel()
        changed[made.cell[has]] = np.select([left > least, left < -least], [0, 1], equal)[has]
        every.append(changed.reshape(choice.shape))
    out = []
    for start in range(0, len(every), _AT_ONCE):
        some = np.stack(every[start : start + _AT_ONCE])[None]
        names = [str(i) for i in range(some.shape[1])]
        part = replace(panel, judges=[panel.judges[judge]], dimensions=names, choice=some, p_a=None, is_bound=None)
        out.append(score(part, np.tile(labels, (len(names), 1)), policy).score[0])
    return np.concatenate(out)


def _without(made: Decisions, groups: IntArray, scores: FloatArray, codes: IntArray) -> dict[str, object]:
    """The columns that compare accuracy with and without the criteria of each row."""
    n_rows = groups.max() + 1
    has = np.zeros((len(codes), n_rows), dtype=bool)
    has[made.case[made.verdict], groups] = True
    before, after = np.tile(scores[0], (n_rows, 1)).T, scores[1:].T
    counts = has & np.isfinite(before) & np.isfinite(after)
    weights = counts.astype(np.float64)
    estimate = mean_over_clusters(np.where(counts, after - before, 0.0), weights, codes)
    low, high = t_interval(estimate, -1.0, 1.0)
    means = [divide(np.where(counts, each, 0.0).sum(axis=0), counts.sum(axis=0)) for each in (before, after)]
    return {
        "n_scored": counts.sum(axis=0), "accuracy": means[0], "accuracy_without": means[1],
        "difference": estimate.value, "low": low, "high": high, "p_value": t_test(estimate),
    }  # fmt: skip


_REASONS: Final = ("n_scored", "agreement", "decisive_share", "low")


def _reason(n_scored: int, agreement: float, decisive: float, low: float) -> str | None:
    if not n_scored:
        return NO_GOLD
    return join_reasons(
        NEVER_SEPARATES if np.isnan(agreement) else "",
        NONE_WRONG if np.isnan(decisive) else "",
        NO_SPREAD if np.isnan(low) else "",
    )
