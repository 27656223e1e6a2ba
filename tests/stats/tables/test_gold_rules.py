from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.analyze import TABLES
from tests.stats.small_tables import (
    accuracy,
    annotations_of,
    cases_of,
    gold_of,
    random_verdicts,
    rows_of,
    verdicts_of,
)

FAST = {"resamples": 100, "seed": 0}
RULES = ("majority", "unanimous", "posterior", "leave_one_out", "soft_votes", "soft_posterior")


def gold_rules(
    verdicts: pd.DataFrame | None, annotations: pd.DataFrame, cases: pd.DataFrame, **options: object
) -> pd.DataFrame:
    return rows_of("gold_rules", cases, verdicts, None, annotations, **options)


def posterior(annotations: pd.DataFrame, cases: pd.DataFrame) -> pd.DataFrame:
    return Analysis.from_frames(cases, annotations=annotations, rule="posterior").gold


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
    """By decisive accuracy, as in the table `accuracy`."""
    verdicts, cases = random_verdicts(np.random.default_rng(2), 150, 5), cases_of(150)
    verdicts = verdicts.dropna(subset="choice")
    table = gold_rules(verdicts, annotations_of(people), cases, **FAST)
    rules = table[table["part"] == "rule"]
    ranks = rules.pivot(index="judge", columns="rule", values="rank").astype(float)
    ranking = table[table["part"] == "ranking"].set_index("rule")
    gold = posterior(annotations_of(people), cases)
    expected = accuracy(verdicts, gold, cases, **FAST).set_index("judge")
    np.testing.assert_allclose(ranks["posterior"], expected.loc[ranks.index, "rank"])
    own = rules[rules["rule"] == "posterior"].set_index("judge")["decisive_accuracy"]
    np.testing.assert_allclose(own, expected.loc[own.index, "decisive_accuracy"], atol=1e-9)
    for rule in RULES:
        assert ranking.loc[rule, "kendall_tau"] == pytest.approx(kendalltau(ranks["majority"], ranks[rule]).statistic)
    assert ranking.loc["majority", "kendall_tau"] == pytest.approx(1.0)
    assert (ranking["n_judges"] == 5).all()
    assert (rules["majority_rank"] == rules["judge"].map(ranks["majority"])).all()


def test_soft_votes_rank_by_soft_decisive_accuracy() -> None:
    """Worked out by hand: each vote for A or B counts as a case with that label."""
    people = {"a": "AABT", "b": "ABBT", "c": "AAAT"}
    table = gold_rules(verdicts_of({("j", "AB"): "ATBA"}), annotations_of(people), cases_of(4), **FAST)
    row = table[(table["part"] == "rule") & (table["rule"] == "soft_votes")].iloc[0]
    side_a = (1 + 2 / 3 * 1 / 2 + 1 / 3 * 0) / (1 + 2 / 3 + 1 / 3)
    side_b = (1 / 3 * 1 / 2 + 2 / 3 * 1) / (1 / 3 + 2 / 3)
    assert row["decisive_accuracy"] == pytest.approx((side_a + side_b) / 2)


def test_a_judge_that_always_ties_does_not_rank_first_and_is_not_named() -> None:
    """Where most labels are ties it has the highest accuracy by far, and by the old ranks the first place."""
    generator = np.random.default_rng(8)
    truth = generator.choice(list("ABTTTT"), 120)
    people = {name: "".join(truth) for name in "abc"}
    right = np.where(generator.random(120) < 0.6, truth, generator.choice(list("AB"), 120))
    shown = {"constant": "T" * 120, "better": "".join(right)}
    verdicts = verdicts_of({(judge, order): text for judge, text in shown.items() for order in ("AB", "BA")})
    table = gold_rules(verdicts, annotations_of(people), cases_of(120), **FAST)
    rows = table[table["part"] == "rule"].set_index(["rule", "judge"])
    for rule in RULES:
        assert rows.loc[(rule, "constant"), "accuracy"] > rows.loc[(rule, "better"), "accuracy"]
        assert rows.loc[(rule, "constant"), "rank"] == 2
        assert rows.loc[(rule, "constant"), "decisive_accuracy"] == pytest.approx(0.5)
    assert "constant" not in TABLES["gold_rules"].says(table)


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


def test_labels_without_error_are_the_same_by_every_rule() -> None:
    text = "AABBT" * 20
    table = gold_rules(
        random_verdicts(np.random.default_rng(4), 100, 2),
        annotations_of(dict.fromkeys("abc", text)),
        cases_of(100),
        **FAST,
    )
    rows = table[table["part"] == "rule"].pivot(index="judge", columns="rule", values="accuracy")
    majority = table[(table["part"] == "rule") & (table["rule"] == "majority")]
    np.testing.assert_allclose(majority["label_error"], 0, atol=1e-9)
    np.testing.assert_allclose(rows.sub(rows["majority"], axis=0), 0, atol=1e-9)
    others = table[(table["part"] == "rule") & (table["rule"] != "majority")]
    np.testing.assert_allclose(others["difference"], 0, atol=1e-9)
    assert others[["difference_low", "p_value"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("people", "reason", "n"),
    [({"a": "AB", "b": "AB"}, "fewer than three", 2), ({"consensus": "AB"}, "only consensus labels", 0)],
)
def test_without_a_model_its_rules_are_null(people: dict[str, str], reason: str, n: int) -> None:
    table = gold_rules(verdicts_of({("j", "AB"): "AB"}), annotations_of(people), cases_of(2), **FAST)
    rows = table[table["part"] == "rule"].set_index("rule")
    for rule in ("posterior", "soft_posterior"):
        assert pd.isna(rows.loc[rule, "accuracy"])
        assert reason in rows.loc[rule, "reason"]
    assert rows.loc["majority", "n"] == n
    [alone] = table[table["part"] == "annotator"].to_dict("records")
    assert reason in alone["reason"]


def test_the_difference_from_the_majority_is_paired_and_corrected_over_the_judges(people: dict[str, str]) -> None:
    verdicts = random_verdicts(np.random.default_rng(9), 150, 4)
    table = gold_rules(verdicts, annotations_of(people), cases_of(150), resamples=400, seed=0)
    rows = table[table["part"] == "rule"]
    own = rows[rows["rule"] == "soft_votes"]
    np.testing.assert_allclose(own["difference"], own["accuracy"] - own["majority_accuracy"], atol=1e-12)
    assert (own["difference_low"] < own["difference"]).all()
    assert (own["difference"] < own["difference_high"]).all()
    apart = own["difference_high"] - own["difference_low"] < 0.6 * (own["high"] - own["low"])
    assert apart.all(), "the same cases are behind both accuracies"
    ordered = own.sort_values("p_value")["p_value"].to_numpy()
    holm = np.minimum(np.maximum.accumulate(ordered * np.arange(4, 0, -1)), 1)
    np.testing.assert_allclose(own.sort_values("p_value")["p_adjusted"], holm)


def test_without_verdicts_the_annotators_are_still_described(people: dict[str, str]) -> None:
    table = gold_rules(None, annotations_of(people), cases_of(150), **FAST)
    assert set(table["part"]) == {"annotator", "confusion", "prevalence"}
    assert "cannot tell whether the gold rule changes the order" in TABLES["gold_rules"].says(table)
