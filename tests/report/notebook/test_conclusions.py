"""What notebooks conclude: the numbers of the tables, in sentences that fit them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from mrb_lib.report.notebook import conclusions, one_judge

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
        (0, 1, "The only judge is not better"),
    ],
)
def test_a_count_of_judges_agrees_with_its_verb(count: int, total: int, said: str) -> None:
    assert conclusions.of_judges(count, total, "better") == said


@pytest.mark.parametrize(
    ("flagged", "suspect", "length", "said"),
    [
        (0, 0, NAN, ["No cell of judge and subfield is weak", "No gold label is more probably"]),
        (1, 1, 0.06, ["1 cell of judge and subfield is weak", "1 gold label is more probably"]),
        (2, 3, 0.06, ["2 cells of judge and subfield are weak", "3 gold labels are more probably"]),
    ],
)
def test_models_counts_cells_and_labels_in_grammar_and_calls_length_no_cause(
    flagged: int, suspect: int, length: float, said: list[str]
) -> None:
    effects = rows(
        {"term": "gold_first", "marginal_effect": 0.1},
        {"term": "length_difference", "marginal_effect": length},
        part="all judges", low=0.05, high=0.15, p_adjusted=0.01,
    )  # fmt: skip
    matched = pd.DataFrame({"ets_class": ["C"] * flagged + ["A", None]})
    cases = pd.DataFrame({"suspicion": [0.9] * suspect + [0.1, NAN]})
    text = conclusions.models(effects, matched, cases, dimension="overall")
    assert "first changes the probability of being right by +10 points [+5, +15]." in text
    longer = [sentence for sentence in text.split(". ") if "longer" in sentence]
    assert len(longer) == (not np.isnan(length))
    assert all("goes with" in sentence and "+6 points [+5, +15]" in sentence for sentence in longer)
    for sentence in said:
        assert sentence in text
    unclear = conclusions.models(effects.assign(p_adjusted=0.2), matched, cases, dimension="overall")
    assert "probability of being right" not in unclear
    assert unclear.startswith("Cannot tell whether order ")


def test_judging_says_where_there_is_nothing_to_compare() -> None:
    compared = rows(
        {"judge": "one", "coverage": 1.0, "consistency": 0.5, "consistency_low": 0.2, "consistency_high": 0.8},
        {"judge": "two", "coverage": 0.0, "consistency": NAN, "consistency_low": NAN, "consistency_high": NAN},
    )
    assert conclusions.judging(compared, dimension="overall", note="A trial.") == (
        "A trial. Overall: one could be read on 100% of the cases and was consistent on 50% [20, 80]; "
        "two could be read on 0% of the cases and gave no two verdicts to compare."
    )


def test_bias_names_the_largest_gap_between_longer_and_shorter() -> None:
    verbose = rows(
        {"error_asymmetry": 0.2, "error_asymmetry_low": 0.1, "error_asymmetry_high": 0.3},
        {"error_asymmetry": -0.2, "error_asymmetry_low": -0.3, "error_asymmetry_high": -0.1},
        {"error_asymmetry": NAN, "error_asymmetry_low": NAN, "error_asymmetry_high": NAN},
        bias="length", estimate=NAN,
    )  # fmt: skip
    by_length = rows(
        {"judge": "one", "subfield": None, "estimate": 0.7},
        {"judge": "one", "subfield": "is longer", "estimate": 0.9},
        {"judge": "one", "subfield": "is shorter", "estimate": 0.4},
        {"judge": "two", "subfield": "is longer", "estimate": 0.6},
        {"judge": "two", "subfield": "is shorter", "estimate": 0.6},
    )
    assert conclusions.bias(verbose, by_length, dimension="overall") == (
        "Of 2 judges, 1 is seen to favour longer responses when wrong overall, 1 shorter ones, which is an "
        "association: these labels cannot tell it from quality. The largest gap is "
        "that of one: an accuracy of 90% where the better response is longer, of 40% where it is shorter."
    )
    pulls = rows(
        {"estimate": 0.5, "p_adjusted": 0.01},
        {"estimate": 0.3, "p_adjusted": 0.2},
        {"estimate": -0.4, "p_adjusted": 0.04},
        bias="length",
    )
    assert conclusions.bias(pd.concat([verbose, pulls]), by_length.head(0), dimension="overall") == (
        "Of 3 judges, 1 is shown to favour longer responses overall beyond their quality, 1 shorter ones."
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
    human = rows({"accuracy": 0.85, "low": 0.75, "high": 0.95}, dimension="overall", representative=True)
    text = conclusions.leaderboard(accuracy, human, LETTERS, dimension="overall")
    assert (
        "Of 2 judges, 1 has an accuracy overall whose interval reaches that of the mean annotator, 85% [75, 95], who "
        "is scored on fewer cases and other labels;"
    ) in text
    assert text.startswith("The most accurate judge overall is two, with 90% [40, 96], n = 1,000; not distinguishable")
    for fact in (
        "First by decisive accuracy overall is one, with 70% [60, 75] (a constant has 50%)",
        "its accuracy is 80% [70, 90].",
        "Of 2 judges, 1 is shown to be above the best constant, always tie (95% [90, 99]).",
        "two calls 60% of its choices a tie, the annotators 20% of their labels.",
    ):
        assert fact in text
    for unknown in (human.head(0), human.assign(representative=False)):
        assert "is not known" in conclusions.leaderboard(accuracy, unknown, LETTERS, dimension="overall")


def letters_of(*with_best: bool | None, test: str | None = "permutation", correction: str = "holm") -> pd.DataFrame:
    """Judges named by their place, the most accurate first."""
    named = [{"judge": name, "with_best": each} for name, each in zip(("two", "one", "three"), with_best, strict=False)]
    return rows(
        *named, dimension="overall", accuracy=0.9, low=0.4, high=0.96, n=1000, test=test, correction=correction,
        family=3,
    )  # fmt: skip


LETTERS = letters_of(True, True, False)
HOLM = "(paired permutation test of each pair, Holm-adjusted over 3, level 0.05)."


@pytest.mark.parametrize(
    ("letters", "said"),
    [
        (LETTERS, f"n = 1,000; not distinguishable from it: one {HOLM}"),
        (letters_of(True, False, False), f"n = 1,000; every other judge is shown to be less accurate {HOLM}"),
        (letters_of(True, None, False), f"n = 1,000; no other judge could be tested against it {HOLM}"),
        (letters_of(None, None, test=None), "no other judge could be tested against it (not tested)."),
        (letters_of(True, True, correction="none"), "one (paired permutation test of each pair, not adjusted, level"),
        (letters_of(None, test=None), "The only judge overall is two, with an accuracy of 90% [40, 96], n = 1,000."),
    ],
)
def test_the_group_of_the_best_is_that_of_the_tests_with_their_adjustment(letters: pd.DataFrame, said: str) -> None:
    assert said in conclusions.best_group(letters, dimension="overall")


def cells(*each: tuple[str, str | None, str | None, float, float, float], n: int = 40) -> pd.DataFrame:
    names = ("judge", "by", "subfield", "accuracy", "low", "high")
    return pd.DataFrame([dict(zip(names, row, strict=True)) for row in each]).assign(n=n)


def test_subfields_open_with_the_widest_gap_and_say_of_how_many_it_is_the_widest() -> None:
    table = cells(
        ("best", None, None, 0.9, 0.8, 1.0),
        ("odd", None, None, 0.83, 0.8, 0.86),
        ("best", "organ", "eye", 0.85, 0.7, 0.95),
        ("best", "organ", "lung", 0.95, 0.9, 1.0),
        ("odd", "organ", "eye", 0.67, 0.58, 0.75),
        ("odd", "organ", "lung", 0.5, 0.1, 0.9),
    )
    text = conclusions.subfields(table, dimension="overall")
    assert text.startswith(
        "odd is weak on eye, 67% [58, 75], n = 40, against 83% over all cases: one of its 2 values of organ, and the "
        "widest such gap of 4 cells, so that part of it is chance. Of 4 cells"
    ), "the lower one is not shown to be low"
    lowest = conclusions.subfields(table.drop(index=5), dimension="overall")
    assert "over all cases: the widest such gap of 3 cells" in lowest
    none = conclusions.subfields(table.assign(high=1.0), dimension="overall")
    assert none.startswith("odd is not shown to be weak anywhere; it is lowest on lung, 50% [10, 100], n = 40,")


PAIRS = rows(
    {"judge_1": "one", "judge_2": "two", "p_adjusted": 0.01, "equivalence_p_adjusted": 0.9, "difference": 0.04},
    {"judge_1": "one", "judge_2": "three", "p_adjusted": 0.5, "equivalence_p_adjusted": 0.01, "difference": 0.0},
    {"judge_1": "two", "judge_2": "three", "p_adjusted": 0.5, "equivalence_p_adjusted": 0.5, "difference": 0.0},
    low=0.01, high=0.07,
)  # fmt: skip


def test_significance_counts_pairs_and_names_the_better_of_the_first_two_by_the_sign_of_the_difference() -> None:
    text = conclusions.significance(PAIRS, ["one", "two", "three"], margin=0.05, dimension="overall")
    assert "Of 3 pairs of judges overall, 1 is shown to differ, 1 to be" in text
    assert "equivalent within 5 points, and 1 neither" in text
    assert text.endswith("one is shown to be more accurate than two: +4 points [+1, +7].")
    turned = PAIRS.assign(difference=-0.04, low=-0.07, high=-0.01)
    text = conclusions.significance(turned, ["one", "two", "three"], margin=0.05, dimension="overall")
    assert text.endswith("two is shown to be more accurate than one: +4 points [+1, +7].")
    text = conclusions.significance(PAIRS, ["one", "three", "two"], margin=0.05, dimension="overall")
    assert text.endswith("one and three, are not shown to differ in accuracy.")


@pytest.mark.parametrize(("row", "shown"), [(0, "is shown to differ"), (1, "is not shown to differ")])
def test_significance_calls_nobody_equivalent_without_a_margin(row: int, shown: str) -> None:
    for pairs in (PAIRS, PAIRS.iloc[[row]]):
        text = conclusions.significance(pairs.assign(equivalence_p_adjusted=NAN), ["x", "y"], margin=0, dimension="d")
        assert "equivalent" not in text
        assert "neither" not in text
    assert f"The only pair of judges on d {shown}." in text


def test_juries_says_whether_the_jury_is_better_than_the_best_judge() -> None:
    ends = {"crossfit_difference": 0.04, "crossfit_difference_low": 0.01, "crossfit_difference_high": 0.07}
    table = rows(
        {"kind": "majority", "accuracy": 0.8, "low": 0.7, "high": 0.9, "decisive_accuracy": 0.85, "rank": 1, **ends},
        {"kind": "weighted", "accuracy": 0.9, "low": 0.7, "high": 0.9, "decisive_accuracy": 0.5, "rank": 3, **ends},
        {"kind": "best_single", "accuracy": 0.76, "low": 0.7, "high": 0.8, "decisive_accuracy": 0.8},
        size=5, decisive_accuracy_low=0.6, decisive_accuracy_high=0.9,
    )  # fmt: skip
    text = conclusions.juries(table, dimension="overall")
    assert (
        "by decisive accuracy (majority) has 85% [60, 90] (a constant has 50%); its accuracy is 80% [70, 90]." in text
    )
    none = conclusions.juries(table.assign(decisive_accuracy_low=0.4), dimension="overall")
    assert none == "No jury of all 5 judges is shown to be better than a constant overall."
    assert "It is better than the judge that is best on other cases: +4 points [+1, +7]." in text
    decides = table.assign(decisive_accuracy=table["decisive_accuracy"].where(table["kind"] != "best_single", 0.9))
    assert "not shown to differ from" in conclusions.juries(decides, dimension="overall")
    table["crossfit_difference_low"] = -0.01
    assert "not shown to differ from" in conclusions.juries(table, dimension="overall")


def test_gold_says_that_the_ranking_is_the_same_and_accuses_nobody_without_a_test() -> None:
    rules = rows(
        {"part": "ranking", "rule": "majority", "kendall_tau": 1.0},
        {"part": "ranking", "rule": "unanimous", "kendall_tau": 1.0},
        {"part": "ranking", "rule": "soft", "kendall_tau": NAN},
        {"part": "left_out", "kendall_tau": 0.8},
        {"part": "rule", "rule": "majority", "label_error": 0.07},
        {"part": "annotator", "annotator": "x", "peer_gap": -0.1, "p_adjusted": 0.2},
        {"part": "annotator", "annotator": "y", "peer_gap": 0.1, "p_adjusted": 0.01},
    )
    text = conclusions.gold(rules, dimension="overall")
    assert "The ranking of the judges is the same by the majority and the rules unanimous." in text
    assert "Leaving out any one annotator, tau is at least 0.80." in text
    assert "If annotators err independently, 7% of the majority's labels overall are wrong." in text
    assert "We cannot tell that any annotator agrees less with the others" in text
    rules.loc[5, "p_adjusted"] = 0.04
    assert "Of 2 annotators, 1 agrees significantly less with the others" in conclusions.gold(rules, dimension="o")
    rules.loc[1, "kendall_tau"] = 0.4
    assert "changes most under the rule unanimous: Kendall's tau with the majority's is 0.40." in conclusions.gold(
        rules, dimension="overall"
    )


def test_ceiling_tells_judges_above_the_annotators_from_those_of_whom_nobody_can_tell() -> None:
    human = {"part": "annotator", "annotator": "mean", "accuracy": 0.8, "low": 0.7, "high": 0.9}
    judges = [{"part": "judge", "judge": name, "verdict": name} for name in ("below", "cannot tell", "above")]
    tests = [{"part": "alt_test", "judge": name, "passes": True} for name in ("below", "above")]
    table = rows(human, *judges, *tests, dimension="overall")
    text = conclusions.ceiling(table, dimension="overall", epsilon=0.2)
    assert "Of 3 judges, 1 is significantly below an average annotator overall, 1 above; we cannot tell for 1 " in text
    assert "2 of 2 pass" in text
    assert "1 of these are significantly below" in text
    alone = conclusions.ceiling(
        table[table["judge"].isna() | table["judge"].eq("above")], dimension="overall", epsilon=0.2
    )
    assert "The only judge is not significantly below an average annotator overall" in alone


def test_ranking_says_of_which_share_of_labels_the_saving_is() -> None:
    agreed = rows({"judge": "one", "kendall": -0.24, "kendall_low": NAN, "kendall_high": NAN}, dimension="overall")
    saving = rows(
        {"judge": "one", "expected_label_saving": 0.4},
        {"judge": "two", "expected_label_saving": NAN},
    )
    text = conclusions.ranking(agreed, saving, dimension="overall")
    assert "one ranks the responders overall with a Kendall's tau of -0.24 to the annotators" in text
    assert "With 20% of the labels kept, the verdicts of one would save 40% of the labels" in text
    assert "most" not in text


def test_power_names_the_subfields_in_which_nothing_can_be_shown() -> None:
    table = rows(
        {"subfield": None, "minimum_detectable_difference": 0.08},
        {"subfield": "eye", "minimum_detectable_difference": 0.42},
        {"subfield": "teeth", "minimum_detectable_difference": NAN},
        part="summary", n=200, correction="holm", family=10,
    )  # fmt: skip
    text = conclusions.power(table, dimension="overall")
    assert "from 8 points on" in text
    assert "; in eye from 42 on; in teeth no difference can be shown." in text
    assert "corrected for the number of pairs" in text
    for options in ({"correction": "none"}, {"family": 1}):
        assert "corrected" not in conclusions.power(table.assign(**options), dimension="overall")


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        ("below", "it is below the mean annotator"),
        ("within", "it is not shown to be below or above"),
        ("above", "it is above"),
    ],
)
def test_the_page_of_one_judge_says_on_which_side_of_the_annotators_it_is(verdict: str, said: str) -> None:
    ends = {"low": 0.7, "high": 0.9}
    accuracy = rows({"dimension": "overall", "accuracy": 0.8, **ends})
    human = rows({"part": "judge", "dimension": "overall", "verdict": verdict, "difference": 0.1, **ends})
    parts = cells(("j", "organ", "eye", 0.75, 0.7, 0.9), ("j", "organ", "lung", 0.8, 0.7, 0.9))
    orders = rows({"subfield": None, "consistency": NAN})
    biases = rows({"subfield": None, "bias": "style"})
    answers = rows(
        {"part": "guarantee", "judge": "j", "delta": 0.1, "target": 0.9, "threshold": 0.7, "coverage": 0.5},
        dimension="overall", subfield=None, reference="majority", human_level=NAN, n=40, cluster="case_id",
    )  # fmt: skip
    alone = one_judge.verdict("j", accuracy, human, parts, orders, biases, answers, dimension="overall", by="organ")
    assert said in alone
    assert "The lowest of 2 values of organ is eye, 75% [70, 90], n = 40; the lowest of many is partly chance." in alone
    assert "it can handle 50% of 40 cases and keep 90% agreement" in alone
    assert "judges" not in alone.partition("This compares")[0]
    mute = one_judge.verdict(
        "j", accuracy, human, parts, orders, biases, answers.head(0), dimension="overall", by="organ"
    )
    assert mute.endswith("It gives no probabilities, so it may not answer alone.")


def test_a_conclusion_is_escaped() -> None:
    assert "<b>" not in conclusions.Conclusion("<b>judge</b>")._repr_html_()
