"""The design that is announced before anybody annotates."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mrb_lib.build.construct.pair import Assumptions, design, meetings
from mrb_lib.tables.errors import InputError

NAMES = ["a", "b", "c", "d"]


def _pairs(each: int, names: list[str] = NAMES) -> pd.DataFrame:
    rows = [(one, other) for one, other in combinations(names, 2) for _ in range(each)]
    frame = pd.DataFrame(rows, columns=["model_a", "model_b"]).assign(item_id=[f"i{i}" for i in range(len(rows))])
    return frame.assign(length_a=[(10, 30)[i % 2] for i in range(len(rows))], length_b=20)


def test_counts_and_hours() -> None:
    found = design(_pairs(50), Assumptions(seconds_per_case=60, annotators=2)).set_index("quantity")["value"]
    assert found[["n_cases", "n_items", "n_responders", "fewest_meetings", "most_meetings", "n_parts"]].tolist() == (
        [300, 300, 4, 50, 50, 1]
    )
    assert (found["annotation_hours"], found["longer_first"]) == (10, 0.5)
    assert np.isnan(design(_pairs(1).assign(length_a=20)).set_index("quantity")["value"]["longer_first"])


def test_responders_that_never_meet_the_others_are_counted() -> None:
    apart = pd.concat([_pairs(9), _pairs(9, ["x", "y"])], ignore_index=True)
    assert design(apart).set_index("quantity")["value"]["n_parts"] == 2
    assert meetings(apart).set_index(["model_1", "model_2"])["n"]["a", "x"] == 0


def test_impossible_assumptions_are_refused() -> None:
    impossible: list[dict[str, Any]] = [{"annotators": 0}, {"seconds_per_case": 0.0}]
    for wrong in impossible:
        with pytest.raises(InputError, match="must be"):
            Assumptions(**wrong)
