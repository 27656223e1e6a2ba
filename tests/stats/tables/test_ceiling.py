from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import meta_from
from mrb_lib.stats.analyze import TABLES, analyze
from tests.stats.small_tables import annotations_of, cases_of, ceiling, random_verdicts, verdicts_of

FAST = {"resamples": 200, "seed": 0}


def test_each_is_held_to_the_majority_of_the_others() -> None:
    annotations = annotations_of({"a": "AABT", "b": "AAAA", "c": "ABAA"})
    exact = ceiling(None, annotations, cases_of(4), policy="official", **FAST).set_index("annotator")
    assert exact.loc["a", ["n", "n_excluded"]].tolist() == [3, 1]
    assert exact.loc["a", "accuracy"] == pytest.approx(1 / 3)
    assert exact.loc["b", ["n", "n_excluded"]].tolist() == [1, 3]
    assert exact.loc["c", "accuracy"] == pytest.approx(1 / 2)
    assert exact.loc["mean", "accuracy"] == pytest.approx((1 / 3 + 1 + 1 / 2) / 3)
    assert exact.loc["mean", ["n", "n_excluded"]].tolist() == [4, 0]  # each case is scored for someone
    graded = ceiling(None, annotations, cases_of(4), **FAST).set_index("annotator")
    assert graded.loc["a", "accuracy"] == pytest.approx((1 + 0 + 0.5) / 3)


def test_the_third_category_of_a_rating_is_no_tie() -> None:
    meta = meta_from(
        {
            "name": "r",
            "kind": "simulated",
            "dimensions": ["overall"],
            "categories": ["low", "medium", "high"],
            "level": "ordinal",
            "task": "rating",
        },
        "benchmark.toml",
    )
    said = {"a": "low low high", "b": "low high high", "c": "low high low"}
    annotations = pd.DataFrame(
        [(f"c{i}", who, "overall", choice) for who, text in said.items() for i, choice in enumerate(text.split())],
        columns=["case_id", "annotator", "dimension", "choice"],
    )
    bench = Benchmark(meta, cases_of(3).assign(case_id=["c0", "c1", "c2"], response_b=""), annotations)
    rows = analyze(bench, None, "ceiling", resamples=0).set_index("annotator")
    # the others' majorities: a: low high -; b: low - -; c: low - high
    assert rows.loc[["a", "b", "c"], "accuracy"].tolist() == [0.5, 1.0, 0.5]


def test_one_other_is_no_majority() -> None:
    annotations = annotations_of({"a": "AAB-", "b": "AAB-", "c": "A--B"})
    rows = ceiling(None, annotations, cases_of(4), **FAST).set_index("annotator")
    assert rows.loc["a", ["n", "n_excluded"]].tolist() == [1, 2]
    assert rows.loc["c", ["n", "n_excluded"]].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("by_annotator", "n_excluded", "reason"),
    [
        ({"a": "AB", "b": "AA"}, 2, "fewer than three annotators"),
        ({"consensus": "AB"}, 0, "only consensus labels"),
    ],
)
def test_without_three_annotators_there_is_no_ceiling(
    by_annotator: dict[str, str], n_excluded: int, reason: str
) -> None:
    rows = ceiling(None, annotations_of(by_annotator), cases_of(2), **FAST)
    assert rows[["n", "n_excluded"]].iloc[0].tolist() == [0, n_excluded]
    assert rows["annotator"].tolist() == ["mean"]
    assert rows[["accuracy", "low", "high"]].isna().all(axis=None)
    assert reason in rows["reason"].iloc[0]


def test_judges_are_held_to_the_labels_of_the_annotators_on_the_same_cases() -> None:
    annotations = annotations_of({"a": "AABBA", "b": "AAAAB", "c": "ABABT"})
    verdicts = verdicts_of({("j", "AB"): "AAB-T", ("j", "BA"): "ABB-A", ("copy", "AB"): "AAABA"})
    table = ceiling(verdicts, annotations, cases_of(5), **FAST)
    judges = table[table["part"] == "judge"].set_index("judge")
    # the others' majorities: a: A - A - -; b: A - - B -; c: A A - - -
    assert judges.loc["j", "accuracy"] == pytest.approx((np.mean([1, 0]) + 1 + np.mean([1, 0.5])) / 3)
    human = (np.mean([1, 0]) + 1 + np.mean([1, 0])) / 3
    assert judges.loc["j", "difference"] == pytest.approx(judges.loc["j", "accuracy"] - human)
    assert judges.loc["j", ["n", "n_excluded"]].tolist() == [3, 1]
    people = ceiling(None, annotations, cases_of(5), **FAST).set_index("annotator")
    copy = judges.loc["copy"]
    assert copy["accuracy"] - copy["difference"] == pytest.approx(people.loc["mean", "accuracy"])


