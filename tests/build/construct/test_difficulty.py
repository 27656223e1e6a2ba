"""Counts and chance are what one gets by hand; models have their accuracy with an interval."""

import numpy as np
import pandas as pd

from mrb_lib.build.construct.answers.difficulty import chance_of, item_measures, model_measures

ITEMS = pd.DataFrame(
    {
        "item_id": ["i0", "i1", "i2", "i3"],
        "choices": [["a", "b", "c", "d"], None, None, None],
        "reference": ["a", "Yes.", "liver", None],
    }
)


def answered(n_right: dict[str, dict[str, int]], of: int) -> pd.DataFrame:
    rows = [
        (item, model, float(i < n))
        for item, counts in n_right.items()
        for model, n in counts.items()
        for i in range(of)
    ]
    return pd.DataFrame(rows, columns=["item_id", "model", "correct"])


def test_counts_are_those_one_gets_by_hand() -> None:
    answers = answered({"i0": {"m": 3, "n": 4}, "i1": {"m": 2, "n": 4}, "i2": {"m": 0, "n": 0}}, of=4)
    unmarked = answers.head(2).assign(item_id="i3", correct=np.nan)
    other = answers.head(4).assign(model="another")
    measures = item_measures(pd.concat([answers, unmarked, other]), ITEMS, ["m", "n"])
    assert measures["item_id"].tolist() == ITEMS["item_id"].tolist()
    assert measures["correct"].tolist()[:3] == [2, 1, 0], "half of a model's answers is not more than half"
    assert measures["share_correct"].tolist()[:3] == [7 / 8, 3 / 4, 0]
    assert measures["n_answers"].tolist() == [8, 8, 8, 0] and measures["n_models"].tolist() == [2, 2, 2, 0]
    assert measures.loc[3, ["correct", "share_correct"]].isna().all()


def test_chance_is_one_of_the_options() -> None:
    np.testing.assert_array_equal(chance_of(ITEMS), [0.25, 0.5, np.nan, np.nan])


def test_models_have_their_accuracy_beside_chance() -> None:
    rng = np.random.default_rng(3)
    skills = {"m": 0.2, "n": 0.5, "o": 0.8}
    drawn = {f"i{i}": {model: int(rng.binomial(8, p)) for model, p in skills.items()} for i in range(200)}
    items = pd.DataFrame({"item_id": list(drawn), "choices": None, "reference": "liver"})
    models = model_measures(answered(drawn, of=8), items, list(skills))
    assert models["accuracy"].is_monotonic_increasing and (models["low"] < models["accuracy"]).all()
    assert models["chance"].isna().all() and (models["n_chance"] == 0).all()
