from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from mrb_lib.stats import intervals
from mrb_lib.stats.estimation import Sampling, estimate, mean
from tests.stats.small_tables import cases_of, rows_of, verdicts_of


def consistency(shown: Mapping[Any, str]) -> pd.DataFrame:
    return rows_of("consistency", cases_of(len(next(iter(shown.values())))), verdicts_of(shown))


def measured(ab: str, ba: str) -> pd.Series:
    return consistency({("j", "AB"): ab, ("j", "BA"): ba}).iloc[0]


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
    names = ["n", "coverage", "consistency", "first_rate", "position_bias"]
    assert measured(ab, ba)[names].tolist() == pytest.approx(list(expected))


@given(st.lists(st.sampled_from([a + b for a in "ABT" for b in "ABT"]), min_size=2, max_size=8))
@settings(max_examples=15, deadline=None)
def test_a_consistent_judge_has_no_position_bias_and_a_mirrored_one_the_opposite(pairs: list[str]) -> None:
    ab, ba = ("".join(column) for column in zip(*pairs, strict=True))
    shown = {"same": ab, ("j", "AB"): ab, ("j", "BA"): ba, ("k", "AB"): ba, ("k", "BA"): ab}
    found = consistency(shown).set_index("judge")["position_bias"]
    assert found["same"] == 0
    assert found["j"] == pytest.approx(-found["k"])
    assert -1 <= found["j"] <= 1


def test_repeats_are_compared_within_an_order_and_averaged_over_cases() -> None:
    shown = {("j", "AB", 0): "AAA", ("j", "AB", 1): "ABA", ("j", "AB", 2): "AB-", ("j", "BA", 0): "AB?"}
    row = consistency(shown).iloc[0]
    assert row["repeat_agreement"] == pytest.approx((1 + 1 / 3 + 1) / 3)
    assert (row["n"], row["coverage"]) == (2, 2 / 3)
    assert row["consistency"] == pytest.approx((1 + 0) / 2)


def test_repeats_with_any_numbers_are_repeats() -> None:
    rows = consistency({("j", "AB", 7): "AB", ("j", "AB", 9): "AA"})
    assert rows["repeat_agreement"].tolist() == [0.5]


def test_what_one_order_cannot_tell_is_null_with_its_reason() -> None:
    assert consistency({("j", "AB"): "AAB"})["first_rate"].tolist() == pytest.approx([2 / 3])
    silent = measured("??", "AA")
    assert (silent["n"], silent["coverage"]) == (0, 0)
    assert "no case was answered in both orders" in silent["reason"]
    ties = measured("TT", "TT")
    assert np.isnan(ties["first_rate"])
    assert (ties["tie_rate"], ties["consistency"]) == (1, 1)
    assert "no verdict is decisive" in ties["reason"]


def test_ties_and_two_ways_to_count_them() -> None:
    row = measured("TTAABBT?", "TABABTTA")
    assert row["tie_rate"] == 6 / 15
    assert row[["consistency", "consistency_decisive"]].tolist() == pytest.approx([4 / 7, 2 / 3])
    clear = measured("AABB", "ABBA")
    assert clear["consistency"] == clear["consistency_decisive"] == 0.5


def split(ab: list[str], ba: list[str]) -> tuple[float, float]:
    """Preference and noise of a judge by its repeats in both orders."""
    row = consistency({("j", order, i): text for order, own in (("AB", ab), ("BA", ba)) for i, text in enumerate(own)})
    return tuple(row.iloc[0][["position_preference", "position_noise"]])


@pytest.mark.parametrize(
    ("ab", "ba", "expected"),
    [
        pytest.param(["AABB", "AABB"], ["AABB", "AABB"], (0, 0), id="neither"),
        pytest.param(["AAAA", "AAAA"], ["BBBB", "BBBB"], (1, 0), id="always the first"),
        pytest.param(["AABB", "AABB"], ["ABBA", "ABBA"], (0.5, 0), id="the first in half of the cases"),
        pytest.param(["AB", "BA"], ["BA", "AB"], (-0.5, 1), id="noise alone"),
    ],
)
def test_preference_and_noise_of_judges_that_have_only_one(ab: list[str], ba: list[str], expected: tuple) -> None:
    assert split(ab, ba) == pytest.approx(expected)


def test_preference_and_noise_add_up_to_the_verdicts_that_differ() -> None:
    ab, ba = np.random.default_rng(8).choice(list("ABT"), (2, 3, 30))
    preference, noise = split(["".join(row) for row in ab], ["".join(row) for row in ba])
    within = [(own[i] != own[j]).mean() for own in (ab, ba) for i in range(3) for j in range(i)]
    assert preference + noise == pytest.approx((ab[:, None] != ba).mean())
    assert noise == pytest.approx(np.mean(within))


def test_one_repeat_cannot_tell_preference_from_noise() -> None:
    row = measured("AB", "BB")
    assert row["n_repeated"] == 0
    assert row[["position_preference", "position_noise", "position_noise_low"]].isna().all()
    assert "position_preference and position_noise: no case was answered twice" in row["reason"]


def test_a_judge_that_is_always_consistent_is_not_certain_to_be() -> None:
    """Wilson's interval of n out of n."""
    row = measured("AABB" * 15, "AABB" * 15)
    low, high = proportion_confint(60, 60, method="wilson")
    assert row[["consistency_low", "consistency_high"]].tolist() == pytest.approx([low, high], abs=1e-9)
    assert row[["position_bias_low", "position_bias_high"]].tolist() == pytest.approx([low - 1, 1 - low], abs=1e-9)
    assert row["first_rate_low"] < 0.5 < row["first_rate_high"]


def test_cases_that_do_not_differ_are_no_certainty() -> None:
    """Each case is consistent in one of two repeats: one half, as Wilson has it of two out of four."""
    shown = {("j", "AB", 0): "AAAA", ("j", "BA", 0): "AAAA", ("j", "AB", 1): "AAAA", ("j", "BA", 1): "BBBB"}
    row = consistency(shown).iloc[0]
    assert row["consistency"] == 0.5
    assert (row["consistency_low"], row["consistency_high"]) == pytest.approx(proportion_confint(2, 4, method="wilson"))
    assert row["position_bias_low"] < row["position_bias"] == 0.5 < row["position_bias_high"]


def mean_of(values: np.ndarray) -> Any:
    """The estimate of a mean of independent cases."""
    return estimate(mean(values[:, None]), Sampling(np.arange(len(values)), np.zeros((0, len(values)))))


@pytest.mark.parametrize(
    ("only_first", "only_second", "n", "low", "high"),
    [(1, 7, 21, -0.517, -0.026), (6, 16, 161, -0.1240, -0.0054)],
)
def test_tango_interval_of_textbook_tables(only_first: int, only_second: int, n: int, low: float, high: float) -> None:
    """Fagerland, Lydersen and Laake, Statistical Analysis of Contingency Tables (2017), chapter 8.

    Airway hyper-responsiveness before and after transplantation (Bentur et al. 2009), and complete response before
    and after consolidation therapy (Cavo et al. 2012): Tango's asymptotic score intervals, to the digits printed.
    """
    e = mean_of(np.repeat([1.0, -1.0, 0.0], [only_first, only_second, n - only_first - only_second]))
    found = intervals.lean(replace(e, error=np.sqrt(e.variance / n), df=np.array([np.inf])))
    assert [found.low[0], found.high[0]] == pytest.approx([low, high], abs=0.0005 if n == 21 else 0.00005)
