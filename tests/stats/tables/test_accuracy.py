"""The table accuracy: scores, intervals, baselines, kappa, ranks, and the average over dimensions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.proportion import proportion_confint

from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.scoring import correctness
from mrb_lib.tables.schema import DIMENSIONS, POLICIES
from tests.stats.small_tables import (
    Tables,
    accuracy,
    cases_of,
    gold_of,
    judged,
    random_verdicts,
    rows_of,
    significance,
    tables_of,
    verdicts_of,
    with_first,
)

FAST = {"resamples": 200, "seed": 0}
DECISIVE_ENDS = ["decisive_accuracy_low", "decisive_accuracy_high"]


def test_every_case_is_scored_or_counted_as_excluded() -> None:
    tables = tables_of({("full", "AB"): "AAB?AA", ("gaps", "AB"): "A---AA"}, "AAAB?-")
    rows = accuracy(*tables, **FAST).set_index("judge")
    assert rows.loc["full", ["n", "n_excluded", "accuracy", "coverage"]].tolist() == [4, 2, 0.5, 0.75]
    assert rows.loc["gaps", ["n", "n_excluded", "accuracy"]].tolist() == [1, 5, 1]
    assert rows.loc["gaps", ["low", "high"]].isna().all()
    assert "fewer than two clusters" in rows.loc["gaps", "reason"]


def test_answered_keeps_its_coverage_beside_it() -> None:
    tables = tables_of({("j", "AB"): "AB??", ("j", "BA"): "A???"}, "AAAA")
    row = accuracy(*tables, policy="answered", **FAST).iloc[0]
    assert row[["n", "n_excluded", "accuracy"]].tolist() == [2, 2, 0.5]
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


def test_kappa_pools_the_orders() -> None:
    row = accuracy(*tables_of({("j", "AB"): "ABTB", ("j", "BA"): "AA?B"}, "ABBA"), **FAST).iloc[0]
    assert row["cohen_kappa"] == pytest.approx(cohen_kappa_score(list("AABBBAA"), list("AABATBB")))


@pytest.mark.parametrize("policy", ["strict", "net"])
def test_kappa_is_of_the_cases_that_the_accuracy_is_of(policy: str) -> None:
    verdicts, *tables = tables_of({("j", "AB"): "ABBBB", ("j", "BA"): "AB---"}, "ABAAA")
    row = accuracy(verdicts, *tables, policy=policy, **FAST).iloc[0]
    assert (row["n"], row["accuracy"], row["cohen_kappa"]) == (2, 1, 1)
    none = accuracy(verdicts[verdicts["order"] == "AB"], *tables, policy=policy, **FAST).iloc[0]
    assert none["n"] == 0
    assert none[["cohen_kappa", "accuracy", "decisive_accuracy"]].isna().all()


def test_kappa_has_the_interval_of_statsmodels_with_one_verdict_a_case() -> None:
    generator = np.random.default_rng(0)
    gold = generator.choice(list("AABT"), 90)
    choice = np.where(generator.random(90) < 0.5, gold, generator.choice(list("ABT"), 90))
    row = accuracy(*tables_of({("j", "AB"): "".join(choice)}, "".join(gold)), resamples=0).iloc[0]
    wanted = cohens_kappa(pd.crosstab(gold, choice).to_numpy())
    half = t.ppf(0.975, 89) * np.sqrt(wanted.var_kappa * 90 / 89)
    found = row[["cohen_kappa_low", "cohen_kappa", "cohen_kappa_high"]].tolist()
    assert found == pytest.approx([wanted.kappa - half, wanted.kappa, wanted.kappa + half], abs=1e-9)


def test_a_judge_has_rows_only_for_dimensions_it_judged() -> None:
    verdicts = pd.concat([verdicts_of({("a", "AB"): "AB"}), verdicts_of({("b", "AB"): "AB"}, "accuracy")])
    rows = accuracy(verdicts, gold_of("AB"), cases_of(2), **FAST)
    assert list(zip(rows["judge"], rows["dimension"], rows["n"], strict=True)) == [
        ("b", "accuracy", 0),
        ("a", "overall", 2),
    ]
    assert rows["reason"].tolist()[0] == "no case can be scored"
    kept = accuracy(verdicts, gold_of("AB"), cases_of(2), dimensions=["overall"], **FAST)
    assert kept["judge"].tolist() == ["a"]


@pytest.mark.parametrize("n", [40, 47, 53, 61, 73, 89])
def test_exactly_ten_wrong_answers_are_not_few_whatever_the_rounding(n: int) -> None:
    """Issue 42, fault 3: (1 - 37 / 47) * 47 is a little less than 10."""
    case = np.arange(n)
    rows = accuracy(*judged({"ten": case >= 10, "nine": case >= 9}), **FAST).set_index("judge")
    assert rows["interval"].to_dict() == {"ten": "t" if n < 50 else "percentile", "nine": "deff"}


def cr2(value: pd.Series, cluster: pd.Series) -> float:
    """Bell and McCaffrey's (2002) error: the sum of residuals of each cluster over the root of 1 - its share."""
    sums, share = (value - value.mean()).groupby(cluster).sum(), cluster.value_counts(normalize=True)
    return float(np.sqrt((sums**2 / (1 - share)).sum()) / len(value))


