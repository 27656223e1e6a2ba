"""The tables `agreement` and `annotator_pairs` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import interval, main_dimension, main_rows, opening

_GENERAL = {
    "linear_kappa": "kappa in which near labels agree in part | coefficient | Cohen 1968, doi:10.1037/h0026256",
    "quadratic_kappa": "kappa in which disagreement counts by its square | coefficient"
    " | Cohen 1968, doi:10.1037/h0026256",
    "gwet_ac2": "AC1 in which near labels agree in part, quadratic weights | coefficient"
    " | Gwet 2008, doi:10.1348/000711006X126600",
    "pabak": "percent agreement beyond that of labels used evenly | coefficient"
    " | Byrt et al. 1993, doi:10.1016/0895-4356(93)90018-V",
    "icc_2_1": "intraclass correlation of single scores | coefficient"
    " | Shrout & Fleiss 1979, doi:10.1037/0033-2909.86.2.420",
    "icc_2_k": "intraclass correlation of mean scores | coefficient"
    " | Shrout & Fleiss 1979, doi:10.1037/0033-2909.86.2.420",
    "prevalence_index": "0: labels are used evenly; 1: one label only | share 0-1"
    " | Byrt et al. 1993, doi:10.1016/0895-4356(93)90018-V",
    "bias_index": "0: annotators use the labels alike | share 0-1 | Byrt et al. 1993, doi:10.1016/0895-4356(93)90018-V",
}
MEANINGS = {
    **_GENERAL,
    "n_cases": "cases with two annotators or more | cases",
    "n_unpaired": "cases with one annotator | cases",
    "n_annotators": "annotators with a label here | count",
    "n_categories": "labels in use anywhere, among which chance agreement is shared | count",
    "n_pairs": "pairs of annotators with a kappa | count",
    "n_pairs_undefined": "other pairs that share cases | count",
    "cohen_kappa": "mean over pairs of annotators of agreement beyond chance | coefficient"
    " | Cohen 1960, doi:10.1177/001316446002000104",
    "fleiss_kappa": "agreement of many beyond chance | coefficient | Fleiss 1971; Gwet 2014 where labels are missing",
    "annotators_per_case": "harmonic mean over cases with two or more: the k of icc_2_k | number",
}
MEANINGS_OF_PAIRS = {**_GENERAL, "n": "cases that the two annotators share | cases"}


def sentence(table: pd.DataFrame) -> str:
    """How often two annotators agree, and how much of that is beyond chance."""
    rows, dimension = main_rows(table), main_dimension(table)
    if rows.empty or pd.isna(rows["percent_agreement"].iloc[0]):
        return f"{opening(dimension)}, how far annotators agree is not known: no case has the labels of two."
    row = rows.iloc[0]
    alpha = row["krippendorff_alpha"]
    beyond = (
        "how much of that is beyond chance is not known"
        if pd.isna(alpha)
        else f"beyond chance that is an alpha of {alpha:.2f}"
        f"{interval(row['krippendorff_alpha_low'], row['krippendorff_alpha_high'], scale=1, digits=2)}, "
        "where 0 is chance and 1 perfect"
    )
    return (
        f"{opening(dimension)}, two annotators of the same case give the same label {row['percent_agreement']:.0%} of "
        f"the time ({int(row['n_cases']):,} cases, {int(row['n_annotators'])} annotators); {beyond}."
    )


def sentence_of_pairs(table: pd.DataFrame) -> str:
    """Which two annotators agree most and least, of those that share enough cases for an interval."""
    rows, dimension = main_rows(table).dropna(subset="percent_agreement"), main_dimension(table)
    known = rows.dropna(subset="percent_agreement_low") if rows["percent_agreement_low"].notna().any() else rows
    if known.empty:
        return f"{opening(dimension)}, no two annotators share enough cases to compare."
    most, least = known.nlargest(1, "percent_agreement").iloc[0], known.nsmallest(1, "percent_agreement").iloc[0]
    said = (
        f"{opening(dimension)}, annotators {most['annotator_1']} and {most['annotator_2']} give the same label on "
        f"{most['percent_agreement']:.0%} of the {int(most['n']):,} cases that they share"
    )
    if len(known) == 1:
        return f"{said}, the only pair."
    of = f"{len(known):,} pairs" + (" with enough cases" if len(known) < len(rows) else "")
    return (
        f"{said}, the most of {of}; {least['annotator_1']} and {least['annotator_2']} on "
        f"{least['percent_agreement']:.0%} of {int(least['n']):,}, the least."
    )
