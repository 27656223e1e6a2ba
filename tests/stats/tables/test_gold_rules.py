"""Gold rules, and how often annotators err by Dawid and Skene's model."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.annotators import posterior as most_probable
from mrb_lib.stats.dawid_skene import em, label_counts
from mrb_lib.stats.tables.gold_rules import NO_MASS
from tests.stats import small_tables as small

FAST = {"resamples": 100, "seed": 0}


RULES = ("majority", "unanimous", "posterior", "leave_one_out", "soft_votes", "soft_posterior")


def gold_rules(
    verdicts: pd.DataFrame | None, annotations: pd.DataFrame, part: str | None = None, **options: object
) -> pd.DataFrame:
    cases = small.cases_of(annotations["case_id"].nunique())
    return small.rows_of("gold_rules", cases, verdicts, None, annotations, part=part, **{**FAST, **options})


def posterior(annotations: pd.DataFrame, cases: pd.DataFrame) -> pd.DataFrame:
    return small.analysis_of(cases, annotations=annotations, rule="posterior").gold


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
    verdicts = small.random_verdicts(np.random.default_rng(1), 150, 3)
    annotations, cases = small.annotations_of(people), small.cases_of(150)
    rows = gold_rules(verdicts, annotations, "rule", policy=policy).set_index(["rule", "judge"])
    votes = [[row.count(letter) for letter in "ABT"] for row in map("".join, zip(*people.values(), strict=True))]
    letters = {
        name: "".join("ABT"[int(np.argmax(row))] if max(row) >= least else "?" for row in votes)
        for name, least in (("majority", 2), ("unanimous", 3))
    }
    golds = {name: small.gold_of(text) for name, text in letters.items()} | {"posterior": posterior(annotations, cases)}
    for rule, labels in golds.items():
        expected = small.accuracy(verdicts, labels, cases, policy=policy, **FAST).set_index("judge")
        own, names = rows.loc[rule], ["n", "accuracy", "low", "high"]
        np.testing.assert_allclose(own[names].astype(float), expected.loc[own.index, names].astype(float), atol=1e-9)


def test_soft_labels_are_expected_scores() -> None:
    people = {"a": "AAAT", "b": "ABAT", "c": "ABBB"}
    verdicts = small.verdicts_of({("j", "AB"): "ABTA", ("j", "BA"): "AAT-"})
    rows = gold_rules(verdicts, small.annotations_of(people), "rule").set_index("rule")
    # votes: AAA, ABB, AAB, TTB; a tie against a decisive label is worth a half
    assert rows.loc["soft_votes", "accuracy"] == pytest.approx(np.mean([1, (2 / 3 + 1 / 3) / 2, 1 / 2, 1 / 3]))
    # others' majorities: case 1 A three times, case 2 B once, case 3 A once, case 4 tie once
    assert rows.loc["leave_one_out", "accuracy"] == pytest.approx((3 * 1 + 0.5 + 0.5 + 0.5) / 6)
    assert rows.loc["leave_one_out", "n"] == 4


def test_ranks_and_kendalls_tau(people: dict[str, str]) -> None:
    """By decisive accuracy, as in the table `accuracy`."""
    verdicts, cases = small.random_verdicts(np.random.default_rng(2), 150, 5), small.cases_of(150)
    verdicts = verdicts.dropna(subset="choice")
    table = gold_rules(verdicts, small.annotations_of(people))
    rules, ranking = small.part_of(table, "rule"), small.part_of(table, "ranking").set_index("rule")
    ranks = rules.pivot(index="judge", columns="rule", values="rank").astype(float)
    expected = small.accuracy(verdicts, posterior(small.annotations_of(people), cases), cases, **FAST).set_index(
        "judge"
    )
    own, names = rules[rules["rule"] == "posterior"].set_index("judge"), ["rank", "decisive_accuracy"]
    np.testing.assert_allclose(own[names].astype(float), expected.loc[own.index, names].astype(float), atol=1e-9)
    for rule in RULES:
        assert ranking.loc[rule, "kendall_tau"] == pytest.approx(kendalltau(ranks["majority"], ranks[rule]).statistic)
    assert (ranking["n_judges"] == 5).all()
    assert (rules["majority_rank"] == rules["judge"].map(ranks["majority"])).all()


def test_soft_votes_rank_by_soft_decisive_accuracy() -> None:
    """Worked out by hand: each vote for A or B counts as a case with that label."""
    people = {"a": "AABT", "b": "ABBT", "c": "AAAT"}
    rows = gold_rules(small.verdicts_of({("j", "AB"): "ATBA"}), small.annotations_of(people), "rule").set_index("rule")
    side_a = (1 + 2 / 3 * 1 / 2 + 1 / 3 * 0) / (1 + 2 / 3 + 1 / 3)
    side_b = (1 / 3 * 1 / 2 + 2 / 3 * 1) / (1 / 3 + 2 / 3)
    assert rows.loc["soft_votes", "decisive_accuracy"] == pytest.approx((side_a + side_b) / 2)


def test_one_vote_is_not_unanimous_and_is_told() -> None:
    people = {"a": "AAB-", "b": "AAA-", "c": "A--B"}
    rows = gold_rules(small.verdicts_of({("j", "AB"): "AAAA"}), small.annotations_of(people), "rule").set_index("rule")
    assert rows.loc["unanimous", ["n", "n_excluded"]].tolist() == [2, 2]
    assert "one vote is not unanimous" in rows.loc["unanimous", "reason"]
    assert rows.loc["majority", "n"] == 3


def test_the_ranking_without_each_annotator() -> None:
    """Two who agree and one who is contrary: without one of the two, only the cases of the rest decide."""
    generator = np.random.default_rng(6)
    truth = "".join(generator.choice(list("AB"), 200))
    right = {name: generator.random(200) < rate for name, rate in (("b", 0.9), ("j0", 0.9), ("j1", 0.7), ("j2", 0.5))}
    verdicts, *_ = small.judged(right, truth)
    agreed = right.pop("b")
    people = small.annotations_of({"a": truth, "c": truth.translate(str.maketrans("AB", "BA"))})
    people = pd.concat([people, verdicts[verdicts["judge"] == "b"].rename(columns={"judge": "annotator"})[[*people]]])
    rows = gold_rules(verdicts[verdicts["judge"] != "b"], people, "left_out").set_index("annotator")
    assert rows["n"].to_dict() == {"a": (~agreed).sum(), "b": 0, "c": agreed.sum()}
    assert rows.loc["a", "kendall_tau"] < 0 < rows.loc["c", "kendall_tau"]
    assert pd.isna(rows.loc["b", "kendall_tau"])
    assert rows.loc["b", "reason"]


def test_labels_without_error_are_the_same_by_every_rule() -> None:
    people = small.annotations_of(dict.fromkeys("abc", "AABBT" * 20))
    rows = gold_rules(small.random_verdicts(np.random.default_rng(4), 100, 2), people, "rule")
    np.testing.assert_allclose(rows.loc[rows["rule"] == "majority", "label_error"], 0, atol=1e-9)
    others = rows[rows["rule"] != "majority"]
    np.testing.assert_allclose(others["difference"], 0, atol=1e-9)
    assert others[["difference_low", "p_value"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("people", "reason", "n"),
    [({"a": "AB", "b": "AB"}, "fewer than three", 2), ({"consensus": "AB"}, "only consensus labels", 0)],
)
def test_without_a_model_its_rules_are_null(people: dict[str, str], reason: str, n: int) -> None:
    table = gold_rules(small.verdicts_of({("j", "AB"): "AB"}), small.annotations_of(people))
    rows = small.part_of(table, "rule").set_index("rule")
    of_model = rows.loc[["posterior", "soft_posterior"]]
    assert of_model["accuracy"].isna().all()
    assert of_model["reason"].str.contains(reason).all()
    assert rows.loc["majority", "n"] == n
    [alone] = small.part_of(table, "annotator").to_dict("records")
    assert reason in alone["reason"]


def test_without_verdicts_the_annotators_are_still_described(people: dict[str, str]) -> None:
    table = gold_rules(None, small.annotations_of(people))
    assert set(table["part"]) == {"annotator", "confusion", "prevalence"}
    assert "cannot tell whether the gold rule changes the order" in TABLES["gold_rules"].says(table)


def annotators(annotations: pd.DataFrame, part: str | None = None, **options: object) -> pd.DataFrame:
    return gold_rules(None, annotations, part, **options)


def noisy(n: int, right: dict[str, float], seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Annotations of people who give the truth this often, and their codes."""
    generator = np.random.default_rng(seed)
    truth = generator.choice(3, n, p=[0.5, 0.3, 0.2])
    codes = [
        np.where(generator.random(n) < rate, truth, (truth + generator.integers(1, 3, n)) % 3)
        for rate in right.values()
    ]
    letters = ["".join(np.array(list("ABT"))[own]) for own in codes]
    return small.annotations_of(dict(zip(right, letters, strict=True))), np.array(codes)


