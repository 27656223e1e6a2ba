"""The K-QA importer: labels that are no preference, with the authors' majority rebuilt."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from mrb_lib.benchmarks.formats.kqa import read
from mrb_lib.benchmarks.votes import gold
from mrb_lib.tables.errors import InputError

HEADER = ["", "Question", "llm_x", "answer", "claim", "category_x", "majority_label", "label_0", "label_1", "label_2"]
ROW = ["0", "q", "gpt4", "None", "c", "Must_have", "Neutral", "Neutral", "Neutral", "Entailment"]


def write(folder: Path, *rows: list[str]) -> Path:
    with (folder / "NLI_medical_annotator.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)
    return folder


def test_authors_majority_is_rebuilt_for_all_rows(reference_data: Path) -> None:
    benchmark = read(reference_data / "kqa").benchmark
    label = gold(benchmark).merge(benchmark.cases, on="case_id")
    assert len(label) == 399
    assert (label["choice"] == label["majority_label"]).all()
    assert label["choice"].value_counts().to_dict() == {"Neutral": 234, "Entailment": 153, "Contradiction": 12}


def test_published_shape(reference_data: Path) -> None:
    benchmark = read(reference_data / "kqa").benchmark
    assert benchmark.cases["question_id"].nunique() == 50
    assert benchmark.annotations["annotator"].value_counts().to_dict() == {
        "label_0": 399,
        "label_1": 399,
        "label_2": 399,
    }
    contradictions = benchmark.annotations.query("choice == 'Contradiction'")["annotator"].value_counts()
    assert contradictions.to_dict() == {"label_0": 19, "label_1": 14, "label_2": 11}
    assert (benchmark.meta.kind, benchmark.meta.task) == ("clinical", "rating")
    assert benchmark.cases["response_b"].eq("").all()
    assert all(claim in question for claim, question in benchmark.cases[["claim", "question"]].to_numpy())


def test_an_answer_may_be_the_text_none(tmp_path: Path) -> None:
    assert read(write(tmp_path, HEADER, ROW)).benchmark.cases["response_a"].tolist() == ["None"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([HEADER, ROW, [*ROW[:-1], "Maybe"]], r"row 2, column label_2: \"Maybe\" is not a known value"),
        ([HEADER[:-1], ROW[:-1]], "column label_2: the column is missing"),
        ([HEADER, ROW[:-1]], "row 1: has 9 cells where the header has 10"),
        ([HEADER, ["", *ROW[1:]], [*ROW]], "row 1, column unnamed 1"),
        ([HEADER, ROW, ROW], "occurs again"),
        ([], "is empty"),
    ],
)
def test_wrong_rows_are_named(tmp_path: Path, rows: list[list[str]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(write(tmp_path, *rows))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"NLI_medical_annotator\.csv: the file is missing"):
        read(tmp_path)
