"""When more annotators help, and when not, by closed forms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.methods.until import Target, annotators_for, read_target, spearman_brown, until
from mrb_lib.tables.errors import InputError


def _estimates(*rows: tuple[float, float, float], k: float = 3.0) -> pd.DataFrame:
    frame = pd.DataFrame(
        rows, columns=["krippendorff_alpha", "krippendorff_alpha_low", "krippendorff_alpha_high"], dtype=float
    )
    names = [f"d{i}" for i in range(len(rows))]
    return frame.assign(dimension=names, n_cases=100, annotators_per_case=k)


def test_rules_are_read_and_others_refused() -> None:
    assert read_target(" alpha >= 0.6") == Target("alpha", 0.6)
    assert read_target("ac1>=.8") == Target("ac1", 0.8)
    for wrong in ("alpha>0.6", "beta>=0.6", "alpha>=6", "alpha>=0", "alpha>=0.6.1", "alpha", ""):
        with pytest.raises(InputError, match=r"alpha>=0\.6"):
            read_target(wrong)


def test_states_follow_from_the_interval() -> None:
    found = until(
        _estimates((0.7, 0.62, 0.78), (0.4, 0.3, 0.5), (0.55, 0.45, 0.65), (np.nan, np.nan, np.nan), (0.6, 0.5, 0.7)),
        Target("alpha", 0.6),
    )
    assert found["state"].tolist() == ["reached", "out of reach", "open", "unknown", "open"]
    assert found["cases_more"].tolist()[2] == 300, "half the width takes four times the cases"
    assert found["cases_more"].isna().tolist() == [True, True, False, True, True]
    assert "many more cases" in found["advice"][4]
    assert found["reliability"].tolist()[:2] == pytest.approx([2.1 / 2.4, 1.2 / 1.8])
    assert "3 annotators per case are as reliable together" in found["advice"][1], "of 0.4 each"
    alone = until(_estimates((0.4, 0.3, 0.5), (0.02, -0.1, 0.1), k=2.0), Target("alpha", 0.6))
    assert "3 annotators per case are as reliable together" in alone["advice"][0]
    assert "not even 15 annotators per case are as reliable together" in alone["advice"][1]


def test_annotators_needed_are_the_fewest() -> None:
    for value in (0.1, 0.3, 0.5, 0.59, 0.6, 0.9):
        needed = annotators_for(value, 0.6)
        assert needed is not None
        assert spearman_brown(value, needed) >= 0.6 - 1e-9
        assert needed == 1 or spearman_brown(value, needed - 1) < 0.6
    assert annotators_for(-0.2, 0.6) is None
    assert annotators_for(0.05, 0.6) is None
