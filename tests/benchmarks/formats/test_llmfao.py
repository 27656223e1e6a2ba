"""The LLMFAO importer against the published counts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mrb_lib.benchmarks.formats.llmfao import read
from mrb_lib.benchmarks.votes import gold
from mrb_lib.tables.errors import InputError

PAIR = {"id": 0, "prompt": 8, "text": "t", "type": "code", "slug": "s", "note": None, "model_x": 1, "result_x": "x",
        "model_y": 2, "result_y": "y"}  # fmt: skip
HEADER = "id,prompt,model_x,model_y,worker,winner,left,right"


def write(folder: Path, *rows: str) -> Path:
    (folder / "pairs-crowd.jsonl").write_text(json.dumps(PAIR) + "\n")
    (folder / "crowd-comparisons.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    return folder


def test_published_counts(reference_data: Path) -> None:
    """2,139 pairs, 8,931 judgements, 124 workers; pluralities and verdict counts of truths_dev.json."""
    imported = read(reference_data / "llmfao")
    annotations = imported.benchmark.annotations
    assert len(imported.benchmark.cases) == 2139
    assert len(annotations) == 8931
    assert annotations["annotator"].nunique() == 124
    assert annotations["choice"].value_counts().to_dict() == {"tie": 3471, "A": 2911, "B": 2549}
    assert annotations.groupby("case_id").size().value_counts().to_dict() == {5: 998, 4: 658, 3: 358, 2: 110, 1: 15}
    plurality = gold(imported.benchmark)["choice"]
    assert plurality.value_counts().to_dict() == {"tie": 772, "A": 559, "B": 500}
    assert plurality.isna().sum() == 308
    gpt3 = imported.verdicts.query("judge == 'gpt3'")["choice"].value_counts()
    assert gpt3.to_dict() == {"A": 1352, "B": 593, "tie": 194}
    assert imported.verdicts.groupby("judge").size().to_dict() == {"gpt3": 2139, "gpt4": 2139}
    models = set(imported.benchmark.cases["model_a"]) | set(imported.benchmark.cases["model_b"])
    assert len(models) == 59


def test_left_is_a(tmp_path: Path) -> None:
    imported = read(write(tmp_path, "0,8,1,2,7,left,Left Model,Right Model"))
    case = imported.benchmark.cases.iloc[0]
    assert (case["response_a"], case["model_a"], case["response_b"]) == ("x", "Left Model", "y")
    assert imported.benchmark.annotations.iloc[0].to_list() == ["0", "7", "overall", "A"]
    assert len(imported.findings) == 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0,8,1,2,7,draw,L,R", "row 1, column winner"),
        ("9,8,1,2,7,tie,L,R", "row 1, column id: the pair '9' does not exist"),
        ("0,8,1,3,7,tie,L,R", r"row 1, column model_y: differs from pairs-crowd\.jsonl, line 1"),
        ("0,8,1,2,7,tie,L,R\n0,8,1,2,8,tie,L,Q", r"row 2, column right: differs"),
        ("0,8,1,2,7,tie,L,R\n0,8,1,2,7,tie,L,R", "annotator 7, dimension overall occurs again"),
        ("0,8,1,2,7", "row 1: has 5 cells"),
    ],
)
def test_wrong_rows_are_named(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(write(tmp_path, row))


def test_a_missing_file(tmp_path: Path, reference_data: Path) -> None:
    shutil.copy(reference_data / "llmfao" / "pairs-crowd.jsonl", tmp_path)
    with pytest.raises(InputError, match=r"crowd-comparisons\.csv: the file is missing"):
        read(tmp_path)
