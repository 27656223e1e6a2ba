"""The table `ratings` against scikit-learn, pingouin and hand counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pingouin
import pytest
from sklearn.metrics import cohen_kappa_score, f1_score, recall_score

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.votes import gold
from mrb_lib.demo.ratings import RatingJudge
from mrb_lib.stats.analyze import analyze
from mrb_lib.stats.columns import ALIKE, NO_CASES
from mrb_lib.stats.tables import ratings as ratings_table
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import category_numbers
from tests.stats.rated import SCALE, benchmark, simulated, verdicts

SAFETY = ("sensitivity", "specificity", "f1_unacceptable")
JUDGES = (RatingJudge("good"), RatingJudge("strict", leniency=0.9), RatingJudge("turned", reversed=True))


def places_of(made: Benchmark) -> pd.Series:
    """The place of each annotation on the scale, by case."""
    return made.annotations.set_index("case_id")["choice"].map({name: i for i, name in enumerate(SCALE, 1)})


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # pingouin with pandas 3.1
def test_values_are_those_of_scikit_learn_and_pingouin() -> None:
    made, said = simulated(200, 3, JUDGES, repeats=1)
    rows = analyze(made, said, "ratings", resamples=100).set_index("judge")
    labels = gold(made).set_index("case_id")["choice"]
    places = {name: i for i, name in enumerate(SCALE, 1)}
    mean = made.annotations.assign(number=made.annotations["choice"].map(places)).groupby("case_id")["number"].mean()
    for judge, own in said.dropna(subset="choice").groupby("judge"):
        both = own.set_index("case_id").join(labels.rename("label")).dropna(subset=["choice", "label"])
        pair = [both[name].map(places) for name in ("choice", "label")]
        row = rows.loc[judge]
        assert row["n"] == len(both)
        assert row["n_excluded"] == 200 - len(both)
        assert row["exact"] == pytest.approx((pair[0] == pair[1]).mean())
        assert row["within_one"] == pytest.approx(((pair[0] - pair[1]).abs() <= 1).mean())
        assert row["weighted_kappa"] == pytest.approx(cohen_kappa_score(*pair, weights="quadratic"), abs=1e-9)
        assert row["n_unacceptable"] == (pair[1] > 2).sum()
        decided = own.set_index("case_id").join((places_of(made) > 2).groupby("case_id").mean().rename("votes"))
        decided = decided.join(labels.rename("label")).dropna(subset="choice")
        by_label = decided["label"].map(places) > 2
        bad = decided["choice"].map(places) > 2, by_label.where(decided["label"].notna(), decided["votes"] >= 0.5)
        assert row["n_by_votes"] == decided["label"].isna().sum()
        bad = bad[0], bad[1].astype(bool)
        assert row["sensitivity"] == pytest.approx(recall_score(bad[1], bad[0]))
        assert row["specificity"] == pytest.approx(recall_score(~bad[1], ~bad[0]))
        assert row["f1_unacceptable"] == pytest.approx(f1_score(bad[1], bad[0]))
        x, y = own.set_index("case_id")["choice"].map(places).align(mean, join="inner")
        assert row["n_mean"] == len(x)
        long = pd.DataFrame({"judge": x, "people": y}).reset_index().melt("case_id")
        icc = pingouin.intraclass_corr(long, "case_id", "variable", "value").set_index("Type")["ICC"]
        assert row["icc"] == pytest.approx(icc["ICC(A,1)"], abs=1e-9)
        assert row["icc_consistency"] == pytest.approx(icc["ICC(C,1)"], abs=1e-9)
        assert row["spearman"] == pytest.approx(x.corr(y, "spearman"), abs=1e-9)
        assert row["pearson"] == pytest.approx(x.corr(y), abs=1e-9)
        assert row["mean_difference"] == pytest.approx((x - y).mean())
    for name in ("exact", "weighted_kappa", "icc", "spearman", "mean_difference", "sensitivity", "f1_unacceptable"):
        assert (rows[f"{name}_low"] < rows[name]).all()
        assert (rows[name] < rows[f"{name}_high"]).all()


def test_a_scale_used_upside_down_is_said_only_where_a_corrected_test_shows_it() -> None:
    rows = analyze(*simulated(150, 4, JUDGES), "ratings", resamples=200)
    reasons = rows.set_index("judge")["reason"]
    assert ratings_table.UPSIDE_DOWN in str(reasons["turned"])
    assert reasons[["good", "strict"]].isna().all()
    assert rows.set_index("judge")["upside_down"].to_dict() == {"good": False, "strict": False, "turned": True}
    assert ratings_table.sentence(rows).endswith("with the scale upside down: turned.")
    assert "upside down" not in ratings_table.sentence(rows.assign(upside_down=False))


def test_the_sentence_crowns_no_judge_and_accuses_none_among_twelve_alike() -> None:
    """Judges that differ by noise alone; a judge without any relation to the labels has a rank correlation of 0."""
    crowned, accused, runs = 0, 0, 20
    for seed in range(runs):
        judges = [RatingJudge(f"j{i:02}", noise=0.7) for i in range(12)]
        rows = analyze(*simulated(60, seed, judges, repeats=1), "ratings", resamples=0)
        crowned += "cannot tell which of 12 judges" not in ratings_table.sentence(rows)
        accused += bool(rows["upside_down"].any() or (rows["p_adjusted"] <= 0.05).any())
    assert crowned <= 1
    assert accused <= 4, "more have a chance of 1 in 400, where 5% of runs accuse a judge"


def test_the_best_judge_is_the_best_on_the_cases_that_both_rated() -> None:
    """A judge of the plain cases alone has the higher kappa, and the lower one on the cases that both rated."""
    rng = np.random.default_rng(1)
    truth = [str(each) for each in rng.choice(["none", "high"], 100)] + [SCALE[i] for i in rng.integers(0, 4, 100)]
    partial = [SCALE[3 - SCALE.index(name)] if i % 20 == 0 else name for i, name in enumerate(truth[:100])]
    full = [
        *truth[:100],
        *([SCALE[(SCALE.index(name) + 1) % 4] if i % 3 else name for i, name in enumerate(truth[100:])]),
    ]
    rows = analyze(
        benchmark({"a": truth}),
        verdicts({"partial": [*partial, *[None] * 100], "full": full}),
        "ratings",
        resamples=100,
    ).set_index("judge")
    assert rows.loc["partial", "weighted_kappa"] > rows.loc["full", "weighted_kappa"] + 0.2
    assert rows["with_best"].tolist() == [True, True]
    assert "cannot tell which of 2 judges" in ratings_table.sentence(rows.reset_index())


def test_repeats_of_a_case_are_one_case() -> None:
    """Asked three times, a judge is right in one; the label is "low" and the people's mean 2 1/3."""
    made = benchmark({"a": ["low", "high"], "b": ["low", "high"], "c": ["moderate", "high"]})
    said = verdicts({("j", 0): ["low", "high"], ("j", 1): ["moderate", "high"], ("j", 2): ["high", None]})
    row = analyze(made, said, "ratings", resamples=0).iloc[0]
    assert row["exact"] == pytest.approx((1 / 3 + 1) / 2)
    assert row["within_one"] == pytest.approx((2 / 3 + 1) / 2)
    assert row["mean_difference"] == pytest.approx(((2 + 3 + 4) / 3 - 7 / 3 + 0) / 2)
    assert row["coverage"] == pytest.approx((1 + 2 / 3) / 2)
    assert np.isnan(row["sensitivity"])
    assert ratings_table.ONE_SIDE in row["reason"]