def test_rows_are_those_of_em() -> None:
    annotations, labels = noisy(200, {"a": 0.9, "b": 0.7, "c": 0.8})
    table = annotators(annotations)
    fit = em(label_counts(labels.T, 3))
    right = (np.diagonal(fit.confusion[0], axis1=1, axis2=2) * fit.prevalence[0]).sum(axis=1)
    for part, expected in (("confusion", fit.confusion[0]), ("prevalence", fit.prevalence[0]), ("annotator", right)):
        np.testing.assert_allclose(small.part_of(table, part)["probability"], expected.ravel(), atol=1e-9)


def test_samples_at_once_are_the_samples_one_by_one_and_a_label_without_mass_is_null() -> None:
    labels = np.array([[0, 0, 0], [1, 1, 1], [2, 2, 2], [0, 1, 0]])
    weights = np.array([[4.0, 3.0, 2.0, 1.0], [4.0, 3.0, 0.0, 1.0]])
    whole, without = (em(label_counts(labels, 3), row[None]) for row in weights)
    both = em(label_counts(labels, 3), weights, start=whole.posterior[0])
    assert both.converged.all()
    np.testing.assert_allclose(both.prevalence, [whole.prevalence[0], without.prevalence[0]], atol=1e-6)
    np.testing.assert_allclose(both.confusion, [whole.confusion[0], without.confusion[0]], atol=1e-6)
    assert np.isnan(both.confusion).any(axis=(1, 3)).tolist() == [[False] * 3, [False, False, True]]


