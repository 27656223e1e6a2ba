"""What differences can be shown: by hand, against statsmodels, and at the edges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from mrb_lib.stats.power.coverage import coverage
from mrb_lib.stats.power.formulas import cases_needed, detectable, differences, power_at
from mrb_lib.stats.power.table import power
from mrb_lib.stats.resampling.resample import ratios
from mrb_lib.stats.significance.paired import significance
from tests.stats.small_tables import cases_of, gold_of, random_verdicts, verdicts_of


def pairs_of(*tables: object, **options: object) -> pd.DataFrame:
    """The rows of `significance` that are about two judges."""
    rows = significance(*tables, **options)
    return rows[rows["part"] == "pair"].reset_index(drop=True)


def part(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    return rows[rows["part"] == name]


def example(judges: int = 4, n: int = 60) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    return random_verdicts(np.random.default_rng(0), n, judges), gold_of("ABTAB-" * (n // 6)), cases_of(n)


def test_the_standard_error_is_that_of_a_paired_t_test() -> None:
    generator = np.random.default_rng(1)
    first, second = generator.random((2, 3, 40))
    second[0, :5] = np.nan
    found = differences(first, second, np.arange(40))
    for i in range(3):
        kept = np.isfinite(second[i])
        gap = first[i, kept] - second[i, kept]
        assert found.n[i] == found.clusters[i] == kept.sum()
        assert found.value[i] == pytest.approx(gap.mean())
        assert found.error[i] == pytest.approx(stats.sem(gap))


def test_clusters_count_as_one() -> None:
    generator = np.random.default_rng(2)
    first, second = generator.random((2, 1, 20))
    once = differences(first, second, np.arange(20))
    thrice = differences(np.repeat(first, 3, axis=1), np.repeat(second, 3, axis=1), np.repeat(np.arange(20), 3))
    assert thrice.error == pytest.approx(once.error)
    assert (thrice.n[0], thrice.clusters[0]) == (60, 20)


def test_power_is_near_the_noncentral_ts() -> None:
    """statsmodels has the exact power of the t test; sums of quantiles come within a hundredth of it."""
    for n in (20, 100, 1026):
        error, clusters = np.array([0.3 / np.sqrt(n)]), np.array([n])
        smallest = detectable(error, clusters)
        assert power_at(smallest, error, clusters)[0] == pytest.approx(0.8, abs=1e-4)
        exact = TTestPower().power(smallest[0] / 0.3, n, 0.05)
        assert exact == pytest.approx(0.8, abs=0.01)
        assert power_at(np.zeros(1), error, clusters)[0] == pytest.approx(0.05)
        needed = cases_needed(smallest, error, clusters, clusters, np.ones(1))
        assert needed[0] == pytest.approx(n, abs=1)


def test_the_summary_is_the_median_pair_and_the_worst() -> None:
    rows = power(*example(), resamples=0)
    pairs, summary = part(rows, "pair"), part(rows, "summary").iloc[0]
    error = pairs["standard_error"].sort_values().to_numpy()
    assert (summary["n_pairs"], len(pairs)) == (6, 6)
    assert summary["standard_error"] == error[2]
    assert summary["worst_standard_error"] == error[-1]
    named = pairs[(pairs["judge_1"] == summary["judge_1"]) & (pairs["judge_2"] == summary["judge_2"])].iloc[0]
    assert named["minimum_detectable_difference"] == summary["minimum_detectable_difference"]
    assert list(rows["part"].iloc[:1]) == ["summary"]
    assert not len(part(rows, "coverage"))
    compared = pairs_of(*example(), resamples=0).set_index(["judge_1", "judge_2"])["difference"]
    assert pairs.set_index(["judge_1", "judge_2"])["difference"].to_dict() == pytest.approx(compared.to_dict())


def test_cases_needed_fall_with_the_square_and_agree_with_mcnemar() -> None:
    generator = np.random.default_rng(4)
    letters = ["".join(np.where(generator.random(600) < 0.7, "A", "B")) for _ in range(3)]
    verdicts = verdicts_of({(f"j{i}", "AB"): text for i, text in enumerate(letters)})
    rows = power(verdicts, gold_of("A" * 600), cases_of(600), policy="official", resamples=0)
    needed = part(rows, "cases_needed")
    assert needed["difference"].tolist() == [0.01, 0.02, 0.03, 0.05, 0.10]
    assert needed["n_needed"].to_numpy() == pytest.approx(needed["mcnemar_n_needed"].to_numpy(), rel=0.03)
    assert needed["n_needed"].iloc[0] / needed["n_needed"].iloc[1] == pytest.approx(4, rel=0.01)
    assert (needed["worst_n_needed"] >= needed["n_needed"]).all()
    summary = part(rows, "summary").iloc[0]
    smallest = summary["minimum_detectable_difference"]
    assert summary["mcnemar_minimum_detectable_difference"] == pytest.approx(smallest, rel=0.03)
    assert summary["mcnemar_power"] == pytest.approx(0.8, abs=0.03)
    graded = part(power(verdicts, gold_of("A" * 600), cases_of(600), resamples=0), "summary").iloc[0]
    assert np.isnan(graded["mcnemar_power"])


def upper_tail(difference: float, deviation: float, n: float) -> float:
    """The chance that the test finds the difference on its own side, clusters being cases."""
    size = difference * np.sqrt(n) / deviation
    return float(stats.t.cdf(size - stats.t.ppf(0.975, n - 1), n - 1))


@pytest.mark.parametrize("deviation", [0.001, 0.01, 0.03, 0.05, 0.1, 0.25, 0.6])
def test_a_larger_difference_takes_fewer_cases_and_no_fewer_would_do(deviation: float) -> None:
    stated, n = np.array([0.01, 0.02, 0.03, 0.05, 0.10]), np.array([1026])
    needed = cases_needed(stated, np.array([deviation / np.sqrt(1026)]), n, n, np.ones(1))
    assert (np.diff(needed) <= 0).all() and (needed >= 2).all()
    for difference, cases in zip(stated, needed, strict=True):
        assert upper_tail(difference, deviation, cases) >= 0.8 - 1e-6
        assert cases == 2 or upper_tail(difference, deviation, cases - 1) < 0.8


def test_two_clusters_are_the_fewest() -> None:
    """A tiny variance seen in 10 clusters of 4: still two clusters, which are eight cases."""
    found = cases_needed(np.array([0.1]), np.array([1e-6]), np.array([40]), np.array([10]), np.ones(1))
    assert found.tolist() == [8]


def nulls_without_reason(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that lack a value of the columns of their part, and do not say why."""
    pair = ["difference", "standard_error", "minimum_detectable_difference", "discordance"]
    mcnemar = ["mcnemar_minimum_detectable_difference", "mcnemar_power"]
    own = {
        "summary": [*pair, *mcnemar, "judge_1", "judge_2", "worst_standard_error"],
        "pair": [*pair, *mcnemar],
        "judge": pair[:3],
        "cases_needed": ["n_needed", "worst_n_needed", "mcnemar_n_needed"],
        "curve": ["power", "worst_power"],
        "coverage": ["coverage", "too_low", "too_high", "estimate"],
    }
    lost = [rows[(rows["part"] == name) & rows[of_part].isna().any(axis=1)] for name, of_part in own.items()]
    gone = pd.concat(lost)
    return gone[gone["reason"].isna()]