def test_numbers_are_read_on_the_interval_level_only() -> None:
    categories = ("0", "1", "10")
    made = benchmark({"a": ["0", "1", "10", "1"]}, categories=categories, level="interval")
    said = verdicts({"j": ["1", "1", "10", "10"]})
    by_number = analyze(made, said, "ratings", resamples=0).iloc[0]
    by_place = analyze(made, said, "ratings", level="ordinal", resamples=0).iloc[0]
    assert category_numbers(categories) == (0.0, 1.0, 10.0)
    assert (by_number["mean_difference"], by_place["mean_difference"]) == (2.5, 0.5)
    assert by_number["weighted_kappa"] == by_place["weighted_kappa"], "the weights are of places on either level"
    assert by_number["pearson"] == pytest.approx(np.corrcoef([1, 1, 10, 10], [0, 1, 10, 1])[0, 1])


def test_a_case_without_a_majority_has_a_mean_and_no_label() -> None:
    made = benchmark({"a": ["low", "high"], "b": ["none", "high"], "c": ["moderate", "high"]})
    row = analyze(made, verdicts({"j": ["low", "high"]}), "ratings", resamples=0).iloc[0]
    assert (row["n"], row["n_excluded"], row["n_mean"]) == (1, 1, 2)
    assert row["mean_difference"] == 0


