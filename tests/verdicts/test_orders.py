"""Rows are shown in their order, come back in the frame of the case, and none that was asked for is lost."""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.tables.errors import RunError
from mrb_lib.verdicts.orders import KEYS, OF_PLAN, choice_to_shown, to_case_frame, to_shown_frame
from mrb_lib.verdicts.protocol import VerdictRows


def test_the_response_of_the_order_is_shown_first_and_nothing_tells_who_wrote_it() -> None:
    rows = pd.DataFrame(
        {"case_id": ["1", "1"], "order": ["AB", "BA"], "response_a": "alpha", "response_b": "beta", "model_a": "good",
         "model_b": "bad", "majority_label": "A", "question": "q"}
    )  # fmt: skip
    shown = to_shown_frame(rows)
    assert shown["first"].tolist() == ["alpha", "beta"]
    assert shown["second"].tolist() == ["beta", "alpha"]
    assert not {"model_a", "model_b", "response_a", "response_b", "majority_label"} & set(shown.columns)


def test_answers_come_back_to_the_frame_of_the_case() -> None:
    answers = pd.DataFrame(
        {
            "order": ["AB", "AB", "BA", "BA", "AB", "BA"],
            "pick": ["first", "second", "first", "second", "tie", None],
            "p_first": [0.9, 0.2, 0.9, 0.2, 0.5, np.nan],
            "p_first_bound": ["at least", None, "at least", "at most", None, None],
            "score_first": [5.0, 2.0, 5.0, 2.0, 3.0, np.nan],
            "score_second": [1.0, 4.0, 1.0, 4.0, 3.0, np.nan],
        }
    )
    back = to_case_frame(answers)
    assert back["choice"].fillna("-").tolist() == ["A", "B", "B", "A", "tie", "-"]
    assert back["p_a"].tolist()[:5] == pytest.approx([0.9, 0.2, 0.1, 0.8, 0.5])
    assert back["p_a_bound"].fillna("-").tolist() == ["at least", "-", "at most", "at least", "-", "-"]
    assert not {"p_first", "p_first_bound"} & set(back.columns)
    assert back["score_a"].tolist()[:4] == [5.0, 2.0, 1.0, 4.0]
    assert back["score_b"].tolist()[:4] == [1.0, 4.0, 5.0, 2.0]
    assert back.loc[5, ["p_a", "score_a", "score_b"]].isna().all()
    assert (
        choice_to_shown(answers["order"], back["choice"]).fillna("-").tolist() == answers["pick"].fillna("-").tolist()
    )


def test_a_sources_columns_that_are_called_as_a_plans_are_not_shown() -> None:
    case = {"order": "BA", "question": "q", "response_a": "a", "response_b": "b"}
    forged = pd.DataFrame([case | dict.fromkeys(OF_PLAN, "[")])
    assert not set(OF_PLAN) & set(to_shown_frame(forged, planned=False).columns)
    kept = to_shown_frame(forged.assign(context_examples="[]"))
    assert set(OF_PLAN) <= set(kept.columns)


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
