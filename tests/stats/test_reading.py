"""Every column has a line for `mrb analyze --explain`, and every table a sentence that its rows bear out."""

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.columns import UNITS, Column, estimated
from mrb_lib.stats.phrases import human_level, interval, percent, points
from mrb_lib.stats.tables.bias import SEPARATED

NAN = float("nan")


def rows(*each: dict[str, Any], **common: Any) -> pd.DataFrame:
    return pd.DataFrame([{**common, **row} for row in each])


@pytest.mark.parametrize("table", TABLES)
def test_every_column_has_a_line_with_its_unit(table: str) -> None:
    spec = TABLES[table]
    columns = spec.columns
    lines = {name: spec.column(name) for name in columns}
    assert [name for name, line in lines.items() if line is None] == [], "say in reading.py what they mean"
    assert [name for name, line in lines.items() if line and line.unit not in UNITS] == []
    long = {name: line for name, line in lines.items() if line and len(f"{name}  {line.meaning} ({line.source})") > 160}
    assert long == {}
    assert set(spec.headline) - set(columns) == set()


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("agreement", "cohen_kappa"), ("agreement", "gwet_ac1"), ("agreement", "krippendorff_alpha"),
        ("agreement", "icc_2_1"), ("gold_rules", "probability"), ("calibration", "ece"),
        ("ceiling", "winning_rate"), ("consistency", "position_bias"), ("dif", "mh_odds_ratio"),
        ("difficulty", "difficulty"),
        ("jury", "shapley"), ("ppi", "lambda"), ("ranking", "strength"), ("selective", "risk"), ("transfer", "i2"),
    ],
)  # fmt: skip
def test_a_method_names_its_source_with_the_year(table: str, column: str) -> None:
    line = TABLES[table].column(column)
    assert line is not None
    assert re.search(r"\b(19|20)\d\d\b", line.source)


def test_the_ends_of_an_interval_say_whose_they_are() -> None:
    rate = estimated("rate", "share of ties")
    assert rate.with_ends()[1] == Column("rate_low", "lower end of the 95% interval of rate", "share 0-1")
    named = Column("rate", "share of ties", ends=("low", "high"))
    assert named.with_ends()[2] == Column("high", "upper end of the 95% interval of rate", "number")


@pytest.mark.parametrize("table", TABLES)
def test_a_table_without_rows_says_so(table: str) -> None:
    spec = TABLES[table]
    why = getattr(spec, "nothing", "no row can be made from these data")
    assert why
    assert spec.says(pd.DataFrame(columns=[*spec.columns])) == f"There is nothing to show: {why}."


def test_accuracy_calls_a_mean_score_no_share_of_cases() -> None:
    ends = {"low": 0.64, "high": 0.72, "decisive_accuracy_low": 0.77, "decisive_accuracy_high": 0.85}
    table = rows(
        {"judge": "good", "rank": 1, "accuracy": 0.68, "decisive_accuracy": 0.81, **ends},
        {"judge": "bad", "rank": 2, "accuracy": 0.75, "decisive_accuracy": 0.4, **ends},
        kind="judge", dimension="overall", subfield=None, policy="balanced", n=300,
    )  # fmt: skip
    constant = {"judge": "best constant", "label": "tie", "kind": "reference", "accuracy": 0.7, "dimension": "overall"}
    said = TABLES["accuracy"].says
    whole = said(pd.concat([table, rows({**constant, "subfield": None})], ignore_index=True))
    assert whole == (
        "Overall, good ranks first of 2 judges: decisive accuracy 81% (95% interval 77 to 85), where a constant answer "
        "scores 50%. Its accuracy is 68% (95% interval 64 to 72) over 300 cases; always answering tie scores 70%."
    )
    assert "is the only judge ranked: decisive accuracy 81%" in said(table.head(1))
    assert "decisive" not in said(table.head(1).assign(decisive_accuracy=NAN))
    assert "1 of 2 judges are not ranked" in said(table.assign(rank=[1, NAN]))


