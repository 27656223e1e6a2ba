"""Part template of the table `probes`: runs of one judge by different prompts, and nobody else's."""

import json

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.methods.paired_verdicts import OTHER_SETTINGS, UNKNOWN_PROMPTS
from mrb_lib.stats.tables.probes import NO_NOISE, NO_PROBES
from mrb_lib.verdicts.manifest import Manifest
from mrb_lib.verdicts.store import run_prompts
from tests.stats import small_tables as small

N = 80
RNG = np.random.default_rng(3)
NAMES = {"j0": "x@a", "j1": "x@b", "j2": "x@c", "j3": "y"}
VERDICTS = small.random_verdicts(RNG, N, 4, repeats=2)
VERDICTS["judge"] = VERDICTS["judge"].map(NAMES)
GOLD = small.gold_of("".join(RNG.choice(list("AB?"), N)))
CASES = small.cases_of(N, organ=["eye", "lung"] * (N // 2), patient=[str(i // 2) for i in range(N)])
PROMPTS = small.prompts_of({"x@a": "x", "x@b": "x", "x@c": "x", "y": "y"})


templates = small.table_of("probes")


@pytest.mark.parametrize("cluster", ["case_id", "patient"])
def test_accuracy_is_compared_as_in_the_table_significance(cluster: str) -> None:
    options = {"by": "organ", "cluster": cluster, "resamples": 200, "seed": 4}
    rows = templates(VERDICTS, GOLD, CASES, prompts=PROMPTS, **options)
    three = VERDICTS[VERDICTS["judge"] != "y"]
    pairs = small.significance(three, GOLD, CASES, **options)  # type: ignore[arg-type]  # options of several types
    keys = ["judge_1", "judge_2", "dimension", "by", "subfield"]
    mine = rows.dropna(subset="judge_2").sort_values(keys).reset_index(drop=True)
    theirs = (
        small.with_first(small.with_first(small.part_of(pairs, "pair"), "x@b"), "x@a")
        .sort_values(keys)
        .reset_index(drop=True)
    )
    for name, of_pairs in (("n_scored", "n"), ("p_value", "p_value")):
        pd.testing.assert_series_equal(mine[name], theirs[of_pairs], check_names=False, check_dtype=False, atol=1e-9)
    np.testing.assert_allclose(mine["accuracy_probed"] - mine["accuracy"], mine["accuracy_change"], atol=1e-12)
    for name, of_pairs in (("", "difference"), ("_low", "high"), ("_high", "low")):
        np.testing.assert_allclose(mine[f"accuracy_change{name}"], -theirs[of_pairs], rtol=0, atol=1e-9)


def test_the_flips_of_a_small_table_are_counted_by_hand() -> None:
    shown = {
        ("x@a", "AB"): "AABB?A", ("x@a", "BA"): "AABAAA",
        ("x@b", "AB"): "ABBBAA", ("x@b", "BA"): "ABTAA-",
    }  # fmt: skip
    row = templates(*small.tables_of(shown, "AABBAA"), cluster="case_id", resamples=0).iloc[0]
    # Same order: c1 differs in both, c2 in BA, c3 in none, c4 has BA only, c5 AB only.
    assert (row["n"], row["changed"]) == (6, pytest.approx((0 + 1 + 0.5 + 0 + 0 + 0) / 6))
    assert row["coverage"] == 1
    # Both orders of both: c0 to c3. Within a prompt c2 differs by b and c3 by both; across, c1 and c3 always, c2 once.
    assert row["order_flips"] == pytest.approx((0 + 0 + 0.5 + 1) / 4)
    assert row["shared_flips"] == pytest.approx((0 + 1 + 0.5 + 1) / 4 - 1.5 / 4)
    assert np.isnan(row["changed_beyond_noise"])
    assert NO_NOISE in row["reason"]


def test_with_one_order_and_no_repeats_nothing_is_told_from_noise() -> None:
    tables = small.tables_of({("x@a", "AB"): "AABBAB", ("x@b", "AB"): "ABBBAA"}, "AABBAA")
    table = templates(*tables, prompts=PROMPTS, cluster="case_id")
    row = table.iloc[0]
    assert row["changed"] == pytest.approx(2 / 6)
    assert row[["changed_beyond_noise", "shared_flips", "changed_p", "shared_p", "order_flips"]].isna().all()
    assert NO_NOISE in row["reason"]
    said = TABLES["probes"].says(table)
    assert "in 0 of the 0 comparisons with repeats or both orders; for the others we cannot tell" in said


def test_where_nothing_ever_flips_there_is_no_certainty() -> None:
    shown = {(judge, order, r): "AABBAB" for judge in ("x@a", "x@b") for order in ("AB", "BA") for r in range(2)}
    row = templates(*small.tables_of(shown, "AABBAA"), prompts=PROMPTS, cluster="case_id").iloc[0]
    assert (row["changed"], row["changed_beyond_noise"], row["shared_flips"]) == (0, 0, 0)
    assert (row[["changed_high", "changed_beyond_noise_high"]] > 0.3).all()
    assert row[["changed_p", "shared_p"]].eq(1).all()


def test_only_runs_of_one_judge_by_other_prompts_are_compared() -> None:
    same = PROMPTS.assign(prompt_hash=["h", "h", "other", "h"])
    rows = templates(VERDICTS, GOLD, CASES, prompts=same, resamples=0)
    pairs = rows.dropna(subset="judge_2")
    assert pairs[["judge_1", "judge_2"]].to_numpy().tolist() == [["x@a", "x@c"], ["x@b", "x@c"]]
    assert pairs["prompt_2"].tolist() == ["prompt-x@c"] * 2
    assert pairs["judge"].eq("x").all()
    assert set(rows["part"]) == {"template"}
    alone = templates(VERDICTS[VERDICTS["judge"] == "y"], GOLD, CASES, prompts=same, resamples=0)
    assert alone["reason"].tolist() == [NO_PROBES]


def test_a_prompt_that_was_edited_under_its_name_is_another() -> None:
    edited = PROMPTS.assign(prompt_id="mine", prompt_hash=["0123456789", "abcdefghij", "abcdefghij", "z"])
    rows = templates(VERDICTS, GOLD, CASES, prompts=edited, resamples=0).dropna(subset="judge_2")
    assert rows["prompt_1"].tolist() == ["mine (01234567)"] * 2


def test_the_reason_says_what_else_differs() -> None:
    manifests = [
        Manifest("a", "x", spec={"max_pixels": 1, "engine": "packed"}, prompt_id="p", prompt_hash="1"),
        Manifest("b", "x", spec={"max_pixels": 2, "engine": "packed"}, prompt_id="q", prompt_hash="2"),
        Manifest("c", "x", spec={"max_pixels": 2, "engine": "packed"}),
        Manifest("y", "y"),
    ]
    known = run_prompts(manifests)
    assert known["judge"].tolist() == ["x@a", "x@b", "x@c", "y"]
    assert json.loads(known["settings"][0]) == manifests[0].spec
    rows = templates(VERDICTS, GOLD, CASES, prompts=known, resamples=200).set_index(["judge_1", "judge_2"])
    assert rows.loc[("x@a", "x@b"), "reason"].startswith(OTHER_SETTINGS.format("max_pixels"))
    assert rows.loc[("x@a", "x@c"), "reason"].startswith(UNKNOWN_PROMPTS)
    names_only = templates(VERDICTS, GOLD, CASES, resamples=200).dropna(subset="judge_2")
    assert names_only["judge"].tolist() == ["x"] * 3
    assert names_only["reason"].str.startswith(UNKNOWN_PROMPTS).all()


def test_the_sentence_names_the_largest_change() -> None:
    rng, rates = np.random.default_rng(1), {"x@a": 0.9, "x@b": 0.6, "y@a": 0.7, "y@b": 0.7}
    tables = small.judged({judge: rng.random((2, 200)) < rate for judge, rate in rates.items()}, "ABBA" * 50)
    table = templates(*tables, prompts=small.prompts_of({judge: judge[0] for judge in rates}), cluster="case_id")
    said = TABLES["probes"].says(table)
    assert said.startswith("Accuracy differs significantly in 1 of 2 comparisons of two prompts of one judge (largest:")
    assert "largest: x, -" in said
    assert "Choices change significantly beyond noise in 1 of the 2 comparisons" in said
