"""The table `ppi` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, opening

_PPI = "Angelopoulos et al. 2023, arXiv 2311.01453"
KEPT = 0.2  # of the labels, in the what-if that is spoken of
MEANINGS_OF_PPI = {
    "part": "estimate, or what_if: had only some labels been made | text",
    "responder": "model that wrote the responses; null: all together | text",
    "label_share": "share of the annotated clusters whose labels are kept | share 0-1",
    "n_labelled": "cases with a verdict that annotators decided | cases",
    "n_undecided": "cases with a verdict that they saw and did not decide | cases",
    "n_unlabelled": "cases with a verdict that they did not see | cases",
    "n_excluded": "other cases of the responder | cases",
    "estimate": f"win rate by labels and verdicts together, a tie being half a win | share 0-1 | {_PPI}",
    "classical_estimate": "win rate by the labels alone | share 0-1",
    "classical_low": "lower end of the 95% interval of classical_estimate | share 0-1",
    "classical_high": "upper end of the 95% interval of classical_estimate | share 0-1",
    "full_estimate": "win rate by all labels, those hidden too | share 0-1",
    "lambda": f"weight given to the judge | share 0-1 | {_PPI}",
    "effective_n": "labels that the classical interval would need to be as narrow | number",
    "label_saving": "share of these labels that the verdicts save | number",
    "width_ratio": "standard error over the classical one | number",
    "expected_label_saving": "saving to expect of the correlation and the numbers of cases | share 0-1",
    "expected_width_ratio": "ratio of standard errors to expect of them | share 0-1",
    "correlation": "of verdicts and labels | coefficient | Pearson 1895",
}


def sentence_of_ppi(table: pd.DataFrame) -> str:
    """How many labels the verdicts save."""
    rows, dimension = main_rows(table), main_dimension(table)
    whole = rows[rows["responder"].isna()]
    made = whole[(whole["part"] == "estimate") & (whole["n_unlabelled"] > 0)].dropna(subset="expected_label_saving")
    kept = whole[whole["label_share"] == KEPT].dropna(subset="expected_label_saving")
    known = kept if made.empty else made
    if known.empty:
        return f"{opening(dimension)}, how many of the annotators' labels verdicts would save is not known."
    best = known.nlargest(1, "expected_label_saving").iloc[0]
    most = ", the most of all judges" if known["judge"].nunique() > 1 else ""
    saved = f"{best['expected_label_saving']:.0%} of the labels that equally exact win rates take without them{most}."
    if made.empty:
        return (
            f"{opening(dimension)}, had annotators labelled {KEPT:.0%} of the cases, the verdicts of {best['judge']} "
            f"would save {saved}"
        )
    return f"{opening(dimension)}, the verdicts of {best['judge']} save {saved}"
