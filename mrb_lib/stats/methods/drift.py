"""Annotators against themselves: the first half of what each answered beside the second."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.options import code
from mrb_lib.tables.schema import CHOICES
from mrb_lib.verdicts.orders import FIRST, TIE, choice_to_shown

HALVES = ("first", "second")
NOT_SHARED = "nobody else answered these"
NO_ANSWERS = "no answers in this half"
NOTHING_DECISIVE = "all are ties"


def drift(answers: pd.DataFrame, cases: pd.DataFrame, *, categories: Sequence[str] = CHOICES) -> pd.DataFrame:
    """Compare how each annotator answered at first, and later.

    The halves hold different cases, and perhaps other colleagues to compare with, so that a difference describes what
    was answered and is no test of whether the annotator changed.

    Parameters
    ----------
    answers : `case_id, annotator, dimension, choice` (in the case's own frame), `order` ("AB" or "BA", what was shown
        first) and `created`; one row an annotator, case and dimension, without skips
    cases : `case_id`
    categories : the preferences there are: A, B and perhaps tie

    Returns
    -------
    DataFrame
        Two rows an annotator, sorted by name, `half` "first" and "second": an annotator's cases, in the order in which
        they first answered them, the middle one being of the first half. `n_cases`, `n_answers`; `n_decisive` of these
        that are no ties, `share_a` and `share_first` of them (1/2: no leaning) and `share_tie` of all answers;
        `n_compared`, the answers of others, in either half, to the same cases and dimensions, and `agreement`, the
        share of them that are the same as the annotator's; `reason` says why a value is null.

    Raises
    ------
    InputError
        A choice is not among the categories, or an answer is about an unknown case.

    Notes
    -----
    With two annotators and one half of each, `agreement` is the percent agreement of the part "pair" of the table
    `agreement`: `tests/stats/test_drift.py`.
    """
    rows = answers.sort_values("created", kind="stable", ignore_index=True)
    for name, known in (("case_id", list(cases["case_id"])), ("choice", categories)):
        code(rows[name], known, name)
    firsts = rows.drop_duplicates(["annotator", "case_id"])[["annotator", "case_id"]]
    by_annotator = firsts.groupby("annotator")["case_id"]
    late = by_annotator.cumcount() >= (by_annotator.transform("size") + 1) // 2
    rows = rows.merge(firsts.assign(half=np.where(late, *HALVES[::-1])), how="left")
    decisive = rows["choice"] != TIE
    rows = rows.assign(
        share_tie=~decisive,
        share_a=rows["choice"].eq("A").astype(float).where(decisive),
        share_first=choice_to_shown(rows["order"], rows["choice"]).eq(FIRST).astype(float).where(decisive),
    )
    both = rows.merge(rows[["case_id", "dimension", "annotator", "choice"]], on=["case_id", "dimension"])
    both = both[both["annotator_x"] != both["annotator_y"]].rename(columns={"annotator_x": "annotator"})
    same = both["choice_x"].eq(both["choice_y"]).groupby([both["annotator"], both["half"]])
    found = rows.groupby(["annotator", "half"])
    index = pd.MultiIndex.from_product([sorted(rows["annotator"].unique()), HALVES], names=["annotator", "half"])
    out = found[["share_a", "share_first", "share_tie"]].mean().reindex(index)
    out = out.assign(n_cases=found["case_id"].nunique(), n_answers=found.size(), n_decisive=found["share_a"].count())
    out["n_compared"], out["agreement"] = same.size(), same.mean()
    numbers = ["n_cases", "n_answers", "n_decisive", "n_compared"]
    out[numbers] = out[numbers].fillna(0).astype("int64")
    silent, alone = out["n_decisive"].eq(0), out["n_compared"].eq(0)
    texts = [NO_ANSWERS, f"{NOTHING_DECISIVE}; {NOT_SHARED}", NOTHING_DECISIVE, NOT_SHARED]
    reason = np.select([out["n_cases"].eq(0), silent & alone, silent, alone], texts, "")
    out["reason"] = pd.Series(reason, out.index, dtype="str").where(reason != "")
    return out.reset_index()
