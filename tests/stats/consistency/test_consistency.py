from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

from mrb_lib.stats.consistency import consistency
from mrb_lib.stats.consistency import table as module
from tests.stats.small_tables import cases_of, random_verdicts, verdicts_of

NAMES = ("n", "coverage", "consistency", "first_rate", "position_bias")


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


def test_order_kappa_equals_scikit_learn() -> None:
    generator = np.random.default_rng(6)
    ab, ba = ("".join(generator.choice(list("AABT"), 50)) for _ in range(2))
    row = measured(ab, ba)
    assert row["order_kappa"] == pytest.approx(cohen_kappa_score(list(ab), list(ba)))
    assert row["consistency"] == pytest.approx(np.mean([a == b for a, b in zip(ab, ba, strict=True)]))


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
    assert (row["n"], row["n_presented"]) == (2, 3)
    assert row["consistency"] == pytest.approx((1 + 0) / 2)


def test_repeats_with_any_numbers_are_repeats() -> None:
    shown = {("j", "AB", 7): "AB", ("j", "AB", 9): "AA"}
    row = consistency(verdicts_of(shown), cases_of(2)).iloc[0]
    assert row["repeat_agreement"] == 0.5


def test_what_one_order_cannot_tell_is_null_with_its_reason() -> None:
    row = consistency(verdicts_of({("j", "AB"): "AAB"}), cases_of(3)).iloc[0]
    names = ["coverage", "consistency", "order_kappa", "position_bias", "position_bias_low", "repeat_agreement"]
    assert row[names].isna().all()
    assert row["first_rate"] == pytest.approx(2 / 3)
    assert "no case was presented in both orders" in row["reason"]
    silent = consistency(verdicts_of({("j", "AB"): "??", ("j", "BA"): "AA"}), cases_of(2)).iloc[0]
    assert (silent["n"], silent["coverage"]) == (0, 0)
    assert "no case was answered in both orders" in silent["reason"]
    ties = consistency(verdicts_of({("j", "AB"): "TT", ("j", "BA"): "TT"}), cases_of(2)).iloc[0]
    assert np.isnan(ties["first_rate"])
    assert (ties["tie_rate"], ties["consistency"], ties["n_first"]) == (1, 1, 0)
    assert "no verdict is decisive" in ties["reason"]


def test_subfields_add_up() -> None:
    generator = np.random.default_rng(1)
    organ = list(generator.choice(["eye", "lung"], 30))
    rows = consistency(random_verdicts(generator, 30, 2), cases_of(30, organ=organ), by="organ")
    whole, parts = rows[rows["subfield"].isna()].set_index("judge"), rows[rows["subfield"].notna()]
    for name in ("n", "n_presented", "n_first"):
        assert parts.groupby("judge")[name].sum().tolist() == whole[name].tolist()
    weighted = (parts["consistency"] * parts["n"]).groupby(parts["judge"]).sum()
    assert weighted.to_numpy() == pytest.approx((whole["consistency"] * whole["n"]).to_numpy())
    assert (whole["position_bias_low"] <= whole["position_bias"]).all()
    assert (whole["position_bias"] <= whole["position_bias_high"]).all()


def test_ties_by_order_and_three_ways_to_count_them() -> None:
    row = measured("TTAABBT?", "TABABTTA")
    assert (row["tie_rate_ab"], row["tie_rate_ba"]) == (3 / 7, 3 / 8)
    assert row["consistency"] == pytest.approx(4 / 7)
    assert row["consistency_half"] == pytest.approx((4 + 2 / 2) / 7)
    assert row["consistency_decisive"] == pytest.approx(2 / 3)
    clear = measured("AABB", "ABBA")
    assert clear["consistency"] == clear["consistency_half"] == clear["consistency_decisive"] == 0.5


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
    assert "position_preference and position_noise are undefined" in row["reason"]


def test_many_judges_at_a_time_or_one_at_a_time_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = random_verdicts(np.random.default_rng(2), 20, 4, repeats=2)
    together = consistency(verdicts, cases_of(20, organ=["eye", "lung"] * 10), by="organ")
    monkeypatch.setattr(module, "_AT_ONCE", 1)
    alone = consistency(verdicts, cases_of(20, organ=["eye", "lung"] * 10), by="organ")
    pd.testing.assert_frame_equal(together, alone)


INTERVALS = [name.removesuffix("_low") for name in module.COLUMNS if name.endswith("_low")]


