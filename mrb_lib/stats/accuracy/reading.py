"""The table `accuracy` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.accuracy.references import BEST_CONSTANT
from mrb_lib.stats.phrases import interval, main_dimension, main_rows, opening

MEANINGS = {
    "kind": "judge, or reference: a rule that understands nothing and does not compete | text",
    "label": "what a constant among the references always says | text",
    "rank": "place by decisive_accuracy, then by accuracy; references have none | rank",
    "decisive_accuracy": "where gold is A or B: 1 for it, 1/2 for a tie, mean of both sides; a constant has 1/2"
    " | share 0-1 | Brodersen et al. 2010",
    "decisive_coverage": "share of the verdicts on those cases that name A or B | share 0-1",
    "above_constant": "accuracy less that of the best constant under the policy, paired by case | difference",
    "tie_share": "share of ties among the judge's choices, on cases that people labelled | share 0-1",
    "annotator_tie_share": "share of ties among the annotators' labels, on the same cases | share 0-1",
    "n": "cases scored | cases",
    "coverage": "share of the verdicts read that have a choice, a mean over the cases with a label | share 0-1",
    "interval": "how low and high are made: percentile (of the bootstrap), t, or deff (Wilson's) | text",
    "n_subfields": "subfields with a scored case, of the first column of by | count",
    "macro_accuracy": "unweighted mean of the accuracies of the subfields | share 0-1",
    "percentile_low": "lower end of the 95% percentile interval of accuracy | share 0-1 | Efron 1979",
    "percentile_high": "upper end of the 95% percentile interval of accuracy | share 0-1 | Efron 1979",
    "deff_low": "lower end of Wilson's 95% interval with n over the design effect | share 0-1 | Wilson 1927",
    "deff_high": "upper end of Wilson's 95% interval with n over the design effect | share 0-1 | Wilson 1927",
    "n_answered": "verdicts with a choice on cases with a label, orders and repeats pooled | count",
    "exact_accuracy": "share of those verdicts with the gold label, a tie being right only for a tie | share 0-1",
    "precision_macro": "mean over labels: how often the label is right when given | share 0-1",
    "recall_macro": "mean over labels: how often it is given when right | share 0-1",
    "f1_macro": "mean over labels of the harmonic mean of precision and recall | share 0-1",
    "n_decisive": "cases whose gold is A or B | cases",
    "n_decided": "verdicts with a choice where neither verdict nor gold is a tie | count",
    "decided_accuracy": "share of these with the gold label | share 0-1",
}


def sentence(table: pd.DataFrame) -> str:
    """Which judge is first by decisive accuracy, what its mean score is, and what that of the best constant is."""
    dimension = main_dimension(table)
    rows = main_rows(table)
    known = rows[rows["kind"] == "judge"].dropna(subset="accuracy")
    if known.empty:
        return f"{opening(dimension)}, no judge's agreement with the annotators' label is known."
    best = known.sort_values(["rank", "judge"]).iloc[0]
    several = len(known) > 1
    said = (
        f"{opening(dimension)}, {best['judge']} is {f'first of {len(known)} judges' if several else 'the only judge'}"
    )
    if pd.notna(best["decisive_accuracy"]):
        ends = interval(best["decisive_accuracy_low"], best["decisive_accuracy_high"])
        by = "by decisive accuracy," if several else "and has a decisive accuracy of"
        said += f" {by} {best['decisive_accuracy']:.0%}{ends}, where any constant has 50%"
    said += (
        f"; its accuracy, the mean score under policy {best['policy']} over {int(best['n']):,} cases, is "
        f"{best['accuracy']:.0%}{interval(best['low'], best['high'])}"
    )
    constant = rows[(rows["kind"] == "reference") & (rows["judge"] == BEST_CONSTANT)]
    if constant.empty:
        return f"{said}."
    row = constant.iloc[0]
    return f"{said}, where always saying {row['label']} scores {row['accuracy']:.0%}."
