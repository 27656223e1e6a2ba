"""The table `power`: what differences can be shown, by hand, against statsmodels, and at the edges."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import comb
from scipy.stats import binom
from statsmodels.stats.power import TTestPower

from mrb_lib.report.tabular import table_text
from mrb_lib.stats.contrasts import BY_T, CLUSTERED, MCNEMAR, PERMUTATION
from mrb_lib.stats.tables.power import (
    Pairs,
    attainable,
    cases_needed,
    detectable,
    mcnemar_power,
    power_at,
)
from tests.stats.small_tables import Tables, cases_of, gold_of, judged, part_of, random_verdicts, table_of, tables_of

power = table_of("power", resamples=0)
pairs_of = table_of("significance", part="pair", resamples=0)


def of_cases(n: int, deviation: float) -> Pairs:
    """One pair that differs with this standard deviation on n independent cases."""
    one = np.ones(1)
    return Pairs(n * one, n * one, deviation / np.sqrt(n) * one, one)


@pytest.mark.parametrize("level", [0.05, 0.05 / 28])
@pytest.mark.parametrize("n", [20, 100, 1026])
def test_power_is_the_noncentral_ts(n: int, level: float) -> None:
    """As statsmodels 0.15 has it, TTestPower().power(size, n, level)."""
    pair = of_cases(n, 0.3)
    smallest = detectable(pair, BY_T, level)
    assert TTestPower().power(smallest[0] / 0.3, n, level) == pytest.approx(0.8, abs=1e-6)
    for size in (0.0, 0.5, 0.9):
        found = power_at(size * smallest, pair, BY_T, level)[0, 0]
        assert found == pytest.approx(TTestPower().power(size * smallest[0] / 0.3, n, level), abs=1e-6)
    assert cases_needed(smallest, n, smallest[0]) == n
    if n > 100:
        for size in (0.5, 2.0):
            needed = cases_needed(size * smallest, n, smallest[0])[0]
            assert TTestPower().power(size * smallest[0] / 0.3, needed, level) == pytest.approx(0.8, abs=0.02)
    if n > 40:
        assert detectable(pair, PERMUTATION, level) == smallest


def test_few_clusters_attain_few_levels() -> None:
    """Of G flips the k-th largest sum has the p (2 k - 1) / 2^G, with G < 8 2 k / 2^G; 2 k / 2^G are as large."""
    shares = attainable(0.05, np.array([4, 5, 7, 8, 9, 100]), CLUSTERED)
    assert shares == pytest.approx([0, 0, np.nan, 12 / 256, 26 / 512, 0.05], nan_ok=True)
    assert attainable(0.05, np.array([4]), BY_T) == [0.05]
    for clusters, found in ((4, 0.0), (7, np.nan)):
        few = of_cases(clusters, 0.3)
        assert np.isnan(detectable(few, PERMUTATION, 0.05)).all()
        assert power_at(np.array([0.1]), few, PERMUTATION, 0.05)[0] == pytest.approx([found], nan_ok=True)


@pytest.mark.parametrize(("n", "up", "down"), [(12, 0.4, 0.1), (20, 0.3, 0.3), (25, 0.5, 0.0), (18, 0.1, 0.0)])
def test_power_of_mcnemars_exact_test_is_the_sum_over_all_tables(n: int, up: float, down: float) -> None:
    first, second = np.triu_indices(n + 1)
    second = n - second
    exact = np.minimum(1.0, 2 * binom.cdf(np.minimum(first, second), first + second, 0.5))
    ways = comb(n, first) * comb(n - first, second)
    chance = ways * up**first * down**second * (1 - up - down) ** (n - first - second)
    assert chance.sum() == pytest.approx(1)
    for level in (0.05, 0.004):
        found = mcnemar_power(*(np.array([float(each)]) for each in (n, up + down, up - down)), level)
        assert found[0] == pytest.approx(chance[exact <= level].sum(), abs=1e-6)


def test_the_summary_is_the_median_pair() -> None:
    tables = random_verdicts(np.random.default_rng(0), 60, 4), gold_of("ABTAB-" * 10), cases_of(60)
    rows = power(*tables)
    pairs, summary = part_of(rows, "pair"), part_of(rows, "summary").iloc[0]
    assert rows["part"].iloc[0] == "summary"
    assert len(pairs) == 6
    assert summary["standard_error"] == pairs["standard_error"].sort_values().iloc[2]
    named = pairs[(pairs["judge_1"] == summary["judge_1"]) & (pairs["judge_2"] == summary["judge_2"])].iloc[0]
    assert named["minimum_detectable_difference"] == summary["minimum_detectable_difference"]
    assert sorted(pairs["difference"].abs()) == pytest.approx(sorted(pairs_of(*tables)["difference"]))


def alike(judges: int, **columns: object) -> Tables:
    """Judges that are right on 70% of 240 cases."""
    rng = np.random.default_rng(4)
    return judged({f"j{i}": rng.random(240) < 0.7 for i in range(judges)}, **columns)


def test_the_test_and_the_level_are_those_of_the_table_of_significance() -> None:
    tables = alike(4)
    grouped = (*tables[:2], tables[2].assign(cluster=np.arange(240) // 4, organ=["eye", "lung"] * 120))
    for policy, made, test in (
        ("official", tables, MCNEMAR), ("balanced", tables, PERMUTATION), ("official", grouped, CLUSTERED),
    ):  # fmt: skip
        for correction, level in (("holm", 0.05 / 6), ("none", 0.05)):
            options = {"policy": policy, "correction": correction}
            rows, tests = power(*made, **options), pairs_of(*made, **options)
            rows = rows[rows["part"].isin(["summary", "pair", "curve"])]
            assert set(rows["test"]) == set(tests["test"]) == {test}
            assert set(rows["family"]) == set(tests["family"]) == {6}
            assert rows["alpha_adjusted"].to_numpy() == pytest.approx(level)
    everything, whole = (made(*grouped, by="organ", family="all") for made in (power, pairs_of))
    assert set(everything["family"].dropna()) == set(whole["family"]) == {18}


def test_a_difference_that_cannot_be_takes_no_number_of_cases() -> None:
    """Judges who differ on one case in a hundred cannot be two points apart."""
    tables = judged({"j": np.arange(200) < 198, "k": np.ones(200)})
    rows, graded = power(*tables, policy="official"), power(*tables)
    curve = part_of(rows, "curve")
    is_possible = curve["difference"] <= 0.01
    assert (curve["power"].notna() == is_possible).all()
    assert curve["n_needed"].isna().all() and curve["reason"].str.contains("no number of cases").all()
    assert curve.loc[~is_possible, "reason"].str.contains("too few cases").all()
    assert "no difference is known to be found" in part_of(rows, "pair")["reason"].iloc[0]
    curve, pair = part_of(graded, "curve"), part_of(graded, "pair").iloc[0]
    assert (curve["n_needed"].notna() == ((curve["difference"] > 0) & (curve["difference"] <= 0.01))).all()
    assert pair["minimum_detectable_difference"] > pair["discordance"]
    assert "exceeds the share" in pair["reason"]


def test_thirds_that_never_vary_have_no_variance() -> None:
    """j is right in three of three repeats, k in one, on each of seven cases: rounding alone would make 4e-17."""
    verdicts, gold, cases = tables_of(
        {("j", "AB", i): "A" * 7 for i in range(3)} | {("k", "AB", i): "AB"[i > 0] * 7 for i in range(3)}, "A" * 7
    )
    for each in (cases, cases.assign(cluster=[0, 0, 1, 1, 1, 2, 2])):
        pair = power(verdicts, gold, each, part="pair").iloc[0]
        assert pair["difference"] == pytest.approx(2 / 3)
        assert pair[["standard_error", "minimum_detectable_difference"]].isna().all()
        assert "same on every case" in pair["reason"]


def test_a_level_that_is_small_is_not_printed_as_nothing() -> None:
    """Issue 42, fault 20: `alpha adjusted 0.000` of 496 pairs."""
    cells = table_text(pd.DataFrame({"alpha_adjusted": [0.05 / 496, 0.05]})).rows
    assert [row[0] for row in cells] == ["0.0001", "0.05"]
