"""The JudgeBench importer against the published split sizes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mrb_lib.benchmarks.formats.judgebench import read
from mrb_lib.tables.errors import InputError

ROW = {
    "pair_id": "p1",
    "original_id": 7,
    "source": "livebench-math",
    "question": "q",
    "response_model": "m",
    "response_A": "a",
    "response_B": "b",
    "label": "A>B",
}


def write(folder: Path, *rows: dict[str, object]) -> Path:
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_published_split_sizes(reference_data: Path) -> None:
    """The dataset card: 350 pairs by GPT-4o, 270 by Claude 3.5 Sonnet; 308 from MMLU-Pro, all labelled A or B."""
    benchmark = read(reference_data / "judgebench_pairs").benchmark
    assert sorted(benchmark.cases["model_a"].value_counts()) == [270, 350]
    assert benchmark.cases["question_type"].value_counts().to_dict() == {
        "knowledge": 308,
        "reasoning": 149,
        "math": 90,
        "coding": 73,
    }
    assert benchmark.cases["question_id"].nunique() == benchmark.cases["question"].nunique() == 528
    assert benchmark.annotations["choice"].value_counts().to_dict() == {"A": 336, "B": 284}
    assert (benchmark.annotations["annotator"] == "consensus").all()


def test_one_file_alone(reference_data: Path) -> None:
    path = next((reference_data / "judgebench_pairs").glob("*gpt-4o*.jsonl"))
    assert len(read(path).benchmark.cases) == 350


def test_original_id_may_be_null_and_an_unknown_source_is_counted(tmp_path: Path) -> None:
    imported = read(write(tmp_path, ROW, ROW | {"pair_id": "p2", "original_id": None, "source": "new"}))
    assert imported.benchmark.cases["original_id"].fillna("-").tolist() == ["7", "-"]
    assert imported.benchmark.cases["question_type"].fillna("-").tolist() == ["math", "-"]
    assert "1 pairs have an unknown category" in str(imported.findings[0])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([ROW | {"label": "A=B"}], "line 1, column label"),
        ([ROW, ROW], r"line 2, column pair_id: .*occurs again \(first in .*line 1\)"),
        ([ROW, {"pair_id": "x"}], "line 2, column .*: the field is missing"),
        ([], "holds no cases"),
    ],
)
def test_wrong_rows_name_the_line(tmp_path: Path, rows: list[dict[str, object]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(write(tmp_path, *rows))


def test_no_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no \.jsonl file"):
        read(tmp_path)
