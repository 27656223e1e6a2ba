"""The table `consistency` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import interval, main_dimension, main_rows, opening

RATINGS = "ratings of one response have one order: only repeat_agreement is of them"
_SAGE = "Feng et al. 2025, arXiv 2512.16041"
MEANINGS = {
    "n": "cases answered in both orders of the responses; of ratings, in two repeats | cases",
    "n_presented": "cases presented in both orders; of ratings, in two repeats | cases",
    "coverage": "n over n_presented | share 0-1",
    "consistency": "share with the same choice in both orders, ties included | share 0-1",
    "order_kappa": "agreement of the two orders beyond chance | coefficient"
    " | Cohen 1960, doi:10.1177/001316446002000104",
    "consistency_decisive": "consistency where cases with a tie in one order are left out | share 0-1",
    "consistency_half": "consistency where a tie in one order only counts a half | share 0-1",
    "n_first": "verdicts with a decisive choice | count",
    "first_rate": "share of these that chose the response shown first; 1/2: no leaning | share 0-1",
    "tie_rate": "share of ties among verdicts with a choice | share 0-1",
    "tie_rate_ab": "the same in order AB | share 0-1",
    "tie_rate_ba": "the same in order BA | share 0-1",
    "position_bias": "share choosing the response shown first less share choosing the second | difference",
    "repeat_agreement": "share of agreeing pairs of repeats in the same order | share 0-1",
    "n_repeated": "cases answered twice or more in each order | cases",
    "position_preference": "share of verdicts that differ between orders because of the order | share 0-1",
    "position_noise": "share that differs between orders as it does between repeats | share 0-1",
    "n_questions": "questions with a case answered in both orders | count",
    "ipi": f"share of a question's pairs of responses with another choice in the other order | share 0-1 | {_SAGE}",
    "n_tournaments": "questions of which every pair of three responses or more was answered in both orders | count",
    "tov": f"fewest verdicts of a question to change until they form a ranking, a mean | number | {_SAGE}",
    "tov_intransitive": f"what of that remains beyond one change for each pair that the order turns | number | {_SAGE}",
}


def sentence(table: pd.DataFrame) -> str:
    """How often judges choose the same when the responses change places."""
    known, dimension = main_rows(table).dropna(subset="consistency"), main_dimension(table)
    if known.empty:
        return _asked_again(table)
    most, least = known.nlargest(1, "consistency").iloc[0], known.nsmallest(1, "consistency").iloc[0]
    leaning = int(((known["position_bias_low"] > 0) | (known["position_bias_high"] < 0)).sum())
    lean = f"{leaning or 'none'} {'favours' if leaning < 2 else 'favour'} the response in one position."
    same = "the same choice when the two responses change places in"
    if len(known) > 1 and most["consistency"] == least["consistency"]:
        return (
            f"{opening(dimension)}, all {len(known)} judges make {same} {most['consistency']:.0%} of the cases; {lean}"
        )
    said = (
        f"{opening(dimension)}, {most['judge']} makes {same} {most['consistency']:.0%} of {int(most['n']):,} cases"
        f"{interval(most['consistency_low'], most['consistency_high'])}"
    )
    if len(known) == 1:
        return f"{said}, the only judge asked in both orders."
    return (
        f"{said}, {least['judge']} in only {least['consistency']:.0%}, the most and the least of {len(known)} judges; "
        f"{lean}"
    )


def _asked_again(table: pd.DataFrame) -> str:
    """How often judges that were never asked in both orders choose the same when asked again."""
    known, dimension = main_rows(table).dropna(subset="repeat_agreement"), main_dimension(table)
    if known.empty:
        are_ratings = main_rows(table)["reason"].astype("str").str.startswith(RATINGS).any()
        how = "twice" if are_ratings else "in both orders of its responses"
        return f"{opening(dimension)}, no judge was asked about a case {how}."
    most, least = known.nlargest(1, "repeat_agreement").iloc[0], known.nsmallest(1, "repeat_agreement").iloc[0]
    ends = interval(most["repeat_agreement_low"], most["repeat_agreement_high"])
    said = f"{opening(dimension)}, asked again, {most['judge']} says the same {most['repeat_agreement']:.0%}{ends}"
    if len(known) == 1:
        return f"{said} of the time."
    return (
        f"{said} of the time, {least['judge']} only {least['repeat_agreement']:.0%}, the most and the least of "
        f"{len(known)} judges."
    )
