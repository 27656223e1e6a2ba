"""The compact letter display, mean ranks, and Nemenyi's critical difference."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import studentized_range

from mrb_lib.stats.significance.lettering import critical_difference, letter_display, letters
from tests.stats.small_tables import accuracy, cases_of, gold_of, random_verdicts, significance, verdicts_of


def matrix(count: int, pairs: list[tuple[int, int]]) -> np.ndarray:
    out = np.zeros((count, count), dtype=bool)
    for i, j in pairs:
        out[i, j] = out[j, i] = True
    return out


@pytest.mark.parametrize(
    ("judges", "q"),
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (7, 2.949), (8, 3.031), (9, 3.102), (10, 3.164)],
)
def test_demsars_table_of_critical_values(judges: int, q: float) -> None:
    """Demsar (2006), table 5a, level 0.05."""
    n = 14
    assert critical_difference(judges, n) * np.sqrt(6 * n / (judges * (judges + 1))) == pytest.approx(q, abs=1.01e-3)


@pytest.mark.parametrize("judges", [2, 5, 32])
def test_the_quantile_is_scipys(judges: int) -> None:
    expected = studentized_range.ppf(0.95, judges, np.inf) * np.sqrt(judges * (judges + 1) / (12 * 100))
    assert critical_difference(judges, 100) == pytest.approx(expected, rel=1e-6)


def test_demsars_critical_difference() -> None:
    """Demsar (2006), section 3.2.2: four classifiers on 14 data sets, 2.569 sqrt(4 * 5 / (6 * 14)) = 1.25."""
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.005)


def test_a_display_worked_out_by_hand() -> None:
    """Of five in order, all that are more than one step apart differ: ab shared by neighbours, as in a ladder."""
    ladder = [(i, j) for i, j in combinations(range(5), 2) if j - i > 1]
    assert letter_display(matrix(5, ladder)) == ["a", "ab", "bc", "cd", "d"]
    assert letter_display(matrix(3, [])) == ["a", "a", "a"]
    assert letter_display(matrix(3, list(combinations(range(3), 2)))) == ["a", "b", "c"]


def test_piephos_point_that_lines_cannot_draw() -> None:
    """The first and the last differ neither from the middle nor among themselves, but the middle two do."""
    shown = letter_display(matrix(4, [(1, 2)]))
    assert shown == ["ab", "a", "b", "ab"]


def test_more_letters_than_the_alphabet() -> None:
    shown = letter_display(matrix(30, list(combinations(range(30), 2))))
    assert shown[25:28] == ["z", "A", "B"]


@given(st.integers(2, 9), st.integers(0, 2**36 - 1))
def test_two_share_a_letter_exactly_where_they_do_not_differ(count: int, flags: int) -> None:
    pairs = list(combinations(range(count), 2))
    differ = matrix(count, [pair for i, pair in enumerate(pairs) if flags >> i & 1])
    shown = [set(text) for text in letter_display(differ)]
    assert all(shown)
    for i, j in combinations(range(count), 2):
        assert bool(shown[i] & shown[j]) == (not differ[i, j])
    columns = {letter: {i for i, text in enumerate(shown) if letter in text} for letter in set().union(*shown)}
    assert not any(one < other for one in columns.values() for other in columns.values())


def planted(n: int = 200):
    """A good judge, two middling ones with the same answers but for two cases, and a bad one."""
    generator = np.random.default_rng(0)
    middle = generator.random(n) < 0.6
    near = middle.copy()
    near[:2] ^= True
    right = {"good": generator.random(n) < 0.9, "middle": middle, "near": near, "bad": generator.random(n) < 0.2}
    shown = {(name, "AB"): "".join(np.where(text, "A", "B")) for name, text in right.items()}
    return verdicts_of(shown), gold_of("A" * n), cases_of(n)


def test_letters_are_those_of_the_adjusted_tests() -> None:
    rows = letters(*planted(), resamples=100)
    assert rows["judge"].tolist()[0] == "good"
    assert rows["judge"].tolist()[-1] == "bad"
    assert rows["letters"].tolist() == ["a", "b", "b", "c"]
    assert rows["with_best"].tolist() == [True, False, False, False]
    assert rows["accuracy"].is_monotonic_decreasing
    assert rows["mean_rank"].is_monotonic_increasing
    assert rows["mean_rank"].sum() == pytest.approx(1 + 2 + 3 + 4)
    assert (rows["family"] == 6).all()
    assert rows["critical_difference"].nunique() == 1
    assert (rows["low"] <= rows["accuracy"]).all()


def test_clusters_take_the_test_that_knows_of_them() -> None:
    verdicts, gold, cases = planted()
    cases["cluster"] = np.arange(200) // 20
    rows = letters(verdicts, gold, cases, resamples=0, correction="none").set_index("judge")
    assert (rows["test"] == "permutation_cluster").all()
    assert rows["critical_difference"].isna().all()
    assert rows["reason"].str.contains("as independent").all()
    pairs = significance(verdicts, gold, cases, resamples=0)
    for row in pairs[pairs["part"] == "pair"].itertuples():
        shared = set(rows.loc[row.judge_1, "letters"]) & set(rows.loc[row.judge_2, "letters"])
        assert bool(shared) == (not row.permutation_p <= 0.05)
    best = rows.index[0]
    for name, row in rows.iterrows():
        assert row["with_best"] == bool(set(row["letters"]) & set(rows.loc[best, "letters"])), name


def test_judges_that_differ_alike_in_every_cluster_share_no_letter() -> None:
    """Between the perfect and the worthless judge no cluster departs from the mean: no t test, but a difference."""
    middle = "".join(np.random.default_rng(0).choice(list("AB"), 100))
    verdicts = verdicts_of({("perfect", "AB"): "A" * 100, ("worthless", "AB"): "B" * 100, ("middle", "AB"): middle})
    cases = cases_of(100, cluster=list(np.repeat(np.arange(20), 5)))
    rows = letters(verdicts, gold_of("A" * 100), cases, resamples=50)
    assert rows["judge"].tolist() == ["perfect", "middle", "worthless"]
    assert rows["letters"].tolist() == ["a", "b", "c"]


def test_a_family_of_all_dimensions_is_corrected_together() -> None:
    generator = np.random.default_rng(3)
    one, other = (random_verdicts(generator, 30, 3) for _ in range(2))
    both = pd.concat([one, other.assign(dimension="accuracy")])
    gold = pd.concat([gold_of("AB" * 15), gold_of("AB" * 15, "accuracy")])
    rows = letters(both, gold, cases_of(30), family="all", resamples=0)
    assert (rows["family"] == 6).all()
    assert (rows["family_scope"] == "all").all()
    assert rows["dimension"].drop_duplicates().tolist() == ["accuracy", "overall"]


def test_one_judge_has_no_letters() -> None:
    row = letters(verdicts_of({("j", "AB"): "AAB"}), gold_of("AAA"), cases_of(3), resamples=50).iloc[0]
    assert row[["letters", "with_best", "mean_rank", "critical_difference", "test"]].isna().all()
    assert "one judge only" in row["reason"]
    assert row["accuracy"] == pytest.approx(2 / 3)


def test_judges_without_common_cases_are_not_shown_to_differ() -> None:
    verdicts = verdicts_of({("a", "AB"): "AA--", ("b", "AB"): "--BB"})
    rows = letters(verdicts, gold_of("AAAA"), cases_of(4), resamples=50)
    assert rows["letters"].tolist() == ["a", "a"]
    assert rows["reason"].str.contains("no mean_rank").all()
    assert rows["reason"].str.contains("could not be tested").all()
    assert rows["critical_difference"].isna().all()


def test_a_judge_that_always_gives_one_label_is_named() -> None:
    """Half of gold is a tie: by mean scores a constant is first, and the row says that no more is shown of it."""
    generator = np.random.default_rng(3)
    truth = generator.choice(list("ABTT"), 200)
    good = np.where(generator.random(200) < 0.9, truth, "A")
    weak = np.where(generator.random(200) < 0.8, generator.choice(list("AB"), 200), truth)
    judges = {"constant": "T" * 200, "good": "".join(good), "weak": "".join(weak)}
    verdicts = verdicts_of({(name, order): text for name, text in judges.items() for order in ("AB", "BA")})
    asked = {"verdicts": verdicts, "gold": gold_of("".join(truth)), "cases": cases_of(200), "resamples": 50}
    rows = letters(**asked, offered=("A", "B", "tie")).set_index("judge")
    assert rows["accuracy"].rank(ascending=False)["constant"] == 2
    beside = accuracy(**asked, offered=("A", "B", "tie")).set_index("judge").loc[rows.index]
    ends = ["above_constant", "above_constant_low", "above_constant_high"]
    pd.testing.assert_frame_equal(rows[ends], beside[ends])
    named = rows["reason"].fillna("").str.contains("not shown to be more accurate than saying tie always")
    assert named[["good", "weak", "constant"]].tolist()[:2] == [False, True]
    assert letters(**asked)["above_constant"].isna().all()
