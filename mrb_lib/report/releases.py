"""Match the cases of two releases of a benchmark, and the judges of two reports."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import numpy as np
import pandas as pd

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
"""The possible changes of a case, with their meanings; a case with another text may have another label, too."""
SAME_PROMPT, OTHER_PROMPT, UNKNOWN_PROMPT = "same", "another", "not known"
ONLY_THEN, ONLY_NOW = "only then", "only now"
_OF_PAIRS = ["judge", "judge_then", "judge_now", "prompt", "prompt_then", "prompt_now"]


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
