"""The table `rationales` in words."""

from __future__ import annotations

from typing import Final

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, opening, percent

ANNOTATORS: Final = "annotators"
MEANINGS: Final = {
    "judge": "name of the judge that gave the reasons | text",
    "dimension": "what the verdicts are on that the reasons are for | text",
    "marker": "who marked the reasons: annotators (their label), or the name of a second judge | text",
    "n_reasons": "reasons that the judge gave | count",
    "n_marked": "of these, marked right, wrong or irrelevant by the marker | count",
    "n_unscored": "of these, for a verdict without a choice or on a case without a label | count",
    "n_clusters": "clusters of the n_marked reasons, which vary independently | count",
    "share_right": "share of the marked reasons that are right | share 0-1",
    "share_wrong": "share of the marked reasons that are wrong | share 0-1",
    "share_irrelevant": "share of the marked reasons that are irrelevant | share 0-1",
    "n_right_verdicts": "marked reasons for a verdict that is the annotators' label | count",
    "right_for_wrong_reason": "share of the right verdicts whose reason is wrong or irrelevant | share 0-1",
    "n_wrong_verdicts": "marked reasons for a verdict that is not the annotators' label | count",
    "wrong_for_right_reason": "share of the wrong verdicts whose reason is right | share 0-1",
    "reason_gap": "share of right reasons among right verdicts less that among wrong ones | difference",
    "n_both": "reasons that the second judge and the annotators marked | count",
    "cohen_kappa": "agreement of the second judge's marks with the annotators' beyond chance | coefficient"
    " | Cohen 1960, doi:10.1177/001316446002000104",
}


def sentence(table: pd.DataFrame) -> str:
    """Whose right verdicts rest on wrong or irrelevant reasons most often, and how often."""
    rows = main_rows(table)
    said = opening(main_dimension(table))
    known = rows.dropna(subset="right_for_wrong_reason")
    if known.empty:
        return f"{said}, nothing is known yet of the reasons for right verdicts."
    markers = [str(name) for name in known["marker"].unique()]
    marker = ANNOTATORS if ANNOTATORS in markers else markers[0]
    known = known[known["marker"] == marker]
    worst = known.sort_values(["right_for_wrong_reason", "judge"], ascending=[False, True]).iloc[0]
    most = f", the most of {len(known)} judges" if len(known) > 1 else ""
    by = "the annotators" if marker == ANNOTATORS else marker
    return (
        f"{said}, {percent(worst, 'right_for_wrong_reason')} of {worst['n_right_verdicts']:,} right verdicts of "
        f"{worst['judge']} rest on a reason that {by} marked wrong or irrelevant{most}."
    )
