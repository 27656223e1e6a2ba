"""How far the accuracy of each judge moved, on the cases that stayed the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from mrb_lib.stats.changes.cases import SAME
from mrb_lib.stats.core.panel import ABSENT, Panel, as_panel
from mrb_lib.stats.core.scoring import encode_gold, score
from mrb_lib.stats.multiplicity import CORRECTIONS, adjust_families
from mrb_lib.stats.options import BoolArray, FloatArray, IntArray, check_choice, divide, typed
from mrb_lib.stats.resampling.resample import cluster_codes, interval_reason
from mrb_lib.stats.significance.differences import PairedDifferences, paired_differences, plan_pairs
from mrb_lib.stats.significance.paired import MCNEMAR, row_test, sign_test
from mrb_lib.stats.subfields import By, Group, groups
from mrb_lib.tables.schema import NO_PROBE

COLUMNS = [
    "judge", "judge_then", "judge_now", "dimension", "subfield", "by", "policy", "n", "n_same", "n_unscored_then",
    "n_unscored_now", "n_clusters", "accuracy_then", "accuracy_now", "difference", "low", "high", "interval", "gained",
    "lost", "test", "p_value", "p_adjusted", "correction", "family", "reason",
]  # fmt: skip
_TYPES = dict.fromkeys(("judge_then", "judge_now"), "str") | dict.fromkeys(("gained", "lost"), "int64")
NO_CASES = "no case that stayed the same is scored both then and now"
ALIKE = "no score changed"


def moved(
    then: pd.DataFrame,
    now: pd.DataFrame,
    pairs: pd.DataFrame,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    changes: pd.DataFrame,
    *,
    policy: str = "balanced",
    correction: str = "holm",
    by: By = None,
    dimensions: Sequence[str],
    cluster: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """The accuracy of each judge then and now, over the cases that are the same and have the same gold label.

    Parameters
    ----------
    then, now : the verdicts tables
    pairs : `judge`, `judge_then`, `judge_now`, as of `mrb_lib.stats.changes.judges.judge_pairs`; rows of one side alone
        are left out
    gold, cases : of now
    changes : as of `mrb_lib.stats.changes.cases.case_changes`, on the same dimensions
    policy, correction, by, cluster, resamples, seed : as in `mrb_lib.stats.significance.significance`

    Returns
    -------
    DataFrame
        One row a pair, dimension and subfield (null: overall):

        - `n` cases scored both then and now, in `n_clusters` clusters, of `n_same` cases with a gold label that stayed
          the same; `n_unscored_then`, `n_unscored_now` those of them that the policy cannot score
        - `accuracy_then`, `accuracy_now` the mean scores over these n cases, and `difference`, now less then, with its
          95% interval `low`, `high`, paired by case and resampling clusters; `interval` says how, as in `significance`
        - `gained`, `lost` cases on which the score is higher, lower now
        - `test`, `p_value` of the difference, as in `significance`; `p_adjusted` over the `family` of judges of one
          dimension and subfield that could be tested, by `correction`
        - `reason` why a value is null

    Raises
    ------
    InputError
        An option is unknown, or `by` or `cluster` cannot be used.

    Notes
    -----
    Two prompts, two versions of a judge and two runs of a judge that draws at random all differ by chance as well: the
    interval is over cases, not over repetitions of a run. Validated by tests/stats/changes/test_moved.py against
    `significance` with the two sides as two judges, whose size is simulated in tests/simulation/test_size.py.
    """
    check_choice("correction", correction, CORRECTIONS)
    shared = pairs.dropna(subset=["judge_then", "judge_now"])
    sides = [
        _panel(verdicts, shared[name], cases, dimensions)
        for verdicts, name in ((now, "judge_now"), (then, "judge_then"))
    ]
    labels = np.where(_is_same(changes, cases, dimensions), encode_gold(gold, cases["case_id"], dimensions), -1)
    scores = [score(panel, labels, policy).score for panel in sides]
    subsets, codes = groups(cases, by), cluster_codes(cases, cluster)
    frames = []
    for judge, judge_then, judge_now in shared[["judge", "judge_then", "judge_now"]].itertuples(index=False):
        both = np.stack([
            side[panel.judges.index(name)]
            for side, panel, name in zip(scores, sides, (judge_now, judge_then), strict=True)
        ])  # fmt: skip
        plan = plan_pairs(both, np.ones(both.shape[:2], dtype=bool))
        each = paired_differences(plan, subsets, codes, resamples=resamples, seed=seed)
        for subset, result in zip(subsets, each, strict=True):
            rows = _rows(both[..., subset.cases], labels[:, subset.cases], result, subset, policy, resamples)
            names = {"judge": judge, "judge_then": judge_then, "judge_now": judge_now, "dimension": list(dimensions)}
            frames.append(rows.assign(**names))
    if not frames:
        return typed(pd.DataFrame(), COLUMNS, **_TYPES)
    table = pd.concat(frames, ignore_index=True)
    grouped = table.groupby(["by", "subfield", "dimension"], dropna=False, sort=False)
    families = np.asarray(grouped.ngroup(), dtype=np.int64)
    table["p_adjusted"], table["family"] = adjust_families(table["p_value"].to_numpy(np.float64), families, correction)
    return typed(table.assign(correction=correction), COLUMNS, **_TYPES)


def _panel(verdicts: pd.DataFrame, judges: pd.Series, cases: pd.DataFrame, dimensions: Sequence[str]) -> Panel:
    """The verdicts of some judges on the cases of now; of a case that is gone there is nothing to score."""
    kept = verdicts["judge"].isin(judges) & verdicts["case_id"].isin(cases["case_id"])
    kept &= verdicts["probe"].eq(NO_PROBE) & verdicts["dimension"].isin(list(dimensions))
    panel = as_panel(verdicts[kept], cases["case_id"], dimensions)
    absent = sorted(set(judges) - set(panel.judges))
    if not absent:
        return panel
    nothing = np.full((len(absent), *panel.choice.shape[1:]), ABSENT, dtype=np.int8)
    return replace(panel, judges=[*panel.judges, *absent], choice=np.concatenate([panel.choice, nothing]), p_a=None)


def _is_same(changes: pd.DataFrame, cases: pd.DataFrame, dimensions: Sequence[str]) -> BoolArray:
    """Whether a case has stayed the same, shape (dimensions, cases)."""
    same = changes[changes["change"] == SAME]
    return np.stack([
        cases["case_id"].isin(same.loc[same["dimension"] == dimension, "case_id"]).to_numpy(dtype=bool)
        for dimension in dimensions
    ])  # fmt: skip


def _rows(
    scores: FloatArray, labels: IntArray, result: PairedDifferences, subset: Group, policy: str, resamples: int
) -> pd.DataFrame:
    """The rows of one judge over one group of cases, one a dimension.

    Parameters
    ----------
    scores : shape (2, dimensions, cases), now and then; NaN where there is none
    labels : shape (dimensions, cases), -1 where the case has changed or has no gold label
    """
    known = np.isfinite(scores)
    both, comparable = known.all(axis=0), labels >= 0
    mean_now, mean_then = divide(np.where(both, scores, 0.0).sum(axis=-1), both.sum(axis=-1))
    now, then = ((comparable & ~side).sum(axis=-1) for side in known)
    test = row_test(policy, result.alone)
    exact = sign_test(result.only_1, result.only_2)[0]
    exact[result.n < 2] = np.nan
    alike = (result.only_1 == 0) & (result.only_2 == 0) & (result.n > 0)
    low, high, p_value = (
        np.where(alike, np.nan, values)
        for values in (result.low, result.high, exact if test == MCNEMAR else result.permutation_p)
    )
    return pd.DataFrame(
        {
            **subset.label(),
            "policy": policy,
            "n": result.n,
            "n_same": comparable.sum(axis=-1),
            "n_unscored_then": then,
            "n_unscored_now": now,
            "n_clusters": result.clusters,
            "accuracy_then": mean_then,
            "accuracy_now": mean_now,
            "difference": result.value,
            "low": low,
            "high": high,
            "interval": pd.Series(np.where(result.few, "t", "percentile"), dtype="str").mask(np.isnan(low)),
            "gained": result.only_1,
            "lost": result.only_2,
            "test": test,
            "p_value": p_value,
            "reason": _reasons(result, alike, resamples),
        }
    )


def _reasons(result: PairedDifferences, alike: BoolArray, resamples: int) -> list[str | None]:
    rows = zip(result.n.tolist(), result.clusters.tolist(), alike, result.low, result.high, strict=True)
    return [
        NO_CASES if n == 0 else ALIKE if same else interval_reason(n, clusters, resamples, low, high) or None
        for n, clusters, same, low, high in rows
    ]
