"""Which cases the judges get wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mrb_lib.stats.accuracy import correctness
from mrb_lib.tables.schema import CHOICES

NO_CHOICE = "none"


def hardest_cases(
    verdicts: pd.DataFrame, gold: pd.DataFrame, *, dimension: str, policy: str = "balanced", seed: int = 0
) -> pd.DataFrame:
    """Order the cases of one dimension from the lowest mean score to the highest.

    Parameters
    ----------
    verdicts, gold, policy : as in `mrb_lib.stats.accuracy.correctness`
    seed : of the random order of cases whose means are equal, so that no order of the
        benchmark decides which of them are looked at

    Returns
    -------
    DataFrame
        One row a case that is scored for a judge at least: `case_id`; `mean_score` over the
        `n_judges` it is scored for; and the number of verdicts on it, over all judges,
        orders and repeats, that chose `A`, `B`, `tie`, or `none` of them.

    Raises
    ------
    InputError
        As in `correctness`.

    Notes
    -----
    The lowest of many means are low by chance, too, and where the gold label itself is
    wrong: they show what to look at, and estimate nothing. Validated in
    `tests/stats/failures/test_failures.py`.
    """
    asked = verdicts[verdicts["dimension"] == dimension]
    if "seen" in asked:
        asked = asked[~asked["seen"].eq(True)]
    scored = correctness(asked, gold[gold["dimension"] == dimension], policy).dropna(subset="score")
    found = scored.groupby("case_id")["score"].agg(mean_score="mean", n_judges="size").reset_index()
    shuffled = found.iloc[np.random.default_rng(seed).permutation(len(found))]
    ranks = shuffled["mean_score"].round(12).argsort(kind="stable")  # sums in another order are no difference
    ranked = shuffled.iloc[ranks]
    choices = asked["choice"].fillna(NO_CHOICE)
    counts = pd.crosstab(asked["case_id"], choices).reindex(columns=[*CHOICES, NO_CHOICE], fill_value=0)
    return ranked.merge(counts.reset_index(), on="case_id", how="left", validate="1:1").astype({"case_id": "str"})