@pytest.mark.parametrize("policy", ["balanced", "official"])
def test_the_standard_error_is_cr2_over_clusters(policy: str) -> None:
    generator = np.random.default_rng(2)
    cases = cases_of(100, cluster=list(generator.integers(0, 15, 100)))
    verdicts, gold = random_verdicts(generator, 100, judges=1), gold_of("".join(generator.choice(list("ABT"), 100)))
    row = accuracy(verdicts, gold, cases, policy=policy, resamples=0).iloc[0]
    each = correctness(verdicts, gold, policy).dropna(subset="score").merge(cases, on="case_id")
    assert row["standard_error"] == pytest.approx(cr2(each["score"], each["cluster"]))
    assert row["n_clusters"] == each["cluster"].nunique()


@pytest.mark.parametrize("policy", ["balanced", "official"])
def test_above_constant_is_the_pair_of_the_table_significance(policy: str) -> None:
    generator = np.random.default_rng(2)
    cases = cases_of(100, cluster=list(generator.integers(0, 12, 100)))
    verdicts, gold = random_verdicts(generator, 100, judges=2), gold_of("".join(generator.choice(list("AABT"), 100)))
    rows = accuracy(verdicts, gold, cases, references=1, policy=policy, resamples=0).set_index("judge")
    constant = verdicts_of({"c": {"A": "A", "B": "B", "tie": "T"}[rows.loc["best constant", "label"]] * 100})
    pairs = significance(pd.concat([verdicts, constant]), gold, cases, policy=policy, resamples=200)
    for name in ("j0", "j1"):
        pair = with_first(pairs, name).query("judge_1 == @name and judge_2 == 'c'").iloc[0]
        above = rows.loc[name, ["above_constant", "above_constant_low", "above_constant_high"]]
        assert above.tolist() == pytest.approx(pair[["difference", "low", "high"]].tolist(), abs=1e-9)


def test_macro_is_the_unweighted_mean_over_subfields() -> None:
    generator = np.random.default_rng(0)
    organ = ["eye"] * 54 + ["lung"] * 15 + ["foot"] * 9 + [None] * 2
    verdicts, gold = random_verdicts(generator, 80, judges=2), gold_of("".join(generator.choice(list("AB"), 80)))
    rows = accuracy(verdicts, gold, cases_of(80, organ=organ), by="organ", resamples=500)
    whole, parts = rows[rows["subfield"].isna()].set_index("judge"), rows[rows["subfield"].notna()]
    assert whole["macro_accuracy"].to_dict() == pytest.approx(parts.groupby("judge")["accuracy"].mean().to_dict())
    width = whole["macro_accuracy_high"] - whole["macro_accuracy_low"]
    assert (width > whole["high"] - whole["low"]).all()
    assert parts["macro_accuracy"].isna().all()
    assert accuracy(verdicts, gold, cases_of(80), resamples=0)["macro_accuracy"].isna().all()


