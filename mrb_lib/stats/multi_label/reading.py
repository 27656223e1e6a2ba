"""The table `labels` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, opening, percent

MEANINGS = {
    "label": "the label; null in rows that average over labels | text",
    "average": "micro: all decisions about labels together; macro: mean over labels; null: one label | text",
    "n": "cases with a verdict for which it is decided whether the label, or some label, applies | cases",
    "n_excluded": "other cases | cases",
    "n_undecided": "times a case with a verdict does not count for a label, which just half of its annotators give"
    " | count",
    "n_positive": "times the label applies, by more than half of the annotators | count",
    "n_flagged": "times the judge gives the label, in some repeat | count",
    "n_labels": "labels that the row is of | count",
    "coverage": "share of the verdicts that have a choice | share 0-1",
    "precision": "share of the times the judge gives the label in which it applies | share 0-1",
    "recall": "share of the times the label applies in which the judge gives it | share 0-1",
    "f1": "harmonic mean of precision and recall | share 0-1",
}


def sentence(table: pd.DataFrame) -> str:
    """Which judge finds the labels best."""
    dimension = main_dimension(table)
    rows = main_rows(table, average="macro")
    known = rows[rows["f1"].notna()]
    if known.empty:
        return f"{opening(dimension)}, no macro F1 of labels is defined: see the column reason."
    best = known.nlargest(1, "f1").iloc[0]
    return f"{opening(dimension)}, {best['judge']} finds the labels best, with a macro F1 of {percent(best, 'f1')}."
