"""Who agrees with whom: small tables worked out by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.methods.engines import agreement_between
from mrb_lib.tables.schema import CHOICES
from tests.stats.small_tables import cases_of, random_verdicts, rows_of, verdicts_of


def test_agreement_counts_equal_choices_where_both_chose() -> None:
    verdicts = verdicts_of(
        {("a", "AB"): "ABT?-", ("a", "BA"): "AB---", ("b", "AB"): "AATAA", ("b", "BA"): "A?---", ("c", "AB"): "?????"}
    )
    found = agreement_between(verdicts, cases_of(5), resamples=0).set_index(["judge_1", "judge_2"])
    assert list(found.index) == [("a", "b"), ("a", "c"), ("b", "c")]
    both = found.loc[("a", "b")]
    # c0 agrees in both orders, c1 disagrees in the one both answered, c2 agrees on the tie, c3 is null, c4 absent.
    assert both["n"] == 3
    assert both["agreement"] == pytest.approx(2 / 3)
    assert found.loc[("a", "c"), "n"] == 0
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


def test_other_probes_are_not_read() -> None:
    verdicts = random_verdicts(np.random.default_rng(2), 20, 2)
    more = pd.concat([verdicts, verdicts.assign(probe="blank", choice="B")])
    pd.testing.assert_frame_equal(agreement_between(more, cases_of(20)), agreement_between(verdicts, cases_of(20)))


def test_intervals_resample_clusters() -> None:
    verdicts, few = verdicts_of({("a", "AB"): "A" * 30, ("b", "AB"): "A" * 5 + "B" * 25}), [i // 5 for i in range(30)]
    assert "fewer than two clusters" in agreement_between(verdicts, cases_of(30, cluster=["x"] * 30))["reason"].item()
    wide, narrow = (
        agreement_between(verdicts, cases_of(30, cluster=cluster)).iloc[0] for cluster in (few, list(range(30)))
    )
    assert wide["agreement_high"] - wide["agreement_low"] > narrow["agreement_high"] - narrow["agreement_low"]
