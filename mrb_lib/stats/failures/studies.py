"""Cases to show beside the numbers: some that judges get right, and some that they get wrong, by a rule."""

from __future__ import annotations

from typing import Final

import pandas as pd

from mrb_lib.benchmarks.votes import vote_columns
from mrb_lib.stats.failures.failures import hardest_cases
from mrb_lib.verdicts.orders import TIE

SUCCESS, FAILURE = "success", "failure"
RULE: Final = (
    "Of the cases on which all annotators chose the same response, {by} by {by}: the one with the highest (successes) "
    "or the lowest (failures) mean score over the judges, of equal ones the first by id; of these the {n} with the "
    "highest or the lowest, of equal ones the first by {by}"
)
"""How the cases are chosen, in words; `by` is a column of the cases."""


def case_studies(
    verdicts: pd.DataFrame,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    dimension: str,
    by: str,
    policy: str = "official",
    n: int = 4,
) -> pd.DataFrame:
    """Choose cases by `RULE`.

    Parameters
    ----------
    verdicts, policy : as in `mrb_lib.stats.accuracy.correctness`
    gold : with the votes for each choice and `n_annotators`, as `votes.gold` gives it; one label of a
        published consensus counts as unanimous, since nobody can tell
    cases : the cases table, with the column `by`; cases that state none are not chosen
    n : how many of each kind, at most

    Returns
    -------
    DataFrame
        `kind` ("success" or "failure"), `by` under its own name, `case_id`, `gold`, `mean_score` over the `n_judges`
        judges, and how many of the verdicts that the policy reads chose `A`, `B`, `tie` or `none`. A case can be in
        both kinds where few are left.

    Notes
    -----
    Chosen for their scores, they estimate nothing. Validated by tests/stats/failures/test_studies.py.
    """
    here = gold[(gold["dimension"] == dimension) & gold["choice"].notna()]
    most = here[[name for name in vote_columns(tuple(here["choice"].unique())).values() if name in here]].max(axis=1)
    unanimous = here[(most == here["n_annotators"]) & (here["choice"] != TIE)].rename(columns={"choice": "gold"})[
        ["case_id", "gold"]
    ]
    if policy == "official":  # which reads no others, so that none are counted
        verdicts = verdicts[(verdicts["order"] == "AB") & (verdicts["repeat"] == 0)]
    ranked = hardest_cases(verdicts, here, dimension=dimension, policy=policy)
    stated = cases[["case_id", by]].dropna(subset=by)
    rows = ranked.merge(unanimous, on="case_id").merge(stated, on="case_id")
    rows = rows.assign(mean_score=rows["mean_score"].round(12))
    chosen = []
    for kind, ascending in ((SUCCESS, False), (FAILURE, True)):
        ordered = rows.sort_values(["mean_score", "case_id"], ascending=[ascending, True])
        first = ordered.drop_duplicates(by).sort_values(["mean_score", by], ascending=[ascending, True])
        chosen.append(first.head(n).assign(kind=kind))
    columns = ["kind", by, "case_id", "gold", "mean_score", "n_judges", "A", "B", "tie", "none"]
    return pd.concat(chosen, ignore_index=True)[columns].astype({"kind": "str"})
