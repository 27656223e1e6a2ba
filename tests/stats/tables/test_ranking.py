"""One ranking everywhere: decisive accuracy on the cases that all ranked judges share; SIMULATED verdicts."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mrb_lib.stats.analyze import TABLES
from tests.stats.small_tables import accuracy, both_orders, cases_of, gold_of, rows_of, significance

N = 200


def partial_judge() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """A poor judge on the 40 easiest of 200 cases, and two that are better on these and judge all."""
    rng = np.random.default_rng(0)
    gold = rng.choice(list("AB"), N)
    other = np.where(gold == "A", "B", "A")
    easy = np.arange(N) < 40

    def judge(on_easy: float, on_hard: float) -> str:
        right = rng.random(N) < np.where(easy, on_easy, on_hard)
        return "".join(np.where(right, gold, other))

    poor = "".join(np.where(easy, list(judge(0.9, 0.5)), "-"))
    return (
        both_orders({"one": judge(1.0, 0.7), "other": judge(1.0, 0.72), "poor": poor}),
        gold_of("".join(gold)),
        cases_of(N),
    )


def test_a_judge_on_the_easiest_cases_is_not_ranked_and_the_sentence_does_not_name_it() -> None:
    verdicts, gold, cases = partial_judge()
    rows = accuracy(verdicts, gold, cases, resamples=200).set_index("judge")
    assert rows["accuracy"].idxmax() == "poor"
    assert pd.isna(rows.loc["poor", "rank"])
    assert "fewer than half of the cases" in rows.loc["poor", "reason"]
    assert sorted(rows.loc[["one", "other"], "rank"]) == [1, 2]
    said = TABLES["accuracy"].says(rows_of("accuracy", cases, verdicts, gold, resamples=200))
    assert "poor" not in said
    assert "1 of 3 judges are not ranked" in said


def test_pairs_are_compared_on_shared_cases_with_the_better_judge_first() -> None:
    verdicts, gold, cases = partial_judge()
    pairs = significance(verdicts, gold, cases, resamples=200).query("part == 'pair'")
    assert (pairs["difference"] >= 0).all()
    assert set(pairs[pairs["judge_2"] == "poor"]["judge_1"]) == {"one", "other"}
    assert (pairs[pairs["judge_2"] == "poor"]["n"] == 40).all()


def test_ranks_are_on_the_cases_that_all_ranked_judges_share() -> None:
    """The second judge skips the cases that it would get wrong: on the shared cases it is no better."""
    gold = "AB" * 50
    wrong = "".join("B" if c == "A" else "A" for c in gold)
    first = gold[:80] + wrong[80:]
    second = gold[:70] + wrong[70:80] + "-" * 20
    rows = accuracy(both_orders({"first": first, "second": second}), gold_of(gold), cases_of(100), resamples=0)
    rows = rows.set_index("judge")
    assert rows.loc["second", "accuracy"] > rows.loc["first", "accuracy"]
    assert rows["rank"].to_dict() == {"first": 1, "second": 2}
    assert set(rows["n_common"]) == {80}


def test_significance_versus_one_judge_compares_it_with_every_other() -> None:
    verdicts, gold, cases = partial_judge()
    rows = rows_of("significance", cases, verdicts, gold, versus="poor", resamples=0)
    pairs = rows[rows["part"] == "pair"]
    assert len(pairs) == 2
    assert (pairs["judge_1"].eq("poor") | pairs["judge_2"].eq("poor")).all()
    assert (pairs["family"] == 2).all()
