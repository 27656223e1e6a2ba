from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.votes import gold
from mrb_lib.stats.dawid_skene import em, label_counts
from mrb_lib.stats.gold.annotators import annotators, effective_wilson, kish_size
from mrb_lib.stats.posterior import posterior
from tests.stats.small_tables import annotations_of, cases_of

FAST = {"resamples": 100, "seed": 0}
LETTERS = np.array(list("ABT"))


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
    for model in ("dawid_skene", "one_coin"):
        fit = em(label_counts(labels.T, 3), model=model)
        rows = table[table["model"] == model]
        confusion = rows[rows["part"] == "confusion"]
        np.testing.assert_allclose(confusion["probability"], fit.confusion[0].ravel(), atol=1e-9)
        assert (confusion["low"] <= confusion["probability"]).all()
        assert (confusion["probability"] <= confusion["high"]).all()
        shares = rows[rows["part"] == "prevalence"]
        np.testing.assert_allclose(shares["probability"], fit.prevalence[0], atol=1e-9)
        np.testing.assert_allclose(shares["n_expected"].sum(), 200)
        right = (np.diagonal(fit.confusion[0], axis1=1, axis2=2) * fit.prevalence[0]).sum(axis=1)
        np.testing.assert_allclose(rows.loc[rows["part"] == "annotator", "probability"], right, atol=1e-9)
        whole = rows[rows["part"] == "model"].iloc[0]
        assert whole["log_likelihood"] == pytest.approx(fit.log_likelihood[0])
        assert whole["n_parameters"] == {"dawid_skene": 3 * 6 + 2, "one_coin": 3 + 2}[model]
        assert whole["bic"] == pytest.approx(whole["n_parameters"] * np.log(200) - 2 * whole["log_likelihood"])


def test_the_interval_is_wilsons_for_the_cases_that_give_the_variance() -> None:
    """A bootstrap of fifty labelled cases gives fifty back; without variance the most there can be are taken."""
    draws = np.random.default_rng(0).multinomial(50, [0.3, 0.5, 0.2], 100_000) / 50
    assert kish_size(draws[:, None])[0] == pytest.approx(50, rel=0.03)
    assert np.isinf(kish_size(np.ones((10, 1, 1)))[0])
    assert np.isnan(kish_size(np.full((10, 1, 1), np.nan))[0])
    low, high = effective_wilson(
        np.array([0.3, 0.0, 0.5]), np.array([50.0, np.inf, np.nan]), np.array([80.0, 20.0, 9.0])
    )
    assert (low[0], high[0]) == pytest.approx(proportion_confint(15, 50, method="wilson"))
    assert (low[1], high[1]) == pytest.approx(proportion_confint(0, 20, method="wilson"))
    assert np.isnan([low[2], high[2]]).all()


@pytest.mark.parametrize(
    ("people", "reason"), [({"a": "AB", "b": "AA"}, "fewer than three"), ({"consensus": "AB"}, "only consensus")]
)
def test_too_few_annotators_are_null_with_a_reason(people: dict[str, str], reason: str) -> None:
    table = annotators(annotations_of(people), cases_of(2), **FAST)
    assert table["part"].tolist() == ["model", "model"]
    assert table[["probability", "log_likelihood"]].isna().all(axis=None)
    assert table["reason"].str.contains(reason).all()
    found = posterior(annotations_of(people), cases_of(2))
    assert found[["choice", "posterior_a"]].isna().all(axis=None)


def test_no_resamples_is_no_interval_and_a_label_nobody_gives_is_null() -> None:
    table = annotators(annotations_of({"a": "ABAB", "b": "ABAA", "c": "ABBB"}), cases_of(4), resamples=0)
    confusion = table[(table["part"] == "confusion") & (table["model"] == "dawid_skene")]
    assert table["low"].isna().all()
    tie = confusion[confusion["gold"] == "tie"]
    assert tie["probability"].isna().all()
    assert (tie["reason"] == "no annotator gives this label").all()


def two_labels(n: int, right: list[float], seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, 2, n)
    labels = np.array([np.where(generator.random(n) < rate, truth, 1 - truth) for rate in right])
    return annotations_of({f"a{i}": "".join(LETTERS[row]) for i, row in enumerate(labels)}), labels