@pytest.mark.parametrize("cluster", [["a"] * 20 + ["b"] * 20 + [f"c{i // 2}" for i in range(20)], None])
def test_a_subfield_in_one_cluster_leaves_the_macro_mean_without_an_interval(cluster: list[str] | None) -> None:
    """How it would have come out with other cases is unknown: it is not certain."""
    organ = ["eye"] * 20 + ["lung"] * 20 + ["foot"] * 20 if cluster else ["eye", "lung"] + ["foot"] * 58
    tables = judged({"j": np.arange(60) % 3 < 2}, organ=organ, **({"cluster": cluster} if cluster else {}))
    row = accuracy(*tables, by="organ", resamples=200).iloc[0]
    assert row[["accuracy", "low", "high", "macro_accuracy"]].notna().all()
    assert row[["macro_accuracy_low", "macro_accuracy_high"]].isna().all()
    assert "no interval of macro_accuracy" in row["reason"]


def test_a_subfield_without_a_scored_case_is_not_in_the_macro_mean() -> None:
    tables = tables_of({("j", "AB"): "AAB-"}, "AAAA", organ=["eye", "eye", "foot", "lung"])
    assert accuracy(*tables, by="organ", resamples=50)["macro_accuracy"].iloc[0] == 0.5


CONSTANTS = {"constant-A": "A", "constant-B": "B", "constant-tie": "T"}


@settings(deadline=None, max_examples=30, derandomize=True)
@given(
    share_of_a=st.floats(0.05, 0.95), share_of_ties=st.floats(0, 0.9), right=st.floats(0.6, 0.95),
    policy=st.sampled_from(POLICIES), seed=st.integers(0, 2**16),
)  # fmt: skip
def test_no_constant_is_first_where_a_judge_is_better_than_a_coin(
    share_of_a: float, share_of_ties: float, right: float, policy: str, seed: int
) -> None:
    """Whatever the gold labels: a constant earns exactly one half, however lopsided they are."""
    generator = np.random.default_rng(seed)
    n = 120
    gold = np.where(generator.random(n) < share_of_a, "A", "B")
    gold[:2] = "A", "B"
    ties = generator.random(n) < share_of_ties
    ties[:2] = False
    said = np.where(generator.random(n) < right, gold, np.where(gold == "A", "B", "A"))
    decisive = np.mean([(said == gold)[(gold == side) & ~ties].mean() for side in "AB"])
    letters = {name: letter * n for name, letter in CONSTANTS.items()} | {"judge": "".join(said)}
    rows = accuracy(*tables_of(letters, "".join(np.where(ties, "T", gold))), policy=policy, resamples=0)
    rows = rows[rows["kind"] == "judge"].set_index("judge")
    assert rows.loc[list(CONSTANTS), "decisive_accuracy"].tolist() == [0.5] * 3
    assert rows.loc["judge", "decisive_accuracy"] == pytest.approx(decisive)
    if decisive > 0.5:
        assert rows.index[0] == "judge"
        assert rows["rank"].tolist() == sorted(rows["rank"])
        assert (rows.loc[list(CONSTANTS), "rank"] > 1).all()


def test_judges_that_are_alike_share_a_rank_and_one_without_a_score_has_none() -> None:
    """By decisive accuracy, then accuracy, then name, on the four cases that all but the silent judge answer."""
    letters = {
        "worst": "BBAA?", "silent": "?????", "b": "ABBBA", "a": "AABAA", "knows-ties": "AABAT", "best": "AABBA",
    }  # fmt: skip
    rows = accuracy(*tables_of(letters, "AABBT"), policy="answered", resamples=0)
    assert rows["judge"].tolist() == ["best", "a", "b", "knows-ties", "worst", "silent"]
    assert rows["rank"].astype("float64").fillna(0).tolist() == [1, 2, 2, 2, 5, 0]


