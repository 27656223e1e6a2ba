from __future__ import annotations

import numpy as np
import pytest

from mrb_lib.errors import InputError
from mrb_lib.stats.ceiling_annotators import annotator_ceiling

from .small_tables import annotations_of, cases_of

FAST = {"resamples": 200, "seed": 0}


def test_each_is_held_to_the_majority_of_the_others() -> None:
    annotations = annotations_of({"a": "AABT", "b": "AAAA", "c": "ABAA"})
    exact = annotator_ceiling(annotations, cases_of(4), policy="official", **FAST).set_index("annotator")
    assert exact.loc["a", ["n", "n_excluded"]].tolist() == [3, 1]
    assert exact.loc["a", "accuracy"] == pytest.approx(1 / 3)
    assert exact.loc["b", ["n", "n_excluded"]].tolist() == [1, 3]
    assert exact.loc["c", "accuracy"] == pytest.approx(1 / 2)
    assert exact.loc["mean", "accuracy"] == pytest.approx((1 / 3 + 1 + 1 / 2) / 3)
    graded = annotator_ceiling(annotations, cases_of(4), **FAST).set_index("annotator")
    assert graded.loc["a", "accuracy"] == pytest.approx((1 + 0 + 0.5) / 3)


def test_one_other_is_no_majority() -> None:
    annotations = annotations_of({"a": "AAB-", "b": "AAB-", "c": "A--B"})
    rows = annotator_ceiling(annotations, cases_of(4), **FAST).set_index("annotator")
    assert rows.loc["a", ["n", "n_excluded"]].tolist() == [1, 2]
    assert rows.loc["c", ["n", "n_excluded"]].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("by_annotator", "n_excluded", "reason"),
    [
        ({"a": "AB", "b": "AA"}, 4, "fewer than three annotators"),
        ({"consensus": "AB"}, 0, "only consensus labels"),
    ],
)
def test_without_three_annotators_there_is_no_ceiling(
    by_annotator: dict[str, str], n_excluded: int, reason: str
) -> None:
    rows = annotator_ceiling(annotations_of(by_annotator), cases_of(2), **FAST)
    assert rows[["n", "n_excluded"]].iloc[0].tolist() == [0, n_excluded]  # annotations, as in every other row
    assert rows["annotator"].tolist() == ["mean"]
    assert rows[["accuracy", "low", "high"]].isna().all(axis=None)
    assert reason in rows["reason"].iloc[0]


def test_the_interval_of_the_mean_uses_the_same_draws() -> None:
    generator = np.random.default_rng(0)
    truth = generator.choice(list("AB"), 200)
    letters = ["".join(np.where(generator.random(200) < 0.8, truth, "T")) for _ in range(4)]
    annotations = annotations_of(dict(zip("abcd", letters, strict=True)))
    cases = cases_of(200, organ=list(generator.choice(["eye", "lung"], 200)))
    rows = annotator_ceiling(annotations, cases, by="organ", **FAST)
    assert (rows["low"] < rows["accuracy"]).all()
    assert (rows["accuracy"] < rows["high"]).all()
    whole = rows[rows["subfield"].isna()].set_index("annotator")
    widths = whole["high"] - whole["low"]
    assert widths["mean"] < widths.drop("mean").min()
    parts = rows[rows["subfield"].notna() & (rows["annotator"] != "mean")]
    assert parts.groupby("annotator")["n"].sum().tolist() == whole["n"].drop("mean").tolist()


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(InputError, match="policy 'kind' is unknown"):
        annotator_ceiling(annotations_of({"a": "A"}), cases_of(1), policy="kind")