def test_no_resamples_is_no_interval_and_a_label_nobody_gives_is_null() -> None:
    table = annotators(small.annotations_of({"a": "ABAB", "b": "ABAA", "c": "ABBB"}), resamples=0)
    confusion = small.part_of(table, "confusion")
    assert table["probability_low"].isna().all()
    tie = confusion[confusion["gold"] == "tie"]
    assert tie["probability"].isna().all()
    assert (tie["reason"] == NO_MASS).all()
    assert (confusion.loc[confusion["probability"].notna(), "reason"].str.contains("no resamples")).all()


def test_a_label_that_nobody_gives_does_not_change_the_model() -> None:
    _, labels = noisy(600, {"a": 0.8, "b": 0.8, "c": 0.7}, 5)
    people = small.annotations_of(
        {name: "".join(np.array(list("ABB"))[own]) for name, own in zip("abc", labels, strict=True)}
    )
    three, two = (
        annotators(people, meta=BenchmarkMeta("labels", "general", ("overall",), names))
        for names in (("A", "B", "tie"), ("A", "B"))
    )
    unknown = three[(three["gold"] == "tie") | (three["label"] == "tie")]
    assert unknown[["probability", "probability_low", "probability_high"]].isna().sum().tolist() == [16, 16, 16]
    assert (unknown["reason"] == NO_MASS).all()
    pd.testing.assert_frame_equal(three.drop(unknown.index).reset_index(drop=True), two, atol=1e-6)


def test_the_posterior_is_the_most_probable_label_of_em() -> None:
    annotations, labels = noisy(1500, {"a": 0.95, "b": 0.7, "c": 0.7}, seed=3)
    meta = BenchmarkMeta("people", "general", ("overall",))
    found = most_probable(Benchmark(meta, small.cases_of(1500, images=[[] for _ in range(1500)]), annotations))
    names = np.array(["A", "B", "tie"])
    assert found["choice"].tolist() == names[em(label_counts(labels.T, 3)).posterior[0].argmax(axis=1)].tolist()
    votes = found[["votes_a", "votes_b", "votes_tie"]]
    assert (votes.sum(axis=1) == found["n_annotators"]).all()
    split = (votes.max(axis=1) == 1).to_numpy()
    assert (found["choice"] == names[labels[0]])[split].mean() > 0.9


def test_the_posterior_has_the_rows_of_gold(pictured: Benchmark) -> None:
    found, expected = most_probable(pictured), gold(pictured)
    shared = [name for name in expected.columns if name != "choice"]
    pd.testing.assert_frame_equal(found[shared], expected[shared])
    assert found["choice"].dtype == expected["choice"].dtype


def test_people_who_saw_different_cases() -> None:
    people = {"a": "ABAB--AB", "b": "AB--ABAB", "c": "--ABABAA", "d": "ABABABBB"}
    assert annotators(small.annotations_of(people), "annotator")["n"].tolist() == [6, 6, 6, 8]


def test_the_peer_gap_by_hand() -> None:
    """c is alone twice of four: (0 + 0) / 2 - 1 each; a and b then (1 + 0) / 2 - 0 each."""
    people = small.annotations_of({"a": "ABAB", "b": "ABAB", "c": "ABBA"})
    rows = annotators(people, "annotator").set_index("annotator")
    assert rows["peer_gap"].to_dict() == pytest.approx({"a": 0.25, "b": 0.25, "c": -0.5})


def test_two_columns_of_clusters_that_cross_have_no_interval_of_the_model() -> None:
    annotations, _ = noisy(100, {"a": 0.9, "b": 0.8, "c": 0.8})
    cases = small.cases_of(100, item=[f"i{i // 2}" for i in range(100)]).assign(
        question=[f"q{i % 10}" for i in range(100)]
    )
    table = small.rows_of("gold_rules", cases, None, None, annotations, **FAST)
    assert table["probability_low"].isna().all()
    assert table["reason"].str.contains("two columns of clusters cross").all()
    assert small.part_of(table, "annotator")["peer_gap_low"].notna().all()
