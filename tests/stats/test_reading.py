"""Every column has a line for `mrb analyze --explain`, and every table a sentence that its rows bear out."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.columns import UNITS
from mrb_lib.stats.phrases import human_level, interval, percent, points
from mrb_lib.stats.tables.bias import SEPARATED
from tests.stats.every_table import full_table
from tests.stats.small_tables import OF_PREFERENCES

NAN = float("nan")
OF_ALL = {"dimension": "overall", "subfield": None}


def rows(**columns: Any) -> pd.DataFrame:
    """Rows of a table by column; what is no list is the same in every row."""
    return pd.DataFrame({**OF_ALL, **columns})


@pytest.mark.parametrize("table", TABLES)
def test_every_column_has_a_line_with_its_unit_and_a_table_without_rows_says_so(table: str) -> None:
    spec = TABLES[table]
    lines = {name: spec.column(name) for name in spec.columns}
    assert [name for name, line in lines.items() if line is None] == [], "say in reading.py what they mean"
    assert [name for name, line in lines.items() if line and line.unit not in UNITS] == []
    long = {name: line for name, line in lines.items() if line and len(f"{name}  {line.meaning} ({line.source})") > 160}
    assert long == {}
    assert set(spec.headline) <= set(lines)
    assert ("cluster" in lines) == ("cluster" in spec.parameters), "what resamples says by what"
    why = getattr(spec, "nothing", "no row can be made from these data")
    assert spec.says(pd.DataFrame(columns=[*spec.columns])) == f"There is nothing to show: {why}."


ENDS = r"(?:\[|\(95% interval )([+-]?[\d.]+)(?:, | to )([+-]?[\d.]+)[\])]"
ESTIMATE = re.compile(rf"([+-]?[\d.]+)(?:%| points)?(?: \w+| over [\d,]+ cases)? {ENDS}")
STATED = {"accuracy": "50%", "power": "80%", "ppi": "20%", "ranking": "95%", "selective": "90%"}
"""Shares in sentences that are no results."""


def cells(rows: pd.DataFrame, table: str, form: str, *units: str) -> set[str]:
    """What the columns of these units hold, in this form."""
    columns = [rows[each.name].dropna() for each in TABLES[table].declared if each.unit in units]
    return {form.format(value) for values in columns for value in values}


@pytest.mark.parametrize("table", [name for name in OF_PREFERENCES if name != "composition"])
def test_the_numbers_of_a_sentence_are_those_of_its_rows(table: str) -> None:
    """Every estimate with its interval is one row's, every share and count of cases and people a cell's."""
    spec, rows = TABLES[table], full_table(table, by=None)
    said = spec.says(rows)
    known = [rows[[each.name, *each.ends]].to_numpy(np.float64) for each in spec.declared if each.ends]
    for numbers in ESTIMATE.findall(said):
        half = 0.5 * 10.0 ** -len(numbers[1].partition(".")[2]) + 1e-9
        shown = np.concatenate([np.abs(scale * each) for each in known for scale in (1, 100)])
        assert (np.abs(shown - np.abs([float(each) for each in numbers])).max(axis=1) <= half).any(), numbers
    shares = set(re.findall(r"\b\d+%", said.replace("95% interval", ""))) - {STATED.get(table)}
    assert shares <= cells(rows, table, "{:.0%}", "share 0-1", "difference")
    counts = set(re.findall(r"([\d,]+) (?:cases|annotators|reviewers|verdicts)\b", said))
    assert counts <= cells(rows, table, "{:,.0f}", "cases", "count")


def test_accuracy_names_the_first_and_says_what_a_constant_scores_and_who_is_not_ranked() -> None:
    table = rows(
        judge=["good", "bad"], rank=[1, 2], accuracy=[0.68, 0.75], decisive_accuracy=[0.81, 0.4], kind="judge", n=300,
        policy="balanced", low=0.64, high=0.72, decisive_accuracy_low=0.77, decisive_accuracy_high=0.85,
    )  # fmt: skip
    constant = rows(judge=["best constant"], label="tie", kind="reference", accuracy=0.7)
    said = TABLES["accuracy"].says
    whole = said(pd.concat([table, constant], ignore_index=True))
    assert whole.startswith(
        "Overall, good ranks first of 2 judges: decisive accuracy 81% (95% interval 77 to 85), where a"
    )
    assert whole.endswith("; always answering tie scores 70%.")
    assert "is the only judge ranked: decisive accuracy 81%" in said(table.head(1))
    assert "decisive" not in said(table.head(1).assign(decisive_accuracy=NAN))
    assert "1 of 2 judges are not ranked" in said(table.assign(rank=[1, NAN]))


def test_bias_names_the_judge_with_the_largest_significant_pull_and_its_direction() -> None:
    table = rows(
        judge=[*"abc"], estimate=[-0.4, 0.3, 2.0], low=[-0.6, 0.1, -1.0], high=[-0.2, 0.5, 5.0],
        p_adjusted=[0.01, 0.01, 0.37], bias="length", association=0.1, reason=None,
    )  # fmt: skip
    said = TABLES["bias"].says
    assert "of 3 judges, 1 favours longer responses and 1 favours shorter responses" in said(table)
    assert "The strongest pull is on a: log odds -0.40 [-0.60, -0.20] towards shorter ones." in said(table)
    assert said(table.tail(1)).startswith("Overall, no significant bias towards longer or shorter responses in 1 judge")
    decided = table.assign(estimate=[0.4, NAN, NAN], p_adjusted=[0.01, NAN, NAN], reason=SEPARATED)
    assert "Length decides nearly every choice of 2 more, which have no estimate." in said(decided)
    assert "cannot tell whether judges favour longer" in said(table.assign(estimate=NAN, p_adjusted=NAN))


def test_calibration_points_at_no_judge_where_none_is_too_sure() -> None:
    table = rows(
        judge=[*"abc"], overconfidence=[0.1, 0.2, -0.1], p_adjusted=[0.01, 0.09, 0.01], part="summary", accuracy=0.8,
        overconfidence_low=0.05, overconfidence_high=0.4,
    )  # fmt: skip
    said = TABLES["calibration"].says
    assert "1 of 3 judges is significantly overconfident. a is right 80% of the time" in said(table)
    assert said(table.tail(2)) == "Overall, cannot tell whether any judge is overconfident (2 tested)."


def test_consistency_names_the_most_and_the_least_consistent() -> None:
    table = rows(
        judge=[*"abc"], consistency=[0.92, 0.41, NAN], consistency_low=[0.9, 0.4, NAN],
        consistency_high=[0.94, 0.5, NAN], p_adjusted=[0.2, 0.01, NAN], dimension="quality", n=80, reason=None,
        repeat_agreement=NAN, repeat_agreement_low=NAN, repeat_agreement_high=NAN,
    )  # fmt: skip
    said = TABLES["consistency"].says
    assert said(table).startswith("On quality, a makes the same choice in both orders of the responses on 92% [90, 94]")
    assert "the least is 41% [40, 50] (b). 1 of 2 judges significantly favours one position." in said(table)
    assert said(table.head(1)).endswith("92% [90, 94] of 80 cases. Cannot tell whether the judge favours one position.")
    assert said(table.tail(1)) == "On quality, no judge was asked about a case twice."
    again = table.tail(1).assign(repeat_agreement=0.75, repeat_agreement_low=0.7, repeat_agreement_high=0.8)
    assert "c makes the same choice when asked again on 75% [70, 80]" in said(again)
    alike = said(table.assign(consistency=1.0))
    assert "of 80 cases, as do all 3 judges." in alike and "least" not in alike


def test_power_claims_a_correction_only_where_one_was_made() -> None:
    table = rows(minimum_detectable_difference=[0.081], n=200, correction="holm", family=10, part="summary")
    said = TABLES["power"].says
    assert "8.1 points" in said(table) and "corrected for 10 tests" in said(table)
    assert "corrected" not in said(table.assign(correction="none")) + said(table.assign(family=1))


def test_models_calls_length_no_cause_and_states_no_effect_that_the_corrected_test_does_not_support() -> None:
    """Issue 42, fault 17: the sentence gave every effect with an unadjusted interval."""
    effects = rows(
        term=["gold_first", "length_difference", "judge"], level=["yes", NAN, "a"], marginal_effect=[0.02, 0.037, 0.03],
        part="all judges", marginal_effect_low=-0.01, marginal_effect_high=0.08, p_adjusted=0.01,
    )  # fmt: skip
    said = TABLES["models"].says
    position, length = said(effects.head(2)).split("; ")
    assert "changes the chance of a right verdict by +2 points [-1, +8]" in position
    assert "goes with" in length and "changes" not in length
    both = said(effects.assign(p_adjusted=[0.2, 0.01, 0.2]))
    assert "showing the better response first" not in both
    assert both.endswith("cannot tell whether order (+2 points [-1, +8]) matters.")
    of_ratings = effects.tail(1)
    assert said(of_ratings.assign(p_adjusted=0.2)).endswith("more or less often than the mean judge; cannot tell.")
    assert "a differs most from the mean judge: +3 points" in said(of_ratings)


def test_ranking_names_the_judge_most_like_the_annotators_only_where_intervals_are_apart() -> None:
    table = rows(
        part=["strength", "agreement", "agreement"], judge=[None, "longer", "other"], kendall=[NAN, -0.24, 0.5],
        kendall_low=[NAN, -0.5, 0.2], kendall_high=[NAN, 0.1, 0.9], source="gold", token_ratio=NAN, responder="m0",
        win_rate=0.62, rank=1, rank_low=1, rank_high=6,
    )  # fmt: skip
    said = TABLES["ranking"].says
    assert "at 95% confidence its rank is between 1 and 6" in said(table)
    assert "longer ranks the models with a Kendall's tau of -0.24" in said(table.head(2))
    assert "other ranks the models with a Kendall's tau of 0.50" in said(table)
    overlap = said(table.assign(kendall_low=[NAN, -0.5, 0.0]))
    assert "Cannot tell which of 2 judges ranks the models most like the annotators" in overlap


def test_ppi_speaks_of_a_fifth_of_the_labels_where_all_are_labelled() -> None:
    table = rows(
        part=["what_if"], judge="j", responder=None, correlation=0.7, p_adjusted=0.01, expected_label_saving=0.4,
        expected_label_saving_low=0.3, expected_label_saving_high=0.5,
    )  # fmt: skip
    said = TABLES["ppi"].says
    assert "with labels on 20% of these cases" in said(table)
    assert "cannot tell whether verdicts would save" in said(table.assign(correlation=-0.7))
    real = said(pd.concat([table.assign(part="estimate", expected_label_saving=0.1), table], ignore_index=True))
    assert "save about 10%" in real and "with labels on" not in real


def test_gold_rules_that_cannot_be_applied_do_not_count_as_agreeing() -> None:
    rules = ["majority", "soft", "unanimous"]
    table = rows(rule=rules, kendall_tau=[1.0, 1.0, NAN], part="ranking", n_judges=3, probability=NAN)
    said = TABLES["gold_rules"].says(table)
    assert "the order of the 3 judges is the same by the majority and by the rules soft." in said
    assert "the model needs three annotators" in said and "unanimous" not in said


def test_selective_promises_over_all_judges() -> None:
    table = rows(
        judge=[*"abb"], delta=[0.05, 0.05, 0.1], threshold=[0.8, NAN, 0.7], coverage=[0.6, NAN, 0.9], part="guarantee",
        reference="majority", target=0.9, n=300, cluster="case_id", human_level=0.9, human_level_low=0.86,
        human_level_high=0.93, judge_level=0.91,
    )  # fmt: skip
    said = TABLES["selective"].says
    assert "if a answers only when it is confident, it can handle 60% of 300 cases and keep 90%" in said(table)
    assert "(90% confidence over all 2 judges). 1 of 2 judges can promise that. On those cases, one an" in said(table)
    assert "on 90% [86, 93], and the judge with the same annotators on 91%." in said(table)
    assert "judges" not in said(table.head(1).assign(delta=0.1)).removesuffix(human_level("selective"))
    assert "(90% confidence, each question counting once)" in said(table.head(1).assign(cluster="question"))
    assert "cannot promise 90% agreement" in said(table.iloc[1:2].assign(n=30))


def test_significance_counts_the_pairs_that_are_shown_to_differ() -> None:
    table = rows(
        judge_1=[*"aab"], judge_2=[*"bcc"], p_adjusted=[0.01, 0.001, 0.4], difference=[0.04, 0.3, 0.1], part="pair",
        low=0.01, high=0.07,
    )  # fmt: skip
    said = TABLES["significance"].says
    assert "2 of 3 pairs of judges differ significantly" in said(table)
    assert said(table).endswith("The smallest significant difference is +4 points [+1, +7] (a better than b).")
    assert said(table.tail(1)).endswith(
        "no pair of judges differs significantly in accuracy (1 compared); cannot tell."
    )


def test_ceiling_says_how_many_judges_differ_significantly_and_for_how_many_nobody_can_tell() -> None:
    table, said = rows(
        part=["annotator", *["judge"] * 3], judge=[None, *"abc"], verdict=[NAN, "cannot tell", "below", "below"],
        difference=[NAN, -0.01, -0.2, -0.2], difference_low=[NAN, -0.03, -0.23, -0.23], representative=True,
        difference_high=[NAN, 0.01, -0.17, -0.17], annotator="mean", accuracy=0.9, low=0.88, high=0.92,
    ), TABLES["ceiling"].says  # fmt: skip
    assert (
        "Of 3 judges, 2 are significantly below an average annotator; for 1 we cannot tell. The best, a, is 1"
        in said(table)
    )
    assert "The only judge, b, is 20 points below [-23, -17], a significant difference." in said(table.iloc[[0, 2]])
    assert "All 2 judges are significantly below an average annotator. The closest, b" in said(table.drop(index=1))
    none_below = said(table.drop(index=3).assign(verdict=[NAN, "cannot tell", "above"]))
    assert "none are significantly below an average annotator and 1 above; for 1 we cannot tell." in none_below
    assert "cannot tell whether they differ" in said(table.head(2))
    assert "too few cases to compare judges with" in said(table.assign(representative=False))
    assert "that needs three annotators" in said(table.assign(accuracy=NAN))


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (0.754, 0.712, 0.793, "75% [71, 79]"),
        (1.0, 0.9963, 1.0, "100.0% [99.6, 100.0]"),
        (0.0003, 0.0001, 0.0009, "0.0% [0.0, 0.1]"),
        (0.5, 0.5, 0.5, "50% [50, 50]"),
    ],
)
def test_an_interval_that_has_a_width_is_shown_with_one(value: float, low: float, high: float, said: str) -> None:
    row = pd.Series({"share": value, "share_low": low, "share_high": high})
    assert percent(row, "share") == said
    ends = said.split("[")[1].rstrip("]").split(", ")
    assert points(row, "share").endswith(f"[+{ends[0]}, +{ends[1]}]")
    assert interval(low, high) == f" (95% interval {ends[0]} to {ends[1]})"


def test_groups_names_the_better_group_only_where_the_corrected_test_does() -> None:
    table = rows(
        group_1="open", group_2=["medical", "critic"], difference=[-0.08, 0.2], low=-0.1, high=[-0.06, 0.5],
        p_adjusted=[0.01, 0.2], part="contrast", p_value=0.01,
    )  # fmt: skip
    said = TABLES["groups"].says
    assert "open judges are less accurate than medical ones (-8 points [-10, -6]); cannot tell for" in said(table)
    assert "no significant difference between groups" in said(table.assign(p_adjusted=0.2))
    assert "cannot tell whether groups of judges differ" in said(table.assign(p_adjusted=NAN))
    descended = table.head(1).assign(part="descendants", group_1="medical", group_2="base", p_value=0.3, p_adjusted=0.3)
    unknown, known = (said(pd.concat([table, each])) for each in (descended, descended.assign(p_adjusted=0.01)))
    assert "Cannot tell whether medical models differ from their bases (-8 points [-10, -6])" in unknown
    assert "Medical models differ significantly from their bases" in known


def test_gains_counts_what_is_significant_and_claims_no_other_gain() -> None:
    table = rows(
        base=[*"bbc"], tuned=[*"tuv"], gain=[0.1, -0.1, 0.05], p_adjusted=[0.01, 0.01, 0.4], low=0.02, high=0.18,
        part="accuracy", value_tuned=0.7, accuracy_words=NAN,
    )  # fmt: skip
    said = TABLES["gains"].says
    assert "1 is significantly more accurate than the base and 1 less; cannot tell for 1. t gains most" in said(table)
    none = "no significant difference in accuracy between a trained judge and its base (3 compared); cannot tell."
    assert said(table.assign(p_adjusted=0.4)) == f"Overall, {none}"
    words = {"value_tuned_low": 0.6, "value_tuned_high": 0.8, "accuracy_words": 0.79, "accuracy_words_low": 0.71}
    beside = "t scores 70% [60, 80]; a bag-of-words baseline, trained on its training cases here, scores 79% [71, 85]."
    assert beside in said(table.assign(**words, accuracy_words_high=0.85))
