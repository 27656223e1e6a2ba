"""The table `criteria` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, opening, points

_HEALTHBENCH = "Arora et al. 2025, arXiv 2505.08775"
_SHOWN = 60
MEANINGS = {
    "criterion": "text of the criterion; null: all criteria of too few cases, taken together | text",
    "n_criteria": "different criteria that the row is about; 0: no verdict has any | count",
    "n": "cases with a verdict whose rubric has it | cases",
    "n_scored": "cases of these that the policy can score | cases",
    "coverage": "share of the verdicts in which it was decided for both responses | share 0-1",
    "weight": f"mean points for it; below zero: points taken off | number | {_HEALTHBENCH}",
    "met_share": "share of the responses that are said to meet it, or the mean probability | share 0-1",
    "separation": "how often it is met by one response and not by the other | share 0-1",
    "agreement": "of the points by which it separates the responses, share that goes to the gold one | share 0-1",
    "n_wrong": "cases with a wrong verdict against a gold A or B | cases",
    "decisive_share": "wrong verdicts that the other decision on one response, or both, would right | share 0-1",
    "accuracy_without": "mean score over the same cases with verdicts by all other criteria | share 0-1",
    "difference": "accuracy_without less accuracy; above zero: the criterion does harm | difference",
    "p_value": "test of difference being 0, by Student's t over clusters; two-sided | p 0-1",
}


def sentence(table: pd.DataFrame) -> str:
    """Which criterion does most harm, and how many are shown to."""
    dimension = main_dimension(table)
    rows = main_rows(table)
    rows = rows[rows["criterion"].notna()].dropna(subset="difference")
    if rows.empty:
        return f"{opening(dimension)}, no criterion can be told from the others by what verdicts were without it."
    said = f"{opening(dimension)}, of {len(rows)} criteria decided by {rows['judge'].nunique()} judge"
    said += "s" if rows["judge"].nunique() > 1 else ""
    harmful = rows[(rows["p_adjusted"] <= 0.05) & (rows["difference"] > 0)]
    if harmful.empty:
        return f"{said}, none is shown to do harm: verdicts without it are not shown to be more accurate."
    most = harmful.nlargest(1, "difference").iloc[0]
    text = " ".join(most["criterion"].split())
    text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    are = "is" if len(harmful) == 1 else "are"
    return (
        f"{said}, {len(harmful)} {are} shown to do harm; without {text!r} the verdicts of {most['judge']} are more "
        f"accurate by {points(most, 'difference')}."
    )
