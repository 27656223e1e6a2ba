"""Rubrics through the commands: what is wrong is one line, and what is right is judged and analysed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.benchmarks.benchmark import Benchmark, load, save
from mrb_lib.benchmarks.meta import BenchmarkMeta
from mrb_lib.verdicts.store import load_verdicts

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
    assert said.code == 2
    assert "cases.csv, row 2, column rubric (case c1): criterion 1 of the rubric has no weight" in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()
    folder = bench(tmp_path / "bench", cases(good))
    load(folder).cases.assign(rubric=bad).to_parquet(folder / "cases.parquet")
    judged = mrb("judge", folder, tmp_path / "runs", "--judge", "first")
    assert judged.code == 2
    assert "row 1, column rubric" in judged.err
    assert not (tmp_path / "runs").exists()
    checked = mrb("check", folder)
    assert checked.code != 0
    assert "has no weight" in checked.out + checked.err


def test_a_rubric_is_judged_and_analysed(mrb: Callable, tmp_path: Path, tiny: Callable[[str], Path]) -> None:
    folder = bench(tmp_path / "bench", cases(*[json.dumps(RUBRIC)] * 12))
    judged = mrb("judge", folder, tmp_path / "runs", "--judge", f"path:{tiny('llama')}+rubric", "--device", "cpu")
    assert judged.code == 0, judged.err
    verdicts = load_verdicts(tmp_path / "runs")
    assert verdicts["status"].eq("ok").all()
    assert verdicts["p_a"].between(0, 1).all()
    table = mrb("analyze", folder, tmp_path / "runs", "--table", "criteria", "--json")
    assert table.code == 0, table.err
    rows = json.loads(table.out)["rows"]
    assert [row["criterion"] for row in rows] == ["point 0", "point 1", "point 2"]
    assert all(row["n"] == 12 and 0 < row["met_share"] < 1 for row in rows)
    known = verdicts["criteria"].map(json.loads)
    met = known.map(lambda each: (each["a"][0] + each["b"][0]) / 2)
    assert rows[0]["met_share"] == pytest.approx(met.mean())
    exported = mrb("export", "table", folder, tmp_path / "runs", tmp_path / "exported")
    assert exported.code == 0, exported.err
    again = mrb("import", "table", tmp_path / "exported", tmp_path / "again")
    assert again.code == 0, again.err
    assert load_verdicts(tmp_path / "again" / "runs")["criteria"].tolist() == verdicts["criteria"].tolist()
