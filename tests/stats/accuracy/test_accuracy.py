from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.scoring import correctness
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import POLICIES
from tests.stats.small_tables import accuracy, cases_of, gold_of, ids, random_verdicts, verdicts_of

FAST = {"resamples": 200, "seed": 0}


def test_every_case_is_scored_or_counted_as_excluded() -> None:
    gold = gold_of("AAAB?-")
    verdicts = verdicts_of({("full", "AB"): "AAB?AA", ("gaps", "AB"): "A---AA"})
    rows = accuracy(verdicts, gold, cases_of(6), **FAST).set_index("judge")
    assert rows.loc["full", ["n", "n_excluded"]].tolist() == [4, 2]
    assert rows.loc["full", "accuracy"] == 0.5
    assert rows.loc["full", "coverage"] == 0.75
    assert rows.loc["gaps", ["n", "n_excluded"]].tolist() == [1, 5]
    assert rows.loc["gaps", "accuracy"] == 1
    assert rows.loc["gaps", ["low", "high"]].isna().all()
    assert "fewer than two cases" in rows.loc["gaps", "reason"]


def test_answered_keeps_its_coverage_beside_it() -> None:
    verdicts = verdicts_of({("j", "AB"): "AB??", ("j", "BA"): "A???"})
    row = accuracy(verdicts, gold_of("AAAA"), cases_of(4), policy="answered", **FAST).iloc[0]
    assert (row["n"], row["n_excluded"]) == (2, 2)
    assert row["accuracy"] == 0.5
    assert row["coverage"] == pytest.approx((1 + 0.5 + 0 + 0) / 4)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_table_is_the_mean_of_its_rows(policy: str) -> None:
    generator = np.random.default_rng(3)
    verdicts = random_verdicts(generator, 40, judges=3, repeats=2)
    gold = gold_of("".join(generator.choice(list("ABT?"), 40)))
    rows = accuracy(verdicts, gold, cases_of(40), policy=policy, **FAST).set_index("judge").sort_index()
    each = correctness(verdicts, gold, policy).groupby("judge")["score"]
    assert rows["accuracy"].to_numpy() == pytest.approx(each.mean().to_numpy())
    assert rows["n"].tolist() == each.count().tolist()
    assert (rows["n"] + rows["n_excluded"] == 40).all()
    assert (rows["low"] <= rows["accuracy"]).all()
    assert (rows["accuracy"] <= rows["high"]).all()


def test_official_reads_order_ab_and_repeat_0_only() -> None:
    verdicts = verdicts_of(
        {("j", "AB", 0): "AB", ("j", "AB", 1): "BB", ("j", "BA", 0): "BB"},
    )
    row = accuracy(verdicts, gold_of("AA"), cases_of(2), policy="official", **FAST).iloc[0]
    assert (row["accuracy"], row["n_answered"], row["exact_accuracy"]) == (0.5, 2, 0.5)


def test_macro_and_kappa_pool_the_orders() -> None:
    verdicts = verdicts_of({("j", "AB"): "ABT", ("j", "BA"): "AA?"})
    row = accuracy(verdicts, gold_of("ABB"), cases_of(3), **FAST).iloc[0]
    assert (row["n_answered"], row["exact_accuracy"]) == (5, 0.6)
    assert (row["n_decided"], row["decided_accuracy"]) == (4, 0.75)


@pytest.mark.parametrize("policy", ["strict", "net"])
def test_kappa_is_of_the_cases_that_the_accuracy_is_of(policy: str) -> None:
    verdicts = verdicts_of({("j", "AB"): "ABBBB", ("j", "BA"): "AB---"})
    row = accuracy(verdicts, gold_of("ABAAA"), cases_of(5), policy=policy, **FAST).iloc[0]
    assert (row["n"], row["n_answered"], row["accuracy"], row["cohen_kappa"]) == (2, 4, 1, 1)
    none = accuracy(verdicts[verdicts["order"] == "AB"], gold_of("ABAAA"), cases_of(5), policy=policy, **FAST).iloc[0]
    assert (none["n"], none["n_answered"]) == (0, 0)
    assert none[["cohen_kappa", "exact_accuracy", "f1_macro", "decisive_accuracy"]].isna().all()


def test_subfields_partition_the_cases_that_have_one() -> None:
    generator = np.random.default_rng(0)
    organ = [*generator.choice(["eye", "lung"], 28), None, None]
    verdicts = random_verdicts(generator, 30, judges=2)
    gold = gold_of("".join(generator.choice(list("AB"), 30)))
    rows = accuracy(verdicts, gold, cases_of(30, organ=organ), by="organ", **FAST)
    whole, parts = rows[rows["subfield"].isna()], rows[rows["subfield"].notna()]
    assert set(parts["subfield"]) == {"eye", "lung"}
    assert (parts["by"] == "organ").all()
    assert whole["by"].isna().all()
    assert (parts["n_unassigned"] == 2).all()
    assert (parts.groupby("judge")[["n", "n_excluded"]].sum().sum(axis=1) == 28).all()
    eye = verdicts["case_id"].isin([case for case, name in zip(ids(30), organ, strict=True) if name == "eye"])
    direct = accuracy(verdicts[eye], gold, cases_of(30), **FAST)
    for name in ("accuracy", "cohen_kappa", "n_answered", "f1_macro", "coverage"):
        found = parts.loc[parts["subfield"] == "eye", name].to_numpy()
        assert found == pytest.approx(direct[name].to_numpy())