def test_a_label_that_nobody_gives_does_not_choose_the_model() -> None:
    """Six parameters a coin and its prevalence more or less would reverse which model is the better by BIC."""
    annotations, _ = two_labels(600, [0.8, 0.8, 0.7], 5)
    three, two = (
        annotators(annotations, cases_of(600), categories=names, **FAST) for names in (["A", "B", "tie"], ["A", "B"])
    )
    whole = three[three["part"] == "model"]
    assert whole["n_parameters"].tolist() == [3 * 2 + 1, 3 + 1]
    for name in ("log_likelihood", "bic"):
        np.testing.assert_allclose(whole[name], two.loc[two["part"] == "model", name], atol=1e-6)
    assert whole["bic"].idxmin() == whole.index[1]
    unknown = three[(three["gold"] == "tie") | (three["label"] == "tie")]
    assert unknown[["probability", "low", "high", "n_expected"]].isna().sum().tolist() == [32, 32, 32, 20]
    assert (unknown["reason"] == "no annotator gives this label").all()
    known = three.drop(unknown.index).reset_index(drop=True)
    pd.testing.assert_frame_equal(known, two, atol=1e-6)


def test_an_annotator_of_few_cases_has_the_intervals_of_few_cases() -> None:
    """All twelve labels right is no certainty: the width is that of the annotator's cases, not of all."""
    annotations, labels = two_labels(400, [0.95] * 4 + [1.0], 6)
    few = annotations[(annotations["annotator"] != "a4") | annotations["case_id"].isin([f"c{i}" for i in range(12)])]
    table = annotators(few, cases_of(400), **FAST)
    rows = table[(table["part"] == "confusion") & (table["annotator"] == "a4") & table["probability"].notna()]
    for _, row in rows[(rows["model"] == "dawid_skene") & (rows["gold"] == rows["label"])].iterrows():
        assert row["n_expected"] == pytest.approx((labels[4, :12] == "AB".index(row["gold"])).sum(), abs=0.5)
        assert row["low"] == pytest.approx(
            proportion_confint(row["n_expected"], row["n_expected"], method="wilson")[0], abs=0.02
        )
    expected = rows.drop_duplicates(["model", "gold"]).groupby("model")["n_expected"].sum()
    np.testing.assert_allclose(expected, 12, atol=1e-6)


def test_the_posterior_is_gold_with_probabilities() -> None:
    annotations, labels = noisy(1500, {"a": 0.95, "b": 0.7, "c": 0.7}, seed=3)
    found = posterior(annotations, cases_of(1500))
    fit = em(label_counts(labels.T, 3))
    np.testing.assert_allclose(found[["posterior_a", "posterior_b", "posterior_tie"]], fit.posterior[0], atol=1e-9)
    best = np.array(["A", "B", "tie"])[fit.posterior[0].argmax(axis=1)]
    assert found["choice"].tolist() == best.tolist()
    assert (found[["votes_a", "votes_b", "votes_tie"]].sum(axis=1) == found["n_annotators"]).all()
    majority = found[["votes_a", "votes_b", "votes_tie"]].max(axis=1) > 1
    alone = found[~majority]
    assert (alone["choice"] == np.array(["A", "B", "tie"])[labels[0][~majority.to_numpy()]]).mean() > 0.9


def test_the_posterior_has_the_rows_of_gold(pictured: Benchmark) -> None:
    meta = pictured.meta
    found = posterior(pictured.annotations, pictured.cases, meta.categories, meta.dimensions)
    expected = gold(pictured)
    shared = [name for name in expected.columns if name != "choice"]
    pd.testing.assert_frame_equal(found[shared], expected[shared])


def test_people_who_saw_different_cases() -> None:
    table = annotators(
        annotations_of({"a": "ABAB--AB", "b": "AB--ABAB", "c": "--ABABAA", "d": "ABABABBB"}), cases_of(8), **FAST
    )
    assert table.loc[table["part"] == "annotator", "n"].tolist() == [6, 6, 6, 8] * 2
