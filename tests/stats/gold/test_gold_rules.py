from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from mrb_lib.stats.gold.gold_rules import RULES, gold_rules
from mrb_lib.stats.posterior import posterior
from tests.stats.small_tables import accuracy, annotations_of, cases_of, gold_of, random_verdicts, verdicts_of

FAST = {"resamples": 100, "seed": 0}


@pytest.fixture(scope="module")
def people() -> dict[str, str]:
    generator = np.random.default_rng(0)
    truth = generator.choice(list("AABBT"), 150)
    return {
        name: "".join(np.where(generator.random(150) < 0.8, truth, generator.choice(list("ABT"), 150)))
        for name in "abc"
    }


@pytest.mark.parametrize("policy", ["official", "balanced", "strict", "net", "answered"])
def test_hard_rules_are_accuracy_with_that_gold(policy: str, people: dict[str, str]) -> None:
    verdicts = random_verdicts(np.random.default_rng(1), 150, 3)
    annotations, cases = annotations_of(people), cases_of(150)
    table = gold_rules(verdicts, annotations, cases, policy=policy, **FAST)
    rows = table[table["part"] == "rule"].set_index(["rule", "judge"])
    votes = [[row.count(letter) for letter in "ABT"] for row in map("".join, zip(*people.values(), strict=True))]
    letters = {
        "majority": "".join("ABT"[int(np.argmax(row))] if max(row) > 1 else "?" for row in votes),
        "unanimous": "".join("ABT"[int(np.argmax(row))] if max(row) == 3 else "?" for row in votes),
    }
    golds = {name: gold_of(text) for name, text in letters.items()} | {"posterior": posterior(annotations, cases)}
    for rule, gold in golds.items():
        expected = accuracy(verdicts, gold, cases, policy=policy, **FAST).set_index("judge").loc[rows.loc[rule].index]
        for name, same in {
            "n": "n",
            "accuracy": "accuracy",
            "low": "low",
            "high": "high",
        }.items():
            np.testing.assert_allclose(rows.loc[rule, name], expected[same], atol=1e-9)


def test_soft_labels_are_expected_scores() -> None:
    people = {"a": "AAAT", "b": "ABAT", "c": "ABBB"}
    verdicts = verdicts_of({("j", "AB"): "ABTA", ("j", "BA"): "AAT-"})
    table = gold_rules(verdicts, annotations_of(people), cases_of(4), **FAST)
    rows = table[(table["part"] == "rule")].set_index("rule")
    # votes: AAA, ABB, AAB, TTB; a tie against a decisive label is worth a half
    assert rows.loc["soft_votes", "accuracy"] == pytest.approx(np.mean([1, (2 / 3 + 1 / 3) / 2, 1 / 2, 1 / 3]))
    # others' majorities: case 1 A three times, case 2 B once, case 3 A once, case 4 tie once
    assert rows.loc["leave_one_out", "accuracy"] == pytest.approx((3 * 1 + 0.5 + 0.5 + 0.5) / 6)
    assert rows.loc["leave_one_out", "n"] == 4


def test_ranks_and_kendalls_tau(people: dict[str, str]) -> None:
    table = gold_rules(random_verdicts(np.random.default_rng(2), 150, 5), annotations_of(people), cases_of(150), **FAST)
    rows = table[table["part"] == "rule"].pivot(index="judge", columns="rule", values="accuracy")
    ranking = table[table["part"] == "ranking"].set_index("rule")
    for rule in RULES:
        assert ranking.loc[rule, "kendall_tau"] == pytest.approx(kendalltau(rows["majority"], rows[rule]).statistic)
        ranks = table[(table["part"] == "rule") & (table["rule"] == rule)].set_index("judge")["rank"]
        assert (rows[rule].rank(ascending=False, method="min") == ranks).all()
    assert ranking.loc["majority", "kendall_tau"] == pytest.approx(1.0)
    assert (ranking["n_judges"] == 5).all()


def test_two_labels_mistaken_alike_are_corrected_as_by_lam_and_stork() -> None:
    """Symmetric by construction: every row of votes has its mirror image, and so has the judge's verdict."""
    generator = np.random.default_rng(3)
    n = 400
    truth = generator.integers(0, 2, n)
    votes = np.where(generator.random((3, n)) < 0.8, truth, 1 - truth)
    verdict = np.where(generator.random(n) < 0.9, truth, 1 - truth)
    mirrored, shown = np.hstack([votes, 1 - votes]), np.append(verdict, 1 - verdict)
    letters = ["".join(np.array(list("AB"))[row]) for row in (*mirrored, shown)]
    table = gold_rules(
        verdicts_of({("j", "AB"): letters[3]}),
        annotations_of(dict(zip("abc", letters, strict=False))),
        cases_of(2 * n),
        categories=["A", "B"],
        **FAST,
    )
    row = table[table["part"] == "corrected"].iloc[0]
    observed = table[(table["part"] == "rule") & (table["rule"] == "majority")]["accuracy"].iloc[0]
    error = row["label_error"]
    assert row["accuracy"] == pytest.approx((observed - error) / (1 - 2 * error), abs=1e-5)
    # by hand: the most that can be wrong is 4/3 of the split majorities that this judge allows to be wrong
    split = (mirrored.sum(axis=0) % 3 > 0).mean()
    agreed = (shown == (mirrored.sum(axis=0) > 1))[mirrored.sum(axis=0) % 3 > 0].mean()
    most = 4 / 3 * split * min(0.5, 1 - agreed)
    assert row["label_error_most"] == pytest.approx(most)
    sampling = 1.96 * np.sqrt(observed * (1 - observed) / (2 * n)) + 0.03
    assert observed - most - sampling < row["low"] < observed - most
    assert observed + most < row["high"] <= min(1, observed + most + sampling)
    assert row["low"] <= row["independent_low"] < row["accuracy"] < row["independent_high"] <= row["high"]
    assert row["dependence_low"] < 0 < row["dependence_high"]
    assert pd.isna(row["reason"]) or "independently" not in row["reason"]


