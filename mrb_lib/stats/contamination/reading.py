"""The table `contamination` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, of_judges, opening, points

MEANINGS = {
    "cutoff": "until when the judge's training data reach, a month or a day; null: the roster does not say | text",
    "cutoff_of": "roster entry that states the cut-off: the judge's own or its base's | text",
    "n": "cases scored that are dated before or after the cut-off | cases",
    "n_excluded": "cases that are not scored, dated or not, those of n_seen among them | cases",
    "coverage": "share of the verdicts that the policy reads which have a choice, mean over cases | share 0-1",
    "n_undated": "cases scored without a date, or with one that does not tell the side of the cut-off | cases",
    "n_imprecise": "those of n_undated that have a date, such as the year of the cut-off | cases",
    "n_before": "cases scored that were public by the cut-off | cases",
    "accuracy_before": "mean score over them, by the policy | share 0-1",
    "n_after": "cases scored that became public after the cut-off | cases",
    "accuracy_after": "mean score over them, by the policy | share 0-1",
    "difference": "accuracy_before less accuracy_after; other cases, which may differ in difficulty | difference",
    "df": "degrees of freedom of the standard error | number | Welch 1947, doi:10.1093/biomet/34.1-2.28",
    "n_clusters": "clusters of the cases before and after, some perhaps on both sides | count",
}


def sentence(table: pd.DataFrame) -> str:
    """How many judges are shown to be better on cases from before their cut-off."""
    rows, dimension = main_rows(table), main_dimension(table)
    tested = rows.dropna(subset="p_adjusted")
    if tested.empty:
        return (
            f"{opening(dimension)}, no judge can be compared before and after its training cut-off: that takes a "
            "cut-off in the roster and dated cases on both sides."
        )
    better = tested[(tested["p_adjusted"] <= 0.05) & (tested["difference"] > 0)]
    what = "shown to be more accurate on cases from before the training cut-off"
    said = f"{opening(dimension)}: {of_judges(len(better), len(tested), what)}"
    if better.empty:
        return f"{said}."
    most = better.nlargest(1, "difference").iloc[0]
    return (
        f"{said}, {most['judge']} most ({points(most, 'difference')}); later cases may also be harder, which other "
        "judges on the same cases can tell."
    )
