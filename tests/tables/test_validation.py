from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, empty_annotations, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
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
    ("table", "frame", "expected"),
    [
        ("cases", _frame(CASE).drop(columns="question"), ["column question", "missing"]),
        ("cases", _frame(CASE, {}), ["row 2", "column case_id", "first in row 1"]),
        ("cases", _frame(CASE, {"case_id": "2", "response_a": None}), ["row 2", "column response_a", "case 2"]),
        ("cases", _frame({**CASE, "question": ["a"]}), ["row 1", "column question", "list"]),
        ("cases", _frame({**CASE, "images": "a.png"}), ["row 1", "column images", "list of file names"]),
        ("cases", _frame({**CASE, "images": ["../a.png"]}), ["row 1", "column images", "'../a.png'", "leads out"]),
        (
            "cases",
            _frame({**CASE, "date": "May 2023"}),
            ["row 1", "column date", "'May 2023' is not a date", "2023-05-17"],
        ),
        ("cases", _frame({**CASE, "date": "2023-02-30"}), ["row 1", "column date", "is not a date"]),
        ("cases", _frame({**CASE, "date": ["2023"]}), ["row 1", "column date", "list where text belongs"]),
        ("annotations", _frame(ANNOTATION, {"annotator": "y", "choice": "C"}), ["row 2", "column choice", "A, B, tie"]),
        ("annotations", _frame({**ANNOTATION, "dimension": "beauty"}), ["row 1", "column dimension", "'beauty'"]),
        ("annotations", _frame(ANNOTATION, {}), ["row 2", "occurs again"]),
        ("verdicts", _frame({**VERDICT, "order": "BB"}), ["row 1", "column order", "AB, BA"]),
        ("cases", _frame(CASE, {"case_id": " "}), ["row 2", "column case_id", "missing"]),
        ("cases", _frame({**CASE, "question": True}), ["row 1", "column question", "bool"]),
        ("annotations", _frame({**ANNOTATION, "annotator": ""}), ["row 1", "column annotator", "missing"]),
        ("verdicts", _frame({**VERDICT, "judge": ""}), ["row 1", "column judge", "missing"]),
        ("verdicts", _frame({**VERDICT, "score_a": np.inf}), ["row 1", "column score_a", "not finite"]),
        ("verdicts", _frame({**VERDICT, "score_a": 10**400}), ["row 1", "column score_a", "not finite"]),
        ("verdicts", _frame({**VERDICT, "repeat": 1e30}), ["row 1", "column repeat", "outside 0 to 999999"]),
        ("verdicts", _frame({**VERDICT, "p_a": True}), ["row 1", "column p_a", "True is not a number"]),
        ("verdicts", _frame({**VERDICT, "repeat": "x"}), ["row 1", "column repeat", "not a number"]),
        ("verdicts", _frame({**VERDICT, "repeat": 0.5}), ["row 1", "column repeat", "not a whole number"]),
        ("verdicts", _frame({**VERDICT, "repeat": -1}), ["row 1", "column repeat", "outside 0"]),
        ("verdicts", _frame({**VERDICT, "p_a": 1.5}), ["row 1", "column p_a", "outside 0 to 1"]),
        ("verdicts", _frame({**VERDICT, "choice": None, "status": "ok"}), ["row 1", "status ok without a choice"]),
        ("verdicts", _frame({**VERDICT, "status": "refused"}), ["row 1", "status refused with a choice"]),
        ("verdicts", _frame(VERDICT, {}), ["row 2", "occurs again"]),
    ],
)
def test_what_breaks_the_contract_is_named_with_file_row_and_column(
    table: str, frame: pd.DataFrame, expected: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        conform(frame, table, "the-file", dimensions=["overall"])
    for part in ["the-file", *expected]:
        assert part in str(caught.value)


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


@pytest.mark.parametrize(
    ("steps", "items", "row", "message"),
    [
        ([1, 2, 2], "aaa", 3, "step 3 of the item 'a' is due here, not 2"),
        ([1, 3, 2], "aaa", 2, "step 2 of the item 'a' is due here, not 3"),
        ([1, 2, 4], "aaa", 3, "step 3 of the item 'a' is due here, not 4"),
        ([1, 2, 2], "aab", 3, "step 1 of the item 'b' is due here, not 2"),
        ([1, None, 2], "aaa", 2, "step 2 of the item 'a' is due here, not a case without a step"),
        ([1, 2, 1], ["a", "a", None], 3, "step 1 is of no item"),
        ([1, 2, 0], "aab", 3, "0.0 is outside 1 to"),
        ([1, 2, 1.5], "aab", 3, "1.5 is not a whole number"),
    ],
)
def test_steps_out_of_order_are_refused_wherever_a_benchmark_is_read(
    tmp_path: Path, steps: list[float | None], items: list[str | None] | str, row: int, message: str
) -> None:
    meta = BenchmarkMeta("s", "general", ("overall",), ("bad", "good"), "ordinal", "rating")
    cases = pd.DataFrame({"case_id": list("xyz"), "question": "q", "response_a": "r", "item": list(items)})
    with pytest.raises(InputError, match="cases") as caught:
        save(Benchmark(meta, cases.assign(step=steps), empty_annotations()), tmp_path / "new")
    assert message.removeprefix("0.0") in str(caught.value)
    assert f"row {row}" in str(caught.value)
    assert "\n" not in str(caught.value)
    save(Benchmark(meta, cases.drop(columns="item"), empty_annotations()), tmp_path / "old")
    stored = pd.read_parquet(tmp_path / "old/cases.parquet").assign(item=list(items), step=steps)
    stored.to_parquet(tmp_path / "old/cases.parquet")
    with pytest.raises(InputError, match=f"row {row}"):
        load(tmp_path / "old")


def test_each_step_of_no_item_is_listed_and_each_item_once() -> None:
    frame = pd.DataFrame([CASE] * 6).assign(
        response_b="", case_id=list("uvwxyz"), item=[None, "a", "a", None, "b", "a"]
    )
    found = inspect(frame.assign(step=[1, 2, 1, 2, 1, None]), "cases", "f", task="rating")
    assert [(one.row, one.column) for one in found] == [(1, "item"), (2, "step"), (4, "item")]


def test_rows_of_items_may_alternate_and_cases_without_steps_stay(tmp_path: Path) -> None:
    meta = BenchmarkMeta("s", "general", ("overall",), ("bad", "good"), "ordinal", "rating")
    cases = pd.DataFrame({"case_id": list("vwxyz"), "question": "q", "response_a": "r", "item": list("ababc")})
    save(Benchmark(meta, cases.assign(step=[1, 1, 2, 2, None]), empty_annotations()), tmp_path)
    assert load(tmp_path).cases["step"].tolist() == [1, 1, 2, 2, pd.NA]
