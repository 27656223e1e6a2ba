"""The LLMBar importer: the authors' own statistics are rebuilt from our verdict table."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.formats.llmbar import read
from mrb_lib.tables.errors import InputError

ITEM = {"input": "i", "output_1": "x", "output_2": "y", "label": 2}


def verdict(winner: str | None) -> dict[str, object]:
    return {"completion": ["because", "stop"], "winner": winner}


def write(folder: Path, result: object) -> Path:
    (folder / "dataset.json").write_text(json.dumps([ITEM]))
    path = folder / "evaluators" / "J" / "P" / "result.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(result))
    return folder


def test_subsets_become_datasets(reference_data: Path) -> None:
    imported = read(reference_data / "llmbar_casestudy")
    assert set(imported.benchmark.cases["dataset"]) == {"Negation", "Normal"}
    assert len(imported.verdicts) == len(imported.benchmark.cases) * 24 * 2
    assert (imported.verdicts["status"] == "unparsed").sum() == imported.verdicts["choice"].isna().sum() == 33


def test_the_last_object_counts_and_null_is_unparsed(tmp_path: Path) -> None:
    first = {"swap = False": verdict("1"), "swap = True": verdict("1")}
    last = {"swap = False": verdict("2"), "swap = True": verdict(None)}
    verdicts = read(write(tmp_path, [ITEM | {"results": [["text", "stop"], first, last]}])).verdicts
    assert verdicts["order"].tolist() == ["AB", "BA"]
    assert verdicts["choice"].fillna("-").tolist() == ["B", "-"]
    assert verdicts["status"].tolist() == ["ok", "unparsed"]
    assert pd.Series(verdicts["judge"]).unique().tolist() == ["J/P"]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ([], "has 0 items where dataset.json has 1"),
        ([ITEM | {"label": 1, "results": []}], "row 1, column label: differs from"),
        ([ITEM | {"results": [["text"]]}], "row 1, column results: its last object holds no text"),
        ([ITEM | {"results": [{"swap = False": verdict("1")}]}], "swap = True"),
        (
            [ITEM | {"results": [{"swap = False": verdict("3"), "swap = True": verdict("1")}]}],
            "row 1, swap = False, column winner",
        ),
        ({}, "where an array of objects belongs"),
    ],
)
def test_wrong_results_are_named(tmp_path: Path, result: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(write(tmp_path, result))


def test_no_subset(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no dataset\.json"):
        read(tmp_path)
