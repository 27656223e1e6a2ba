import numpy as np
import pandas as pd
import pytest

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.validation import check_references, conform, inspect

CASE = {"case_id": "1", "question": "q", "response_a": "x", "response_b": "y"}
VERDICT = {"judge": "j", "case_id": "1", "dimension": "overall", "order": "AB", "choice": "A"}
ANNOTATION = {"case_id": "1", "annotator": "z", "dimension": "overall", "choice": "A"}


def _frame(row: dict[str, object], *more: dict[str, object]) -> pd.DataFrame:
    return pd.DataFrame([row, *({**row, **change} for change in more)])


def test_optional_columns_get_their_defaults_and_unknown_ones_stay() -> None:
    cases = conform(_frame(CASE).assign(mine=[{"a": 1}]), "cases", "f")
    assert cases["images"].tolist() == [[]]
    assert cases["mine"].tolist() == [{"a": 1}]
    verdicts = conform(_frame(VERDICT, {"case_id": "2", "choice": None}), "verdicts", "f")
    assert verdicts["repeat"].tolist() == [0, 0]
    assert verdicts["probe"].tolist() == ["none", "none"]
    assert verdicts["status"].tolist() == ["ok", "unparsed"]


def test_whole_numbers_and_text_are_the_same_id() -> None:
    assert conform(_frame({**CASE, "case_id": 7}), "cases", "f")["case_id"].tolist() == ["7"]


def test_a_date_is_a_year_a_month_or_a_day() -> None:
    dates = ["2023", "2023-05", "2023-05-17", None, "2024-02-29"]
    kept = conform(_frame(CASE, *[{}] * 4).assign(date=dates, case_id=list("01234")), "cases", "f")
    assert kept["date"].isna().tolist() == [False, False, False, True, False]
    assert conform(_frame({**CASE, "date": 2023}), "cases", "f")["date"].tolist() == ["2023"]


def test_a_long_text_for_a_date_is_not_repeated_in_full() -> None:
    [finding] = inspect(_frame({**CASE, "date": "9" * 10**6}), "cases", "f")
    assert finding.column == "date"
    assert len(str(finding)) < 200


@pytest.mark.parametrize(
    ("table", "row", "expected"),
    [
        ("cases", {"response_a": None}, ["column response_a", "(case 2)", "missing"]),
        ("cases", {"case_id": " "}, ["column case_id", "missing"]),
        ("cases", {"case_id": "1"}, ["column case_id", "case_id 1 occurs again (first in row 1)"]),
        ("cases", {"question": ["a"]}, ["column question", "list where text belongs"]),
        ("cases", {"question": True}, ["column question", "bool where text belongs"]),
        ("cases", {"images": "a.png"}, ["column images", "'a.png' is not a list of file names"]),
        ("cases", {"images": ["../a.png"]}, ["column images", "'../a.png'", "leads out"]),
        ("cases", {"date": "May 2023"}, ["column date", "'May 2023' is not a date", "2023-05-17"]),
        ("cases", {"date": "2023-02-30"}, ["column date", "is not a date"]),
        ("cases", {"date": ["2023"]}, ["column date", "list where text belongs"]),
        ("annotations", {"choice": "C"}, ["column choice", "A, B, tie"]),
        ("annotations", {"dimension": "beauty"}, ["column dimension", "'beauty'"]),
        ("annotations", {"annotator": ""}, ["column annotator", "missing"]),
        ("annotations", {"case_id": "1"}, ["case_id 1, annotator z, dimension overall occurs again"]),
        ("verdicts", {"case_id": "1"}, ["occurs again"]),
        ("verdicts", {"judge": ""}, ["column judge", "missing"]),
        ("verdicts", {"order": "BB"}, ["column order", "AB, BA"]),
        ("verdicts", {"score_a": np.inf}, ["column score_a", "inf is not a number"]),
        ("verdicts", {"score_a": 10**400}, ["column score_a", "is not a number"]),
        ("verdicts", {"p_a": True}, ["column p_a", "True is not a number"]),
        ("verdicts", {"p_a": 1.5}, ["column p_a", "1.5 is not a number from 0 to 1"]),
        ("verdicts", {"repeat": 1e30}, ["column repeat", "1e+30 is not a whole number from 0 to 999999"]),
        ("verdicts", {"repeat": "x"}, ["column repeat", "'x' is not a whole number"]),
        ("verdicts", {"repeat": 0.5}, ["column repeat", "0.5 is not a whole number"]),
        ("verdicts", {"repeat": -1}, ["column repeat", "-1 is not a whole number from 0"]),
        ("verdicts", {"choice": None, "status": "ok"}, ["column status", "'ok' without a choice"]),
        ("verdicts", {"status": "refused"}, ["column status", "'refused' with a choice"]),
    ],
)
def test_what_breaks_the_contract_is_named_with_file_row_and_column(
    table: str, row: dict[str, object], expected: list[str]
) -> None:
    first = {"cases": CASE, "annotations": ANNOTATION, "verdicts": {**VERDICT, "repeat": 0, "status": "ok"}}[table]
    frame = pd.DataFrame([first, {**first, "case_id": "2", **row}])
    if "images" in row:
        frame["images"] = pd.Series([[], row["images"]])
    with pytest.raises(InputError) as caught:
        conform(frame, table, "the-file", dimensions=["overall"])
    for part in ["the-file, row 2", *expected]:
        assert part in str(caught.value)


def test_a_missing_column_is_named_with_those_that_the_table_needs() -> None:
    with pytest.raises(InputError, match="the-file, column question: the column is missing; add it"):
        conform(_frame(CASE).drop(columns="question"), "cases", "the-file")


def test_all_findings_are_listed_not_only_the_first() -> None:
    frame = _frame(ANNOTATION, {"annotator": "y", "choice": "C"}, {"annotator": "x", "choice": "D"})
    assert [finding.row for finding in inspect(frame, "annotations", "f")] == [2, 3]


def test_other_categories_are_allowed_where_the_benchmark_declares_them() -> None:
    frame = _frame({**ANNOTATION, "choice": "Entailment"})
    assert inspect(frame, "annotations", "f", categories=["Entailment", "Neutral"]) == []
    assert len(inspect(frame, "annotations", "f")) == 1


def test_a_verdict_on_a_case_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match=r"the-file, row 2, column case_id.*'9' does not exist"):
        check_references(_frame(VERDICT, {"case_id": "9"}), _frame(CASE), "the-file")


def test_the_input_is_not_changed() -> None:
    frame = _frame({**CASE, "case_id": 7, "images": np.array(["a.png"], dtype=object)})
    before = frame.copy(deep=True)
    conform(frame, "cases", "f")
    pd.testing.assert_frame_equal(frame, before)
