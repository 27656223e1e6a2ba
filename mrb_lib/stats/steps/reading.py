"""The table `steps` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, opening, percent

_PROCESS = "Zheng et al. 2024, arXiv 2412.06559"
MEANINGS = {
    "erroneous": "categories of a step that count as erroneous | text",
    "n_items": "responses with labels and verdicts up to the annotators' first error | count",
    "n_error_items": "those of them that have an error by the annotators | count",
    "n_steps": "steps with a gold label and a verdict | cases",
    "n_erroneous": "those of them that the annotators call erroneous | cases",
    "n_flagged": "those of them that the judge calls erroneous | cases",
    "n_excluded": "other steps | cases",
    "coverage": "share of the verdicts on these steps that have a choice | share 0-1",
    "step_accuracy": "share of steps that judge and annotators both call erroneous, or neither | share 0-1",
    "precision": "share of the steps called erroneous by the judge that are | share 0-1",
    "recall": "share of the erroneous steps that the judge calls so | share 0-1",
    "f1": "harmonic mean of precision and recall of erroneous steps | share 0-1",
    "first_error_accuracy": f"share of responses whose first error the judge finds, or that none is | share 0-1"
    f" | {_PROCESS}",
    "error_item_accuracy": f"the same of responses with an error | share 0-1 | {_PROCESS}",
    "clean_item_accuracy": f"the same of responses without an error | share 0-1 | {_PROCESS}",
    "first_error_f1": f"harmonic mean of these two | share 0-1 | {_PROCESS}",
    "first_error_distance": "steps between the first errors of judge and annotators, where both see one | number",
}


def sentence(table: pd.DataFrame) -> str:
    """Which judge finds erroneous steps best."""
    rows, dimension = main_rows(table), main_dimension(table)
    known = rows[rows["f1"].notna()]
    if known.empty:
        return f"{opening(dimension)}, no F1 of erroneous steps is defined: see the column reason."
    best = known.nlargest(1, "f1").iloc[0]
    first = percent(best, "first_error_accuracy")
    return (
        f"{opening(dimension)}, {best['judge']} finds erroneous steps best, with an F1 of {percent(best, 'f1')}; it "
        f"finds the first error, or that there is none, in {first} of {int(best['n_items']):,} responses."
    )
