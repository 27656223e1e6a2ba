"""Accuracy by domain, and its meta-analysis: by hand, by definition, at the edges."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.tables.transfer import expected, pool, taus
from mrb_lib.tables.errors import InputError
from tests.stats.small_tables import Tables, judged, part_of, table_of, tables_of

transfer = table_of("transfer")


def part(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    return part_of(rows, name).set_index("subfield", drop=False)


def example() -> Tables:
    """Judge j is right on 6 of 10, 9 of 10 and 5 of 5 cases of three hospitals, k on 5, 5 and 1."""
    said = {
        ("j", "AB"): "A" * 6 + "B" * 4 + "A" * 9 + "B" + "A" * 5,
        ("k", "AB"): "A" * 5 + "B" * 5 + "A" * 5 + "B" * 5 + "A" + "B" * 4,
    }
    return tables_of(said, "A" * 25, institution=["x"] * 10 + ["y"] * 10 + ["z"] * 5, dataset=["d"] * 25)


def test_the_parts_by_hand() -> None:
    rows = transfer(*example(), policy="official", resamples=0)
    domain = part(rows[rows["judge"] == "j"], "domain")
    n, p = np.array([10, 10, 5]), np.array([0.6, 0.9, 1.0])
    assert domain["n"].tolist() == n.tolist()
    assert domain["accuracy"].tolist() == pytest.approx(p.tolist())
    effect, variance = np.arcsin(np.sqrt((n * p + 3 / 8) / (n + 3 / 4))), 1 / (4 * n + 2)
    found = pool(effect[None], variance[None])
    summary = part_of(rows, "summary").set_index("judge").loc["j"]
    assert summary["accuracy"] == pytest.approx(float(np.sin(found.estimate[0]) ** 2))
    assert (summary["p_value"], summary["i2"]) == pytest.approx((found.p_value[0], found.i2[0]))
    assert domain["low"].tolist() == pytest.approx((np.sin(effect - 1.959964 * variance**0.5) ** 2).tolist())


def test_taus_are_those_of_scipy_between_means_in_a_domain_and_in_the_others() -> None:
    generator = np.random.default_rng(5)
    score, domain = generator.integers(0, 3, (30, 9)) / 2, np.arange(30) % 3
    here, rest = (np.stack([score[(domain == d) == side].mean(axis=0) for d in range(3)]) for side in (True, False))
    expected = [stats.kendalltau(here[d].round(12), rest[d].round(12)).statistic for d in range(3)]
    assert taus(score, domain, 3) == pytest.approx(np.array(expected), abs=1e-12)


def test_taus_of_many_judges_and_of_ties_but_for_rounding() -> None:
    many = np.arange(300.0)
    both = np.repeat([0, 1], 2)
    assert taus(np.stack([many, many, many, many]), both, 2).tolist() == [1, 1]
    assert taus(np.stack([many, many, -many, -many]), both, 2).tolist() == [-1, -1]
    third = np.array([1 / 3, 1 - 2 / 3, 0.9])
    assert third[0] != third[1]
    assert taus(np.stack([third, [1.0, 2.0, 3.0]]), np.arange(2), 2) == pytest.approx(2 / np.sqrt(2 * 3))


def test_the_domain_is_the_first_column_with_several_values() -> None:
    verdicts, gold, cases = example()
    assert set(transfer(verdicts, gold, cases, resamples=0)["by"]) == {"institution"}
    with_one = cases.assign(institution="x", department=["a", "b"] * 12 + ["a"])
    assert set(transfer(verdicts, gold, with_one, resamples=0)["by"]) == {"department"}
    only = transfer(verdicts, gold, cases.drop(columns="institution"), resamples=0)
    assert set(only["by"]) == {"dataset"}
    summary = part_of(only, "summary")
    assert summary[["accuracy", "p_value", "i2", "prediction_low"]].isna().all(axis=None)
    assert summary["reason"].str.contains("one domain only").all()
    with pytest.raises(InputError, match="institution, dataset, department"):
        transfer(verdicts, gold, cases[["case_id"]], resamples=0)


def test_undefined_taus_of_permutations_are_left_out() -> None:
    """Of four permutations one ties all judges: the others expect 1/3, and one of them is as low as what was found."""
    tau = np.array([[1 / 3], [1.0], [np.nan], [1 / 3], [-1 / 3]])
    found = {name: values[0] for name, values in expected(tau).items()}
    assert (found["expected_low"], found["expected_high"]) == pytest.approx((-0.3, 0.95 + 0.05 / 3))
    assert found["p_value"] == pytest.approx(3 / 4)
    for nothing in (np.array([[np.nan], [1.0], [1.0]]), np.array([[1.0], [np.nan], [np.nan], [1.0]])):
        assert all(np.isnan(values[0]) for values in expected(nothing).values())


def test_cases_of_no_domain_do_not_count() -> None:
    verdicts, gold, cases = example()
    where = cases["institution"].where(np.arange(25) < 20)
    rows = transfer(verdicts, gold, cases.assign(institution=where), by="institution", policy="official", resamples=0)
    summary = part_of(rows, "summary").set_index("judge").loc["j"]
    assert (summary["n"], summary["n_unassigned"]) == (20, 5)
    assert (summary["n_domains"], summary["n_excluded"]) == (2, 0)


def test_four_small_domains_do_not_tell_that_nothing_varies() -> None:
    """Issue 42, fault 16: i2 "0.000 [0.000, 0.000]" of four domains of six cases."""
    rows = transfer(
        *tables_of(
            {("j", "AB"): "AAAABB" * 4, ("k", "AB"): "AAABBB" * 4}, "A" * 24, dataset=list(np.repeat([*"abcd"], 6))
        ),
        resamples=0,
    )
    summary = part_of(rows, "summary")
    assert (summary["i2"] == 0).all()
    assert summary[["i2_low", "i2_high"]].isna().all(axis=None)
    assert summary["reason"].str.contains("no interval of i2: domains are more alike than chance").all()
    assert "cannot tell" in TABLES["transfer"].says(rows)


def test_a_judge_of_other_cases_is_not_named_or_ranked() -> None:
    """Issue 42, fault 11: a poor judge that judged only the easiest cases had the highest mean of domains."""
    case = np.arange(200)
    easy = case % 5 == 0
    good = easy | (case % 10 < 7)
    right = {"good": good, "fair": good & (case % 10 != 1), "poor": np.where(easy, case % 25 != 0, -1)}
    rows = transfer(*judged(right, "AB" * 100, dataset=np.repeat(list("abcd"), 50)), resamples=50)
    summary = part_of(rows, "summary").set_index("judge")
    assert summary["accuracy"].idxmax() == "poor"
    assert summary["rank"].dropna().to_dict() == {"fair": 2, "good": 1}
    assert "not ranked" in summary["reason"]["poor"]
    text = TABLES["transfer"].says(rows)
    assert text.startswith("Overall, good ranks first of 2 judges")
    assert "1 of 3 judges are not ranked" in text
    assert set(rows.loc[rows["part"] == "ranking", "n"]) == {200}, "poor, which judged 40, is not compared"


def test_p_values_are_corrected_over_all_judges_and_over_all_domains() -> None:
    """Issue 42, fault 17: a difference between domains is stated only where the corrected test supports it."""
    generator = np.random.default_rng(8)
    right = {f"j{i:02d}": generator.random(400) < 0.7 for i in range(12)}
    rows = transfer(*judged(right, "AB" * 200, dataset=np.repeat(list("abcd"), 100)), resamples=60)
    summary = part_of(rows, "summary")
    assert set(summary["family"]) == {12}
    assert set(part_of(rows, "ranking")["family"]) == {4}
    assert (summary["p_value"] <= 0.1).any() and not (summary["p_adjusted"] <= 0.05).any()
    assert TABLES["transfer"].says(rows).endswith("No significant difference between domains.")


def random_sets(rows: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    variance = generator.uniform(0.2, 3.0, (rows, k))
    spread = generator.uniform(0, 1.5, (rows, 1))
    return generator.normal(0, np.sqrt(variance) + spread), variance


def test_a_missing_estimate_is_as_if_it_had_never_been_there() -> None:
    effect, variance = random_sets(5, 6, seed=2)
    holed = effect.copy()
    holed[:, 2] = np.nan
    whole, holes = pool(np.delete(effect, 2, 1), np.delete(variance, 2, 1)), pool(holed, variance)
    for name in set(whole._fields) - {"weight"}:
        assert getattr(holes, name) == pytest.approx(getattr(whole, name), abs=1e-12), name
    assert np.isnan(holes.weight[:, 2]).all()
    assert np.nansum(holes.weight, axis=1) == pytest.approx(np.ones(5))


def test_one_two_or_no_estimates() -> None:
    nan = np.nan
    effect = np.array([[1.0, nan, nan], [1.0, 2.0, nan], [nan, nan, nan]])
    found = pool(effect, np.ones((3, 3)))
    assert found.k.tolist() == [1, 2, 0]
    for name in set(found._fields) - {"k", "weight"}:
        values = getattr(found, name)
        assert np.isnan(values[[0, 2]]).all(), name
        assert np.isfinite(values[1]) != name.startswith("prediction"), name


def test_a_prediction_from_exact_estimates_is_students() -> None:
    """A new value from a normal sample: mean plus or minus t s sqrt(1 + 1/k)."""
    for k in (4, 6, 12, 30):
        effect = np.random.default_rng(k).normal(1, 2, (20, k))
        found = pool(effect, np.full(effect.shape, 1e-9))
        low, high = found.prediction_low, found.prediction_high
        scale = effect.std(axis=1, ddof=1) * np.sqrt(1 + 1 / k)
        expected = stats.t.interval(0.95, k - 1, loc=effect.mean(axis=1), scale=scale)
        assert (high - low) == pytest.approx(expected[1] - expected[0], rel=0.01 if k > 4 else 0.03)
        assert (high + low) / 2 == pytest.approx(effect.mean(axis=1), abs=0.01)


def test_a_prediction_where_nothing_varies_is_that_of_the_common_mean() -> None:
    """k estimates that are all the same: the variance between is 0 in nearly all of the confidence distribution."""
    found = pool(np.full((1, 40), 0.3), np.full((1, 40), 0.01))
    assert (found.prediction_low + found.prediction_high)[0] / 2 == pytest.approx(0.3)
    assert (found.prediction_high - found.prediction_low)[0] == pytest.approx(2 * 2.02 * np.sqrt(0.01 / 40), rel=0.02)
