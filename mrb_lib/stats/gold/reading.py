"""The tables `annotators`, `gold_rules` and `adjudication` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, opening

_DAWID = "Dawid & Skene 1979, doi:10.2307/2346806"
MEANINGS_OF_ANNOTATORS = {
    "part": "confusion (label given, by true label), annotator, prevalence or model | text",
    "model": "dawid_skene (a confusion matrix each) or one_coin (one probability of being right each) | text",
    "gold": "true label, which the model infers | text",
    "label": "label that the annotator gives | text",
    "n": "cases of the annotator, or of the dimension | cases",
    "probability": f"that the annotator gives the label, is right, or that a case has the label | share 0-1 | {_DAWID}",
    "n_expected": "of n, cases estimated to have the true label | number",
    "log_likelihood": f"of the model | number | {_DAWID}",
    "n_parameters": "of the model | count",
    "bic": "to compare the two models, the smaller the better | number | Schwarz 1978",
    "iterations": "of the EM algorithm | count",
}
MEANINGS_OF_RULES = {
    "part": "rule (accuracy by a gold rule), corrected (for wrong labels), ranking or left_out | text",
    "annotator": "annotator who is left out | text",
    "rule": "how gold labels are made of annotations | text",
    "n": "cases with a label by the rule | cases",
    "n_excluded": "judged cases without one | cases",
    "rank": "place of the judge by the rule, 1 the best; equals share the better place | rank",
    "label_error": f"estimated share of majority labels that are wrong | share 0-1 | {_DAWID}",
    "label_error_most": "largest share of them wrong, however the cases differ in difficulty | share 0-1",
    "independent_low": "lower end of its 95% interval if judge and annotators err independently | share 0-1",
    "independent_high": "upper end of that interval | share 0-1",
    "dependence": "score where annotators are split, less that of independent errors; below 0: the same cases are hard "
    "for both | difference",
    "kendall_tau": "agreement of the judges' order with that by the majority, tau-b | coefficient | Kendall 1945",
}
MEANINGS_OF_ADJUDICATION = {
    "part": "leaderboard, reviewers or reasons | text",
    "reason_given": "why the judge fails, as reviewers say | text",
    "n": "cases scored; in rows of reasons, cases for which the reason was given | cases",
    "n_adjudicated": "labels of the dimension that were reviewed | count",
    "n_changed": "of them, that became another label | count",
    "n_removed": "of them, that became none | count",
    "accuracy": "mean score by the annotators' labels | share 0-1",
    "adjudicated_accuracy": "mean score by the labels as reviewers corrected them | share 0-1",
    "adjudicated_n": "cases scored by these | cases",
    "difference": "adjudicated accuracy less accuracy | difference",
    "rank": "place by the annotators' labels | rank",
    "adjudicated_rank": "place by the corrected labels | rank",
    "n_reviewers": "reviewers | count",
    "n_cases": "cases with two reviewers or more; in rows of reasons, cases reviewed | cases",
    "n_failures": "cases on which the judge is wrong, reviewed or not | cases",
    "share": "n over n_cases, of what was reviewed | share 0-1",
    "share_interval": "how its interval is made: percentile or deff | text",
}


def sentence_of_annotators(table: pd.DataFrame) -> str:
    """How often annotators are right by the model."""
    known = main_rows(table, part="annotator", model="dawid_skene").dropna(subset="probability")
    dimension = main_dimension(table)
    if known.empty:
        return f"{opening(dimension)}, how often each annotator errs is not known: the model takes three annotators."
    best, worst = known.nlargest(1, "probability").iloc[0], known.nsmallest(1, "probability").iloc[0]
    return (
        f"{opening(dimension)}, if annotators err independently, the median of {len(known)} annotators is right on "
        f"{known['probability'].median():.0%} of the cases, from {worst['probability']:.0%} ({worst['annotator']}) to "
        f"{best['probability']:.0%} ({best['annotator']})."
    )


def sentence_of_rules(table: pd.DataFrame) -> str:
    """Whether the order of the judges hangs on how labels are made."""
    rules, dimension = main_rows(table, part="ranking"), main_dimension(table)
    taus = rules[rules["rule"] != "majority"].dropna(subset="kendall_tau")
    if taus.empty:
        return f"{opening(dimension)}, whether the order of the judges hangs on the gold rule is not known."
    least = taus.nsmallest(1, "kendall_tau").iloc[0]
    judges = int(least["n_judges"])
    if least["kendall_tau"] > 1 - 1e-9:
        return (
            f"{opening(dimension)}, the order of the {judges} judges is the same by the majority and by the other gold "
            f"rules that can be applied ({', '.join(taus['rule']).replace('_', ' ')})."
        )
    return (
        f"{opening(dimension)}, the gold rule that changes the order of the {judges} judges most is {least['rule']}: "
        f"its order agrees with that by the majority at a Kendall's tau of {least['kendall_tau']:.2f}, where 1 is the "
        "same order."
    )


def sentence_of_adjudication(table: pd.DataFrame) -> str:
    """How many labels reviewers changed, and what that does to the judges."""
    rows, dimension = main_rows(table, part="leaderboard"), main_dimension(table)
    if rows.empty or not rows["n_adjudicated"].iloc[0]:
        return f"{opening(dimension)}, no label has been reviewed."
    first = rows.iloc[0]
    moved = int((rows["rank"] != rows["adjudicated_rank"]).sum())
    said = (
        f"{opening(dimension)}, reviewers changed {int(first['n_changed']):,} and removed "
        f"{int(first['n_removed']):,} of the {int(first['n_adjudicated']):,} labels that they looked at"
    )
    if len(rows) == 1:
        return f"{said}."
    change = "change" if moved > 1 else "changes"
    return f"{said}; {moved or 'none'} of {len(rows)} judges {change} place by the corrected labels."