def test_decisive_accuracy_is_balanced_accuracy_where_every_verdict_decides() -> None:
    """scikit-learn's balanced_accuracy_score, on the cases whose gold is A or B."""
    generator = np.random.default_rng(4)
    gold, said = generator.choice(list("AABT"), 90), generator.choice(list("AB"), 90)
    row = accuracy(*tables_of({"j": "".join(said)}, "".join(gold)), resamples=0).iloc[0]
    kept = gold != "T"
    assert row["decisive_accuracy"] == pytest.approx(balanced_accuracy_score(gold[kept], said[kept]), abs=1e-12)
    assert row["decisive_coverage"] == 1


def test_a_tie_counts_half_and_a_null_nothing_and_coverage_says_so() -> None:
    tables = tables_of({"j": "AT?B"}, "AABB")
    row = accuracy(*tables, resamples=0).iloc[0]
    assert row["decisive_accuracy"] == ((1 + 0.5) / 2 + (0 + 1) / 2) / 2
    assert row["decisive_coverage"] == 0.5
    answered = accuracy(*tables, policy="answered", resamples=0).iloc[0]
    assert answered["decisive_accuracy"] == ((1 + 0.5) / 2 + 1) / 2


def test_decisive_accuracy_of_30_of_30_has_width() -> None:
    """With 15 wins a side, Wilson's interval of 30 of 30; where gold names one side, nothing tells from a constant."""
    thirty, one, few = (
        accuracy(*tables_of({"j": gold}, gold), resamples=100).iloc[0]
        for gold in ("AB" * 15, "A" * 30, "AB" * 4 + "A" * 9)
    )
    wanted = proportion_confint(30, 30, method="wilson")
    assert thirty[DECISIVE_ENDS].tolist() == pytest.approx(wanted)
    assert thirty[["low", "high"]].tolist() == pytest.approx(wanted)
    assert one[["decisive_accuracy", *DECISIVE_ENDS]].isna().all()
    assert "one side only" in one["reason"]
    assert few["decisive_accuracy"] == 1 and few[DECISIVE_ENDS].isna().all()
    assert "no interval of decisive_accuracy: gold names a side in fewer than 5 clusters" in few["reason"]


def test_references_stand_below_the_judges_and_have_no_rank() -> None:
    generator = np.random.default_rng(0)
    verdicts, gold = random_verdicts(generator, 60, judges=3), gold_of("".join(generator.choice(list("ABTT"), 60)))
    cases = cases_of(60, organ=["eye", "lung"] * 30).assign(response_a="two words", response_b="one")
    options = {"by": "organ", "resamples": 60}
    rows = accuracy(verdicts, gold, cases, references=1, **options)
    judges, below = rows[rows["kind"] == "judge"], rows[rows["kind"] == "reference"]
    pd.testing.assert_frame_equal(judges.reset_index(drop=True), accuracy(verdicts, gold, cases, **options))
    assert below["rank"].isna().all()
    names = ["always tie", "always A", "longer response", "most frequent label", "best constant"]
    for _, part in rows.groupby("subfield", dropna=False):
        assert part["judge"].tolist()[3:] == names
    whole = below[below["subfield"].isna()].set_index("judge")
    assert whole.loc[["most frequent label", "best constant"], "label"].tolist() == ["tie", "tie"]
    assert whole.loc["always A", "accuracy"] == whole.loc["longer response", "accuracy"]
    meta = BenchmarkMeta("m", "general", (), ("A", "B"))
    assert "always tie" not in set(accuracy(verdicts, gold, cases, references=1, meta=meta, **options)["judge"])
    bare = accuracy(verdicts, gold, cases_of(60)[["case_id"]], references=1, resamples=0)
    assert "longer response" not in set(bare["judge"])


