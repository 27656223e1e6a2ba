"""The table `knowledge` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.core.phrases import main_dimension, main_rows, of_judges, on, opening, points

MEANINGS = {
    "model": "the model behind the judge, by its name among those that answered the items | text",
    "n": "cases that are scored and whose item the model answered right or wrong | cases",
    "n_right": "of these, cases whose item the model answered right itself | cases",
    "n_wrong": "of these, cases whose item it answered wrong | cases",
    "n_excluded": "scored cases whose item the model did not answer, whose answers were not marked, or were right as "
    "often as wrong | cases",
    "accuracy_right": "accuracy where the model answered the item right itself | share 0-1",
    "accuracy_wrong": "accuracy where it answered the item wrong | share 0-1",
    "difference": "accuracy_right less accuracy_wrong | difference",
    "p_value": "two-sided p of no difference, by Welch's t test over clusters | p 0-1",
}


def sentence(table: pd.DataFrame) -> str:
    """How many judges are more accurate where their model knows the answer, and how much more at most."""
    rows, dimension = main_rows(table), main_dimension(table)
    known = rows.dropna(subset=["difference", "p_adjusted"])
    if known.empty:
        return f"{opening(dimension)}, whether judges judge better what they can answer themselves is not known."
    better = known[(known["p_adjusted"] <= 0.05) & (known["difference"] > 0)]
    what = f"shown to judge better {on(dimension)} where their model answers the question right itself"
    said = of_judges(len(better), len(known), what)
    if better.empty:
        return f"{said}."
    top = better.sort_values("difference").iloc[-1]
    return f"{said}, {top['judge']} most: {points(top, 'difference')}."
