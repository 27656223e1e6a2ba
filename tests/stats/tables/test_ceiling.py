"""The human level, and the alternative annotator test as the paper writes it."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.multitest import multipletests

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.stats.analyze import TABLES, analyze
from mrb_lib.stats.estimation import Estimate, Sampling, estimate, mean
from mrb_lib.stats.panel import as_panel
from mrb_lib.stats.tables.ceiling import beside_labels, lower_tail_p
from mrb_lib.stats.verdicts import Verdicts
from tests.stats import small_tables as small

FAST = {"resamples": 200, "seed": 0}


def test_each_is_held_to_the_majority_of_the_others() -> None:
    annotations = small.annotations_of({"a": "AABT", "b": "AAAA", "c": "ABAA"})
    exact = small.ceiling(None, annotations, small.cases_of(4), policy="official", **FAST).set_index("annotator")
    assert exact.loc["a", ["n", "n_excluded"]].tolist() == [3, 1]
    assert exact.loc["a", "accuracy"] == pytest.approx(1 / 3)
    assert exact.loc["b", ["n", "n_excluded"]].tolist() == [1, 3]
    assert exact.loc["c", "accuracy"] == pytest.approx(1 / 2)
    assert exact.loc["mean", "accuracy"] == pytest.approx((1 / 3 + 1 + 1 / 2) / 3)
    assert exact.loc["mean", ["n", "n_excluded"]].tolist() == [4, 0]  # each case is scored for someone
    graded = small.ceiling(None, annotations, small.cases_of(4), **FAST).set_index("annotator")
    assert graded.loc["a", "accuracy"] == pytest.approx((1 + 0 + 0.5) / 3)


def test_the_third_category_of_a_rating_is_no_tie() -> None:
    meta = BenchmarkMeta("r", "simulated", ("overall",), ("low", "medium", "high"), "ordinal", "rating")
    said = {"a": "low low high", "b": "low high high", "c": "low high low"}
    annotations = small.annotations_of({name: text.split() for name, text in said.items()})
    bench = Benchmark(meta, small.cases_of(3).assign(response_b=""), annotations)
    rows = analyze(bench, None, "ceiling", resamples=0).set_index("annotator")
    # the others' majorities: a: low high -; b: low - -; c: low - high
    assert rows.loc[["a", "b", "c"], "accuracy"].tolist() == [0.5, 1.0, 0.5]


def test_one_other_is_no_majority() -> None:
    annotations = small.annotations_of({"a": "AAB-", "b": "AAB-", "c": "A--B"})
    rows = small.ceiling(None, annotations, small.cases_of(4), **FAST).set_index("annotator")
    assert rows.loc["a", ["n", "n_excluded"]].tolist() == [1, 2]
    assert rows.loc["c", ["n", "n_excluded"]].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("by_annotator", "n_excluded", "reason"),
    [({"a": "AB", "b": "AA"}, 2, "fewer than three annotators"), ({"consensus": "AB"}, 0, "only consensus labels")],
)
def test_without_three_annotators_there_is_no_ceiling(
    by_annotator: dict[str, str], n_excluded: int, reason: str
) -> None:
    rows = small.ceiling(None, small.annotations_of(by_annotator), small.cases_of(2), **FAST)
    assert rows[["n", "n_excluded"]].iloc[0].tolist() == [0, n_excluded]
    assert rows["annotator"].tolist() == ["mean"]
    assert rows[["accuracy", "low", "high"]].isna().all(axis=None)
    assert reason in rows["reason"].iloc[0]


def test_judges_are_held_to_the_labels_of_the_annotators_on_the_same_cases() -> None:
    annotations = small.annotations_of({"a": "AABBA", "b": "AAAAB", "c": "ABABT"})
    verdicts = small.verdicts_of({("j", "AB"): "AAB-T", ("j", "BA"): "ABB-A", ("copy", "AB"): "AAABA"})
    table = small.ceiling(verdicts, annotations, small.cases_of(5), **FAST)
    judges = small.part_of(table, "judge").set_index("judge")
    # the others' majorities: a: A - A - -; b: A - - B -; c: A A - - -
    assert judges.loc["j", "accuracy"] == pytest.approx((np.mean([1, 0]) + 1 + np.mean([1, 0.5])) / 3)
    human = (np.mean([1, 0]) + 1 + np.mean([1, 0])) / 3
    assert judges.loc["j", "difference"] == pytest.approx(judges.loc["j", "accuracy"] - human)
    assert judges.loc["j", ["n", "n_excluded"]].tolist() == [3, 1]
    people, copy = table.set_index("annotator"), judges.loc["copy"]
    assert copy["accuracy"] - copy["difference"] == pytest.approx(people.loc["mean", "accuracy"])


def noisy(rates: dict[str, float], n: int, seed: int) -> dict[str, str]:
    """Letters of people or judges that give the truth this often, and else any answer."""
    generator = np.random.default_rng(seed)
    truth = generator.choice(list("AB"), n)
    return {
        name: "".join(np.where(generator.random(n) < rate, truth, generator.choice(list("ABT"), n)))
        for name, rate in rates.items()
    }


def test_judges_scored_on_different_cases_are_as_each_alone() -> None:
    """Judges that share their cases are computed together; the others must not notice."""
    generator = np.random.default_rng(4)
    people = small.annotations_of({name: "".join(generator.choice(list("AABT"), 90)) for name in "abcd"})
    cases = small.cases_of(90, organ=list(generator.choice(["eye", "lung"], 90)), cluster=list(np.arange(90) // 2))
    verdicts = small.random_verdicts(generator, 90, 4)
    together = small.ceiling(verdicts, people, cases, by="organ", **FAST)
    for judge in ("j0", "j3"):
        alone = small.ceiling(verdicts[verdicts["judge"] == judge], people, cases, by="organ", **FAST)
        mine, own = (rows[rows["judge"] == judge].reset_index(drop=True) for rows in (together, alone))
        others = mine["part"] == "judge"
        assert (mine.loc[others, "p_adjusted"] >= own.loc[others, "p_adjusted"]).all(), "corrected over all judges"
        corrected = ["p_adjusted", "verdict"]
        pd.testing.assert_frame_equal(mine.drop(columns=corrected), own.drop(columns=corrected), atol=1e-12)


def people_and_judge(n: int, decided: int, right: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A judge, and three annotators who mostly agree on the first cases and are split on the others."""
    letters = noisy({"a": 0.85, "b": 0.85, "c": 0.85, "j": right}, n, 0)
    people = {who: letters[who][:decided] + split * (n - decided) for who, split in zip("abc", "ABT", strict=True)}
    return small.verdicts_of({("j", "AB"): letters["j"]}), small.annotations_of(people)