def test_a_judge_that_is_always_consistent_is_not_certain_to_be() -> None:
    """Wilson's interval of n out of n; that of kappa is what it leaves of the disagreement expected by chance."""
    cases = cases_of(60).assign(question=[f"q{i}" for i in range(60)])
    row = consistency(verdicts_of({("j", "AB"): "AABB" * 15, ("j", "BA"): "AABB" * 15}), cases).iloc[0]
    low, high = proportion_confint(60, 60, method="wilson")
    for name in ("consistency", "consistency_decisive", "consistency_half"):
        assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx((low, high), abs=1e-9)
    assert (row["ipi_low"], row["ipi_high"]) == pytest.approx((0, 1 - low), abs=1e-9)
    assert row["order_kappa_low"] == pytest.approx(1 - (1 - low) / 0.5, abs=1e-9)
    assert row["position_bias_low"] == pytest.approx(-row["position_bias_high"], abs=1e-9)
    assert 0 < row["position_bias_high"] == pytest.approx(1 - low, abs=1e-9)
    assert row["first_rate_low"] < 0.5 < row["first_rate_high"]


def test_intervals_of_kappa_have_the_standard_error_of_statsmodels() -> None:
    generator = np.random.default_rng(3)
    n = 2000
    ab, ba = ("".join(letters) for letters in np.stack([generator.choice(list("AABT"), n) for _ in range(2)]))
    ba = "".join(b if generator.random() < 0.5 else a for a, b in zip(ab, ba, strict=True))
    row = measured(ab, ba)
    table = pd.crosstab(pd.Series(list(ab)), pd.Series(list(ba))).to_numpy()
    expected = cohens_kappa(table)
    assert row["order_kappa"] == pytest.approx(expected.kappa)
    assert row["order_kappa_high"] - row["order_kappa_low"] == pytest.approx(2 * 1.96 * expected.std_kappa, rel=0.005)


@pytest.mark.parametrize("clustered", [False, True])
def test_a_subfield_has_the_rows_it_would_have_alone(clustered: bool) -> None:
    generator = np.random.default_rng(4)
    n = 60
    cases = cases_of(n, organ=list(generator.choice(["eye", "lung", None], n))).assign(
        question=generator.choice([f"q{i}" for i in range(40)], n)
    )
    if clustered:
        cases["cluster"] = generator.choice(list("abcdefghij"), n)
    verdicts = random_verdicts(generator, n, 2, repeats=2)
    rows = consistency(verdicts, cases, by="organ")
    for organ in ("eye", "lung"):
        kept = cases[cases["organ"] == organ]
        alone = consistency(verdicts[verdicts["case_id"].isin(kept["case_id"])], kept.reset_index(drop=True))
        here = rows[rows["subfield"] == organ].reset_index(drop=True)
        names = [name for name in rows.columns if name not in ("by", "subfield", "n_unassigned")]
        if clustered:  # a question links clusters of the whole benchmark, of which a subfield sees a part
            names = [name for name in names if not name.startswith("ipi") and name != "reason"]
        pd.testing.assert_frame_equal(here[names], alone[names])


def test_a_null_interval_has_its_reason() -> None:
    one = consistency(verdicts_of({("j", "AB"): "A", ("j", "BA"): "A"}), cases_of(1)).iloc[0]
    assert one[["consistency_low", "position_bias_low", "first_rate_low"]].isna().all()
    assert "no interval: fewer than two cases" in one["reason"]
    alike = consistency(verdicts_of({("j", "AB"): "AB", ("j", "BA"): "AB"}), cases_of(2, cluster=["x", "x"])).iloc[0]
    assert "no interval: all cases are in one cluster" in alike["reason"]


def test_cases_that_do_not_differ_are_no_certainty() -> None:
    """Each case is consistent in one of two repeats: one half, as Wilson has it of two out of four."""
    shown = {("j", "AB", 0): "AAAA", ("j", "BA", 0): "AAAA", ("j", "AB", 1): "AAAA", ("j", "BA", 1): "BBBB"}
    row = consistency(verdicts_of(shown), cases_of(4)).iloc[0]
    assert row["consistency"] == 0.5
    assert (row["consistency_low"], row["consistency_high"]) == pytest.approx(proportion_confint(2, 4, method="wilson"))
    assert row["position_bias_low"] < row["position_bias"] == 0.5 < row["position_bias_high"]


@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([None, "cluster"]))
@settings(max_examples=15, deadline=None)
def test_intervals_hold_their_estimates_and_nulls_are_explained(seed: int, n: int, cluster: str | None) -> None:
    generator = np.random.default_rng(seed)
    cases = cases_of(n, cluster=list(generator.choice(["x", "y", "z"], n))).assign(
        question=generator.choice(["p", "q"], n)
    )
    if cluster is None:
        cases = cases.drop(columns="cluster")
    for _, row in consistency(random_verdicts(generator, n, 2, repeats=2), cases).iterrows():
        for name in INTERVALS:
            value, low, high = row[[name, f"{name}_low", f"{name}_high"]]
            if np.isnan(low):
                assert row["reason"] is not None
                assert np.isnan(value) or "no interval" in row["reason"]
            else:
                assert low <= value <= high
                assert low < high
