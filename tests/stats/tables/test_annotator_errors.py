"""How often annotators err, in the table `gold_rules`: by Dawid and Skene's model, and beside the others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.analyze import TABLES
from mrb_lib.stats.annotators import posterior
from mrb_lib.stats.dawid_skene import em, label_counts
from mrb_lib.stats.tables.gold_rules import NO_MASS, kish_size
from tests.stats.small_tables import annotations_of, cases_of, rows_of

FAST = {"resamples": 100, "seed": 0}
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
    found = posterior(benchmark_of(annotations, 1500))
    fit = em(label_counts(labels.T, 3))
    best = np.array(["A", "B", "tie"])[fit.posterior[0].argmax(axis=1)]
    assert found["choice"].tolist() == best.tolist()
    assert (found[["votes_a", "votes_b", "votes_tie"]].sum(axis=1) == found["n_annotators"]).all()
    majority = found[["votes_a", "votes_b", "votes_tie"]].max(axis=1) > 1
    alone = found[~majority]
    assert (alone["choice"] == np.array(["A", "B", "tie"])[labels[0][~majority.to_numpy()]]).mean() > 0.9


def test_the_posterior_has_the_rows_of_gold(pictured: Benchmark) -> None:
    found, expected = posterior(pictured), gold(pictured)
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