def test_a_judge_that_copies_an_annotator_everywhere_has_no_distance_from_their_own_score() -> None:
    generator = np.random.default_rng(1)
    letters = {name: "".join(generator.choice(list("AABBT"), 120)) for name in "abc"}
    cases = cases_of(120, organ=list(generator.choice(["eye", "lung"], 120)))
    shown = {(name, order): letters[name] for name in "abc" for order in ("AB", "BA")}
    table = ceiling(verdicts_of(shown), annotations_of(letters), cases, by="organ", **FAST)
    parts = table["part"].drop_duplicates().tolist()
    assert parts == ["annotator", "judge", "alt_test", "alt_test_annotator"]
    judges = table[table["part"] == "judge"]
    means = judges.groupby("subfield", dropna=False)["difference"].mean()
    assert len(judges) == 9
    assert (judges["difference_low"] <= judges["difference"]).all()
    assert (judges["difference"] <= judges["difference_high"]).all()
    assert means.notna().all()
    own = table[(table["part"] == "alt_test_annotator") & (table["judge"] == table["annotator"])]
    assert (own["advantage_probability"] == 1).all()  # each is as near to the others as itself
    assert (own["annotator_probability"] == 1).all()


def test_a_difference_that_does_not_vary_has_no_interval_and_no_verdict() -> None:
    """Two always agree and the judge copies the third: its accuracy varies, its distance from them does not."""
    generator = np.random.default_rng(3)
    common = "".join(generator.choice(list("AB"), 80))
    third = "".join(generator.choice(list("AB"), 80))
    people = {"a": common, "b": common, "c": third}
    table = ceiling(verdicts_of({("j", "AB"): third}), annotations_of(people), cases_of(80), **FAST)
    row = table[table["part"] == "judge"].iloc[0]
    assert row["low"] < row["high"]
    assert row["difference"] == 0
    assert row[["difference_low", "difference_high", "verdict"]].isna().all()
    assert "no interval of difference: the cases do not differ" in row["reason"]


