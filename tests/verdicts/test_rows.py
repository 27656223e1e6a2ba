"""No row that a judge was asked for is lost, and what is not there is null."""

from __future__ import annotations

import pandas as pd
import pytest

from mrb_lib.tables.errors import RunError
from mrb_lib.verdicts.orders import KEYS
from mrb_lib.verdicts.protocol import VerdictRows

ASKED = pd.DataFrame(
    {"case_id": ["c", "a", "b"], "dimension": "overall", "order": "AB", "repeat": 0, "probe": "none", "question": "?"},
    index=[7, 3, 7],
)


def test_rows_come_back_in_the_order_asked_whatever_the_order_they_were_stated_in() -> None:
    rows = VerdictRows(ASKED)
    rows.put(2, "ok", "second", p_first=0.25)
    rows.fail([0], "no image")
    rows.put(1, "ok", "first", p_first=0.75)
    frame = rows.frame()
    assert frame["case_id"].tolist() == ["c", "a", "b"]
    assert frame["pick"].fillna("null").tolist() == ["null", "first", "second"]
    assert frame["status"].tolist() == ["error", "ok", "ok"]
    assert frame["error"].fillna("").tolist() == ["no image", "", ""]
    assert frame["p_first"].isna().tolist() == [True, False, False]
    assert frame[list(KEYS)].dtypes.equals(ASKED[list(KEYS)].dtypes)


def test_a_forgotten_row_is_an_error() -> None:
    rows = VerdictRows(ASKED)
    rows.put(0, "ok", "tie")
    with pytest.raises(RunError, match="2 rows"):
        rows.frame()


def test_columns_without_any_value_are_left_out_and_zero_is_a_value() -> None:
    rows = VerdictRows(ASKED)
    for i in range(3):
        rows.put(i, "unparsed", None, reply="", score_first=None, completion_tokens=0)
    frame = rows.frame()
    assert "score_first" not in frame
    assert frame["completion_tokens"].tolist() == [0, 0, 0]
    assert frame["reply"].tolist() == ["", "", ""], "an empty reply is a reply"
    assert frame["pick"].isna().all()
    assert str(frame["pick"].dtype) == "str"
