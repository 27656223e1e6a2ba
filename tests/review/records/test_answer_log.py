"""What annotators did comes out whole: in both orders, with times, skips and comments, and no cell is a formula."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.review.records.exchange import LOG_COLUMNS, annotations_of, answer_log, counting_choices, pace, write_rows
from mrb_lib.review.records.marks import AnnotatorAnswer, Comment
from mrb_lib.review.records.store import Store
from mrb_lib.tables.errors import InputError

FORMULA = "=cmd|' /C calc'!A0"


@pytest.fixture
def answered(pictured: Benchmark, store: Store) -> Benchmark:
    name, cases = pictured.meta.name, pictured.cases["case_id"]

    def answer(case: str, dimension: str, choice: str | None, order: str, why: str, seconds: float | None) -> None:
        store.add(AnnotatorAnswer(name, case, "Dr A", dimension, choice, order, why, seconds))

    answer(cases[0], "overall", "A", "BA", "", 30.0)
    answer(cases[0], "overall", "B", "BA", "", 12.5)
    answer(cases[1], "overall", "tie", "AB", "", None)
    store.add(Comment(name, cases[2], "Dr B", FORMULA))
    answer(cases[1], "accuracy", None, "AB", FORMULA, 60.0)
    answer("gone", "overall", "A", "AB", "", 1.0)
    answer(cases[0], "charm", "A", "AB", "", 1.0)
    store.add(Comment(name, "gone", "Dr B", "where is it?"))
    return pictured


def test_every_row_is_there_with_what_was_shown(answered: Benchmark, store: Store) -> None:
    log, left_out = answer_log(answered, store)
    assert tuple(log.columns) == LOG_COLUMNS
    assert left_out == 3
    assert log["kind"].tolist() == ["choice", "choice", "choice", "comment", "skip"]
    assert log["counts"].tolist() == [False, True, True, True, True]
    assert log["shown_as"].dropna().tolist() == ["second", "first", "tie"]
    assert log["seconds"].fillna(-1).tolist() == [30.0, 12.5, -1.0, -1.0, 60.0]
    assert log["skipped_reason"].dropna().tolist() == log["comment"].dropna().tolist() == [FORMULA]
    assert log["created"].str.endswith("Z").all()


def test_its_counting_choices_are_the_annotations(answered: Benchmark, store: Store) -> None:
    chosen = counting_choices(answer_log(answered, store)[0])
    annotations, _ = annotations_of(answered, store)
    keys = ["case_id", "annotator", "dimension", "choice"]
    assert sorted(map(tuple, chosen[keys].to_numpy())) == sorted(map(tuple, annotations.to_numpy()))


def test_nothing_done_is_a_table_without_rows(pictured: Benchmark, store: Store) -> None:
    log, left_out = answer_log(pictured, store)
    assert (len(log), left_out, tuple(log.columns)) == (0, 0, LOG_COLUMNS)
    assert pace(log).empty


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_it_is_written_and_no_cell_is_a_formula(answered: Benchmark, store: Store, tmp_path: Path, suffix: str) -> None:
    log, _ = answer_log(answered, store)
    path = tmp_path / f"log{suffix}"
    write_rows(log, path)
    readers = {".csv": pd.read_csv, ".parquet": pd.read_parquet}
    back = pd.read_json(path, lines=True) if suffix == ".jsonl" else readers[suffix](path)
    assert back["case_id"].tolist() == log["case_id"].tolist()
    assert back["seconds"].fillna(-1).tolist() == log["seconds"].fillna(-1).tolist()
    shown = f"'{FORMULA}" if suffix == ".csv" else FORMULA
    assert back["comment"].dropna().tolist() == [shown]
    with pytest.raises(InputError, match="must end with"):
        write_rows(log, tmp_path / "log.xlsx")


def test_the_pace_is_over_all_times_and_the_median_over_cases_with_every_time() -> None:
    rows = [
        ("Dr A", "c1", "A", 60.0),
        ("Dr A", "c1", "B", 60.0),
        ("Dr A", "c2", None, 240.0),
        ("Dr A", "c3", "A", None),
        ("Dr A", "c3", "A", 3240.0),
        ("Dr B", "c1", "A", None),
    ]
    found = pace(pd.DataFrame(rows, columns=["annotator", "case_id", "choice", "seconds"])).set_index("annotator")
    assert found.loc["Dr A"].to_dict() == {
        "answers": 3, "untimed": 1, "hours": 1.0, "answers_per_hour": 3.0, "cases": 2, "median_seconds": 180.0,
    }  # fmt: skip
    assert found.loc["Dr B", ["answers", "untimed", "cases"]].tolist() == [0, 1, 0]
    assert found.loc["Dr B", ["answers_per_hour", "median_seconds"]].isna().all()
