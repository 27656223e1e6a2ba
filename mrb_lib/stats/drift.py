"""Annotators against themselves: the first half of what each answered beside the second."""

from __future__ import annotations

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
    case, choice = (
        code(rows["case_id"], list(cases["case_id"]), "case_id"),
        code(rows["choice"], categories, "choice"),
    )
    annotator, names = pd.factorize(rows["annotator"], sort=True)
    half = _halves(rows)
    unit = pd.factorize(pd.MultiIndex.from_arrays([case, rows["dimension"]]))[0]
    answered = pd.DataFrame({"unit": unit, "annotator": annotator, "half": half, "choice": choice})
    both = answered.merge(answered[["unit", "annotator", "choice"]], on="unit", suffixes=("", "_other"))
    both = both[both["annotator"] != both["annotator_other"]]
    compared = both["choice"].eq(both["choice_other"]).groupby([both["annotator"], both["half"]])
    decisive = rows["choice"] != TIE
    counts = rows.assign(
        annotator=annotator, half=half, decisive=decisive, tie=~decisive, a=rows["choice"] == "A",
        shown_first=choice_to_shown(rows["order"], rows["choice"]) == FIRST,
    ).groupby(["annotator", "half"])  # fmt: skip
    out = pd.DataFrame(index=pd.MultiIndex.from_product([range(len(names)), range(2)], names=["annotator", "half"]))
    out["n_cases"], out["n_answers"] = counts["case_id"].nunique(), counts.size()
    out["n_decisive"], n_a, n_first = (counts[name].sum() for name in ("decisive", "a", "shown_first"))
    out["share_a"], out["share_first"] = n_a / out["n_decisive"], n_first / out["n_decisive"]
    out["share_tie"], out["n_compared"], out["agreement"] = counts["tie"].mean(), compared.size(), compared.mean()
    numbers = ["n_cases", "n_answers", "n_decisive", "n_compared"]
    out[numbers] = out[numbers].fillna(0).astype("int64")
    out["reason"] = pd.Series(
        [_reason(*row) for row in out[numbers].itertuples(index=False)], index=out.index, dtype="str"
    )
    out = out.reset_index()
    return out.assign(annotator=names[out["annotator"]], half=out["half"].map(dict(enumerate(HALVES))))


def _halves(rows: pd.DataFrame) -> np.ndarray:
    """Return the half (0 or 1) of its annotator's cases that the case of each row is in; rows are in order of time."""
    firsts = rows.drop_duplicates(["annotator", "case_id"])[["annotator", "case_id"]]
    by_annotator = firsts.groupby("annotator")["case_id"]
    late = by_annotator.cumcount() >= (by_annotator.transform("size") + 1) // 2
    placed = rows[["annotator", "case_id"]].merge(firsts.assign(half=late.astype("int64")), how="left")
    return placed["half"].to_numpy(dtype=np.int64)


def _reason(n_cases: int, n_answers: int, n_decisive: int, n_compared: int) -> str | None:
    if not n_cases:
        return NO_ANSWERS
    reasons = [text for text, holds in ((NOTHING_DECISIVE, not n_decisive), (NOT_SHARED, not n_compared)) if holds]
    return "; ".join(reasons) or None