@pytest.mark.parametrize(
    ("n", "decided", "reason"),
    [(25, 25, "fewer than 30 cases"), (120, 5, "fewer than 30 cases"), (200, 60, "under half")],
)
def test_a_level_of_few_cases_is_no_standard(n: int, decided: int, reason: str) -> None:
    """Issue 12, point 11. Before, a ceiling on 5 of 120 cases had no reason, and judges were set against it."""
    table = small.ceiling(*people_and_judge(n, decided, 0.3), small.cases_of(n), **FAST)
    rows = table[(table["part"] == "judge") | (table["annotator"] == "mean")]
    assert len(rows) == 2
    assert rows["reason"].str.contains(reason).all()
    assert not rows["representative"].any()
    assert rows["verdict"].isna().all()
    assert rows["accuracy"].notna().all()


@pytest.mark.parametrize(("right", "verdict"), [(0.3, "below"), (0.85, "cannot tell"), (1.0, "above")])
def test_the_verdict_is_where_the_difference_is_significant(right: float, verdict: str) -> None:
    table = small.ceiling(*people_and_judge(400, 400, right), small.cases_of(400), **FAST)
    row = small.part_of(table, "judge").iloc[0]
    assert (row["verdict"], row["representative"]) == (verdict, True)
    signs = {"below": row["difference_high"] < 0, "above": row["difference_low"] > 0}
    assert signs.get(verdict, row["difference_low"] <= 0 <= row["difference_high"])