def test_the_order_of_rows_and_the_names_of_cases_mean_nothing() -> None:
    generator = np.random.default_rng(9)
    verdicts = random_verdicts(generator, 25, judges=2)
    gold = gold_of("".join(generator.choice(list("ABT"), 25)))
    first = accuracy(verdicts, gold, cases_of(25), **FAST)
    shuffled = accuracy(
        verdicts.sample(frac=1, random_state=1), gold.sample(frac=1, random_state=2), cases_of(25), **FAST
    )
    pd.testing.assert_frame_equal(first, shuffled)
    again = accuracy(verdicts, gold, cases_of(25), **FAST)
    pd.testing.assert_frame_equal(first, again)


def test_swapping_the_answers_everywhere_changes_no_accuracy() -> None:
    generator = np.random.default_rng(9)
    verdicts = random_verdicts(generator, 25, judges=2)
    gold = gold_of("".join(generator.choice(list("ABT"), 25)))
    swap = {"A": "B", "B": "A"}
    first = accuracy(verdicts, gold, cases_of(25), **FAST)
    turned = accuracy(verdicts.replace({"choice": swap}), gold.replace({"choice": swap}), cases_of(25), **FAST)
    pd.testing.assert_frame_equal(first, turned)


def test_a_judge_has_rows_only_for_dimensions_it_judged() -> None:
    verdicts = pd.concat([verdicts_of({("a", "AB"): "AB"}), verdicts_of({("b", "AB"): "AB"}, "accuracy")])
    rows = accuracy(verdicts, gold_of("AB"), cases_of(2), **FAST)
    assert list(zip(rows["judge"], rows["dimension"], strict=True)) == [("b", "accuracy"), ("a", "overall")]
    assert rows["n"].tolist() == [0, 2]
    assert rows["reason"].tolist()[0] == "no case can be scored"
    kept = accuracy(verdicts, gold_of("AB"), cases_of(2), dimensions=["overall"], **FAST)
    assert kept["judge"].tolist() == ["a"]


def test_one_cluster_gives_no_interval() -> None:
    verdicts = verdicts_of({("j", "AB"): "AAB"})
    row = accuracy(verdicts, gold_of("AAA"), cases_of(3, cluster=["x", "x", "x"]), **FAST).iloc[0]
    assert np.isnan(row["low"])
    assert "one cluster" in row["reason"]


def test_one_category_leaves_kappa_null() -> None:
    row = accuracy(verdicts_of({("j", "AB"): "AAA"}), gold_of("AAA"), cases_of(3), **FAST).iloc[0]
    assert row["accuracy"] == 1
    assert np.isnan(row["cohen_kappa"])
    assert "one category" in row["reason"]


@pytest.mark.parametrize(("chosen", "gold"), [("ABAB" * 10, "A" * 40), ("A" * 40, "ABBB" * 10)])
def test_one_category_on_one_side_leaves_kappa_null(chosen: str, gold: str) -> None:
    """The agreement seen is then the agreement expected by chance, whatever the other side holds."""
    row = accuracy(verdicts_of({("j", "AB"): chosen}), gold_of(gold), cases_of(40), **FAST).iloc[0]
    assert row[["cohen_kappa", "cohen_kappa_low", "cohen_kappa_high"]].isna().all()
    assert "one category only" in row["reason"]
    assert "clusters" not in row["reason"]


def test_which_interval_is_recommended() -> None:
    half, nearly = "AB" * 30, "A" * 58 + "BB"
    shown = {("half", "AB"): half, ("nearly", "AB"): nearly}
    rows = accuracy(verdicts_of(shown), gold_of("A" * 60), cases_of(60), **FAST)
    assert dict(zip(rows["judge"], rows["interval"], strict=True)) == {"half": "percentile", "nearly": "deff"}
    few = accuracy(verdicts_of(shown), gold_of("A" * 60), cases_of(60, cluster=[i // 3 for i in range(60)]), **FAST)
    assert dict(zip(few["judge"], few["interval"], strict=True)) == {"half": "t", "nearly": "deff"}


def test_a_verdict_on_an_unknown_case_is_refused() -> None:
    with pytest.raises(InputError, match="column case_id: 'c2' is not one of"):
        accuracy(verdicts_of({("j", "AB"): "AAA"}), gold_of("AA"), cases_of(2), **FAST)
