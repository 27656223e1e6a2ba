"""The design that is announced before anybody annotates."""

from itertools import combinations

import numpy as np
import pandas as pd

from mrb_lib.build.construct.pair import design, meetings

NAMES = ["a", "b", "c", "d"]


def _pairs(each: int, names: list[str] = NAMES) -> pd.DataFrame:
    rows = [(one, other) for one, other in combinations(names, 2) for _ in range(each)]
    frame = pd.DataFrame(rows, columns=["model_a", "model_b"]).assign(item_id=[f"i{i}" for i in range(len(rows))])
    return frame.assign(length_a=[(10, 30)[i % 2] for i in range(len(rows))], length_b=20)


def test_counts() -> None:
    found = design(_pairs(50)).set_index("quantity")["value"]
    assert found[["n_cases", "n_items", "n_responders", "fewest_meetings", "most_meetings", "n_parts"]].tolist() == (
        [300, 300, 4, 50, 50, 1]
    )
    assert found["longer_first"] == 0.5
    assert np.isnan(design(_pairs(1).assign(length_a=20)).set_index("quantity")["value"]["longer_first"])


def test_responders_that_never_meet_the_others_are_counted() -> None:
    apart = pd.concat([_pairs(9), _pairs(9, ["x", "y"])], ignore_index=True)
    assert design(apart).set_index("quantity")["value"]["n_parts"] == 2
    assert meetings(apart).set_index(["model_1", "model_2"])["n"]["a", "x"] == 0