def test_bias_names_the_judge_with_the_largest_significant_pull_and_its_direction() -> None:
    table = rows(
        {"judge": "a", "estimate": -0.4, "low": -0.6, "high": -0.2, "p_adjusted": 0.01},
        {"judge": "b", "estimate": 0.3, "low": 0.1, "high": 0.5, "p_adjusted": 0.01},
        {"judge": "c", "estimate": 2.0, "low": -1.0, "high": 5.0, "p_adjusted": 0.37},
        bias="length", dimension="overall", subfield=None, association=0.1, reason=None,
    )  # fmt: skip
    said = TABLES["bias"].says
    assert said(table).startswith(
        "Overall, of 3 judges, 1 favours longer responses and 1 favours shorter responses beyond what quality explains."
        " The strongest pull is on a: log odds -0.40 [-0.60, -0.20] towards shorter ones. This assumes that annotators "
    )
    none = said(table.assign(p_adjusted=0.37))
    assert none.startswith("Overall, no significant bias towards longer or shorter responses in 3 judges.")
    assert said(table.tail(1)).startswith(
        "Overall, no significant bias towards longer or shorter responses in 1 judge."
    )
    decided = table.assign(estimate=[0.4, NAN, NAN], p_adjusted=[0.01, NAN, NAN], reason=SEPARATED)
    assert "Length decides nearly every choice of 2 more, which have no estimate." in said(decided)
    unknown = said(table.assign(estimate=NAN, p_adjusted=NAN))
    assert unknown.startswith("Overall, cannot tell whether judges favour longer responses beyond their quality.")


def test_calibration_points_at_no_judge_where_none_is_too_sure() -> None:
    table = rows(
        {"judge": "a", "overconfidence": 0.1, "p_adjusted": 0.01, "accuracy": 0.8},
        {"judge": "b", "overconfidence": 0.2, "p_adjusted": 0.09, "accuracy": 0.7},
        {"judge": "c", "overconfidence": -0.1, "p_adjusted": 0.01, "accuracy": 0.8},
        part="summary", dimension="overall", subfield=None, overconfidence_low=0.05, overconfidence_high=0.4,
    )  # fmt: skip
    said = TABLES["calibration"].says
    assert said(table) == (
        "Overall, 1 of 3 judges is significantly overconfident. a is right 80% of the time, and its mean "
        "confidence is 10 points higher (95% interval 5 to 40)."
    )
    assert said(table.tail(2)) == "Overall, cannot tell whether any judge is overconfident (2 tested)."


def test_consistency_names_the_most_and_the_least_consistent() -> None:
    table = rows(
        {"judge": "a", "consistency": 0.92, "consistency_low": 0.9, "consistency_high": 0.94, "p_adjusted": 0.2},
        {"judge": "b", "consistency": 0.41, "consistency_low": 0.4, "consistency_high": 0.5, "p_adjusted": 0.01},
        {"judge": "c", "consistency": NAN},
        dimension="quality", subfield=None, n=80,
        repeat_agreement=NAN, repeat_agreement_low=NAN, repeat_agreement_high=NAN, reason=None,
    )  # fmt: skip
    spec = TABLES["consistency"]
    assert spec.says(table) == (
        "On quality, a makes the same choice in both orders of the responses on 92% [90, 94] of 80 cases, the "
        "most of 2 judges; the least is 41% [40, 50] (b). 1 of 2 judges significantly favours one position."
    )
    assert spec.says(table.head(1)).endswith(
        "92% [90, 94] of 80 cases. Cannot tell whether the judge favours one position."
    )
    assert spec.says(table.tail(1)) == "On quality, no judge was asked about a case twice."
    again = table.tail(1).assign(repeat_agreement=0.75, repeat_agreement_low=0.7, repeat_agreement_high=0.8)
    assert spec.says(again) == "On quality, c makes the same choice when asked again on 75% [70, 80] of 80 cases."
    alike = spec.says(table.assign(consistency=1.0))
    assert "of 80 cases, as do all 3 judges." in alike
    assert "least" not in alike


