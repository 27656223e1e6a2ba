"""Rubrics through the commands: what is wrong is one line, and what is right is judged and analysed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta

RUBRIC = [{"criterion": f"point {i}", "weight": weight} for i, weight in enumerate((5, -3, 2))]


def cases(*rubrics: object) -> pd.DataFrame:
    n = len(rubrics)
    frame = pd.DataFrame({"case_id": [f"c{i}" for i in range(n)], "question": "Which side?"})
    return frame.assign(response_a=[f"left {i}" for i in range(n)], response_b="right", rubric=list(rubrics))


def bench(folder: Path, frame: pd.DataFrame) -> Path:
    labels = frame[["case_id"]].assign(annotator="one", dimension="overall", choice="A")
    save(Benchmark(BenchmarkMeta("made", "general", ("overall",)), frame, labels), folder)
    return folder


def test_a_rubric_without_weights_is_refused_in_one_line_and_nothing_is_written(mrb: Callable, tmp_path: Path) -> None:
    bad, good = json.dumps([{"criterion": "c"}]), json.dumps(RUBRIC)
    source = tmp_path / "source"
    source.mkdir()
    cases(good, bad).to_csv(source / "cases.csv", index=False)
    said = mrb("import", "table", source, tmp_path / "out")
    assert "cases.csv, row 2, column rubric (case c1): criterion 1 of the rubric has no weight" in said.refusal
    assert not (tmp_path / "out").exists()
    folder = bench(tmp_path / "bench", cases(good))
    load(folder).cases.assign(rubric=bad).to_parquet(folder / "cases.parquet")
    assert "row 1, column rubric" in mrb("judge", folder, tmp_path / "runs", "--judge", "first").refusal
    assert not (tmp_path / "runs").exists()
    checked = mrb("check", folder)
    assert checked.code != 0
    assert "has no weight" in checked.out + checked.err
