"""The table `ratings` in words."""

from __future__ import annotations

from typing import Final

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, number, opening

UPSIDE_DOWN: Final = "seems to use the scale upside down: the interval of spearman lies below 0"
MEANINGS: Final = {
    "n": "cases with a label of the clinicians and an answer of the judge | cases",
    "n_excluded": "cases without a label, without an answer, or trained on | cases",
    "n_clusters": "clusters of the n cases, which vary independently | count",
    "n_mean": "cases with an annotation and an answer of the judge, for what is against the clinicians' mean | cases",
    "n_unacceptable": "of the n cases, those with an unacceptable label | cases",
    "coverage": "share of the verdicts that have a choice, a mean over the cases with a label | share 0-1",
    "exact": "share of the answers that are the clinicians' label | share 0-1",
    "within_one": "share of the answers that are the clinicians' label or next to it | share 0-1",
    "weighted_kappa": "agreement with the clinicians' label beyond chance, quadratic weights of the places"
    " | coefficient | Cohen 1968, doi:10.1037/h0026256",
    "icc": "ICC(2,1), absolute agreement with the mean of the clinicians' numbers | coefficient"
    " | Shrout and Fleiss 1979",
    "icc_consistency": "ICC(3,1), the same with a constant distance forgiven | coefficient | Shrout and Fleiss 1979",
    "spearman": "rank correlation with the mean of the clinicians' numbers | coefficient | Spearman 1904",
    "pearson": "correlation with the mean of the clinicians' numbers | coefficient | Pearson 1895",
    "mean_difference": "judge's number less the clinicians' mean; above 0: it gives higher categories | number",
    "sensitivity": "share of the cases with an unacceptable label that the judge finds | share 0-1",
    "specificity": "share of the cases with an acceptable label that the judge calls acceptable | share 0-1",
    "f1_unacceptable": "harmonic mean of precision and sensitivity in finding the unacceptable | share 0-1",
}


def sentence(table: pd.DataFrame) -> str:
    """Which judge agrees best by weighted kappa, how its ratings lean, and whose scale is upside down."""
    rows = main_rows(table)
    known = rows.dropna(subset="weighted_kappa")
    said = opening(main_dimension(table))
    if known.empty:
        return f"{said}, no judge's agreement with the clinicians' ratings is known."
    best = known.sort_values(["weighted_kappa", "judge"], ascending=[False, True]).iloc[0]
    first = f"is nearest to the clinicians of {len(known)} judges" if len(known) > 1 else "is the only judge"
    said += f", {best['judge']} {first}, with a weighted kappa of {number(best, 'weighted_kappa')}{_leaning(best)}"
    turned = [str(name) for name in rows.loc[rows["spearman_high"] < 0, "judge"]]
    if not turned:
        return f"{said}."
    return f"{said}; {' and '.join(turned)} {'seems' if len(turned) == 1 else 'seem'} to use the scale upside down."


def _leaning(row: pd.Series) -> str:
    """Whether the judge is shown to rate higher or lower."""
    if not (row["mean_difference_low"] > 0 or row["mean_difference_high"] < 0):
        return ""
    way = "higher" if row["mean_difference"] > 0 else "lower"
    return f", and it rates {abs(row['mean_difference']):.2f} {way} on average"
