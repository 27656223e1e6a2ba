from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from mrb_lib.stats import intervals
from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.estimation import Sampling, estimate, mean
from tests.stats.small_tables import cases_of, rows_of, verdicts_of

NAMES = ("n", "coverage", "consistency", "first_rate", "position_bias")


def consistency(verdicts: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    return rows_of("consistency", cases, verdicts, **options)


def measured(ab: str, ba: str) -> dict[str, float]:
    rows = consistency(verdicts_of({("j", "AB"): ab, ("j", "BA"): ba}), cases_of(len(ab)))
    return rows.iloc[0].to_dict()


@pytest.mark.parametrize(
    ("ab", "ba", "expected"),
    [
        ("ABAB", "ABAB", (4, 1, 1, 0.5, 0)),
        ("AAAA", "BBBB", (4, 1, 0, 1, 1)),
        ("BBBB", "AAAA", (4, 1, 0, 0, -1)),
        ("TTAB", "TTAB", (4, 1, 1, 0.5, 0)),
        ("AT", "TT", (2, 1, 0.5, 1, 0.25)),
        ("AB?A", "AB-?", (2, 2 / 3, 1, 3 / 5, 0)),
        ("A?", "B?", (1, 0.5, 0, 1, 1)),
    ],
)
def test_worked_cases(ab: str, ba: str, expected: tuple[float, ...]) -> None:
    row = measured(ab, ba)
    assert [row[name] for name in NAMES] == pytest.approx(expected)


@given(st.lists(st.tuples(st.sampled_from("ABT"), st.sampled_from("ABT")), min_size=2, max_size=8))
@settings(max_examples=15, deadline=None)
def test_a_consistent_judge_has_no_position_bias_and_a_mirrored_one_the_opposite(pairs: list[tuple[str, str]]) -> None:
    ab, ba = ("".join(column) for column in zip(*pairs, strict=True))
    shown = {("same", "AB"): ab, ("same", "BA"): ab, ("j", "AB"): ab, ("j", "BA"): ba, ("k", "AB"): ba, ("k", "BA"): ab}
    found = consistency(verdicts_of(shown), cases_of(len(ab))).set_index("judge")["position_bias"]
    assert found["same"] == 0
    assert found["j"] == pytest.approx(-found["k"])
    assert -1 <= found["j"] <= 1


def test_repeats_are_compared_within_an_order_and_averaged_over_cases() -> None:
    shown = {("j", "AB", 0): "AAA", ("j", "AB", 1): "ABA", ("j", "AB", 2): "AB-", ("j", "BA", 0): "AB?"}
    row = consistency(verdicts_of(shown), cases_of(3)).iloc[0]
    assert row["repeat_agreement"] == pytest.approx((1 + 1 / 3 + 1) / 3)
    assert (row["n"], row["coverage"]) == (2, 2 / 3)
    assert row["consistency"] == pytest.approx((1 + 0) / 2)


def test_repeats_with_any_numbers_are_repeats() -> None:
    shown = {("j", "AB", 7): "AB", ("j", "AB", 9): "AA"}
    rows = consistency(verdicts_of(shown), cases_of(2))
    assert rows["repeat_agreement"].tolist() == [0.5]
    said = TABLES["consistency"].says(rows)
    assert "makes the same choice when asked again on 50%" in said
    assert said.endswith("of cases.")


def test_what_one_order_cannot_tell_is_null_with_its_reason() -> None:
    row = consistency(verdicts_of({("j", "AB"): "AAB"}), cases_of(3)).iloc[0]
    names = ["coverage", "consistency", "position_bias", "position_bias_low", "p_value", "repeat_agreement"]
    assert row[names].isna().all()
    assert row["first_rate"] == pytest.approx(2 / 3)
    assert "no case was presented in both orders" in row["reason"]
    silent = consistency(verdicts_of({("j", "AB"): "??", ("j", "BA"): "AA"}), cases_of(2)).iloc[0]
    assert (silent["n"], silent["coverage"]) == (0, 0)
    assert "no case was answered in both orders" in silent["reason"]
    ties = consistency(verdicts_of({("j", "AB"): "TT", ("j", "BA"): "TT"}), cases_of(2)).iloc[0]
    assert np.isnan(ties["first_rate"])
    assert (ties["tie_rate"], ties["consistency"]) == (1, 1)
    assert "no verdict is decisive" in ties["reason"]


def test_ties_and_two_ways_to_count_them() -> None:
    row = measured("TTAABBT?", "TABABTTA")
    assert row["tie_rate"] == 6 / 15
    assert row["consistency"] == pytest.approx(4 / 7)
    assert row["consistency_decisive"] == pytest.approx(2 / 3)
    clear = measured("AABB", "ABBA")
    assert clear["consistency"] == clear["consistency_decisive"] == 0.5


def split(ab: tuple[str, ...], ba: tuple[str, ...]) -> tuple[float, float]:
    shown = {("j", order, i): letters for order, all_of in (("AB", ab), ("BA", ba)) for i, letters in enumerate(all_of)}
    row = consistency(verdicts_of(shown), cases_of(len(ab[0]))).iloc[0]
    return row["position_preference"], row["position_noise"]


def test_preference_and_noise_of_judges_that_have_only_one() -> None:
    assert split(("AABB", "AABB"), ("AABB", "AABB")) == (0, 0)
    assert split(("AAAA", "AAAA"), ("BBBB", "BBBB")) == (1, 0)
    assert split(("AABB", "AABB"), ("ABBA", "ABBA")) == (0.5, 0)
    preference, noise = split(("AB", "BA"), ("BA", "AB"))
    assert preference + noise == pytest.approx(0.5)
    assert noise == 1


def test_preference_and_noise_add_up_to_the_verdicts_that_differ() -> None:
    generator = np.random.default_rng(8)
    ab, ba = (["".join(generator.choice(list("ABT"), 30)) for _ in range(3)] for _ in range(2))
    preference, noise = split(tuple(ab), tuple(ba))
    differing = np.mean([[a != b for a, b in zip(first, second, strict=True)] for first in ab for second in ba])
    within = [
        np.mean([a != b for a, b in zip(o[i], o[j], strict=True)]) for o in (ab, ba) for i in range(3) for j in range(i)
    ]
    assert preference + noise == pytest.approx(differing)
    assert noise == pytest.approx(np.mean(within))


def test_one_repeat_cannot_tell_preference_from_noise() -> None:
    row = consistency(verdicts_of({("j", "AB"): "AB", ("j", "BA"): "BB"}), cases_of(2)).iloc[0]
    assert row["n_repeated"] == 0
    assert row[["position_preference", "position_noise", "position_noise_low"]].isna().all()
    assert "position_preference and position_noise: no case was answered twice" in row["reason"]


def test_a_judge_that_is_always_consistent_is_not_certain_to_be() -> None:
    """Wilson's interval of n out of n."""
    cases = cases_of(60).assign(question=[f"q{i}" for i in range(60)])
    row = consistency(verdicts_of({("j", "AB"): "AABB" * 15, ("j", "BA"): "AABB" * 15}), cases).iloc[0]
    low, high = proportion_confint(60, 60, method="wilson")
    assert (row["consistency_low"], row["consistency_high"]) == pytest.approx((low, high), abs=1e-9)
    assert row["position_bias_low"] == pytest.approx(-row["position_bias_high"], abs=1e-9)
    assert 0 < row["position_bias_high"] == pytest.approx(1 - low, abs=1e-9)
    assert row["first_rate_low"] < 0.5 < row["first_rate_high"]


def test_cases_that_do_not_differ_are_no_certainty() -> None:
    """Each case is consistent in one of two repeats: one half, as Wilson has it of two out of four."""
    shown = {("j", "AB", 0): "AAAA", ("j", "BA", 0): "AAAA", ("j", "AB", 1): "AAAA", ("j", "BA", 1): "BBBB"}
    row = consistency(verdicts_of(shown), cases_of(4)).iloc[0]
    assert row["consistency"] == 0.5
    assert (row["consistency_low"], row["consistency_high"]) == pytest.approx(proportion_confint(2, 4, method="wilson"))
    assert row["position_bias_low"] < row["position_bias"] == 0.5 < row["position_bias_high"]


@pytest.mark.parametrize(
    ("only_first", "only_second", "n", "low", "high"),
    [(1, 7, 21, -0.517, -0.026), (6, 16, 161, -0.1240, -0.0054)],
)
def test_tango_interval_of_textbook_tables(only_first: int, only_second: int, n: int, low: float, high: float) -> None:
    """Fagerland, Lydersen and Laake, Statistical Analysis of Contingency Tables (2017), chapter 8.

    Airway hyper-responsiveness before and after transplantation (Bentur et al. 2009), and complete response before
    and after consolidation therapy (Cavo et al. 2012): Tango's asymptotic score intervals, to the digits printed.
    """
    values = np.repeat([1.0, -1.0, 0.0], [only_first, only_second, n - only_first - only_second])[:, None]
    e = estimate(mean(values), Sampling(np.arange(n), np.zeros((0, n))))
    asymptotic = replace(e, error=np.sqrt(e.variance / n), df=np.array([np.inf]))
    found = intervals.lean(asymptotic)
    assert [found.low[0], found.high[0]] == pytest.approx([low, high], abs=0.0005 if n == 21 else 0.00005)


def mean_of(values: np.ndarray, clusters: int | None = None) -> Any:
    """The estimate of a mean, of so many clusters of cases."""
    n = len(values)
    codes = np.arange(n) % (clusters or n)
    return estimate(mean(values[:, None]), Sampling(codes, np.zeros((0, clusters or n))))


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 1.0])
def test_where_every_case_leans_it_is_the_interval_of_a_share(share: float) -> None:
    values = np.where(np.arange(100) < 100 * share, 1.0, -1.0)
    found, expected = intervals.lean(mean_of(values)), intervals.proportion(mean_of((values + 1) / 2))
    assert [found.low[0], found.high[0]] == pytest.approx([2 * end[0] - 1 for end in expected[:2]], abs=1e-9)


def test_favourites_are_counted_by_tests_corrected_over_all_judges() -> None:
    """One of six judges always takes the first; the others lean by chance."""
    generator = np.random.default_rng(1)
    shown = {("swayed", "AB"): "A" * 40, ("swayed", "BA"): "B" * 40}
    for judge in range(5):
        shown |= {(f"j{judge}", order): "".join(generator.choice(list("ABT"), 40)) for order in ("AB", "BA")}
    rows = consistency(verdicts_of(shown), cases_of(40))
    assert (rows["family"] == 6).all()
    assert TABLES["consistency"].says(rows).endswith("(swayed). 1 of 6 judges significantly favours one position.")
