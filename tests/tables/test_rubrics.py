"""A rubric is checked where it enters, in one line that names the row; nothing is read into what is not one."""

import json
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, empty_annotations, load, save
from mrb_lib.benchmarks.formats.table import read as read_rubric_table
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.rubrics import LONGEST_CRITERION, MOST_CRITERIA, Criterion, read_rubric
from mrb_lib.tables.validation import conform

GOOD = [
    {"criterion": "names the side", "weight": 5},
    {"criterion": "无中生有 🫁", "weight": -2.5, "dimension": "accuracy"},
]
ONE = {"criterion": "c", "weight": 1}
BAD = [
    ("[{", "the rubric: Invalid JSON"),
    ("[" * 1_000_000, "the rubric: Invalid JSON"),
    ('[{"criterion": "' + "c" * 1_000_000, "the rubric: Invalid JSON"),
    ("5", "the rubric: must be a list"),
    ("[]", "the rubric: List must have at least 1 item"),
    (json.dumps([ONE] * (MOST_CRITERIA + 1)), "the rubric: List must have at most 100 items"),
    ('["c"]', "entry 1 of the rubric: must be a table"),
    (json.dumps([ONE, {"criterion": " ", "weight": 1}]), "criterion in entry 2 of the rubric: must not be blank"),
    (json.dumps([{"weight": 1}]), "criterion in entry 1 of the rubric: is missing"),
    (json.dumps([{"criterion": "c" * (LONGEST_CRITERION + 1), "weight": 1}]), "must have at most 4000 characters"),
    (json.dumps([{"criterion": "c", "weight": "5"}]), "weight in entry 1 of the rubric: must be a number"),
    (json.dumps([{"criterion": "c", "weight": True}]), "must be a number"),
    ('[{"criterion": "c", "weight": NaN}]', "must be a finite number"),
    ('[{"criterion": "c", "weight": 1e999}]', "must be a finite number"),
    (json.dumps([{"criterion": "c", "weight": -1}]), "no weight of the rubric is positive"),
    (json.dumps([{**ONE, "dimension": "taste"}]), "is not one of the benchmark's; use one of accuracy, overall"),
]
META = BenchmarkMeta("made", "general", ("accuracy", "overall"))


def cases(*rubrics: object) -> pd.DataFrame:
    ids = [f"c{i}" for i in range(len(rubrics))]
    frame = pd.DataFrame({"case_id": ids, "question": "q", "response_a": "a", "response_b": "b"})
    return frame.assign(rubric=pd.Series(rubrics, dtype=object))


def test_a_rubric_is_read_as_written() -> None:
    assert read_rubric(json.dumps(GOOD)) == (
        Criterion("names the side", 5.0),
        Criterion("无中生有 🫁", -2.5, "accuracy"),
    )
    assert len(read_rubric(json.dumps([{**ONE, "tags": ["axis"]}] * MOST_CRITERIA), ("accuracy",))) == MOST_CRITERIA


@pytest.mark.parametrize(("stated", "problem"), BAD)
def test_what_is_wrong_is_said_in_one_line_with_row_and_column(stated: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        conform(cases(json.dumps(GOOD), stated, None), "cases", "cases.csv", dimensions=META.dimensions)
    text = str(caught.value)
    assert text.startswith("cases.csv, row 2, column rubric (case c1): ")
    assert problem in text
    assert "\n" not in text
    assert len(text) < 400


def test_lists_become_text_and_nothing_stays_nothing() -> None:
    made = conform(cases(GOOD, None, json.dumps(GOOD)), "cases", "here", dimensions=META.dimensions)
    assert made["rubric"].isna().tolist() == [False, True, False]
    assert read_rubric(made["rubric"][0]) == read_rubric(made["rubric"][2])
    assert "rubric" not in conform(cases(None).drop(columns="rubric"), "cases", "here")


def test_a_benchmark_is_not_saved_or_loaded_with_it_and_knows_when_it_changes(tmp_path: Path) -> None:
    bad = json.dumps([{"criterion": "c"}])
    with pytest.raises(InputError, match="rubric: is missing"):
        save(Benchmark(META, cases(bad), empty_annotations()), tmp_path / "saved")
    save(Benchmark(META, cases(json.dumps(GOOD)), empty_annotations()), tmp_path / "bench")
    benchmark = load(tmp_path / "bench")
    before = benchmark.case_fingerprint()
    benchmark.cases.assign(rubric=json.dumps(GOOD[:1])).to_parquet(tmp_path / "bench" / "cases.parquet")
    assert load(tmp_path / "bench").case_fingerprint() != before
    benchmark.cases.assign(rubric=bad).to_parquet(tmp_path / "bench" / "cases.parquet")
    with pytest.raises(InputError, match="row 1, column rubric"):
        load(tmp_path / "bench")


@pytest.mark.parametrize("name", ["cases.jsonl", "cases.parquet", "cases.csv"])
def test_tables_may_hold_lists_or_text(tmp_path: Path, name: str) -> None:
    frame = cases(GOOD, GOOD[:1])
    if name == "cases.jsonl":
        frame.to_json(tmp_path / name, orient="records", lines=True)
    elif name == "cases.parquet":
        frame.to_parquet(tmp_path / name)
    else:
        frame.assign(rubric=frame["rubric"].map(json.dumps)).to_csv(tmp_path / name, index=False)
    made = read_rubric_table(tmp_path).benchmark.cases["rubric"]
    assert [read_rubric(each) for each in made] == [read_rubric(json.dumps(GOOD)), read_rubric(json.dumps(GOOD[:1]))]
