"""What the order does to probabilities, who agrees, and what a case costs: small tables worked out by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.engines import agreement_between, both_orders, order_shift, tokens_per_case
from mrb_lib.tables.schema import CHOICES
from tests.stats.small_tables import cases_of, random_verdicts, rows_of, verdicts_of


def judged(*rows: tuple[str, str, str, int, float | None], dimension: str = "overall") -> pd.DataFrame:
    """Rows are judge, case, order, repeat and the probability of A."""
    frame = pd.DataFrame(rows, columns=["judge", "case_id", "order", "repeat", "p_a"]).astype({"p_a": "float64"})
    return frame.assign(dimension=dimension, probe="none", choice="A")


PAIRED = judged(
    ("a", "c0", "AB", 0, 0.9), ("a", "c0", "BA", 0, 0.5), ("a", "c1", "BA", 0, 0.6), ("a", "c1", "AB", 0, 0.4),
    ("a", "c2", "AB", 0, 0.7), ("a", "c2", "BA", 0, None), ("b", "c0", "AB", 0, None), ("b", "c0", "BA", 0, None),
)  # fmt: skip


def test_both_orders_stand_side_by_side_and_half_a_pair_is_left_out() -> None:
    found = both_orders(PAIRED)
    assert found[["judge", "case_id", "dimension", "repeat"]].to_numpy().tolist() == [
        ["a", "c0", "overall", 0],
        ["a", "c1", "overall", 0],
    ]
    np.testing.assert_allclose(found[["p_ab", "p_ba"]], [[0.9, 0.5], [0.4, 0.6]])


def test_repeats_and_dimensions_are_never_paired_with_one_another() -> None:
    frame = pd.concat(
        [judged(("a", "c0", "AB", 0, 0.9), ("a", "c0", "BA", 1, 0.5)), judged(("a", "c0", "BA", 0, 0.1), dimension="x")]
    )
    assert both_orders(frame).empty


def test_the_shift_is_the_mean_over_cases() -> None:
    found = order_shift(PAIRED, cases_of(3), resamples=0).set_index("judge")
    assert found.loc["a", "n"] == 2
    assert found.loc["a", "shift"] == pytest.approx((0.4 - 0.2) / 2)


def test_a_judge_without_probabilities_has_no_shift_and_the_reason_is_said() -> None:
    found = order_shift(PAIRED, cases_of(3)).set_index("judge")
    assert found.loc["b", "n"] == 0
    assert np.isnan(found.loc["b", ["shift", "shift_low", "shift_high"]].to_numpy(dtype=float)).all()
    assert found.loc["b", "reason"] == "no case has a probability in both orders"


def test_repeats_weigh_no_more_than_one_case() -> None:
    more = [("a", "c0", order, repeat, p) for repeat in range(3) for order, p in (("AB", 0.8), ("BA", 0.2))]
    one = [("a", "c1", "AB", 0, 0.5), ("a", "c1", "BA", 0, 0.5)]
    found = order_shift(judged(*more, *one), cases_of(2), resamples=0)
    assert found["shift"].tolist() == pytest.approx([0.3])


def test_a_judge_that_knows_only_the_order_is_found_out_with_its_interval() -> None:
    generator = np.random.default_rng(0)
    rows = []
    for i in range(60):
        fair, lean = generator.uniform(0.3, 0.7), 0.1 + generator.normal(0, 0.05)
        rows += [("leans", f"c{i}", "AB", 0, fair + lean), ("leans", f"c{i}", "BA", 0, fair - lean)]
        rows += [("fair", f"c{i}", order, 0, fair) for order in ("AB", "BA")]
    found = order_shift(judged(*rows), cases_of(60), seed=1).set_index("judge")
    assert found.loc["leans", "shift_low"] < 0.2 < found.loc["leans", "shift_high"]
    assert found.loc["leans", "shift_low"] > 0.15
    assert found.loc["fair", "shift"] == 0
    assert "the cases do not differ" in found.loc["fair", "reason"]


def test_renaming_the_responses_keeps_the_shift() -> None:
    """A and B change names: each probability becomes one minus it, in the other order."""
    turned = PAIRED.assign(p_a=1 - PAIRED["p_a"], order=PAIRED["order"].map({"AB": "BA", "BA": "AB"}))
    pd.testing.assert_frame_equal(order_shift(turned, cases_of(3), seed=3), order_shift(PAIRED, cases_of(3), seed=3))


def test_intervals_resample_clusters() -> None:
    rows = [
        ("a", f"c{i}", order, 0, 0.5 + sign * 0.1 * (i // 5))
        for i in range(10)
        for order, sign in (("AB", 1), ("BA", -1))
    ]
    single = cases_of(10, cluster=["x"] * 10)
    assert "fewer than two clusters" in str(order_shift(judged(*rows), single)["reason"].iloc[0])
    wide, narrow = (
        order_shift(judged(*rows), cases_of(10, cluster=clusters)).iloc[0]
        for clusters in ([f"k{i // 5}" for i in range(10)], [f"k{i}" for i in range(10)])
    )
    assert wide["shift_high"] - wide["shift_low"] > narrow["shift_high"] - narrow["shift_low"]


def test_agreement_counts_equal_choices_where_both_chose() -> None:
    verdicts = verdicts_of(
        {("a", "AB"): "ABT?-", ("a", "BA"): "AB---", ("b", "AB"): "AATAA", ("b", "BA"): "A?---", ("c", "AB"): "?????"}
    )
    found = agreement_between(verdicts, cases_of(5), resamples=0).set_index(["judge_1", "judge_2"])
    assert list(found.index) == [("a", "b"), ("a", "c"), ("b", "c")]
    both = found.loc[("a", "b")]
    # c0 agrees in both orders, c1 disagrees in the one both answered, c2 agrees on the tie, c3 is null, c4 absent.
    assert both["n"] == 3
    assert both["coverage"] == pytest.approx(3 / 4)
    assert both["agreement"] == pytest.approx(2 / 3)
    assert found.loc[("a", "c"), ["n", "coverage"]].tolist() == [0, 0]
    assert np.isnan(found.loc[("a", "c"), "agreement"])
    assert found.loc[("a", "c"), "reason"] == "no case was answered by both"


def test_kappa_is_that_of_the_presentations_and_undefined_for_one_category() -> None:
    verdicts = verdicts_of({("a", "AB"): "AABB", ("b", "AB"): "AABA", ("c", "AB"): "AAAA", ("d", "AB"): "AAAA"})
    found = agreement_between(verdicts, cases_of(4), resamples=0).set_index(["judge_1", "judge_2"])
    # Observed 3/4, expected 1/2 * 3/4 + 1/2 * 1/4.
    assert found.loc[("a", "b"), "cohen_kappa"] == pytest.approx((3 / 4 - 1 / 2) / (1 / 2))
    assert np.isnan(found.loc[("c", "d"), "cohen_kappa"])
    assert found.loc[("c", "d"), "agreement"] == 1
    assert "one category only" in found.loc[("c", "d"), "reason"]


def test_a_judge_agrees_with_itself_turned_round_as_it_is_consistent() -> None:
    """The same judge in order AB and, under another name, in order BA relabelled AB: agreement is its consistency."""
    verdicts = random_verdicts(np.random.default_rng(5), 40, 1)
    other = verdicts.assign(judge="turned", order=verdicts["order"].map({"AB": "BA", "BA": "AB"}))
    found = agreement_between(pd.concat([verdicts, other]), cases_of(40), resamples=0).iloc[0]
    expected = rows_of("consistency", cases_of(40), verdicts).iloc[0]
    assert found["agreement"] == pytest.approx(expected["consistency"])
    assert found["n"] == expected["n"]


def test_agreement_matches_a_plain_count() -> None:
    verdicts = random_verdicts(np.random.default_rng(9), 30, 3, repeats=2)
    found = agreement_between(verdicts, cases_of(30), resamples=0)
    keys = ["case_id", "order", "repeat"]
    for row in found.itertuples():
        one, two = (verdicts[verdicts["judge"] == name] for name in (row.judge_1, row.judge_2))
        paired = one.merge(two, on=keys, suffixes=("_1", "_2")).dropna(subset=["choice_1", "choice_2"])
        assert set(paired["choice_1"]) <= set(CHOICES)
        expected = (paired["choice_1"] == paired["choice_2"]).groupby(paired["case_id"]).mean()
        assert row.agreement == pytest.approx(expected.mean())
        assert row.n == len(expected)


def test_one_judge_has_no_pair() -> None:
    assert agreement_between(verdicts_of({("a", "AB"): "AB"}), cases_of(2)).empty


def test_tokens_are_summed_once_a_case_and_nothing_counted_stays_null() -> None:
    frame = judged(
        *[("a", f"c{i}", order, 0, 0.5) for i in range(2) for order in ("AB", "BA")], ("b", "c0", "AB", 0, 0.5)
    )
    frame["prompt_tokens"] = [100.0, np.nan, 300.0, np.nan, np.nan]
    frame["completion_tokens"] = np.nan
    found = tokens_per_case(frame).set_index("judge")
    assert found.loc["a", ["n_cases", "prompt_tokens"]].tolist() == [2, 200.0]
    assert np.isnan(found.loc["a", "completion_tokens"])
    assert np.isnan(found.loc["b", "prompt_tokens"])


def test_no_verdicts_give_empty_tables_of_the_same_columns() -> None:
    empty = PAIRED.iloc[:0].assign(prompt_tokens=[], completion_tokens=[])
    assert order_shift(empty, cases_of(3)).empty
    assert agreement_between(empty, cases_of(3)).empty
    assert tokens_per_case(empty).columns.tolist() == ["judge", "n_cases", "prompt_tokens", "completion_tokens"]


def test_other_probes_are_read_in_neither() -> None:
    verdicts = random_verdicts(np.random.default_rng(2), 20, 2).assign(p_a=0.5)
    more = pd.concat([verdicts, verdicts.assign(probe="blank", choice="B", p_a=0.9)])
    for function in (agreement_between, order_shift):
        pd.testing.assert_frame_equal(function(more, cases_of(20)), function(verdicts, cases_of(20)))
