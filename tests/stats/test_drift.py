"""The halves of each annotator: counted by hand, and against the pairwise agreement they stand beside."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.methods.drift import NO_ANSWERS, NOT_SHARED, NOTHING_DECISIVE, drift
from mrb_lib.tables.errors import InputError
from tests.stats.small_tables import annotations_of, annotator_pairs, cases_of


def _answers(by_annotator: dict[str, str], orders: str = "AB") -> pd.DataFrame:
    """Answers one after the other, all shown in one order."""
    rows = annotations_of(by_annotator)
    return rows.assign(order=orders, created=[f"2026-01-01T00:{i // 60:02}:{i % 60:02}.000Z" for i in range(len(rows))])


def test_shares_and_agreement_as_counted_by_hand() -> None:
    found = drift(_answers({"Dr X": "AABBT", "Dr Y": "AABAA"}, "BA"), cases_of(5)).set_index(["annotator", "half"])
    first, second = found.loc[("Dr X", "first")], found.loc[("Dr X", "second")]
    assert first[["n_cases", "n_answers", "n_decisive", "n_compared"]].tolist() == [3, 3, 3, 3]
    assert first[["share_a", "share_first", "share_tie", "agreement"]].tolist() == [
        pytest.approx(2 / 3), pytest.approx(1 / 3), 0.0, 1.0,
    ]  # fmt: skip
    assert second[["n_cases", "n_decisive", "n_compared"]].tolist() == [2, 1, 2]
    assert second[["share_a", "share_first", "share_tie", "agreement"]].tolist() == [0.0, 1.0, 0.5, 0.0]
    assert found["reason"].isna().all()


def test_the_halves_are_of_cases_by_time_and_not_by_place() -> None:
    rows = _answers({"Dr X": "AAAATT"})
    both = pd.concat([rows, rows.assign(dimension="accuracy")], ignore_index=True)
    backwards = both.assign(created=both["created"].to_numpy()[::-1])
    found = drift(backwards, cases_of(6)).set_index("half")
    assert found.loc["first", ["n_cases", "n_answers"]].tolist() == [3, 6]
    assert found.loc["first", "share_tie"] == pytest.approx(2 / 3)
    assert found.loc["second", "share_tie"] == 0.0


def test_what_is_undefined_is_null_and_says_why() -> None:
    found = drift(_answers({"Dr X": "T----", "Dr Y": "-AA--"}), cases_of(5)).set_index(["annotator", "half"])
    assert found.loc[("Dr X", "second"), "reason"] == NO_ANSWERS
    assert found.loc[("Dr X", "first"), "reason"] == f"{NOTHING_DECISIVE}; {NOT_SHARED}"
    assert found.loc[("Dr X", "first"), ["share_a", "share_first", "agreement"]].isna().all()
    assert found.loc[("Dr Y", "first"), "reason"] == NOT_SHARED
    assert drift(_answers({"Dr X": "-----"}), cases_of(5)).empty
    with pytest.raises(InputError, match="choice"):
        drift(_answers({"Dr X": "T----"}), cases_of(5), categories=("A", "B"))


def test_both_halves_together_are_the_agreement_of_the_pairs() -> None:
    generator = np.random.default_rng(0)
    by_annotator = {name: "".join(generator.choice(list("ABT-"), 40)) for name in ("a", "b", "c")}
    rows = _answers(by_annotator).sample(frac=1, random_state=1)
    found = drift(rows, cases_of(40))
    pairs = annotator_pairs(rows, cases_of(40), resamples=0)
    for name, of in found.groupby("annotator"):
        mine = pairs[(pairs["annotator_1"] == name) | (pairs["annotator_2"] == name)]
        assert of["n_compared"].sum() == mine["n_cases"].sum()
        same = (of["agreement"] * of["n_compared"]).sum()
        assert same == pytest.approx((mine["percent_agreement"] * mine["n_cases"]).sum())