def test_judges_scored_on_different_cases_are_as_each_alone() -> None:
    """Judges that share their cases are computed together; the others must not notice."""
    generator = np.random.default_rng(4)
    people = {name: "".join(generator.choice(list("AABT"), 90)) for name in "abcd"}
    cases = cases_of(90, organ=list(generator.choice(["eye", "lung"], 90)), cluster=list(np.arange(90) // 2))
    verdicts = random_verdicts(generator, 90, 4)
    together = ceiling(verdicts, annotations_of(people), cases, by="organ", **FAST)
    for judge in ("j0", "j3"):
        alone = ceiling(verdicts[verdicts["judge"] == judge], annotations_of(people), cases, by="organ", **FAST)
        mine = together[together["judge"] == judge].reset_index(drop=True)
        own = alone[alone["judge"] == judge].reset_index(drop=True)
        corrected = ["p_adjusted", "verdict"]  # over all judges
        others = (mine["part"] == "judge").to_numpy()
        pd.testing.assert_frame_equal(mine.drop(columns=corrected), own.drop(columns=corrected), atol=1e-12)
        assert (mine.loc[others, "p_adjusted"] >= own.loc[others, "p_adjusted"]).all()


@pytest.mark.parametrize("people", [{"a": "AB", "b": "AA"}, {"consensus": "AB"}])
def test_judges_without_a_ceiling_are_null_with_its_reason(people: dict[str, str]) -> None:
    table = ceiling(verdicts_of({("j", "AB"): "AB"}), annotations_of(people), cases_of(2), **FAST)
    row = table[table["part"] == "judge"].iloc[0]
    assert row[["n", "n_excluded"]].tolist() == [0, 2]
    assert row[["accuracy", "difference"]].isna().all()
    assert row["reason"] == table.loc[table["part"] == "annotator", "reason"].iloc[0]


def people_of(n: int, decided: int, *, judge_right: float, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Three annotators who agree, but for one case in ten, on the first cases and split on the others, and a judge."""
    generator = np.random.default_rng(seed)
    truth = generator.choice(list("AB"), n)
    letters = [np.where(generator.random(n) < 0.9, truth, np.where(truth == "A", "B", "A")) for _ in range(3)]
    split = np.array([list("ABT")] * n).T
    shown = {w: "".join(np.where(np.arange(n) < decided, letters[i], split[i])) for i, w in enumerate("abc")}
    judged = np.where(generator.random(n) < judge_right, truth, np.where(truth == "A", "B", "A"))
    return verdicts_of({("j", "AB"): "".join(judged)}), annotations_of(shown)


@pytest.mark.parametrize(
    ("n", "decided", "reason"),
    [(25, 25, "fewer than 30 cases"), (120, 5, "fewer than 30 cases"), (200, 60, "under half")],
)
def test_a_level_of_few_cases_is_no_standard(n: int, decided: int, reason: str) -> None:
    """Issue 12, point 11. Before, a ceiling on 5 of 120 cases had no reason, and judges were set against it."""
    table = ceiling(*people_of(n, decided, judge_right=0.3), cases_of(n), **FAST)
    for rows in (table[table["part"] == "judge"], table[table["annotator"] == "mean"]):
        row = rows.iloc[0]
        assert reason in row["reason"]
        assert not row["representative"]
        assert pd.isna(row["verdict"])
        assert pd.notna(row["accuracy"])


@pytest.mark.parametrize(("right", "verdict"), [(0.3, "below"), (0.92, "cannot tell"), (1.0, "above")])
def test_the_verdict_is_where_the_difference_is_significant(right: float, verdict: str) -> None:
    table = ceiling(*people_of(400, 400, judge_right=right), cases_of(400), **FAST)
    row = table[table["part"] == "judge"].iloc[0]
    assert (row["verdict"], row["representative"]) == (verdict, True)
    signs = {"below": row["difference_high"] < 0, "above": row["difference_low"] > 0}
    assert signs.get(verdict, row["difference_low"] <= 0 <= row["difference_high"])


def test_a_judge_has_no_rows_for_a_dimension_that_it_never_judged() -> None:
    generator = np.random.default_rng(6)
    letters = {name: "".join(generator.choice(list("AAB"), 50)) for name in "abc"}
    people = pd.concat([annotations_of(letters), annotations_of(letters, "accuracy")], ignore_index=True)
    shown = "".join(generator.choice(list("AB"), 50))
    verdicts = pd.concat(
        [verdicts_of({("j", "AB"): shown, ("k", "AB"): shown}), verdicts_of({("j", "AB"): shown}, "accuracy")],
        ignore_index=True,
    )
    table = ceiling(verdicts, people, cases_of(50), **FAST)
    judged = table.dropna(subset="judge")[["judge", "dimension"]].drop_duplicates()
    assert sorted(map(tuple, judged.to_numpy())) == [("j", "accuracy"), ("j", "overall"), ("k", "overall")]
    assert (table["n"] > 0).all()


def test_a_verdict_is_corrected_over_all_judges_and_a_small_sample_cannot_tell() -> None:
    """Of 40 cases nobody can tell a judge 7 points below; "within" said so little that it read as a finding."""
    generator = np.random.default_rng(7)
    truth = generator.choice(list("AB"), 40)
    wrong = np.where(truth == "A", "B", "A")
    letters = {who: "".join(np.where(generator.random(40) < 0.9, truth, wrong)) for who in "abc"}
    shown = {(f"j{i:02d}", "AB"): "".join(np.where(generator.random(40) < 0.83, truth, wrong)) for i in range(12)}
    table = ceiling(verdicts_of(shown), annotations_of(letters), cases_of(40), **FAST)
    judges = table[table["part"] == "judge"]
    assert judges["verdict"].isin(["cannot tell", "below"]).all()
    assert (judges["p_adjusted"] >= judges["p_value"]).all()
    assert (judges["verdict"].eq("below") == (judges["p_adjusted"] <= 0.05)).all()
    assert judges["verdict"].eq("cannot tell").sum() >= 6
    said = TABLES["ceiling"].says(table)
    assert "within" not in said
    assert f"for {judges['verdict'].eq('cannot tell').sum()} we cannot tell" in said
