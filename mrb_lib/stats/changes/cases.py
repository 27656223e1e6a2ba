"""Which cases of a benchmark are still the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

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
"""What can become of a case, and what that means; a case with another text may have another label, too."""


def case_changes(
    then: pd.DataFrame,
    now: pd.DataFrame,
    gold_then: pd.DataFrame,
    gold_now: pd.DataFrame,
    *,
    dimensions: Sequence[str],
) -> pd.DataFrame:
    """What became of each case on each dimension.

    Parameters
    ----------
    then, now : one row a case: `case_id` and the digests `text` and `images`, see
        `mrb_lib.verdicts.basis.digests_of`
    gold_then, gold_now : the gold tables by one rule: `case_id`, `dimension`, `choice`, null or absent where there is
        none
    dimensions : those to compare

    Returns
    -------
    DataFrame
        One row a dimension and case of either: `dimension`, `case_id`, `change` (a key of `CHANGES`). Cases in the
        order of `now`, then those that were removed.

    Notes
    -----
    A case is known by its id: one that was renamed is removed and added. Validated by
    tests/stats/changes/test_cases.py.
    """
    both = now.merge(then, on="case_id", how="outer", suffixes=("", "_then"), indicator=True, validate="1:1")
    order = pd.Index(now["case_id"]).append(pd.Index(then["case_id"])).unique()
    both = both.set_index("case_id").loc[order].reset_index(names="case_id")
    rows = []
    for dimension in dimensions:
        labels = [
            gold[gold["dimension"] == dimension].set_index("case_id")["choice"].reindex(both["case_id"]).fillna("")
            for gold in (gold_then, gold_now)
        ]
        conditions = [
            both["_merge"] == "left_only",
            both["_merge"] == "right_only",
            both["text"] != both["text_then"],
            both["images"] != both["images_then"],
            labels[0].to_numpy() != labels[1].to_numpy(),
            labels[1].to_numpy() == "",
        ]
        change = np.select(conditions, ["added", "removed", "text", "images", "gold", "unlabelled"], SAME)
        rows.append(pd.DataFrame({"dimension": dimension, "case_id": both["case_id"], "change": change}))
    return pd.concat(rows, ignore_index=True).astype("str")


def release_counts(changes: pd.DataFrame) -> pd.DataFrame:
    """How many cases each change happened to.

    Parameters
    ----------
    changes : as of `case_changes`

    Returns
    -------
    DataFrame
        One row a dimension and key of `CHANGES`: `dimension`, `change`, `meaning`, `n`, and `cases`, the first three.
    """
    rows = []
    for dimension, part in changes.groupby("dimension", sort=False):
        for change, meaning in CHANGES.items():
            ids = part.loc[part["change"] == change, "case_id"]
            first = "" if change == SAME else ", ".join(ids.head(3))
            rows.append((dimension, change, meaning, len(ids), first))
    return pd.DataFrame(rows, columns=["dimension", "change", "meaning", "n", "cases"])
