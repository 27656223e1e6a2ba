"""A judge's accuracy on items that its own model answers right, against those that it answers wrong."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.contrasts import t_test
from mrb_lib.stats.welch import unpaired
from mrb_lib.tables.errors import InputError

KNOWLEDGE: Final = "knowledge"
NO_ITEM: Final = "no marks: the cases do not name their items"
NO_MODEL: Final = "no marks: the judge's model did not answer the items"
NO_CASES: Final = "no case that can be scored is about an item that the model answered"
ONE_SIDE: Final = "no difference: the model answered every item {}"
NO_SPREAD: Final = "on one side there are fewer than two clusters, or the judge is as accurate on every case"


def knowledge_rows(analysis: Analysis, marks: pd.DataFrame) -> pd.DataFrame:
    """Compare each judge's accuracy on items that its own model answers right with that on items it answers wrong.

    An item counts as right where more than half of the model's marked answers are, as wrong where fewer are, and as
    neither at just half.
    """
    verdicts, score, cases = analysis.verdicts, analysis.scores.score, analysis.cases
    cells = verdicts.cells
    if not marks["correct"].dropna().isin([0, 1]).all():
        raise InputError("marks: must be 1 for right and 0 for wrong, or null; correct the column correct.")
    shares = marks.dropna(subset="correct").groupby(["model", "item_id"])["correct"].mean()
    models_of = {judge: _model_of(judge, analysis.judge_groups, marks) for judge in cells["judge"].unique()}
    has_items, of_case = "item" in cases, np.full(score.shape, np.nan)
    for judge, model in models_of.items():
        if has_items and model is not None and model in shares.index.get_level_values("model"):
            own = cases["item"].map(shares[model]).to_numpy(np.float64)
            of_case[:, (cells["judge"] == judge).to_numpy()] = own[:, None]
    scored, labels = np.isfinite(score), analysis.labels[:, verdicts.dimension]
    sides = [scored & (of_case > 0.5), scored & (of_case < 0.5)]
    used = sides[0] | sides[1]
    known, unknown = (np.where(side, score, np.nan) for side in sides)
    e = unpaired(known, unknown, analysis.sampling)
    gap = intervals.t(e.difference)
    columns: dict[str, Any] = {
        "n": used.sum(axis=0),
        "n_clusters": e.difference.clusters,
        "largest": e.difference.largest,
        "n_excluded": (~used).sum(axis=0),
        "n_gold_tie": (~used & (labels == verdicts.tie) & (verdicts.tie >= 0)).sum(axis=0),
        "n_right": sides[0].sum(axis=0),
        "n_wrong": sides[1].sum(axis=0),
        "n_unscored": (np.isfinite(of_case) & ~scored & ~verdicts.seen).sum(axis=0),
        "n_seen": (verdicts.seen & ~used).sum(axis=0),
        "difference": e.difference.value,
        "difference_low": gap.low,
        "difference_high": gap.high,
        "df": e.difference.df,
        "p_value": t_test(e.difference),
    }
    for name, side in (("accuracy_right", e.first), ("accuracy_wrong", e.second)):
        ends = intervals.share(side)
        columns |= {name: side.value, f"{name}_low": ends.low, f"{name}_high": ends.high}
    rows = cells[["judge", "dimension"]].assign(part=KNOWLEDGE, policy=analysis.policy, **columns)
    rows["answered_by"] = rows["judge"].map(models_of)
    why = [~rows["answered_by"].notna(), rows["n"] == 0, rows["n_wrong"] == 0, rows["n_right"] == 0]
    texts = [NO_MODEL, NO_CASES, ONE_SIDE.format("right"), ONE_SIDE.format("wrong")]
    rows["reason"] = np.select(why, texts, "") if has_items else NO_ITEM
    bare = rows["difference"].notna() & rows["difference_low"].isna()
    rows["lacks"] = pd.Series(NO_SPREAD, rows.index, dtype=object).where(bare, None)
    return rows


def _model_of(judge: str, judge_groups: pd.DataFrame, marks: pd.DataFrame) -> str | None:
    """Return the model behind a judge, of those that answered; None where it is none of them."""
    known = set(marks["model"])
    stated = judge_groups.loc[judge_groups["judge"] == judge, "model"].tolist() if "model" in judge_groups else []
    plain = judge.partition("@")[0]
    named = [*map(str, stated), judge, plain, plain.rpartition("+")[0]]
    return next((name for name in named if name in known), None)