def test_power_claims_a_correction_only_where_one_was_made() -> None:
    row = {"minimum_detectable_difference": 0.081, "n": 200, "correction": "holm", "family": 10}
    table = rows(row, part="summary", dimension="overall", subfield=None)
    said = TABLES["power"].says
    assert "8.1 points" in said(table)
    assert "corrected for 10 tests" in said(table)
    assert "corrected" not in said(table.assign(correction="none"))
    assert "corrected" not in said(table.assign(family=1))


def test_models_calls_the_length_of_a_response_no_cause() -> None:
    ends = {"marginal_effect_low": -0.01, "marginal_effect_high": 0.08}
    table = rows(
        {"term": "gold_first", "marginal_effect": 0.02, **ends},
        {"term": "length_difference", "marginal_effect": 0.037, **ends},
        part="all judges", dimension="overall", p_adjusted=0.01,
    )  # fmt: skip
    position, length = TABLES["models"].says(table).split("; ")
    assert "changes the chance of a right verdict by +2 points [-1, +8]" in position
    assert "goes with" in length
    assert "changes" not in length
    assert "+4 points [-1, +8]" in length


def test_models_states_no_effect_that_the_corrected_test_does_not_support() -> None:
    """Issue 42, fault 17: the sentence gave every effect with an unadjusted interval."""
    ends = {"marginal_effect_low": 0.001, "marginal_effect_high": 0.04}
    effects = (
        {"term": "gold_first", "level": "yes", "marginal_effect": 0.02, "p_adjusted": 0.2, **ends},
        {"term": "length_difference", "level": NAN, "marginal_effect": 0.03, "p_adjusted": 0.01, **ends},
        {"term": "judge", "level": "a", "marginal_effect": 0.03, "p_adjusted": 0.2, **ends},
    )
    said = TABLES["models"].says
    both = said(rows(*effects, part="all judges", dimension="overall"))
    assert "showing the better response first" not in both
    assert both.endswith("cannot tell whether order (+2 points [+0, +4]) matters.")
    ratings = rows(effects[2], part="all judges", dimension="overall")
    assert said(ratings).endswith("more or less often than the mean judge; cannot tell.")
    assert "a differs most from the mean judge: +3 points" in said(ratings.assign(p_adjusted=0.01))


def test_ranking_names_the_judge_most_like_the_annotators_only_where_intervals_are_apart() -> None:
    strong = {"part": "strength", "source": "gold", "rank": 1, "win_rate": 0.62}
    agreed = {"part": "agreement", "source": "gold", "judge": "longer", "kendall": -0.24}
    table = rows({**strong, "responder": "m0", "rank_low": 1, "rank_high": 6}, agreed, dimension="overall",
                 token_ratio=NAN).assign(kendall_low=[NAN, -0.5], kendall_high=[NAN, 0.1])  # fmt: skip
    said = TABLES["ranking"].says
    assert "at 95% confidence its rank is between 1 and 6" in said(table)
    assert "longer ranks the models with a Kendall's tau of -0.24" in said(table)
    other = table.tail(1).assign(judge="other", kendall=0.5)
    overlap = pd.concat([table, other.assign(kendall_low=0.0, kendall_high=0.9)], ignore_index=True)
    assert "Cannot tell which of 2 judges ranks the models most like the annotators" in said(overlap)
    apart = pd.concat([table, other.assign(kendall_low=0.2, kendall_high=0.9)], ignore_index=True)
    assert "other ranks the models with a Kendall's tau of 0.50 (95% interval 0.20 to 0.90)" in said(apart)
    assert "to the annotators, the highest of 2 judges (1: the same order)." in said(apart)


