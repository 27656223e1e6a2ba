"""Gold rules, and how often annotators err by Dawid and Skene's model."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau
from statsmodels.stats.proportion import proportion_confint

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.annotators import posterior as annotator_errors_posterior
from mrb_lib.stats.dawid_skene import em, label_counts
from mrb_lib.stats.tables.gold_rules import NO_MASS, kish_size
from tests.stats.small_tables import accuracy, annotations_of, cases_of, gold_of, random_verdicts, rows_of, verdicts_of

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
    for rule, labels in golds.items():
        expected = accuracy(verdicts, labels, cases, policy=policy, **FAST).set_index("judge").loc[rows.loc[rule].index]
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


LETTERS = np.array(list("ABT"))


def annotators(annotations: pd.DataFrame, cases: pd.DataFrame, **options: object) -> pd.DataFrame:
    return rows_of("gold_rules", cases, None, None, annotations, **options)


def benchmark_of(annotations: pd.DataFrame, n: int) -> Benchmark:
    cases = cases_of(n, images=[[] for _ in range(n)])
    return Benchmark(BenchmarkMeta("people", "general", ("overall",)), cases, annotations)


def noisy(n: int, right: dict[str, float], seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    generator = np.random.default_rng(seed)
    truth = generator.choice(3, n, p=[0.5, 0.3, 0.2])
    labels = {
        name: np.where(generator.random(n) < rate, truth, (truth + generator.integers(1, 3, n)) % 3)
        for name, rate in right.items()
    }
    return annotations_of({name: "".join(LETTERS[codes]) for name, codes in labels.items()}), np.array(
        list(labels.values())
    )


def test_rows_are_those_of_em() -> None:
    annotations, labels = noisy(200, {"a": 0.9, "b": 0.7, "c": 0.8})
    table = annotators(annotations, cases_of(200), **FAST)
    fit = em(label_counts(labels.T, 3))
    confusion = table[table["part"] == "confusion"]
    np.testing.assert_allclose(confusion["probability"], fit.confusion[0].ravel(), atol=1e-9)
    assert (confusion["probability_low"] <= confusion["probability"]).all()
    assert (confusion["probability"] <= confusion["probability_high"]).all()
    shares = table[table["part"] == "prevalence"]
    np.testing.assert_allclose(shares["probability"], fit.prevalence[0], atol=1e-9)
    right = (np.diagonal(fit.confusion[0], axis1=1, axis2=2) * fit.prevalence[0]).sum(axis=1)
    np.testing.assert_allclose(table.loc[table["part"] == "annotator", "probability"], right, atol=1e-9)


def test_the_interval_is_wilsons_for_the_cases_that_give_the_variance() -> None:
    """A bootstrap of fifty labelled cases gives fifty back; without variance the most there can be are taken."""
    draws = np.random.default_rng(1).multinomial(50, [0.3, 0.5, 0.2], 20_000) / 50
    assert kish_size(draws[:, None])[0] == pytest.approx(50, rel=0.03)
    assert np.isinf(kish_size(np.ones((10, 1, 1)))[0])
    assert np.isnan(kish_size(np.full((10, 1, 1), np.nan))[0])


def test_no_resamples_is_no_interval_and_a_label_nobody_gives_is_null() -> None:
    table = annotators(annotations_of({"a": "ABAB", "b": "ABAA", "c": "ABBB"}), cases_of(4), resamples=0)
    confusion = table[table["part"] == "confusion"]
    assert table["probability_low"].isna().all()
    tie = confusion[confusion["gold"] == "tie"]
    assert tie["probability"].isna().all()
    assert (tie["reason"] == NO_MASS).all()
    assert (confusion.loc[confusion["probability"].notna(), "reason"].str.contains("no resamples")).all()


def two_labels(n: int, right: list[float], seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, 2, n)
    labels = np.array([np.where(generator.random(n) < rate, truth, 1 - truth) for rate in right])
    return annotations_of({f"a{i}": "".join(LETTERS[row]) for i, row in enumerate(labels)}), labels


def test_a_label_that_nobody_gives_does_not_change_the_model() -> None:
    annotations, _ = two_labels(600, [0.8, 0.8, 0.7], 5)
    three, two = (
        annotators(
            annotations, cases_of(600), meta=BenchmarkMeta("labels", "general", ("overall",), tuple(names)), **FAST
        )
        for names in (["A", "B", "tie"], ["A", "B"])
    )
    unknown = three[(three["gold"] == "tie") | (three["label"] == "tie")]
    columns = ["probability", "probability_low", "probability_high"]
    assert unknown[columns].isna().sum().tolist() == [16, 16, 16]
    assert (unknown["reason"] == NO_MASS).all()
    known = three.drop(unknown.index).reset_index(drop=True)
    pd.testing.assert_frame_equal(known, two, atol=1e-6)


def test_an_annotator_of_few_cases_has_the_intervals_of_few_cases() -> None:
    """All twelve labels right is no certainty: the width is that of the annotator's cases, not of all."""
    annotations, labels = two_labels(400, [0.95] * 4 + [1.0], 6)
    few = annotations[(annotations["annotator"] != "a4") | annotations["case_id"].isin([f"c{i}" for i in range(12)])]
    table = annotators(few, cases_of(400), **FAST)
    rows = table[(table["part"] == "confusion") & (table["annotator"] == "a4") & table["probability"].notna()]
    for _, row in rows[rows["gold"] == rows["label"]].iterrows():
        n = (labels[4, :12] == "AB".index(row["gold"])).sum()
        assert row["probability_low"] == pytest.approx(proportion_confint(n, n, method="wilson")[0], abs=0.03)


