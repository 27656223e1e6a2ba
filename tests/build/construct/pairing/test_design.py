"""What is announced before anybody annotates, against closed forms."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mrb_lib.build.construct.pairing.design import Assumptions, design, expected_errors, meeting_matrix, meetings
from mrb_lib.tables.errors import InputError

NAMES = ["a", "b", "c", "d"]


def _pairs(each: int, names: list[str] = NAMES) -> pd.DataFrame:
    rows = [(one, other) for one, other in combinations(names, 2) for _ in range(each)]
    return pd.DataFrame(rows, columns=["model_a", "model_b"]).assign(item_id=[f"i{i}" for i in range(len(rows))])


def _values(frame: pd.DataFrame, **assumed: Any) -> pd.Series:
    return design(frame, Assumptions(**assumed)).set_index("quantity")["value"]


def test_equals_have_the_closed_form_of_a_round_robin() -> None:
    matrix, names = meeting_matrix(meetings(_pairs(50)))
    assert names == NAMES
    assert (matrix == 50 * (1 - np.eye(4))).all()
    errors = expected_errors(matrix, 300, Assumptions(spread=0, ties=0))
    # The Laplacian of n/4 everywhere has the eigenvalue r n / 4 on what sums to 0.
    variance = (1 / (4 * 50 / 4)) * (300 / 297)
    assert errors.log_strength == pytest.approx([np.sqrt(variance * 3 / 4)] * 4)
    assert errors.difference == pytest.approx([np.sqrt(variance * 2)] * 6)
    assert errors.strength == pytest.approx([np.sqrt(variance * 3 / 4) / 4] * 4), "the slope at equal shares is 1/4"
    half = expected_errors(matrix, 300, Assumptions(spread=0, ties=0.75))
    assert half.log_strength == pytest.approx(errors.log_strength / 2)


def test_counts_and_hours() -> None:
    frame = _pairs(50).assign(length_a=[10, 30] * 150, length_b=[20, 20] * 150)
    found = _values(frame, undecided=0, seconds_per_case=60, annotators=2)
    assert found[["n_cases", "n_items", "n_responders", "fewest_meetings", "most_meetings", "n_parts"]].tolist() == (
        [300, 300, 4, 50, 50, 1]
    )
    assert found["annotation_hours"] == 10
    assert found["longer_first"] == 0.5
    assert 0.5 < found["told_apart"] < 0.7


def test_four_times_the_cases_halve_the_width() -> None:
    few, many = _values(_pairs(20)), _values(_pairs(80))
    assert many["strength_width"] == pytest.approx(few["strength_width"] / 2, rel=0.05)


def test_responders_that_never_meet_the_others_are_named() -> None:
    apart = pd.concat([_pairs(9), _pairs(9, ["x", "y"])], ignore_index=True)
    found = design(apart).set_index("quantity")
    assert found.loc["n_parts", "value"] == 2
    assert np.isnan(found.loc["strength_width", "value"])
    assert found.loc["strength_width", "reason"] == "undefined: x, y never meet the others, directly or through others"
    assert meetings(apart).set_index(["model_1", "model_2"])["n"]["a", "x"] == 0


def test_impossible_assumptions_are_refused() -> None:
    impossible: list[dict[str, Any]] = [{"ties": 1.0}, {"spread": -1.0}, {"seconds_per_case": 0.0}]
    for wrong in impossible:
        with pytest.raises(InputError, match="must be"):
            Assumptions(**wrong)
