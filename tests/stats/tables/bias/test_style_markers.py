from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.methods.response_traits import MARKERS, length_difference, marker_differences, standardised

TEXT = """# Findings

- opacity of 12.5 mm
- no effusion
2) follow-up

It **may** be benign; possibly infection. Maybe not? Is it?"""


@pytest.mark.parametrize(
    ("marker", "count"),
    [("headings", 1), ("lists", 3), ("bold", 1), ("hedges", 2), ("numbers", 2), ("questions", 2)],
)
def test_markers_are_counted(marker: str, count: int) -> None:
    texts = {"response_a": [TEXT], "response_b": ["A mass in the left lobe * of the liver, rated c# and a__b"]}
    found = marker_differences(pd.DataFrame(texts))[list(MARKERS).index(marker)]
    assert found.tolist() == [np.log1p(count)], "the other text has none"


def test_differences_change_sign_with_the_sides_and_are_unknown_without_a_text() -> None:
    cases = pd.DataFrame({"response_a": [TEXT, "one", None], "response_b": ["one", TEXT, TEXT]})
    found = marker_differences(cases)
    row = list(MARKERS).index("lists")
    assert found[row, :2].tolist() == [np.log(4), -np.log(4)]
    assert np.isnan(found[:, 2]).all()
    assert length_difference(cases)[0] == pytest.approx(np.log((len(TEXT) + 1) / 4))
    assert np.isnan(length_difference(pd.DataFrame({"case_id": ["c"]}))).all()


def test_standardising_keeps_zero_and_gives_a_root_mean_square_of_one() -> None:
    found = standardised(np.array([[3.0, 0.0, -4.0, np.nan], [0.0, 0.0, 0.0, 0.0]]))
    assert found[0, 1] == 0
    assert np.nanmean(found[0] ** 2) == pytest.approx(1)
    assert (found[1] == 0).all()