def test_a_correction_that_overshoots_is_cut_off_and_says_so() -> None:
    """A judge that follows the majority, errors included, cannot be independent of it."""
    generator = np.random.default_rng(5)
    truth = generator.integers(0, 2, 300)
    votes = np.where(generator.random((3, 300)) < 0.75, truth, 1 - truth)
    texts = ["".join(np.array(list("AB"))[row]) for row in (*votes, (votes.sum(axis=0) > 1).astype(int))]
    people = annotations_of(dict(zip("abc", texts, strict=False)))
    row = gold_rules(verdicts_of({("j", "AB"): texts[3]}), people, cases_of(300), **FAST)
    row = row[row["part"] == "corrected"].iloc[0]
    assert row["accuracy"] == 1.0
    assert "overshoots" in row["reason"]


def test_one_vote_is_not_unanimous_and_is_told() -> None:
    people = {"a": "AAB-", "b": "AAA-", "c": "A--B"}
    table = gold_rules(verdicts_of({("j", "AB"): "AAAA"}), annotations_of(people), cases_of(4), **FAST)
    rows = table[table["part"] == "rule"].set_index("rule")
    assert rows.loc["unanimous", ["n", "n_excluded"]].tolist() == [2, 2]
    assert "one vote is not unanimous" in rows.loc["unanimous", "reason"]
    assert rows.loc["majority", "n"] == 3


def test_the_ranking_without_each_annotator() -> None:
    """Two who agree and one who is contrary: without one of the two, only the cases of the rest decide."""
    generator = np.random.default_rng(6)
    truth = generator.integers(0, 2, 200)
    votes = np.stack([truth, np.where(generator.random(200) < 0.9, truth, 1 - truth), 1 - truth])
    judges = {
        (f"j{i}", "AB"): "".join(np.array(list("AB"))[np.where(generator.random(200) < rate, truth, 1 - truth)])
        for i, rate in enumerate((0.9, 0.7, 0.5))
    }
    texts = ["".join(np.array(list("AB"))[row]) for row in votes]
    table = gold_rules(verdicts_of(judges), annotations_of(dict(zip("abc", texts, strict=True))), cases_of(200), **FAST)
    rows = table[table["part"] == "left_out"].set_index("annotator")
    assert rows["n"].tolist() == [int((votes[1] == votes[2]).sum()), 0, int((votes[0] == votes[1]).sum())]
    assert rows.loc["a", "kendall_tau"] < 0 < rows.loc["c", "kendall_tau"]
    assert pd.isna(rows.loc["b", "kendall_tau"])
    assert rows.loc["b", "reason"]


def test_labels_without_error_need_no_correction() -> None:
    text = "AABBT" * 20
    table = gold_rules(
        random_verdicts(np.random.default_rng(4), 100, 2),
        annotations_of(dict.fromkeys("abc", text)),
        cases_of(100),
        **FAST,
    )
    rows = table[table["part"] == "rule"].pivot(index="judge", columns="rule", values="accuracy")
    corrected = table[table["part"] == "corrected"].set_index("judge")
    np.testing.assert_allclose(corrected["accuracy"], rows["majority"], atol=1e-9)
    np.testing.assert_allclose(corrected["label_error"], 0, atol=1e-9)
    np.testing.assert_allclose(rows.sub(rows["majority"], axis=0), 0, atol=1e-9)


@pytest.mark.parametrize(
    ("people", "reason", "n"),
    [({"a": "AB", "b": "AB"}, "fewer than three", 2), ({"consensus": "AB"}, "only consensus labels", 0)],
)
def test_without_a_model_its_rules_are_null(people: dict[str, str], reason: str, n: int) -> None:
    table = gold_rules(verdicts_of({("j", "AB"): "AB"}), annotations_of(people), cases_of(2), **FAST)
    rows = table[table["part"].isin(["rule", "corrected"])].set_index(["part", "rule"])
    for key in (("rule", "posterior"), ("rule", "soft_posterior"), ("corrected", "majority")):
        row = rows.loc[[key]].iloc[0]
        assert pd.isna(row["accuracy"])
        assert reason in row["reason"]
    assert rows.loc[[("rule", "majority")], "n"].tolist() == [n]


@pytest.mark.parametrize(("verdict", "said"), [("wrong", "lower"), ("right", "higher")])
def test_a_judge_that_does_not_err_independently_is_told_by_the_direction(
    people: dict[str, str], verdict: str, said: str
) -> None:
    """A judge that has the majority's label where the annotators agree, and where they are split never or always."""
    other = {"A": "B", "B": "A", "T": "A"}
    letters = []
    for votes in map("".join, zip(*people.values(), strict=True)):
        most = max("ABT", key=votes.count)
        letters.append(most if len(set(votes)) == 1 or verdict == "right" else other[most])
    verdicts = verdicts_of({("j", order): "".join(letters) for order in ("AB", "BA")})
    table = gold_rules(verdicts, annotations_of(people), cases_of(150), resamples=200, seed=0)
    row = table[table["part"] == "corrected"].iloc[0]
    assert (row["dependence_high"] < 0) if said == "lower" else (row["dependence_low"] > 0)
    assert f"the judge scores {said} where the annotators are split" in row["reason"]
    assert "not corrected" not in row["reason"]
