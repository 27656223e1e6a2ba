"""The table `power` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.phrases import main_dimension, main_rows, opening

_HOEFFDING = "Hoeffding 1952, doi:10.1214/aoms/1177729436"
MEANINGS = {
    "part": "summary, pair, judge, cases_needed, curve or coverage (of intervals in simulated studies) | text",
    "judge_1": "first judge of the pair; in summaries, of the pair with the median standard error | text",
    "judge_2": "second judge of the pair | text",
    "n": "cases scored for both | cases",
    "quantity": "what the row is about: difference of two judges' accuracies, or accuracy of one | text",
    "test": "the test that the table significance makes of such a pair; t for one judge | text",
    "alpha": "level that the correction keeps over the family of tests | p 0-1",
    "alpha_adjusted": "what the p of one of them must not exceed, if no other is rejected | p 0-1 | Holm 1979",
    "n_pairs": "pairs of judges that the summary is of | count",
    "difference": "difference of two accuracies, as found or stated; in rows of one judge, its accuracy | difference",
    "minimum_detectable_difference": f"true difference that the test finds with the power | difference | {_HOEFFDING}",
    "discordance": "share of the cases that are scored differently | share 0-1",
    "power": f"probability that the test finds the difference | share 0-1 | {_HOEFFDING}",
    "worst_judge_1": "first judge of the pair with the largest standard error | text",
    "worst_judge_2": "second judge of that pair | text",
    "worst_standard_error": "standard error of that pair | number",
    "worst_minimum_detectable_difference": f"detectable difference of that pair | difference | {_HOEFFDING}",
    "worst_power": f"power for that pair | share 0-1 | {_HOEFFDING}",
    "n_needed": f"cases that find the difference with the power | cases | {_HOEFFDING}",
    "worst_n_needed": f"the same for the pair with the largest standard error | cases | {_HOEFFDING}",
    "estimate": "truth in the simulated studies | number",
    "nominal": "share of intervals that should hold the truth | share 0-1",
    "coverage": "share of recommended intervals that hold the truth in simulated studies | share 0-1",
    "monte_carlo_error": "standard error of coverage from the studies being few | number",
    "too_low": "share of intervals that lie below the truth | share 0-1",
    "too_high": "share of intervals that lie above the truth | share 0-1",
    "n_studies": "simulated studies | count",
    "n_resamples": "resamples of an interval by percentiles | count",
    "data_kind": "SIMULATED where the row is of simulated studies | text",
}


def sentence(table: pd.DataFrame) -> str:
    """The smallest difference between two judges that the cases can show."""
    rows, dimension = main_rows(table, part="summary"), main_dimension(table)
    known = rows.dropna(subset="minimum_detectable_difference")
    if known.empty:
        return f"{opening(dimension)}, what difference between two judges can be shown is not known."
    row = known.iloc[0]
    many = row["correction"] != "none" and row["family"] > 1
    corrected = f", corrected for {int(row['family']):,} tests" if many else ""
    return (
        f"{opening(dimension)}, {int(row['n']):,} cases find a true difference of "
        f"{100 * row['minimum_detectable_difference']:.1f} points between two typical judges four times in five"
        f"{corrected}; smaller ones are missed more often."
    )