def test_the_posterior_is_the_most_probable_label_of_em() -> None:
    annotations, labels = noisy(1500, {"a": 0.95, "b": 0.7, "c": 0.7}, seed=3)
    found = annotator_errors_posterior(benchmark_of(annotations, 1500))
    fit = em(label_counts(labels.T, 3))
    best = np.array(["A", "B", "tie"])[fit.posterior[0].argmax(axis=1)]
    assert found["choice"].tolist() == best.tolist()
    assert (found[["votes_a", "votes_b", "votes_tie"]].sum(axis=1) == found["n_annotators"]).all()
    majority = found[["votes_a", "votes_b", "votes_tie"]].max(axis=1) > 1
    alone = found[~majority]
    assert (alone["choice"] == np.array(["A", "B", "tie"])[labels[0][~majority.to_numpy()]]).mean() > 0.9


def test_the_posterior_has_the_rows_of_gold(pictured: Benchmark) -> None:
    found, expected = annotator_errors_posterior(pictured), gold(pictured)
    shared = [name for name in expected.columns if name != "choice"]
    pd.testing.assert_frame_equal(found[shared], expected[shared])
    assert found["choice"].dtype == expected["choice"].dtype


def test_people_who_saw_different_cases() -> None:
    table = annotators(
        annotations_of({"a": "ABAB--AB", "b": "AB--ABAB", "c": "--ABABAA", "d": "ABABABBB"}), cases_of(8), **FAST
    )
    assert table.loc[table["part"] == "annotator", "n"].tolist() == [6, 6, 6, 8]


def test_the_peer_gap_by_hand() -> None:
    """c is alone twice of four: (0 + 0) / 2 - 1 each; a and b then (1 + 0) / 2 - 0 each."""
    table = annotators(annotations_of({"a": "ABAB", "b": "ABAB", "c": "ABBA"}), cases_of(4), **FAST)
    rows = table[table["part"] == "annotator"].set_index("annotator")
    assert rows["peer_gap"].to_dict() == pytest.approx({"a": 0.25, "b": 0.25, "c": -0.5})
    assert rows["peer_gap"].sum() == pytest.approx(0)


def test_an_annotator_apart_is_named_and_others_are_not() -> None:
    annotations, _ = noisy(150, {"a": 0.9, "b": 0.9, "c": 0.9, "apart": 0.6}, seed=4)
    table = annotators(annotations, cases_of(150), **FAST)
    rows = table[table["part"] == "annotator"].set_index("annotator")
    assert rows["p_adjusted"].idxmin() == "apart"
    said = TABLES["gold_rules"].says(table)
    assert "apart agrees significantly less with the others than they agree with each other." in said
    assert "The tables agreement, ceiling and selective measure annotators in other ways." in said


def test_no_one_is_called_worst_without_a_test() -> None:
    """The old sentence named the least and the most reliable of any annotators, here of three alike."""
    annotations, _ = noisy(120, {"Ann": 0.85, "Ben": 0.85, "Cyd": 0.85}, seed=11)
    table = annotators(annotations, cases_of(120), **FAST)
    said = TABLES["gold_rules"].says(table)
    assert "No annotator agrees significantly less with the others" in said
    assert not any(name in said for name in ("Ann", "Ben", "Cyd"))


def test_two_columns_of_clusters_that_cross_have_no_interval_of_the_model() -> None:
    annotations, _ = noisy(100, {"a": 0.9, "b": 0.8, "c": 0.8})
    cases = cases_of(100, item=[f"i{i // 2}" for i in range(100)]).assign(question=[f"q{i % 10}" for i in range(100)])
    table = annotators(annotations, cases, **FAST)
    assert table["probability_low"].isna().all()
    assert table["reason"].str.contains("two columns of clusters cross").all()
    assert table.loc[table["part"] == "annotator", "peer_gap_low"].notna().all()
