"""The table `calibration` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import interval, main_dimension, main_rows, of_judges, on, opening

_MURPHY = "Murphy 1973; Stephenson et al. 2008"
MEANINGS = {
    "part": "summary, bin (reliability diagram), risk_coverage or shift (another probe) | text",
    "n": "forecasts: verdicts with a probability on cases with a decisive label | count",
    "n_cases": "cases of these forecasts | cases",
    "n_excluded": "verdicts of the judge that are not forecasts | count",
    "n_no_gold": "of them, on cases without a label | count",
    "n_gold_tie": "of them, on cases whose label is a tie | count",
    "n_no_probability": "of them, without a probability | count",
    "n_contradicting": "verdicts that chose against their own probability | count",
    "n_censored": "forecasts that are a bound: the server listed the likelier letter alone | count",
    "ece": "mean gap of confidence and accuracy in 10 equal bins; biased upwards | share 0-1"
    " | Guo et al. 2017, arXiv 1706.04599",
    "ece_debiased": "ece less what chance adds to it | number | Kumar et al. 2019, arXiv 1909.10155",
    "ece_equal_mass": "ece in 10 bins of as many forecasts each | share 0-1 | Guo et al. 2017, arXiv 1706.04599",
    "ece_equal_mass_debiased": "the same less what chance adds to it | number | Kumar et al. 2019, arXiv 1909.10155",
    "brier": "mean squared error of the probability of A; lower is better | share 0-1 | Brier 1950",
    "reliability": f"part of brier: probabilities that are off | number | {_MURPHY}",
    "resolution": f"part of brier, to its good: probabilities that tell cases apart | number | {_MURPHY}",
    "uncertainty": f"part of brier: how even the labels are | number | {_MURPHY}",
    "within_bin_variance": f"part of brier: spread of probabilities in bins | number | {_MURPHY}",
    "within_bin_covariance": f"part of brier: what that spread knows of the labels | number | {_MURPHY}",
    "log_loss": "mean negative natural logarithm of the probability of the gold label; lower is better | number",
    "log_loss_clipped": "the same of probabilities clipped to .001 and .999 | number",
    "n_zero_probability": "forecasts that gave the gold label probability 0 | count",
    "auroc": "probability that a case with gold A has a higher probability of A than one with gold B | share 0-1",
    "auroc_confidence": "probability that a right forecast is more confident than a wrong one | share 0-1",
    "wrong_at_high_confidence": "share wrong of the forecasts of confidence .9 or more | share 0-1",
    "n_high_confidence": "forecasts of confidence .9 or more | count",
    "accuracy": "share of forecasts that lean to the gold label | share 0-1",
    "mean_confidence": "mean probability of the side leaned to | share 0-1",
    "overconfidence": "mean confidence less accuracy; above 0: too sure | difference",
    "temperature": "divides the log odds to recalibrate them; above 1: too sure | number"
    " | Guo et al. 2017, arXiv 1706.04599",
    "ece_temperature": "ece (debiased) after temperature scaling across folds | number | Guo et al. 2017",
    "brier_temperature": "brier after temperature scaling across folds | share 0-1 | Guo et al. 2017",
    "log_loss_temperature": "log loss after temperature scaling across folds | number | Guo et al. 2017",
    "ece_isotonic": "ece (debiased) after isotonic regression across folds | number | Zadrozny & Elkan 2002",
    "brier_isotonic": "brier after isotonic regression across folds | share 0-1 | Zadrozny & Elkan 2002",
    "log_loss_isotonic": "log loss after isotonic regression across folds | number | Zadrozny & Elkan 2002",
    "binning": "bins of equal_width or of equal_mass | text",
    "bin": "number of the bin, by confidence | count",
    "confidence": "mean confidence in the bin | share 0-1",
    "threshold": "least confidence that is answered | share 0-1",
    "coverage": "share of the forecasts answered at the threshold | share 0-1",
    "risk": "share wrong of those answered | share 0-1 | El-Yaniv & Wiener 2010",
    "low": "lower end of the 95% interval of the row's accuracy (bin) or risk (risk_coverage) | share 0-1",
    "high": "upper end of the 95% interval of the row's accuracy (bin) or risk (risk_coverage) | share 0-1",
    "probe": "probe whose forecasts are compared with those of the same cases without it | text",
    "ece_difference": "ece_debiased under the probe less without it, same forecasts | difference",
    "overconfidence_difference": "overconfidence under the probe less without it | difference",
    "mean_confidence_difference": "mean confidence under the probe less without it | difference",
    "accuracy_difference": "accuracy under the probe less without it | difference",
    "brier_difference": "brier under the probe less without it | difference",
}


def sentence(table: pd.DataFrame) -> str:
    """How many judges are too sure of themselves, and which is the most."""
    known, dimension = main_rows(table, part="summary").dropna(subset="overconfidence"), main_dimension(table)
    if known.empty:
        return f"{opening(dimension)}, no judge gives a probability that can be checked."
    sure = known[known["overconfidence_low"] > 0]
    said = of_judges(len(sure), len(known), f"shown to be overconfident {on(dimension)}")
    if sure.empty:
        return f"{said}."
    most = sure.nlargest(1, "overconfidence").iloc[0]
    return (
        f"{said}; {most['judge']} says {most['mean_confidence']:.0%} and is right in {most['accuracy']:.0%}, a gap of "
        f"{100 * most['overconfidence']:+.0f} points"
        f"{interval(most['overconfidence_low'], most['overconfidence_high'])}."
    )
