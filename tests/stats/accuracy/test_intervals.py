"""Wilson and design effect against statsmodels, and what must hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint

from mrb_lib.stats.resampling import intervals
from mrb_lib.stats.scoring import correctness
from tests.stats.small_tables import accuracy, cases_of, gold_of, random_verdicts, significance, verdicts_of


def test_wilson_as_statsmodels() -> None:
    right, n = (axis.ravel() for axis in np.meshgrid(np.arange(0, 50, 7), [50, 73, 1000]))
    wanted = proportion_confint(right, n, method="wilson")
    assert np.array(intervals.wilson(right / n, n)) == pytest.approx(np.array(wanted), abs=1e-12)
    assert np.isnan(intervals.wilson(np.array([np.nan]), np.array([0]))).all()


def test_the_table_has_wilsons_interval_of_right_and_wrong() -> None:
    generator = np.random.default_rng(1)
    verdicts, gold = random_verdicts(generator, 90, judges=2), gold_of("".join(generator.choice(list("ABT"), 90)))
    for row in accuracy(verdicts, gold, cases_of(90), policy="official", resamples=0).itertuples():
        wanted = proportion_confint(round(row.accuracy * row.n), row.n, method="wilson")
        assert row.design_effect == pytest.approx(1)
        assert (row.deff_low, row.deff_high) == pytest.approx(wanted, abs=1e-12)


def clustered(policy: str = "balanced"):
    generator = np.random.default_rng(2)
    cluster = list(generator.integers(0, 15, 100))
    verdicts = random_verdicts(generator, 100, judges=1)
    return verdicts, gold_of("".join(generator.choice(list("ABT"), 100))), cases_of(100, cluster=cluster)


@pytest.mark.parametrize("policy", ["balanced", "official"])
def test_the_design_effect_is_that_of_a_cluster_robust_regression(policy: str) -> None:
    """The variance of an intercept with errors robust to clusters (statsmodels) over that of independent cases."""
    verdicts, gold, cases = clustered()
    row = accuracy(verdicts, gold, cases, policy=policy, resamples=0).iloc[0]
    each = correctness(verdicts, gold, policy).dropna(subset="score").merge(cases, on="case_id")
    score, groups = each["score"].to_numpy(), each["cluster"].to_numpy()
    count, n = len(np.unique(groups)), len(score)
    fitted = sm.OLS(score, np.ones(n)).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    robust = fitted.cov_params()[0, 0] * count / (count - 1)
    assert row["design_effect"] == pytest.approx(robust / (score.var(ddof=1) / n))
    assert row["n_clusters"] == count
    p = score.mean()
    size = n * p * (1 - p) / score.var()
    fewer = (student.ppf(0.975, n - 1) / student.ppf(0.975, count - 1)) ** 2 / row["design_effect"]
    wanted = intervals.wilson(np.array([p]), np.array([min(size * fewer, size)]))
    assert (row["deff_low"], row["deff_high"]) == pytest.approx((wanted[0][0], wanted[1][0]), abs=1e-9)


def test_clusters_of_one_case_have_a_design_effect_of_one() -> None:
    verdicts, gold, cases = clustered()
    row = accuracy(verdicts, gold, cases.drop(columns="cluster"), resamples=0).iloc[0]
    assert row["design_effect"] == pytest.approx(1, abs=1e-12)


def test_where_all_are_right_there_is_still_width() -> None:
    tables = verdicts_of({("j", "AB"): "A" * 20}), gold_of("A" * 20)
    row = accuracy(*tables, cases_of(20), resamples=100).iloc[0]
    wanted = proportion_confint(20, 20, method="wilson")
    assert np.isnan(row["design_effect"])
    assert row[["low", "high"]].tolist() == pytest.approx(wanted)
    assert row["interval"] == "deff"
    assert (row["percentile_low"], row["percentile_high"]) == (1, 1)
    assert "no width" not in row["reason"]
    pairs = accuracy(*tables, cases_of(20, cluster=list(np.arange(20) // 2)), resamples=100).iloc[0]
    assert pairs["deff_low"] < proportion_confint(10, 10, method="wilson")[0] < wanted[0]


def test_halves_make_the_mean_surer_than_wilsons_interval_for_right_and_wrong() -> None:
    tables = verdicts_of({("j", "AB"): "AB" * 10 + "T" * 60}), gold_of("A" * 80), cases_of(80)
    row = accuracy(*tables, resamples=0).iloc[0]
    wide = proportion_confint(40, 80, method="wilson")
    assert row["accuracy"] == 0.5
    assert wide[0] < row["deff_low"] < 0.5 < row["deff_high"] < wide[1]


@pytest.mark.parametrize("resamples", [0, 200])
def test_low_and_high_are_the_recommended_interval(resamples: int) -> None:
    """That of percentiles is absent without resamples, and the reason says so; the other needs none."""
    shown = {("half", "AB"): "AB" * 30, ("nearly", "AB"): "A" * 58 + "BB"}
    rows = accuracy(verdicts_of(shown), gold_of("A" * 60), cases_of(60), resamples=resamples).set_index("judge")
    half, nearly = rows.loc["half"], rows.loc["nearly"]
    assert nearly[["low", "high"]].tolist() == nearly[["deff_low", "deff_high"]].tolist()
    assert (half["interval"], nearly["interval"]) == ("percentile", "deff")
    if resamples:
        assert half[["low", "high"]].tolist() == half[["percentile_low", "percentile_high"]].tolist()
    else:
        assert half[["low", "high", "percentile_low"]].isna().all()
        assert "no resamples" in half["reason"]
        assert "no resamples" not in nearly["reason"]


def test_macro_is_the_unweighted_mean_over_subfields() -> None:
    generator = np.random.default_rng(0)
    organ = ["eye"] * 54 + ["lung"] * 15 + ["foot"] * 9 + [None] * 2
    verdicts, gold = random_verdicts(generator, 80, judges=2), gold_of("".join(generator.choice(list("AB"), 80)))
    rows = accuracy(verdicts, gold, cases_of(80, organ=organ), by="organ", resamples=500)
    whole, parts = rows[rows["subfield"].isna()].set_index("judge"), rows[rows["subfield"].notna()]
    assert whole["macro_accuracy"].to_dict() == pytest.approx(parts.groupby("judge")["accuracy"].mean().to_dict())
    assert (whole["n_subfields"] == 3).all()
    assert (whole["macro_accuracy_low"] < whole["macro_accuracy"]).all()
    assert (whole["macro_accuracy"] < whole["macro_accuracy_high"]).all()
    width = whole["macro_accuracy_high"] - whole["macro_accuracy_low"]
    assert (width > whole["high"] - whole["low"]).all()
    assert parts[["macro_accuracy", "n_subfields"]].isna().all(axis=None)
    plain = accuracy(verdicts, gold, cases_of(80), resamples=0)
    assert plain["macro_accuracy"].isna().all()


@pytest.mark.parametrize("cluster", [["a"] * 20 + ["b"] * 20 + [f"c{i // 2}" for i in range(20)], None])
def test_a_subfield_in_one_cluster_leaves_the_macro_mean_without_an_interval(cluster: list[str] | None) -> None:
    """How it would have come out with other cases is unknown: it is not certain."""
    organ = ["eye"] * 20 + ["lung"] * 20 + ["foot"] * 20 if cluster else ["eye", "lung"] + ["foot"] * 58
    verdicts = verdicts_of({("j", "AB"): "AAB" * 20})
    cases = cases_of(60, organ=organ, **({"cluster": cluster} if cluster else {}))
    row = accuracy(verdicts, gold_of("A" * 60), cases, by="organ", resamples=200).iloc[0]
    assert row[["accuracy", "low", "high", "macro_accuracy"]].notna().all()
    assert row[["macro_accuracy_low", "macro_accuracy_high"]].isna().all()
    assert "2 of 3 subfields lie in one cluster" in row["reason"]


def test_a_subfield_without_a_scored_case_is_not_in_the_macro_mean() -> None:
    verdicts = verdicts_of({("j", "AB"): "AAB-"})
    rows = accuracy(
        verdicts, gold_of("AAAA"), cases_of(4, organ=["eye", "eye", "foot", "lung"]), by="organ", resamples=50
    )
    assert rows.iloc[0]["macro_accuracy"] == 0.5
    assert rows.iloc[0]["n_subfields"] == 2


def test_intervals_read_the_same_draws_in_single_and_in_double_precision() -> None:
    """The interval of a judge against one that is always wrong is that of its accuracy."""
    generator = np.random.default_rng(5)
    letters = "".join(generator.choice(list("AABT"), 70))
    verdicts = verdicts_of({("a", "AB"): letters, ("b", "AB"): "B" * 70})
    tables = verdicts, gold_of("A" * 70), cases_of(70)
    single = accuracy(*tables, resamples=500).iloc[0]
    pair = significance(*tables, resamples=500).iloc[0]
    assert pd.Series(pair[["low", "high"]]).tolist() == pytest.approx([single["low"], single["high"]], abs=1e-6)
