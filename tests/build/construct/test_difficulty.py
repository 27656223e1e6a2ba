"""Planted difficulties come back in order; counts, chance and agreement are what one gets by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import spearmanr

from mrb_lib.build.construct.answers.difficulty import Tally, chance_of, item_measures, model_measures

NONE = np.full(4, np.nan)


def tally(n_correct: list[list[int]], n_marked: list[list[int]], chance: np.ndarray = NONE) -> Tally:
    correct, marked = np.array(n_correct, dtype=float), np.array(n_marked, dtype=float)
    return Tally(tuple(f"m{i}" for i in range(correct.shape[1])), correct, marked, chance[: len(correct)])


def planted(seed: int, n_items: int = 200, samples: int = 8) -> tuple[Tally, np.ndarray, np.ndarray]:
    """Five models of different ability, some items that tell them apart better than others."""
    rng = np.random.default_rng(seed)
    difficulty, slope = rng.normal(0, 1.2, n_items), np.exp(rng.normal(0, 0.3, n_items))
    p = expit(slope[:, None] * (np.array([-1.0, -0.5, 0.0, 0.5, 1.0]) - difficulty[:, None]))
    return (
        tally(rng.binomial(samples, p).tolist(), np.full(p.shape, samples).tolist(), np.full(n_items, np.nan)),
        difficulty,
        slope,
    )


def test_planted_difficulty_is_recovered_by_rank() -> None:
    for seed in range(5):
        answered, difficulty, _ = planted(seed)
        measures = item_measures(answered)
        assert spearmanr(measures["difficulty"], difficulty).statistic > 0.8
        assert spearmanr(measures["share_correct"], difficulty).statistic < -0.8


def test_planted_discrimination_shows_where_models_differ_much() -> None:
    rng = np.random.default_rng(0)
    ability = np.linspace(-2, 2, 8)
    slope = np.repeat([0.2, 2.5], 100)
    p = expit(slope[:, None] * (ability - rng.normal(0, 0.7, (200, 1))))
    answered = tally(rng.binomial(8, p).tolist(), np.full(p.shape, 8).tolist(), np.full(200, np.nan))
    discrimination = item_measures(answered)["discrimination"].to_numpy()
    assert np.median(discrimination[100:]) > 1.5 * np.median(discrimination[:100])


def test_an_item_that_some_models_did_not_answer_is_placed_by_the_others() -> None:
    answered, difficulty, _ = planted(1)
    gone = np.random.default_rng(2).random(answered.n_marked.shape) < 0.2
    holes = tally(np.where(gone, 0, answered.n_correct).tolist(), np.where(gone, 0, answered.n_marked).tolist(),
                  answered.chance)  # fmt: skip
    measures = item_measures(holes)
    known = measures["n_models"] > 0
    assert spearmanr(measures["difficulty"][known], difficulty[known]).statistic > 0.8
    np.testing.assert_array_equal(measures["n_models"], (~gone).sum(axis=1))


def test_many_items_are_placed_in_parts_as_they_are_together(monkeypatch: pytest.MonkeyPatch) -> None:
    answered, _, _ = planted(4, n_items=900)
    whole = item_measures(answered)
    monkeypatch.setattr("mrb_lib.build.construct.answers.difficulty._AT_ONCE", 300)
    parts = item_measures(answered)
    assert np.abs(parts["difficulty"] - whole["difficulty"]).max() < 0.3
    assert spearmanr(parts["difficulty"], whole["difficulty"]).statistic > 0.99


def test_counts_are_those_one_gets_by_hand() -> None:
    chance = np.array([0.25, 0.5, np.nan, 0.25])
    measures = item_measures(tally([[3, 4], [2, 4], [0, 0], [0, 0]], [[4, 4], [4, 4], [4, 4], [0, 0]], chance))
    assert measures["correct"].tolist()[:3] == [2, 1, 0], "half of a model's answers is not more than half"
    assert measures["share_correct"].tolist()[:3] == [7 / 8, 3 / 4, 0]
    assert measures["n_answers"].tolist() == [8, 8, 8, 0]
    assert measures["p_chance"][0] == pytest.approx(8 * 0.25**7 * 0.75 + 0.25**8)
    assert np.isnan(measures.loc[2, "p_chance"])
    assert measures.loc[3, ["correct", "share_correct", "p_chance", "difficulty", "discrimination"]].isna().all()


def test_answers_are_added_as_they_come() -> None:
    answered = Tally.empty(["m", "n"], np.full(2, np.nan))
    answered.add(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), np.array([1.0, 0.0, 1.0, np.nan]))
    assert answered.n_marked.tolist() == [[2, 0], [0, 1]] and answered.n_correct.tolist() == [[1, 0], [0, 1]]


def test_chance_is_one_of_the_options() -> None:
    items = pd.DataFrame(
        {"choices": [["a", "b", "c", "d"], None, None, None], "reference": ["a", "Yes.", "liver", None]}
    )
    np.testing.assert_array_equal(chance_of(items), [0.25, 0.5, np.nan, np.nan])


def test_models_have_their_accuracy_beside_chance() -> None:
    answered, _, _ = planted(3)
    models = model_measures(answered)
    assert models["accuracy"].is_monotonic_increasing and (models["low"] < models["accuracy"]).all()
    assert models["chance"].isna().all() and (models["n_chance"] == 0).all()


def test_one_model_alone_and_models_that_never_differ_have_no_difficulty() -> None:
    for answered in (tally([[1], [0]], [[1], [1]]), tally([[0, 0]] * 4, [[1, 1]] * 4)):
        measures = item_measures(answered)
        assert measures[["difficulty", "discrimination"]].isna().all(axis=None)
        assert measures["share_correct"].notna().all()