def rarely_differ() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Two judges who differ on 2 of 200 cases."""
    said = {("j", "AB"): "A" * 198 + "BB", ("k", "AB"): "A" * 200}
    return verdicts_of(said), gold_of("A" * 200), cases_of(200)


@pytest.mark.parametrize("policy", ["balanced", "official"])
@pytest.mark.parametrize("clustered", [False, True])
def test_every_null_has_its_reason(policy: str, clustered: bool) -> None:
    verdicts, gold, cases = example(1)
    one = power(verdicts, gold, cases, resamples=10, policy=policy)
    assert "two judges" in part(one, "summary")["reason"].iloc[0]
    assert part(one, "judge")["minimum_detectable_difference"].notna().all()
    same = verdicts_of({("j", "AB"): "ABAB", ("k", "AB"): "ABAB"})
    rows = power(same, gold_of("AABB"), cases_of(4), resamples=10, policy=policy)
    assert "same on every case" in part(rows, "summary")["reason"].iloc[0]
    assert part(rows, "pair")["minimum_detectable_difference"].isna().all()
    assert not len(part(rows, "curve"))
    lump = power(*example(), cluster="question", resamples=10, policy=policy)
    assert "two clusters" in part(lump, "summary")["reason"].iloc[0]
    none = power(verdicts.iloc[:0], gold, cases)
    assert len(none) == 0 and list(none.columns) == list(one.columns)
    made = [one, rows, lump]
    for verdicts, gold, cases in (example(), rarely_differ()):
        grouped = cases.assign(cluster=np.arange(len(cases)) // 2) if clustered else cases
        made.append(power(verdicts, gold, grouped, resamples=0, policy=policy))
    for found in made:
        assert not len(nulls_without_reason(found))


def test_a_difference_that_cannot_be_takes_no_number_of_cases() -> None:
    """Judges who differ on one case in a hundred cannot be two points apart."""
    rows = power(*rarely_differ(), policy="official", resamples=0)
    needed = part(rows, "cases_needed").set_index("difference")
    for column in ("n_needed", "worst_n_needed", "mcnemar_n_needed"):
        assert needed[column].notna().tolist() == [True, False, False, False, False]
    assert needed["reason"].iloc[1:].str.contains("too few cases").all()
    curve = part(rows, "curve")
    assert (curve["power"].notna() == (curve["difference"] <= 0.01)).all()
    assert "exceeds the share" in part(rows, "pair")["reason"].iloc[0]


def test_thirds_that_never_vary_have_no_variance() -> None:
    """j is right in three of three repeats, k in one, on each of seven cases: rounding alone would make 4e-17."""
    said = {("j", "AB", i): "A" * 7 for i in range(3)} | {("k", "AB", i): "AB"[i > 0] * 7 for i in range(3)}
    for cases in (cases_of(7), cases_of(7).assign(cluster=[0, 0, 1, 1, 1, 2, 2])):
        pair = part(power(verdicts_of(said), gold_of("A" * 7), cases, resamples=0), "pair").iloc[0]
        assert pair["difference"] == pytest.approx(2 / 3)
        assert np.isnan(pair["standard_error"]) and np.isnan(pair["minimum_detectable_difference"])
        assert "same on every case" in pair["reason"]


def test_an_interval_that_ends_at_the_truth_covers_it() -> None:
    """Five clusters of a thousand: some resamples draw none of them, and thirds have no exact end."""
    value, there = np.array([[0.0], [1.0], [1.0], [0.0], [1.0]]), np.ones((5, 1))
    found = coverage(value * 2 / 3, there, np.arange(5), 1000, studies=400, seed=1)
    whole = coverage(value, there, np.arange(5), 1000, studies=400, seed=1)
    for mine, exact in zip(found[1:], whole[1:], strict=True):
        assert mine[0] == exact[0]
    # A study of 5 draws misses one of the two values, and with it the truth, with probability .6^5 + .4^5.
    assert whole.covered[0] == pytest.approx(1 - 0.6**5 - 0.4**5, abs=0.06)


def test_subfields_have_summaries_and_coverage() -> None:
    verdicts, gold, cases = example()
    rows = power(verdicts, gold, cases.assign(organ=["eye", "lung", "heart"] * 20), by="organ", seed=3)
    assert part(rows, "summary")["subfield"].isna().sum() == 1
    assert set(part(rows, "summary")["subfield"].dropna()) == {"eye", "lung", "heart"}
    covered = part(rows, "coverage")
    assert set(covered["data_kind"]) == {"SIMULATED"}
    assert (covered["coverage"] + covered["too_low"] + covered["too_high"]).to_numpy() == pytest.approx(1.0)
    again = power(verdicts, gold, cases.assign(organ=["eye", "lung", "heart"] * 20), by="organ", seed=3)
    pd.testing.assert_frame_equal(rows, again)


@pytest.mark.parametrize("clustered", [False, True])
def test_a_simulated_study_gets_the_interval_that_a_reader_would_get(clustered: bool) -> None:
    """Each study drawn again here, and given to the bootstrap of all tables."""
    generator = np.random.default_rng(5)
    there = (generator.random((30, 2)) < 0.8)[:, [0, 0, 1]]
    value = np.where(there, generator.integers(0, 5, (30, 3)) / 4, 0.0)
    codes = np.repeat(np.arange(10), 3) if clustered else np.arange(30)
    total = int(codes.max()) + 1
    found = coverage(value, there.astype(float), codes, total, studies=40, seed=7)
    picked = np.random.default_rng([7, 1]).integers(0, total, (total, 40))
    low, high = [], []
    for study in picked.T:
        rows = np.concatenate([np.flatnonzero(codes == cluster) for cluster in study])
        again = np.repeat(np.arange(total), len(rows) // total)
        part = (np.arange(len(rows)), value[rows], there[rows].astype(float))
        result = ratios([part], again, resamples=1001, seed=7)[0]
        low.append(result.low)
        high.append(result.high)
    truth = value.sum(axis=0) / there.sum(axis=0)
    assert found.truth == pytest.approx(truth)
    assert found.too_high == pytest.approx((np.array(low) > truth + 1e-12).mean(axis=0))
    assert found.too_low == pytest.approx((np.array(high) < truth - 1e-12).mean(axis=0))
