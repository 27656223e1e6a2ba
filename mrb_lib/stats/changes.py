"""What changed between two releases, two reports or two prompts: the cases, the judges, and their accuracy.

Functions of two sets of frames, so not tables of `mrb analyze`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.columns import Column, reasons
from mrb_lib.stats.contrasts import contrasts, pairs_of_cells
from mrb_lib.tables.schema import NO_PROBE

SAME: Final = "same"
CHANGES: Final = {
    SAME: "the same case with the same gold label",
    "unlabelled": "the same case, without a gold label then and now",
    "gold": "the same case with another gold label, or with one only then or only now",
    "text": "another question or another response under the same id",
    "images": "the same texts with other images",
    "added": "only now",
    "removed": "only then",
}
"""What can become of a case, and what that means; a case with another text may have another label, too."""
SAME_PROMPT, OTHER_PROMPT, UNKNOWN_PROMPT = "same", "another", "not known"
ONLY_THEN, ONLY_NOW = "only then", "only now"
_OF_PAIRS = ["judge", "judge_then", "judge_now", "prompt", "prompt_then", "prompt_now"]
NO_CASES: Final = "no case that stayed the same is scored both then and now"
ALIKE: Final = "no score changed"


def case_changes(
    then: pd.DataFrame,
    now: pd.DataFrame,
    gold_then: pd.DataFrame,
    gold_now: pd.DataFrame,
    *,
    dimensions: Sequence[str],
) -> pd.DataFrame:
    """Say what became of each case on each dimension; a case that was renamed is removed and added.

    Parameters
    ----------
    then, now : one row per case: `case_id` and the digests `text` and `images`, see `mrb_lib.verdicts.basis.digests_of`
    gold_then, gold_now : the gold tables by one rule: `case_id`, `dimension`, `choice`, null or absent where there is
        none

    Returns
    -------
    DataFrame
        One row per dimension and case of either side: `dimension`, `case_id`, `change` (a key of `CHANGES`). Cases in
        the order of `now`, then those that were removed.
    """
    both = now.merge(then, on="case_id", how="outer", suffixes=("", "_then"), indicator=True, validate="1:1")
    order = pd.Index(now["case_id"]).append(pd.Index(then["case_id"])).unique()
    both = both.set_index("case_id").loc[order].reset_index(names="case_id")
    rows = []
    for dimension in dimensions:
        before, after = (
            gold[gold["dimension"] == dimension].set_index("case_id")["choice"].reindex(both["case_id"]).fillna("")
            for gold in (gold_then, gold_now)
        )
        conditions = {
            "added": both["_merge"] == "left_only",
            "removed": both["_merge"] == "right_only",
            "text": both["text"] != both["text_then"],
            "images": both["images"] != both["images_then"],
            "gold": before.to_numpy() != after.to_numpy(),
            "unlabelled": after.to_numpy() == "",
        }
        change = np.select(list(conditions.values()), list(conditions), SAME)
        rows.append(pd.DataFrame({"dimension": dimension, "case_id": both["case_id"], "change": change}))
    return pd.concat(rows, ignore_index=True).astype("str")


def release_counts(changes: pd.DataFrame) -> pd.DataFrame:
    """Count the cases of each change: `dimension`, `change`, `meaning`, `n`, and `cases`, the first three ids."""
    rows = []
    for dimension, part in changes.groupby("dimension", sort=False):
        for change, meaning in CHANGES.items():
            ids = part.loc[part["change"] == change, "case_id"]
            rows.append((dimension, change, meaning, len(ids), "" if change == SAME else ", ".join(ids.head(3))))
    return pd.DataFrame(rows, columns=["dimension", "change", "meaning", "n", "cases"])


def judge_pairs(then: pd.DataFrame, now: pd.DataFrame) -> pd.DataFrame:
    """List every judge of either side, and pair those of both sides.

    Parameters
    ----------
    then, now : one row per judge that is shown: `judge`, its own `name` (several runs of one judge are shown as
        `name@run`), `run_id`, `prompt_id`, `prompt_hash`; empty text where there is none

    Returns
    -------
    DataFrame
        `judge` to show; `judge_then` and `judge_now`, one of them null for a judge of one side; `prompt`: "same",
        "another", "not known" (nothing says with which one a side was asked), "only then" or "only now"; `prompt_then`,
        `prompt_now`. Runs of one name are paired by their ids; those whose id is on one side only, each with each: so
        are two prompts of one judge.
    """
    rows: list[tuple[str | None, ...]] = []
    for name in sorted({*then["name"], *now["name"]}):
        before, after = (side[side["name"] == name].to_dict("records") for side in (then, now))
        ids = {run["run_id"] for run in before} & {run["run_id"] for run in after}
        same = [(one, two) for one, two in product(before, after) if one["run_id"] == two["run_id"]]
        old, new = ([run for run in side if run["run_id"] not in ids] for side in (before, after))
        rows += [_pair(one, two) for one, two in [*same, *product(old, new)]]
        if not (old and new):
            rows += [(run["judge"], run["judge"], None, ONLY_THEN, _prompt(run), None) for run in old]
            rows += [(run["judge"], None, run["judge"], ONLY_NOW, None, _prompt(run)) for run in new]
    return pd.DataFrame(rows, columns=_OF_PAIRS, dtype="str")


def _pair(then: dict[Any, str], now: dict[Any, str]) -> tuple[str, ...]:
    label = now["judge"] if now["judge"] == then["judge"] else f"{now['judge']} (then {then['judge']})"
    known = [(run["prompt_id"], run["prompt_hash"]) for run in (then, now)]
    changed = OTHER_PROMPT if all(map(any, known)) else UNKNOWN_PROMPT
    prompt = SAME_PROMPT if known[0] == known[1] else changed
    return label, then["judge"], now["judge"], prompt, _prompt(then), _prompt(now)


def _prompt(run: dict[Any, str]) -> str:
    short = run["prompt_hash"][:8]
    return f"{run['prompt_id']} ({short})" if short else run["prompt_id"] or "none stated"


def moved(
    then: pd.DataFrame,
    now: pd.DataFrame,
    pairs: pd.DataFrame,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    changes: pd.DataFrame,
    *,
    dimensions: Sequence[str],
    **options: Any,
) -> pd.DataFrame:
    """Compare the accuracy of each judge now with that then, over the cases that have not changed, nor their label.

    Parameters
    ----------
    then, now : the verdicts tables
    pairs : see `judge_pairs`; judges of one side alone are left out
    gold, cases : of now
    changes : see `case_changes`, on the same dimensions
    options : see `mrb_lib.analyze`: `policy`, `correction`, `by`, `cluster`, `resamples`, `seed`

    Returns
    -------
    DataFrame
        One row per pair, dimension and subfield. `n` unchanged cases scored then and now; `n_unscored_then` and
        `n_unscored_now` have a label and lack a score. `difference` is `accuracy_now` minus `accuracy_then`, with
        interval, test and correction as in the table `significance`; `gained` and `lost` count the cases whose score
        is higher or lower now; `reason` says why a value is null.

    Notes
    -----
    The interval is over cases, not over repetitions of a run: a judge that draws its replies at random changes anyway.
    """
    shared = pairs.dropna(subset=["judge_then", "judge_now"])
    sides = []
    for side, verdicts in (("now", now), ("then", then)):
        kept = verdicts["judge"].isin(shared[f"judge_{side}"]) & verdicts["case_id"].isin(cases["case_id"])
        kept &= verdicts["probe"].eq(NO_PROBE) & verdicts["dimension"].isin(list(dimensions))
        own = verdicts[kept]
        sides.append(own.assign(judge=f"{side} " + own["judge"]))
    same = changes.loc[changes["change"] == SAME, ["case_id", "dimension"]]
    labels = gold[gold["dimension"].isin(list(dimensions))].merge(same, on=["case_id", "dimension"])
    analysis = Analysis.from_frames(
        cases, pd.concat(sides, ignore_index=True), labels, dimensions=dimensions, **options
    )
    cells = analysis.verdicts.cells.reset_index(names="cell")[["judge", "dimension", "cell"]]
    known = shared[_OF_PAIRS[:3]].assign(now="now " + shared["judge_now"], then="then " + shared["judge_then"])
    for side in ("now", "then"):
        known = known.merge(cells.rename(columns={"judge": side, "cell": f"cell_{side}"}))
    pairs_of_sides = list(zip(known["cell_now"], known["cell_then"], strict=True))
    contrast = pairs_of_cells(analysis, analysis.scores.score, pairs_of_sides)
    rows = contrasts(analysis, contrast._replace(names=known[[*_OF_PAIRS[:3], "dimension"]]))
    is_labelled = analysis.labels[:, analysis.verdicts.dimension[known["cell_now"]]] >= 0
    for side, values in (("now", contrast.first), ("then", contrast.second)):
        lacks = is_labelled & np.isnan(values)
        rows[f"n_unscored_{side}"] = np.concatenate([lacks[part.cases].sum(axis=0) for part in analysis.parts])
    renamed = {"value_1": "accuracy_now", "value_2": "accuracy_then", "only_1": "gained", "only_2": "lost"}
    rows = rows.rename(columns=renamed).assign(policy=analysis.policy)
    is_alike = (rows["gained"] + rows["lost"]).eq(0) & rows["n"].gt(0)
    tested = ["low", "high", "interval", "p_value", "p_adjusted"]
    rows[tested] = rows[tested].mask(is_alike)
    rows["reason"] = np.where(rows["n"] == 0, NO_CASES, "")
    why = rows.assign(lacks=pd.Series(ALIKE, rows.index).where(is_alike))
    rows["reason"] = reasons(why, [Column("difference", "", ends=("low", "high"))], analysis.resamples)
    return rows.astype(dict.fromkeys(("by", "subfield", "interval"), "str"))
