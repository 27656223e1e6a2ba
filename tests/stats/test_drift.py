"""The halves of each annotator, and when more annotators help."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.methods.drift import NO_ANSWERS, NOT_SHARED, NOTHING_DECISIVE, drift
from mrb_lib.stats.methods.until import Target, read_target, until
from mrb_lib.tables.errors import InputError
from tests.stats.small_tables import annotations_of, cases_of


def _answers(by_annotator: dict[str, str], orders: str = "AB") -> pd.DataFrame:
    """Answers one after the other, all shown in one order."""
    rows = annotations_of(by_annotator)
    return rows.assign(order=orders, created=[f"2026-01-01T00:{i // 60:02}:{i % 60:02}.000Z" for i in range(len(rows))])


def test_shares_and_agreement_as_counted_by_hand() -> None:
    found = drift(_answers({"Dr X": "AABBT", "Dr Y": "AABAA"}, "BA"), cases_of(5)).set_index(["annotator", "half"])
    counts = ["n_cases", "n_answers", "n_decisive", "n_compared"]
    shares = ["share_a", "share_first", "share_tie", "agreement"]
    for half, n, share in (("first", [3, 3, 3, 3], [2 / 3, 1 / 3, 0, 1]), ("second", [2, 2, 1, 2], [0, 1, 0.5, 0])):
        row = found.loc[("Dr X", half)]
        assert row[counts].tolist() == n
        assert row[shares].tolist() == pytest.approx(share)
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


def _estimates(*rows: tuple[float, float, float], k: float = 3.0) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=[f"krippendorff_alpha{end}" for end in ("", "_low", "_high")], dtype=float)
    return frame.assign(dimension=[f"d{i}" for i in range(len(rows))], n_cases=100, annotators_per_case=k)


def test_rules_are_read_and_others_refused() -> None:
    assert [read_target(rule) for rule in (" alpha >= 0.6", "ac1>=.8")] == [Target("alpha", 0.6), Target("ac1", 0.8)]
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
