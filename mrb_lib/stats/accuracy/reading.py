"""The table `accuracy` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.core.phrases import interval, main_dimension, main_rows

MEANINGS = {
    "n": "cases scored | cases",
    "coverage": "share of the verdicts read that have a choice, a mean over the cases with a label | share 0-1",
    "interval": "how low and high are made: percentile (of the cluster bootstrap) or deff (Wilson's) | text",
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
    "n_decisive": "those verdicts where neither verdict nor gold is a tie | count",
    "decisive_accuracy": "share of these with the gold label | share 0-1",
}


def sentence(table: pd.DataFrame) -> str:
    """Which judge agrees with the clinicians' label most often."""
    dimension = main_dimension(table)
    known = main_rows(table).dropna(subset="accuracy")
    if known.empty:
        return f"On {dimension}, no judge's agreement with the clinicians' label is known."
    best = known.nlargest(1, "accuracy").iloc[0]
    return (
        f"On {dimension}, {best['judge']} agrees with the clinicians' label in {best['accuracy']:.0%} of "
        f"{int(best['n']):,} cases{interval(best['low'], best['high'])}, "
        + (f"the most of {len(known)} judges." if len(known) > 1 else "the only judge.")
    )
