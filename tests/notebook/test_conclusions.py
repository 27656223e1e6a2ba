"""What notebooks conclude: the numbers of the tables, in sentences that fit them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from mrb_lib.notebook import conclusions

NAN = float("nan")


def rows(*each: dict[str, Any], **common: Any) -> pd.DataFrame:
    return pd.DataFrame([{**common, **row} for row in each])


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [(0.754, 0.71, 0.79, "75% [71, 79]"), (0.5, NAN, NAN, "50%"), (NAN, NAN, NAN, "not known")],
)
def test_a_share_has_its_interval_where_there_is_one(value: float, low: float, high: float, said: str) -> None:
    row = pd.Series({"share": value, "share_low": low, "share_high": high})
    assert conclusions.percent(row, "share") == said


@pytest.mark.parametrize(
    ("count", "total", "said"),
    [
        (0, 3, "Of 3 judges, none is better"),
        (1, 3, "Of 3 judges, 1 is better"),
        (2, 3, "Of 3 judges, 2 are better"),
        (3, 3, "Of 3 judges, all are better"),
        (1, 1, "The only judge is better"),
    ],
)
def test_a_count_of_judges_agrees_with_its_verb(count: int, total: int, said: str) -> None:
    assert conclusions.of_judges(count, total, "better") == said


@pytest.mark.parametrize(
    ("flagged", "suspect", "said"),
    [
        (0, 0, ["No cell of judge and subfield is weak", "No gold label is more probably"]),
        (1, 1, ["1 cell of judge and subfield is weak", "1 gold label is more probably"]),
        (2, 3, ["2 cells of judge and subfield are weak", "3 gold labels are more probably"]),
    ],
)
def test_models_counts_cells_and_labels_in_grammar(flagged: int, suspect: int, said: list[str]) -> None:
    effects = rows(
        {"term": "gold_first", "marginal_effect": 0.1},
        {"term": "length_advantage", "marginal_effect": NAN},
        part="all judges", model="gee", low=0.05, high=0.15,
    )  # fmt: skip
    matched = pd.DataFrame({"ets_class": ["C"] * flagged + ["A", None]})
    cases = pd.DataFrame({"suspicion": [0.9] * suspect + [0.1, NAN]})
    text = conclusions.models(effects, matched, cases, dimension="overall")
    assert "first changes the probability of being right by +10 points [+5, +15]." in text
    assert "longer" not in text
    for sentence in said:
        assert sentence in text


def test_judging_says_where_there_is_nothing_to_compare() -> None:
    compared = rows(
        {"judge": "one", "coverage": 1.0, "consistency": 0.5, "consistency_low": 0.2, "consistency_high": 0.8},
        {"judge": "two", "coverage": 0.0, "consistency": NAN, "consistency_low": NAN, "consistency_high": NAN},
    )
    assert conclusions.judging(compared, dimension="overall", note="A trial.") == (
        "A trial. On overall: one could be read on 100% of the cases and was consistent on 50% [20, 80]; "
        "two could be read on 0% of the cases and gave no two verdicts to compare."
    )


def test_bias_names_the_largest_gap_between_longer_and_shorter() -> None:
    verbose = rows({"low": 0.1, "high": 0.3}, {"low": -0.3, "high": -0.1}, {"low": NAN, "high": NAN}, estimate=0.2)
    verbose = verbose.assign(bias="verbosity", measure="error_asymmetry")
    verbose.loc[2, "estimate"] = np.nan
    by_length = rows(
        {"judge": "one", "subfield": None, "estimate": 0.7},
        {"judge": "one", "subfield": "is longer", "estimate": 0.9},
        {"judge": "one", "subfield": "is shorter", "estimate": 0.4},
        {"judge": "two", "subfield": "is longer", "estimate": 0.6},
        {"judge": "two", "subfield": "is shorter", "estimate": 0.6},
    )
    assert conclusions.bias(verbose, by_length, dimension="overall") == (
        "Of 2 judges, 1 is seen to err towards longer responses on overall, 1 towards shorter, which is an "
        "association: these labels cannot tell it from quality. The largest gap is "
        "that of one: right on 90% where the better response is longer, on 40% where it is shorter."
    )
    pulls = rows(
        {"estimate": 0.5, "p_adjusted": 0.01},
        {"estimate": 0.3, "p_adjusted": 0.2},
        {"estimate": -0.4, "p_adjusted": 0.04},
        bias="length",
        measure="beyond_quality",
    )
    assert conclusions.bias(pd.concat([verbose, pulls]), by_length.head(0), dimension="overall") == (
        "Of 3 judges, 1 is shown to be pulled towards longer responses on overall beyond their quality, 1 to shorter."
    )


def test_leaderboard_counts_the_judges_that_reach_the_human_level() -> None:
    shy = "calls 60% of its choices a tie, the annotators 20% of their labels on these cases"
    accuracy = rows(
        {"judge": "one", "rank": 1, "accuracy": 0.8, "low": 0.7, "high": 0.9, "above_constant_low": 0.1, "reason": ""},
        {"judge": "two", "rank": 2, "accuracy": 0.9, "low": 0.4, "high": 0.6, "above_constant_low": NAN, "reason": shy},
        dimension="overall", kind="judge", tie_share=0.6, annotator_tie_share=0.2, label=None,
        decisive_accuracy=0.7, decisive_accuracy_low=0.6, decisive_accuracy_high=0.75,
    )  # fmt: skip
    constant = {
        "judge": "best constant",
        "kind": "reference",
        "label": "tie",
        "accuracy": 0.95,
        "low": 0.9,
        "high": 0.99,
    }
    accuracy = pd.concat([accuracy, rows({**constant, "dimension": "overall"})], ignore_index=True)
    human = rows({"dimension": "overall", "accuracy": 0.85, "low": 0.75, "high": 0.95})
    text = conclusions.leaderboard(accuracy, human, dimension="overall")
    assert text == (
        "Of 2 judges, 1 has an interval that reaches the human level on overall, 85% [75, 95]. "
        "The best judge on overall is one: of the cases where gold names a winner, it names that response on "
        "70% [60, 75] (a tie counts half; a constant has 50%); its accuracy is 80% [70, 90]. "
        "Of 2 judges, 1 is shown to be above the best constant, always tie (95% [90, 99]). "
        "two calls 60% of its choices a tie, the annotators 20% of their labels."
    )
    assert "not known" in conclusions.leaderboard(accuracy, human.head(0), dimension="overall")


def test_significance_counts_pairs_and_names_the_two_best() -> None:
    pairs = rows(
        {"judge_1": "one", "judge_2": "two", "p_adjusted": 0.01, "equivalence_p_adjusted": 0.9},
        {"judge_1": "one", "judge_2": "three", "p_adjusted": 0.5, "equivalence_p_adjusted": 0.01},
        {"judge_1": "two", "judge_2": "three", "p_adjusted": 0.5, "equivalence_p_adjusted": 0.5},
    )
    text = conclusions.significance(pairs, ["one", "two", "three"], margin=0.05, dimension="overall")
    assert "Of 3 pairs of judges on overall, 1 is shown to differ, 1 to be" in text
    assert "equivalent within 5 points, and 1 neither" in text
    assert text.endswith("That one is better than two, the two best, is shown.")


def test_juries_says_whether_the_jury_is_better_than_the_best_judge() -> None:
    ends = {"crossfit_difference": 0.04, "crossfit_difference_low": 0.01, "crossfit_difference_high": 0.07}
    table = rows(
        {"kind": "majority", "accuracy": 0.8, "low": 0.7, "high": 0.9, **ends},
        {"kind": "best_single", "accuracy": 0.9, "low": 0.8, "high": 1.0},
        size=5,
    )
    text = conclusions.juries(table, dimension="overall")
    assert "The best jury of all 5 judges on overall (majority) is right on 80% [70, 90]." in text
    assert "It is better than the judge that is best on other cases: +4 points [+1, +7]." in text
    table["crossfit_difference_low"] = -0.01
    assert "not shown to differ from" in conclusions.juries(table, dimension="overall")


def test_a_conclusion_is_escaped() -> None:
    assert "<b>" not in conclusions.Conclusion("<b>judge</b>")._repr_html_()