def test_ppi_speaks_of_a_fifth_of_the_labels_where_all_are_labelled() -> None:
    table = rows(
        {"part": "what_if", "expected_label_saving": 0.4},
        judge="j", dimension="overall", responder=None, correlation=0.7, p_adjusted=0.01,
        expected_label_saving_low=0.3, expected_label_saving_high=0.5,
    )  # fmt: skip
    said = TABLES["ppi"].says
    assert "with labels on 20% of these cases" in said(table)
    assert "save about 40% [30, 50] of the labels" in said(table)
    assert "cannot tell whether verdicts would save" in said(table.assign(p_adjusted=0.06))
    assert "cannot tell whether verdicts would save" in said(table.assign(correlation=-0.7))
    made = table.head(1).assign(part="estimate", expected_label_saving=0.1)
    real = said(pd.concat([made, table], ignore_index=True))
    assert "save about 10%" in real
    assert "with labels on" not in real


def test_gold_rules_that_cannot_be_applied_do_not_count_as_agreeing() -> None:
    table = rows(
        {"rule": "majority", "kendall_tau": 1.0}, {"rule": "soft", "kendall_tau": 1.0},
        {"rule": "unanimous", "kendall_tau": NAN}, part="ranking", dimension="overall", subfield=None, n_judges=3,
        probability=NAN,
    )  # fmt: skip
    said = TABLES["gold_rules"].says(table)
    assert "the order of the 3 judges is the same by the majority and by the rules soft." in said
    assert "the model needs three annotators" in said
    assert "unanimous" not in said


def test_selective_promises_over_all_judges() -> None:
    common = {
        "part": "guarantee", "reference": "majority", "target": 0.9, "dimension": "overall", "subfield": None,
        "n": 300, "cluster": "case_id", "human_level": 0.9, "human_level_low": 0.86, "human_level_high": 0.93,
        "judge_level": 0.91,
    }  # fmt: skip
    one_each = rows(
        {"judge": "a", "delta": 0.05, "threshold": 0.8, "coverage": 0.6},
        {"judge": "b", "delta": 0.05, "threshold": NAN, "coverage": NAN},
        {"judge": "b", "delta": 0.1, "threshold": 0.7, "coverage": 0.9},
        **common,
    )
    said = TABLES["selective"].says
    assert said(one_each) == (
        "Overall, if a answers only when it is confident, it can handle 60% of 300 cases and keep 90% agreement with "
        "the clinicians' majority label on them (90% confidence over all 2 judges). 1 of 2 judges can promise that. On "
        "those cases, one annotator agrees with the others on 90% [86, 93], and the judge with the same annotators on "
        f"91%. {human_level('selective')}"
    )
    assert "judges" not in said(one_each.head(1).assign(delta=0.1)).removesuffix(human_level("selective"))
    assert "(90% confidence, each question counting once)" in said(one_each.head(1).assign(cluster="question"))
    assert "cannot promise 90% agreement" in said(one_each.iloc[1:2].assign(n=30))


def test_significance_counts_the_pairs_that_are_shown_to_differ() -> None:
    table = rows(
        {"judge_1": "a", "judge_2": "b", "p_adjusted": 0.01, "difference": 0.04},
        {"judge_1": "a", "judge_2": "c", "p_adjusted": 0.001, "difference": 0.3},
        {"judge_1": "b", "judge_2": "c", "p_adjusted": 0.4, "difference": 0.1},
        part="pair", dimension="overall", subfield=None, low=0.01, high=0.07,
    )  # fmt: skip
    said = TABLES["significance"].says
    assert said(table) == (
        "Overall, 2 of 3 pairs of judges differ significantly in accuracy. The smallest significant difference is "
        "+4 points [+1, +7] (a better than b)."
    )
    assert said(table.tail(1)).endswith(
        "no pair of judges differs significantly in accuracy (1 compared); cannot tell."
    )


