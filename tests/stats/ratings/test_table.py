"""The table `ratings` against scikit-learn, pingouin and hand counts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pingouin
import pytest
from sklearn.metrics import cohen_kappa_score, f1_score, recall_score

from mrb_lib.benchmarks.votes import gold
from mrb_lib.demo.ratings import RatingJudge
from mrb_lib.stats.analyze import analyze
from mrb_lib.stats.ratings import reading
from mrb_lib.stats.ratings import table as ratings_table
from mrb_lib.stats.resampling.resample import FEW_CASES
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import category_numbers
from tests.stats.ratings.rated import SCALE, benchmark, simulated, verdicts

JUDGES = (RatingJudge("good"), RatingJudge("strict", leniency=0.9), RatingJudge("turned", reversed=True))


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
        bad = [place > 2 for place in pair]
        assert row["n_unacceptable"] == bad[1].sum()
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


def test_a_scale_used_upside_down_is_said_only_where_the_interval_shows_it() -> None:
    rows = analyze(*simulated(150, 4, JUDGES), "ratings", resamples=200)
    reasons = rows.set_index("judge")["reason"]
    assert reading.UPSIDE_DOWN in str(reasons["turned"])
    assert reasons[["good", "strict"]].isna().all()
    assert reading.sentence(rows).endswith("turned seems to use the scale upside down.")
    few = rows.assign(spearman_high=0.1)
    assert "upside down" not in reading.sentence(few)


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
    assert ratings_table.NO_ACCEPTABLE in row["reason"]


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
    assert ratings_table.NO_CASES in nobody["reason"]


def test_every_null_interval_is_told_with_its_column() -> None:
    """One unacceptable case of nine: sensitivity is 1 of 1, which no interval can be given for."""
    made = benchmark({"a": ["no"] * 8 + ["yes"]}, categories=("no", "yes"), acceptable=("no",))
    said = verdicts({"j": ["no"] * 7 + ["yes", "yes"]})
    row = analyze(made, said, "ratings", resamples=100).iloc[0]
    assert (row["n_unacceptable"], row["sensitivity"]) == (1, 1)
    assert row[["sensitivity_low", "sensitivity_high"]].isna().all()
    assert f"sensitivity: {FEW_CASES}" in row["reason"]
    for name in ratings_table.SHARES[2:]:
        told = f"{name}:" in row["reason"] or f"{name}," in row["reason"]
        assert told == bool(np.isnan(row[f"{name}_low"])), name


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
