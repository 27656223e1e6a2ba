from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.tournaments import fewest_changes, most_violations, questions, tournaments
from tests.stats.small_tables import rows_of, verdicts_of


def weak_orders(n: int) -> set[tuple[int, ...]]:
    """All rankings of n items with ties, as the relation of each pair: 0 above, 1 below, 2 level."""
    return {
        tuple(0 if ranks[i] < ranks[j] else 1 if ranks[i] > ranks[j] else 2 for i, j in combinations(range(n), 2))
        for ranks in product(range(n), repeat=n)
    }


@pytest.mark.parametrize(("n", "fubini"), [(2, 3), (3, 13), (4, 75), (5, 541)])
def test_the_fewest_changes_are_those_of_the_nearest_of_all_weak_orders(n: int, fubini: int) -> None:
    """The numbers of weak orders are the ordered Bell numbers, OEIS A000670."""
    orders = weak_orders(n)
    assert len(orders) == fubini
    cost = np.random.default_rng(n).integers(0, 3, (3, n * (n - 1) // 2, 40)).astype(np.int16)
    nearest = np.min([sum(cost[kind, pair] for pair, kind in enumerate(order)) for order in orders], axis=0)
    assert fewest_changes(cost, n).tolist() == nearest.tolist()


def question_of(*pairs: str, question: str = "q") -> pd.DataFrame:
    return pd.DataFrame(
        [(f"c{i}", question, pair[0], pair[1]) for i, pair in enumerate(pairs)],
        columns=["case_id", "question", "response_a", "response_b"],
    )


def judged(cases: pd.DataFrame, ab: str, ba: str) -> pd.Series:
    return rows_of("consistency", cases, verdicts_of({("j", "AB"): ab, ("j", "BA"): ba})).iloc[0]


@pytest.mark.parametrize(
    ("ab", "ba", "ipi", "tov", "intransitive"),
    [
        ("AAA", "AAA", 0, 0, 0),
        ("ABA", "ABA", 0, 2, 2),
        ("TTT", "TTT", 0, 0, 0),
        ("TTA", "TTA", 0, 2, 2),
        ("AAA", "AAB", 1 / 3, 1, 0),
        ("AAA", "BBB", 1, 3, 0),
        ("AAB", "BBB", 2 / 3, 2, 0),
    ],
)
def test_three_responses(ab: str, ba: str, ipi: float, tov: float, intransitive: float) -> None:
    """Pairs xy, xz, yz: AAA is x > y > z; ABA a cycle, which one pair, twice judged, must give up."""
    row = judged(question_of("xy", "xz", "yz"), ab, ba)
    assert (row["n_questions"], row["n_tournaments"]) == (1, 1)
    assert (row["ipi"], row["tov"], row["tov_intransitive"]) == pytest.approx((ipi, tov, intransitive))


def test_sides_of_a_case_do_not_matter() -> None:
    straight = judged(question_of("xy", "xz", "yz"), "AAT", "ABB")
    turned = judged(question_of("yx", "xz", "zy"), "BAT", "BBA")
    assert straight["tov"] == turned["tov"] > 0
    assert straight["ipi"] == turned["ipi"]


def test_ipi_is_a_mean_over_questions_of_means_over_their_pairs() -> None:
    cases = pd.concat([question_of("xy", "xz", "yz"), question_of("uv", question="r")], ignore_index=True)
    cases["case_id"] = [f"c{i}" for i in range(4)]
    row = judged(cases, "AAAA", "AABB")
    assert (row["n_questions"], row["n_tournaments"]) == (2, 1)
    assert row["ipi"] == pytest.approx((1 / 3 + 1) / 2)
    assert row["consistency"] == pytest.approx(0.5)


def test_tov_needs_every_pair_in_both_orders() -> None:
    for pairs, ab, ba in (
        (("xy", "xz"), "AA", "AA"),
        (("xy", "xz", "yz"), "AA?", "AAA"),
        (("xy", "xz", "yz"), "AAA", "AA-"),
    ):
        row = judged(question_of(*pairs), ab, ba)
        assert row["n_tournaments"] == 0
        assert np.isnan(row["tov"])
        assert "tov: no question has 3 to 8 responses" in row["reason"]


def test_questions_differ_by_their_images() -> None:
    cases = question_of("xy", "xz", "yz").assign(images=[["1.png"], ["1.png"], ["2.png"]])
    assert questions(cases).tolist() == [0, 0, 1]
    assert tournaments(cases, questions(cases)).empty
    assert questions(cases[["case_id"]]).tolist() == [0, 1, 2]


def test_repeats_are_averaged_and_questions_have_intervals() -> None:
    cases = pd.concat([question_of("xy", "xz", "yz", question=f"q{i}") for i in range(12)], ignore_index=True)
    cases["case_id"] = [f"c{i}" for i in range(36)]
    shown = {("j", order, 0): "AAA" * 12 for order in ("AB", "BA")} | {
        ("j", order, 1): "ABAAAA" * 6 for order in ("AB", "BA")
    }
    row = rows_of("consistency", cases, verdicts_of(shown)).iloc[0]
    assert row["tov"] == pytest.approx(0.5)
    assert row["tov_low"] < 0.5 < row["tov_high"]
    assert (row["ipi"], row["ipi_low"]) == (0, 0)
    assert row["ipi_high"] == pytest.approx(1.96**2 / (12 + 1.96**2), abs=1e-4)  # Wilson's for 0 of 12 questions


def test_a_tournament_is_counted_in_a_group_that_holds_all_its_cases() -> None:
    """Twenty questions of three responders: no pair of responders has a tournament, the halves have ten each."""
    cases = pd.concat([question_of("xy", "xz", "yz", question=f"q{i}") for i in range(20)], ignore_index=True)
    cases["case_id"] = [f"c{i}" for i in range(60)]
    cases["model_a"], cases["model_b"] = cases["response_a"], cases["response_b"]
    cases["half"] = ["first"] * 30 + ["second"] * 30
    cases["mixed"] = ["one"] * 29 + ["two"] * 31
    judged = verdicts_of({("j", "AB"): "ABA" * 20, ("j", "BA"): "ABA" * 20})
    pairs = rows_of("consistency", cases, judged, by="model_pair")
    assert pairs["n_tournaments"].tolist() == [20, 0, 0, 0]
    assert pairs["tov"].tolist()[0] == 2
    assert pairs["tov"].iloc[1:].isna().all()
    assert pairs["reason"].iloc[1:].str.contains("tov: no question").all()
    assert pairs["n_questions"].tolist() == [20, 20, 20, 20]
    assert rows_of("consistency", cases, judged, by="half")["n_tournaments"].tolist() == [20, 10, 10]
    assert rows_of("consistency", cases, judged, by="mixed")["n_tournaments"].tolist() == [20, 9, 10]


def test_no_violation_is_no_certainty() -> None:
    """Of the three violations that there can be: Wilson's interval of 0 among the questions."""
    cases = pd.concat([question_of("xy", "xz", "yz", question=f"q{i}") for i in range(12)], ignore_index=True)
    cases["case_id"] = [f"c{i}" for i in range(36)]
    row = judged(cases, "AAA" * 12, "AAA" * 12)
    assert (row["tov"], row["tov_low"]) == (0, 0)
    assert row["tov_high"] == pytest.approx(3 * 1.96**2 / (12 + 1.96**2), abs=1e-3)
    one = judged(question_of("xy", "xz", "yz"), "AAA", "AAA")
    assert np.isnan(one["tov_low"])
    assert "no interval of ipi, tov, tov_intransitive" in one["reason"]


@pytest.mark.parametrize("n", [3, 4])
def test_the_most_violations_of_all_ways_to_judge_every_pair_twice(n: int) -> None:
    against = np.array([(0, 2, 2), (1, 1, 2), (1, 2, 1), (2, 0, 2), (2, 1, 1), (2, 2, 0)], dtype=np.int16)
    ways = np.array(list(product(range(6), repeat=n * (n - 1) // 2)))
    cost = np.moveaxis(against[ways], (2, 1), (0, 1))
    least = fewest_changes(cost, n)
    assert most_violations(n) == (least.max(), (least - cost.min(axis=0).sum(axis=0)).max())
    assert max(most_violations(n)) <= 4 / 3 * n * (n - 1) / 2