def test_shares_of_ties_stand_beside_those_of_the_annotators() -> None:
    labels = "AB" * 30 + "T" * 20
    tables = tables_of({"shy": "T" * 60 + "AB" * 10, "like": labels, "bold": "AB" * 40}, labels)
    annotations = pd.concat([tables[1].assign(annotator=name) for name in ("a0", "a1")], ignore_index=True)
    rows = accuracy(*tables, annotations=annotations, resamples=0).set_index("judge")
    assert rows.loc["shy", ["tie_share", "annotator_tie_share"]].tolist() == [0.75, 0.25]
    assert accuracy(*tables, resamples=0)["tie_share"].isna().all()


N = 90


def average(verdicts: pd.DataFrame, gold: pd.DataFrame, cases: pd.DataFrame, **options: object) -> pd.DataFrame:
    rows = rows_of("accuracy", cases, verdicts, gold, references=0, **options)
    return rows[rows["dimension"] == "average"].reset_index(drop=True)


def on_every_dimension(seed: int, labels: str = "ABT") -> Tables:
    """Verdicts of three judges, gold and cases in clusters of two, on six dimensions."""
    rng = np.random.default_rng(seed)
    gold = pd.concat([gold_of("".join(rng.choice(list(labels), N)), name) for name in DIMENSIONS], ignore_index=True)
    verdicts = pd.concat([random_verdicts(rng, N, 3).assign(dimension=name) for name in DIMENSIONS], ignore_index=True)
    organ = list(rng.choice(["eye", "lung", "heart"], N))
    return verdicts, gold, cases_of(N, organ=organ, patient=[str(i // 2) for i in range(N)])


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("labels", ["ABT", "ABT?-"])
def test_the_average_is_the_mean_of_the_accuracies_overall_and_in_every_subfield(policy: str, labels: str) -> None:
    tables = on_every_dimension(1, labels)
    rows = average(*tables, policy=policy, by="organ", resamples=60)
    each = accuracy(*tables, policy=policy, by="organ", resamples=0)
    expected = each.fillna({"subfield": "all"}).groupby(["judge", "subfield"])["accuracy"].mean()
    shown = rows.fillna({"subfield": "all"}).set_index(["judge", "subfield"])["accuracy"]
    assert len(shown) == 3 * 4
    assert shown.reindex(expected.index).to_numpy() == pytest.approx(expected.to_numpy())
    assert rows[rows["subfield"].isna()]["rank"].tolist() == [1, 2, 3]


def test_a_dimension_without_a_scored_case_leaves_it_undefined_and_says_so() -> None:
    verdicts, gold, cases = on_every_dimension(5)
    verdicts = verdicts[(verdicts["judge"] != "j1") | (verdicts["dimension"] != "creativity")]
    rows = average(verdicts, gold, cases, resamples=60).set_index("judge")
    assert rows.loc["j1", ["accuracy", "low", "high", "rank"]].isna().all()
    assert rows.loc["j1", "reason"].startswith("not judged on every dimension")
    assert rows.loc[["j0", "j2"], "accuracy"].notna().all()


def test_the_better_judge_is_first_and_versus_one_judge_it_is_compared_with_every_other() -> None:
    verdicts = random_verdicts(np.random.default_rng(0), 60, 3)
    every, versus = (
        rows_of("significance", cases_of(60), verdicts, gold_of("ABBA" * 15), part="pair", versus=judge, resamples=0)
        for judge in (None, "j1")
    )
    assert (every["difference"] >= 0).all()
    assert versus[["judge_1", "judge_2"]].eq("j1").any(axis=1).tolist() == [True, True]
    assert (versus["family"] == 2).all()


def test_ranks_are_on_the_cases_that_all_ranked_judges_share() -> None:
    """The second judge skips the cases that it would get wrong: on the shared cases it is no better."""
    case = np.arange(100)
    tables = judged({"first": case < 80, "second": np.where(case < 80, case < 70, -1)}, "AB" * 50)
    rows = accuracy(*tables, resamples=0).set_index("judge")
    assert rows.loc["second", "accuracy"] > rows.loc["first", "accuracy"]
    assert rows["rank"].to_dict() == {"first": 1, "second": 2}
    assert set(rows["n_common"]) == {80}
