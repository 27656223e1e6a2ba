"""Tests of what `mrb probes` lists, and how `mrb judge --probe` refuses."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mrb_lib.probes import PROBES


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from mrb_lib.demo.build import write_demo

    folder = tmp_path_factory.mktemp("probes") / "bench"
    write_demo(folder, cases=26)
    return folder


def test_the_list_names_every_probe_and_what_should_follow(mrb: Callable) -> None:
    lines = mrb("probes").out.splitlines()
    assert len(lines) == len(PROBES)
    listed = json.loads(mrb("probes", "--json").out)
    assert [one["name"] for one in listed] == list(PROBES)
    assert {one["expected"] for one in listed} == {"same", "worse", "flips"}
    assert {one["changes"] for one in listed} == {"image", "response", "question", "prompt"}


def test_judging_and_the_table_of_probes(mrb: Callable, demo: Path, tmp_path: Path) -> None:
    probes = "response/lengthened,image/mirrored"
    judged = mrb("judge", demo, tmp_path / "runs", "--judge", "longer", "--probe", probes).ok
    assert "probe image/mirrored: does not apply to" in judged.err
    table = mrb("analyze", demo, tmp_path / "runs", "--table", "probes", "--dimension", "overall", "--json").ok
    rows = [row for row in table.rows if row["part"] == "probe"]
    changed = {row["severity"]: row["changed"] for row in rows if "lengthened" in row["probe"]}
    assert changed.keys() == {1, 2, 3}
    assert 0.2 < changed[1] <= changed[2] <= changed[3]


def _german(folder: Path, text: str = "Was zeigt das Bild\x1b[31m?") -> Path:
    path = folder / "deutsch.csv"
    path.write_text(f"case_id,question\nsim-000000,{text}\nsim-000001,{text}\nelsewhere,{text}\n", encoding="utf-8")
    return path


def test_the_texts_of_a_file_are_judged_told_and_expected_to_change_nothing(
    mrb: Callable, demo: Path, tmp_path: Path
) -> None:
    path, runs = _german(tmp_path), tmp_path / "runs"
    (tmp_path / "answers.jsonl").write_text('{"case_id": "sim-000002", "response_a": "Nein."}', encoding="utf-8")
    command = (
        "judge", demo, runs, "--judge", "first", "--probe", "response/lengthened:1", "--probe-file", path,
        "--probe-file", tmp_path / "answers.jsonl",
    )  # fmt: skip
    judged = mrb(*command).ok
    assert "probe question/file-deutsch: does not apply to 24 of 26 cases (the file has no row for it)" in judged.err
    assert "question/file-deutsch: 1 of 3 cases of its file are not in the benchmark ('elsewhere')" in judged.err
    assert "probe response/file-answers: does not apply to 25 of 26 cases" in judged.err
    again = mrb(*command)
    assert "first: 0 SIMULATED verdicts made" in again.out
    path.unlink()
    table = mrb("analyze", demo, runs, "--table", "probes", "--dimension", "overall", "--json").ok
    rows = {row["probe"]: row for row in table.rows if row["part"] == "probe"}
    assert rows.keys() == {"response/lengthened", "question/file-deutsch", "response/file-answers"}
    german = rows["question/file-deutsch"]
    assert (german["expected"], german["n"], german["changed"], german["target_shift"]) == ("same", 2, 0, None)