def test_a_verdict_is_corrected_over_all_judges_and_a_small_sample_cannot_tell() -> None:
    """Of 40 cases nobody can tell a judge 7 points below; "within" said so little that it read as a finding."""
    letters = noisy(dict.fromkeys("abc", 0.9) | {f"j{i:02d}": 0.8 for i in range(12)}, 40, 7)
    people = {name: letters.pop(name) for name in "abc"}
    table = small.ceiling(small.verdicts_of(letters), small.annotations_of(people), small.cases_of(40), **FAST)
    judges = small.part_of(table, "judge")
    assert judges["verdict"].isin(["cannot tell", "below"]).all()
    assert (judges["p_adjusted"] >= judges["p_value"]).all()
    assert (judges["verdict"].eq("below") == (judges["p_adjusted"] <= 0.05)).all()
    assert judges["verdict"].eq("cannot tell").sum() >= 6
    assert "within" not in TABLES["ceiling"].says(table)


def alt_test(said: dict[str, str], people: dict[str, str], **options: object) -> pd.DataFrame:
    """The alternative annotator test of judges and people by their letters."""
    labels = small.annotations_of(said).rename(columns={"annotator": "judge"})
    cases = small.cases_of(len(next(iter(said.values()))))
    return small.alternative_annotator(labels, small.annotations_of(people), cases, **{"resamples": 0, **options})


def test_the_winning_rate_is_the_share_of_annotators_whose_corrected_test_the_judge_wins() -> None:
    """Of each annotator, a loop in tests/published/test_kqa_ratings.py; corrected by Benjamini and Yekutieli."""
    letters = noisy({"a": 0.9, "b": 0.2, "c": 0.3, "d": 0.6, "j": 0.5}, 120, 0)
    table = alt_test({"j": letters.pop("j")}, letters, epsilon=0.1)
    whole, each = small.part_of(table, "alt_test").iloc[0], small.part_of(table, "alt_test_annotator")
    wins, adjusted, *_ = multipletests(each["p_value"], method="fdr_by")
    assert each["p_adjusted"].to_numpy() == pytest.approx(adjusted)
    assert whole["winning_rate"] == wins.mean()
    assert 0 < wins.mean() < 1
    assert whole["passes"] == (wins.mean() >= 0.5)
    assert whole["advantage_probability"] == pytest.approx(each["advantage_probability"].mean())


def moments(differences: np.ndarray, codes: np.ndarray) -> Estimate:
    """The means of rows of differences, over clusters of their columns."""
    return estimate(mean(differences.T), Sampling(codes, np.empty((0, int(codes.max()) + 1))))


def test_differences_without_variation_have_the_largest_p_that_the_null_allows() -> None:
    p = lower_tail_p(moments(np.array([[0.0] * 30, [-1.0] * 30, [1.0] * 30]), np.arange(30)), 0.15)
    assert p.tolist() == pytest.approx([0.85**30, (0.85 / 2) ** 30, 1.0])


@pytest.mark.parametrize(
    ("people", "tested", "reason"),
    [
        pytest.param({"a": "AB" * 20}, 0, "no case has a verdict and two annotators", id="one annotator"),
        pytest.param({"consensus": "AB" * 20}, 0, "only consensus labels", id="consensus labels"),
        pytest.param(
            {"a": "AB" * 10, "b": "AA" * 10, "c": "AB" * 10}, 0,
            "no annotator is tested: fewer than 30 independent cases", id="twenty cases",
        ),
        pytest.param({"a": "ABABA" * 8, "b": "AABBT" * 8}, 2, "two annotators", id="two annotators"),
        pytest.param(
            {"a": "AABBA" * 40, "b": "ABABA" * 40, "c": "AABBA" * 40, "d": "AABB" * 5 + "-" * 180}, 3,
            "some annotators are not tested: fewer than 30", id="one of twenty cases",
        ),
        pytest.param(
            {"a": "AABBA" * 19, "b": "ABABA" * 19, "c": "AABAA" * 19}, 3, "fewer than 100 independent cases",
            id="95 cases",
        ),
    ],
)  # fmt: skip
def test_few_annotators_or_cases_are_remarked_upon(people: dict[str, str], tested: int, reason: str) -> None:
    row = alt_test({"j": people.get("a", "AB" * 20)}, people).iloc[0]
    assert reason in row["reason"]
    assert pd.isna(row["winning_rate"]) == (tested == 0)
    assert pd.isna(row["passes"]) == (tested < 3), "the paper asks for three"
    if tested:
        assert row["n_annotators"] == tested


