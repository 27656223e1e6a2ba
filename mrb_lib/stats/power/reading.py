"""The table `power` in words."""

from __future__ import annotations

import pandas as pd

from mrb_lib.stats.core.phrases import main_dimension, main_rows

_BLOOM = "Bloom 1995, doi:10.1177/0193841X9501900504"
_CONNOR = "Connor 1987, doi:10.2307/2531961"
MEANINGS = {
    "part": "summary, pair, judge, cases_needed, curve or coverage (of intervals in simulated studies) | text",
    "judge_1": "first judge of the pair; in summaries, of the pair with the median standard error | text",
    "judge_2": "second judge of the pair | text",
    "n": "cases scored for both | cases",
    "n_pairs": "pairs of judges that the summary is of | count",
    "difference": "difference of accuracy, as found or as stated | difference",
    "minimum_detectable_difference": f"true difference that the test finds with the power | difference | {_BLOOM}",
    "discordance": "share of the cases that are scored differently | share 0-1",
    "power": f"probability that the test finds the difference | share 0-1 | {_BLOOM}",
    "worst_judge_1": "first judge of the pair with the largest standard error | text",
    "worst_judge_2": "second judge of that pair | text",
    "worst_standard_error": "standard error of that pair | number",
    "worst_minimum_detectable_difference": f"detectable difference of that pair | difference | {_BLOOM}",
    "worst_power": f"power for that pair | share 0-1 | {_BLOOM}",
    "n_needed": f"cases that find the difference with the power | cases | {_BLOOM}",
    "worst_n_needed": f"the same for the pair with the largest standard error | cases | {_BLOOM}",
    "mcnemar_minimum_detectable_difference": f"detectable difference by McNemar's test | difference | {_CONNOR}",
    "mcnemar_power": f"power of McNemar's test | share 0-1 | {_CONNOR}",
    "mcnemar_n_needed": f"cases that McNemar's test needs | cases | {_CONNOR}",
    "estimate": "truth in the simulated studies | number",
    "nominal": "share of intervals that should hold the truth | share 0-1",
    "coverage": "share of intervals that hold the truth in simulated studies | share 0-1",
    "monte_carlo_error": "standard error of coverage from the studies being few | number",
    "too_low": "share of intervals that lie below the truth | share 0-1",
    "too_high": "share of intervals that lie above the truth | share 0-1",
    "n_studies": "simulated studies | count",
    "n_resamples": "resamples of each interval | count",
    "data_kind": "SIMULATED where the row is of simulated studies | text",
}


def sentence(table: pd.DataFrame) -> str:
    """The smallest difference between two judges that the cases can show."""
    rows, dimension = main_rows(table, part="summary"), main_dimension(table)
    known = rows.dropna(subset="minimum_detectable_difference")
    if known.empty:
        return f"On {dimension}, what difference between two judges can be shown is not known."
    row = known.iloc[0]
    return (
        f"On {dimension}, {int(row['n']):,} cases find a true difference of "
        f"{100 * row['minimum_detectable_difference']:.1f} points between two typical judges four times in five; "
        "smaller ones are missed more often."
    )
