"""The table `learning` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, opening, points

_HESTNESS = "Hestness et al. 2017, arXiv 1712.00409"
MEANINGS = {
    "part": "ingredient (two judges), size (a judge of a series), curve (its law) or fit (a point of that) | text",
    "recipe": "how the judges of a series were trained, but for the number of cases | text",
    "ingredient": "entry of the recipe in which two judges differ, the only one | text",
    "value_1": "its value for judge_1 | text",
    "value_2": "its value for judge_2 | text",
    "judge": "judge of a series; null: the series | text",
    "n": "cases scored for both judges, or for all of a series, that none of them was trained on | cases",
    "n_training": "cases that the judge was trained on; where the curve is read, in rows curve twice the most | cases",
    "n_sizes": "different numbers of training cases in the series | count",
    "quantity": "accuracy, consistency, first_rate (1/2: no position bias), brier or longer_rate | text",
    "difference": "quantity of judge_1 less that of judge_2 on the same cases | difference",
    "accuracy": "mean score over these cases; of the curve in rows fit, and in rows curve at n_training | share 0-1",
    "limit": f"accuracy that no number of training cases goes beyond | share 0-1 | {_HESTNESS}",
    "exponent": f"how fast error above the limit falls: tenfold cases divide it by 10^exponent | number | {_HESTNESS}",
    "residual": "root mean square of what the curve leaves over of the accuracies | number",
    "target": "wanted accuracy, if one is | share 0-1",
    "cases_needed": "training cases that give the wanted accuracy, by the curve | cases",
}


def sentence(table: pd.DataFrame) -> str:
    """What twice the training cases would give, or else which ingredient changes accuracy most."""
    dimension = main_dimension(table)
    rows = table[table["dimension"] == dimension]
    curves = rows[rows["part"] == "curve"].dropna(subset="accuracy")
    if len(curves):
        row = curves.iloc[0]
        ends = "" if pd.isna(row["low"]) else f" [{100 * row['low']:.0f}, {100 * row['high']:.0f}]"
        said = (
            f"{opening(dimension)}, {int(row['n_training']):,} training cases, twice the most there were, would give "
            f"an accuracy of {row['accuracy']:.0%}{ends} ({row['recipe']})"
        )
        if pd.notna(row["cases_needed"]):
            said += f"; {row['target']:.0%} takes {row['cases_needed']:,.0f}"
        return f"{said}."
    shown = rows[(rows["part"] == "ingredient") & (rows["quantity"] == "accuracy")].dropna(subset="difference")
    if shown.empty:
        return f"{opening(dimension)}, no two judges here are known to differ in one ingredient of their training."
    row = shown.iloc[int(shown["difference"].abs().argmax())]
    return (
        f"{opening(dimension)}, of {len(shown)} comparisons {row['ingredient']} {row['value_1']} against "
        f"{row['value_2']} changes accuracy most, {points(row, 'difference')}."
    )