@pytest.mark.parametrize(
    ("policy", "labels", "counted"),
    [
        ("official", ["A", "B", "A", "", "A"], [1, 1, 1, 0, 1]),
        ("balanced", ["AA", "BA", "AT", "A", "A"], [2, 2, 2, 1, 1]),
        ("answered", ["AA", "BA", "AT", "A", "A"], [2, 2, 2, 1, 1]),
        ("strict", ["A", "?", "?", "?", ""], [1, 1, 1, 1, 0]),
        ("net", ["A", "?", "A", "A", ""], [1, 1, 1, 1, 0]),
    ],
)
def test_which_verdict_stands_beside_a_label(policy: str, labels: list[str], counted: list[int]) -> None:
    panel = as_panel(small.verdicts_of({("j", "AB"): "ABA?A", ("j", "BA"): "AATA-"}), small.cases_of(5)["case_id"])
    read = beside_labels(Verdicts.of(panel), policy)
    letters = np.array(list("ABT?"))[read.choice]
    assert ["".join(letters[read.case == case]) for case in range(5)] == labels
    assert read.total()[:, 0].tolist() == counted


def test_the_epsilon_from_which_on_a_judge_passes() -> None:
    """Issue 12, point 10: the whole test again at hundredths below and above, the smallest at which it passes."""
    letters = noisy({"a": 0.8, "b": 0.7, "c": 0.75, "j": 0.62}, 150, 3)
    said = {"j": letters.pop("j")}
    first = round(100 * alt_test(said, letters)["least_epsilon"].iloc[0])
    assert 5 < first < 35
    for step in (0, first // 2, first - 1, first, first + 1, 39):
        assert alt_test(said, letters, epsilon=step / 100)["passes"].iloc[0] == (step >= first)


def test_a_pass_may_lie_wholly_below_the_annotators() -> None:
    """Issue 12, point 10: 21 of 22 passes did. The test allows a judge to be worse by less than epsilon."""
    letters = noisy({"a": 0.9, "b": 0.9, "c": 0.9, "j": 0.8}, 1000, 5)
    shown = small.verdicts_of({("j", "AB"): letters.pop("j")})
    table = small.ceiling(shown, small.annotations_of(letters), small.cases_of(1000), resamples=200)
    judge, test = (small.part_of(table, part).iloc[0] for part in ("judge", "alt_test"))
    assert test["epsilon"] == 0.2  # the authors' value for experts
    assert test["passes"]
    assert judge["verdict"] == "below"


def test_verdicts_without_a_choice_are_left_out_as_by_the_authors() -> None:
    """Issue 12, point 14: their code drops instances that the model did not annotate.

    The numbers are those of the judged cases alone.
    """
    letters = noisy(dict.fromkeys("abcj", 0.8), 200, 6)
    j = letters.pop("j")
    kept, without = (
        small.part_of(
            small.ceiling(
                small.verdicts_of({("j", "AB"): text}), small.annotations_of(letters), small.cases_of(200), resamples=0
            ),
            "alt_test",
        )
        for text in ("?" * 80 + j[80:], "-" * 80 + j[80:])
    )
    columns = ["n", "n_excluded", "winning_rate", "advantage_probability", "least_epsilon"]
    assert kept.iloc[0][columns].tolist() == without.iloc[0][columns].tolist()
    assert kept.iloc[0][["n", "n_excluded", "passes"]].tolist() == [120, 80, True]