def test_ceiling_says_how_many_judges_differ_significantly_and_for_how_many_nobody_can_tell() -> None:
    human = {"part": "annotator", "annotator": "mean", "accuracy": 0.9, "low": 0.88, "high": 0.92}
    ends = {"difference_low": -0.23, "difference_high": -0.17}
    judges = [
        {"judge": "a", "verdict": "cannot tell", "difference": -0.01, "difference_low": -0.03, "difference_high": 0.01},
        {"judge": "b", "verdict": "below", "difference": -0.2, **ends},
        {"judge": "c", "verdict": "below", "difference": -0.2, **ends},
    ]
    said = TABLES["ceiling"].says
    common = {"dimension": "overall", "subfield": None, "representative": True}
    table = rows(human, *({"part": "judge", **judge} for judge in judges), **common)
    assert said(table).startswith(
        "Overall, an average annotator has an accuracy of 90% (95% interval 88 to 92) against the majority of the "
        "others. Of 3 judges, 2 are significantly below an average annotator; for 1 we cannot tell. The best, a, is 1 "
        "points below [-3, +1]. "
    )
    only = said(table.drop(index=[1, 3]))
    assert "The only judge, b, is 20 points below [-23, -17], a significant difference." in only
    all_below = said(table.drop(index=1))
    assert "All 2 judges are significantly below an average annotator. The closest, b, is 20 points below" in all_below
    assert "none are significantly below an average annotator and 1 above; for 1 we cannot tell." in said(
        table.drop(index=3).assign(verdict=[NAN, "cannot tell", "above"])
    )
    assert "cannot tell whether they differ" in said(table.drop(index=[2, 3]))
    assert "too few cases to compare judges with" in said(table.assign(representative=False))
    assert "that needs three annotators" in said(table.assign(accuracy=np.nan))


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
        {"group_1": "open", "group_2": "medical", "difference": -0.08, "low": -0.1, "high": -0.06, "p_adjusted": 0.01},
        {"group_1": "open", "group_2": "critic", "difference": 0.2, "low": -0.1, "high": 0.5, "p_adjusted": 0.2},
        part="contrast", dimension="overall", subfield=None, p_value=0.01,
    )  # fmt: skip
    said = TABLES["groups"].says
    assert said(table) == (
        "Overall, open judges are less accurate than medical ones (-8 points [-10, -6]); cannot tell for the other 1 "
        "compared."
    )
    assert "no significant difference between groups" in said(table.assign(p_adjusted=0.2))
    assert "cannot tell whether groups of judges differ" in said(table.assign(p_adjusted=NAN))
    descended = rows(
        {"part": "descendants", "group_1": "medical", "group_2": "base", "difference": 0.05, "p_adjusted": 0.3},
        dimension="overall", subfield=None, low=-0.02, high=0.12, p_value=0.3,
    )  # fmt: skip
    whole = said(pd.concat([table, descended], ignore_index=True))
    assert "Cannot tell whether medical models differ from their bases (+5 points [-2, +12])" in whole
    better = said(pd.concat([table, descended.assign(p_adjusted=0.01)]))
    assert "Medical models differ significantly from their bases" in better


def test_gains_counts_what_is_significant_and_claims_no_other_gain() -> None:
    table = rows(
        {"base": "b", "tuned": "t", "gain": 0.1, "p_adjusted": 0.01},
        {"base": "b", "tuned": "u", "gain": -0.1, "p_adjusted": 0.01},
        {"base": "c", "tuned": "v", "gain": 0.05, "p_adjusted": 0.4},
        dimension="overall", subfield=None, low=0.02, high=0.18, part="accuracy",
        value_tuned=0.7, accuracy_words=np.nan,
    )  # fmt: skip
    said = TABLES["gains"].says
    assert said(table) == (
        "Overall, of 3 judges that were trained further, 1 is significantly more accurate than the base and 1 less; "
        "cannot tell for 1. t gains most, +10 points [+2, +18] over b."
    )
    assert said(table.assign(p_adjusted=0.4)) == (
        "Overall, no significant difference in accuracy between a trained judge and its base (3 compared); cannot tell."
    )
    words = {"value_tuned_low": 0.6, "value_tuned_high": 0.8, "accuracy_words_low": 0.71}
    told = said(table.assign(**words, accuracy_words=0.79, accuracy_words_high=0.85))
    assert (
        "t scores 70% [60, 80]; a bag-of-words baseline, trained on its training cases here, scores 79% [71, 85]."
        in told
    )
