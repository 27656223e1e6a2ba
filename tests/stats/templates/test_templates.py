"""The table `templates`: runs of one judge by different prompts, and nobody else's."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.templates.runs import OTHER_SETTINGS, UNKNOWN_PROMPTS
from mrb_lib.stats.templates.table import NO_ORDERS, NO_REPEATS, NO_SPREAD, ONE_PROMPT, templates
from mrb_lib.verdicts.manifest import Manifest
from mrb_lib.verdicts.prompts import run_prompts
from tests.stats.small_tables import (
    cases_of,
    gold_of,
    prompts_of,
    random_verdicts,
    significance,
    verdicts_of,
    with_first,
)

N = 80
RNG = np.random.default_rng(3)
NAMES = {"j0": "x@a", "j1": "x@b", "j2": "x@c", "j3": "y"}
VERDICTS = random_verdicts(RNG, N, 4, repeats=2)
VERDICTS["judge"] = VERDICTS["judge"].map(NAMES)
GOLD = gold_of("".join(RNG.choice(list("AB?"), N)))
CASES = cases_of(N, organ=["eye", "lung"] * (N // 2), patient=[str(i // 2) for i in range(N)])
PROMPTS = prompts_of({"x@a": "x", "x@b": "x", "x@c": "x", "y": "y"})


@pytest.mark.parametrize("cluster", ["case_id", "patient"])
def test_accuracy_is_compared_as_in_the_table_significance(cluster: str) -> None:
    options = {"by": "organ", "cluster": cluster, "resamples": 200, "seed": 4}
    rows = templates(VERDICTS, GOLD, CASES, prompts=PROMPTS, **options)  # type: ignore[arg-type]  # one dictionary
    three = VERDICTS[VERDICTS["judge"] != "y"]
    pairs = significance(three, GOLD, CASES, **options)  # type: ignore[arg-type]  # likewise
    keys = ["judge_1", "judge_2", "dimension", "by", "subfield"]
    mine = rows.dropna(subset="judge_2").sort_values(keys).reset_index(drop=True)
    theirs = pairs[pairs["part"] == "pair"]
    for judge in ("x@b", "x@a"):
        theirs = with_first(theirs, judge)
    theirs = theirs.sort_values(keys).reset_index(drop=True)
    for name in ("n", "n_clusters", "difference", "low", "high", "only_1", "test", "p_value", "p_adjusted", "family"):
        # `significance` has CR2, `templates` not yet: with clusters their ends differ by some .0001.
        far = 5e-4 if cluster == "patient" and name in ("low", "high") else 1e-9
        pd.testing.assert_series_equal(mine[name], theirs[name], check_names=False, check_dtype=False, rtol=0, atol=far)
    np.testing.assert_allclose(mine["accuracy_1"] - mine["accuracy_2"], mine["difference"], atol=1e-12)
    assert mine["accuracy_1"].between(mine["accuracy_1_low"], mine["accuracy_1_high"]).all()
    assert mine["family"].eq(3).all()


def test_the_flips_of_a_small_table_are_counted_by_hand() -> None:
    shown = {
        ("x@a", "AB"): "AABB?A", ("x@a", "BA"): "AABAAA",
        ("x@b", "AB"): "ABBBAA", ("x@b", "BA"): "ABTAA-",
    }  # fmt: skip
    row = templates(verdicts_of(shown), gold_of("AABBAA"), cases_of(6), cluster="case_id", resamples=0).iloc[0]
    # Same order: c1 differs in both, c2 in BA, c3 in none, c4 has BA only, c5 AB only.
    assert (row["n_flips"], row["flips"]) == (6, pytest.approx((0 + 1 + 0.5 + 0 + 0 + 0) / 6))
    assert (row["answered_1"], row["answered_2"]) == (11 / 12, 1)
    # Both orders of both: c0 to c3. Within a prompt c2 differs by b and c3 by both; across, c1 and c3 always, c2 once.
    assert (row["n_ordered"], row["order_flips"]) == (4, pytest.approx((0 + 0 + 0.5 + 1) / 4))
    assert row["shared_flips"] == pytest.approx((0 + 1 + 0.5 + 1) / 4 - 1.5 / 4)
    assert row["n_repeated"] == 0
    assert np.isnan(row["excess_flips"])
    assert NO_REPEATS in row["reason"]


def test_with_one_order_and_no_repeats_nothing_is_told_from_noise() -> None:
    shown = {("x@a", "AB"): "AABBAB", ("x@b", "AB"): "ABBBAA"}
    table = templates(verdicts_of(shown), gold_of("AABBAA"), cases_of(6), prompts=PROMPTS, cluster="case_id")
    row = table.iloc[0]
    assert row["flips"] == pytest.approx(2 / 6)
    assert row[["excess_flips", "shared_flips", "excess_p", "shared_p", "order_flips"]].isna().all()
    assert row["reason"] == f"{NO_REPEATS}; {NO_ORDERS}"
    assert "cannot be told from noise" in TABLES["templates"].says(table)


def test_where_nothing_ever_flips_there_is_no_interval_and_no_certainty() -> None:
    shown = {(judge, order, r): "AABBAB" for judge in ("x@a", "x@b") for order in ("AB", "BA") for r in range(2)}
    row = templates(verdicts_of(shown), gold_of("AABBAA"), cases_of(6), prompts=PROMPTS, cluster="case_id").iloc[0]
    assert (row["flips"], row["excess_flips"], row["shared_flips"]) == (0, 0, 0)
    assert row[["excess_flips_low", "shared_flips_high", "excess_p"]].isna().all()
    assert row["flips_high"] > 0.3
    for name in ("excess_flips", "shared_flips"):
        assert NO_SPREAD.format(name) in row["reason"]


def test_only_runs_of_one_judge_by_other_prompts_are_compared() -> None:
    same = PROMPTS.assign(prompt_hash=["h", "h", "other", "h"])
    rows = templates(VERDICTS, GOLD, CASES, prompts=same, resamples=0)
    pairs = rows.dropna(subset="judge_2")
    assert pairs[["judge_1", "judge_2"]].to_numpy().tolist() == [["x@a", "x@c"], ["x@b", "x@c"]]
    assert pairs["prompt_2"].tolist() == ["prompt-x@c"] * 2
    [alone] = rows[rows["judge_2"].isna()].to_dict("records")
    assert (alone["judge"], alone["prompt_1"], alone["reason"]) == ("y", "prompt-y", ONE_PROMPT)
    assert pd.isna(alone["n"])


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
    assert rows.loc[("x@a", "x@b"), "reason"] == OTHER_SETTINGS.format("max_pixels")
    assert rows.loc[("x@a", "x@c"), "reason"] == UNKNOWN_PROMPTS
    names_only = templates(VERDICTS, GOLD, CASES, resamples=200).dropna(subset="judge_2")
    assert names_only["judge"].tolist() == ["x"] * 3
    assert names_only["reason"].eq(UNKNOWN_PROMPTS).all()


def test_the_sentence_names_the_largest_change() -> None:
    rng = np.random.default_rng(1)
    gold = rng.choice(list("AB"), 200)
    wrong = np.where(gold == "A", "B", "A")
    shown = {
        (judge, order): "".join(np.where(rng.random(200) < right, gold, wrong))
        for judge, right in (("x@a", 0.9), ("x@b", 0.6), ("y@a", 0.7), ("y@b", 0.7))
        for order in ("AB", "BA")
    }
    known = prompts_of({"x@a": "x", "x@b": "x", "y@a": "y", "y@b": "y"})
    table = templates(verdicts_of(shown), gold_of("".join(gold)), cases_of(200), prompts=known, cluster="case_id")
    said = TABLES["templates"].says(table)
    assert said.startswith("Overall, of 2 comparisons of two prompts of a judge 1 shows a difference in accuracy (larg")
    assert "largest: x, +" in said
    assert said.endswith("changes choices beyond what repeats and orders explain.")


def test_both_tests_of_choices_are_corrected_in_one_family() -> None:
    rows = templates(VERDICTS, GOLD, CASES, prompts=PROMPTS, by="organ", resamples=0).dropna(subset="judge_2")
    for _, own in rows.groupby(["by", "subfield"], dropna=False):
        p = own[["excess_p", "shared_p"]].to_numpy(float)
        assert p.shape == (3, 2)
        expected = multipletests(p.ravel(), method="holm")[1].reshape(p.shape)
        np.testing.assert_allclose(own[["excess_p_adjusted", "shared_p_adjusted"]].to_numpy(float), expected)


def test_one_of_two_tests_that_would_pass_alone_is_not_enough() -> None:
    verdicts = random_verdicts(np.random.default_rng(44), N, 2, repeats=2)
    table = templates(verdicts.replace({"judge": NAMES}), GOLD, CASES, prompts=PROMPTS, cluster="case_id", resamples=0)
    [row] = table.to_dict("records")
    assert 0.025 < row["excess_p"] <= 0.05 < row["shared_p"]
    assert row["excess_p_adjusted"] == pytest.approx(2 * row["excess_p"])
    assert TABLES["templates"].says(table).endswith("; none changes choices beyond what repeats and orders explain.")