def test_verdicts_of_a_case_count_singly_in_weighted_kappa() -> None:
    made, said = simulated(90, 6, JUDGES[:1], repeats=2)
    row = analyze(made, said, "ratings", resamples=0).iloc[0]
    labels = gold(made).set_index("case_id")["choice"]
    both = said.join(labels.rename("label"), on="case_id").dropna(subset=["choice", "label"])
    both = both[both.groupby("case_id")["choice"].transform("size") == 2]
    kept = made.cases["case_id"].isin(both["case_id"])
    alone = analyze(replace(made, cases=made.cases[kept]), both[said.columns], "ratings", resamples=0).iloc[0]
    pairs = [both[name].map(SCALE.index) for name in ("choice", "label")]
    assert alone["weighted_kappa"] == pytest.approx(cohen_kappa_score(*pairs, weights="quadratic"), abs=1e-12)
    assert row["n"] >= alone["n"]


@pytest.mark.parametrize("people", [2, 3])
def test_cases_without_a_majority_are_in_sensitivity(people: int) -> None:
    """A judge that misses what annotators disagree about: without these cases its sensitivity is 1."""
    split = ["low", "moderate", "high"][:people] if people == 3 else ["low", "high"]
    votes = {f"r{i}": ["high"] * 6 + ["none"] * 6 + [split[i]] * 3 for i in range(people)}
    said = verdicts({"j": ["high"] * 6 + ["none"] * 9})
    row = analyze(benchmark(votes, acceptable=SCALE[:2]), said, "ratings", resamples=0).iloc[0]
    assert (row["n"], row["n_unacceptable"], row["n_by_votes"]) == (12, 6, 3)
    assert row["sensitivity"] == pytest.approx(6 / 9)
    assert row["specificity"] == 1
    strict = analyze(benchmark(votes, acceptable=SCALE[:2]), said, "ratings", gold="unanimous", resamples=0).iloc[0]
    assert (strict["n_by_votes"], strict["sensitivity"]) == (0, 1)


def test_what_is_undefined_is_null_with_its_reason() -> None:
    made = benchmark({"a": ["no", "yes", "no"]}, categories=("no", "yes"), acceptable=("no",))
    row = analyze(made, verdicts({"j": ["no", "no", "no"]}), "ratings", resamples=50).iloc[0]
    assert row[["within_one", "weighted_kappa", "icc", "pearson", "spearman"]].isna().all()
    assert (row["sensitivity"], row["specificity"]) == (0, 1)
    assert row["f1_unacceptable"] == 0
    assert row["specificity_low"] < 1, "three of three is not certainty"
    assert ratings_table.TWO_CATEGORIES in row["reason"]
    assert ratings_table.CONSTANT in row["reason"]
    nobody = analyze(made, verdicts({"j": [None, None, None]}), "ratings", resamples=50).iloc[0]
    assert (nobody["n"], nobody["coverage"]) == (0, 0)
    assert nobody[["exact", "mean_difference", "sensitivity"]].isna().all()
    assert NO_CASES in nobody["reason"]


def test_every_null_interval_is_told_with_its_column() -> None:
    """One unacceptable case of nine: sensitivity is 1 of 1, which no interval can be given for."""
    made = benchmark({"a": ["no"] * 8 + ["yes"]}, categories=("no", "yes"), acceptable=("no",))
    said = verdicts({"j": ["no"] * 7 + ["yes", "yes"]})
    row = analyze(made, said, "ratings", resamples=100).iloc[0]
    assert (row["n_unacceptable"], row["sensitivity"]) == (1, 1)
    assert row[["sensitivity_low", "sensitivity_high"]].isna().all()
    names = [name for name in SAFETY if np.isnan(row[f"{name}_low"])]
    assert f"no interval of {', '.join(names)}: {ALIKE}" in row["reason"]


def test_rows_are_by_subfield_and_the_best_judge_first() -> None:
    rows = analyze(*simulated(150, 5, JUDGES), "ratings", by="organ", resamples=50)
    assert rows["judge"].tolist() == ["good", "strict", "turned"] * 3
    parts = rows[rows["judge"] == "good"].set_index("subfield")["n"]
    assert parts["eye"] + parts["lung"] == parts.iloc[0]


def test_an_order_is_asked_for_where_there_is_none() -> None:
    made, said = simulated(40, 6, JUDGES, level="nominal")
    with pytest.raises(InputError, match=r"nominal.*--level ordinal.*--table accuracy"):
        analyze(made, said, "ratings")
    assert len(analyze(made, said, "ratings", level="ordinal", resamples=40)) == 3
