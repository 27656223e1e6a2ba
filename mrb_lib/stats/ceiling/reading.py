"""The table `ceiling` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import interval, main_dimension, main_rows, opening

_ALT = "Calderon et al. 2025, arXiv 2501.10970"
MEANINGS = {
    "part": "annotator, judge, alt_test (a judge), _sweep (it at each epsilon) or _annotator (against one) | text",
    "annotator": "name of the annotator; mean: their unweighted mean | text",
    "n": "cases used | cases",
    "n_excluded": "annotations or cases that cannot be scored, for want of two others or of a label | cases",
    "accuracy": "mean score against the majority of the other annotators | share 0-1",
    "ceiling": "mean accuracy of the annotators on the cases of the judge | share 0-1",
    "difference": "accuracy of the judge less that of the mean annotator on the same cases | difference",
    "verdict": "below, within or above the annotators, by the interval of the difference; null: too few cases | text",
    "representative": "whether the cases are 30 or more, and at least half of those annotated or judged | yes/no",
    "winning_rate": f"share of the tested annotators that the judge beats, omega | share 0-1 | {_ALT}",
    "advantage_probability": f"probability that it is at least as near to the others, rho | share 0-1 | {_ALT}",
    "annotator_probability": f"the same of the annotator | share 0-1 | {_ALT}",
    "epsilon": f"what a person's cost and effort is worth, as a difference of two probabilities | difference | {_ALT}",
    "passes": f"whether the judge beats half of the annotators, or this one | yes/no | {_ALT}",
    "least_epsilon": f"smallest hundredth from which on the judge passes; smaller is stricter | difference | {_ALT}",
    "p_value": f"of the judge being worse than the annotator by epsilon, one-sided | p 0-1 | {_ALT}",
    "n_annotators": "annotators tested | count",
    "n_items": "fewest cases of a tested annotator | cases",
}


def sentence(table: pd.DataFrame) -> str:
    """How well one annotator predicts the others, and how many judges are not shown to fall short of that."""
    dimension = main_dimension(table)
    human = main_rows(table, part="annotator", annotator="mean").dropna(subset="accuracy")
    if human.empty:
        return (
            f"{opening(dimension)}, how well one annotator predicts the others is not known: it takes three annotators."
        )
    level = human.iloc[0]
    said = (
        f"{opening(dimension)}, the mean annotator has an accuracy of {level['accuracy']:.0%}"
        f"{interval(level['low'], level['high'])} against the majority of the others"
    )
    if not level["representative"]:
        return f"{said}; that is of too few cases to hold judges to."
    known = main_rows(table, part="judge").dropna(subset=["difference", "verdict"])
    if known.empty:
        return f"{said}."
    best = known.nlargest(1, "difference").iloc[0]
    at = f"{100 * best['difference']:+.0f} points{interval(best['difference_low'], best['difference_high'])}"
    if len(known) == 1:
        shown = {"below": "below it", "above": "above it"}.get(best["verdict"], "not shown to differ from it")
        return f"{said}; the only judge, {best['judge']}, is {shown}, at {at}."
    reach = int((known["verdict"] != "below").sum())
    shown = f"{reach} of {len(known)} judges {'is' if reach == 1 else 'are'} not shown to fall short of it"
    return f"{said}; {shown if reach else f'all {len(known)} judges are below it'}, {best['judge']} highest at {at}."
