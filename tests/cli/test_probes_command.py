"""What `mrb probes` lists and shows, and how `mrb judge --probe` refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from mrb_lib.probes import PROBES


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from mrb_lib.data.demo.build import write_demo

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


def test_a_text_is_shown_with_what_changed(mrb: Callable, tables: Path, tmp_path: Path) -> None:
    (tables / "cases.csv").write_text(
        "case_id,question,response_a,response_b\n"
        "1,q,A nodule lies in the left lung.,A nodule lies in the left lung.\x1b[31m\n",
        encoding="utf-8",
    )
    (tables / "annotations.csv").unlink()
    (tables / "verdicts.csv").unlink()
    mrb("import", "table", tables, tmp_path / "b")
    shown = mrb("probes", "show", tmp_path / "b", "1", "response/side+both:1")
    assert shown.code == 0
    assert shown.out.count("in the [-left-]{+right+} lung.") == 2
    assert "\x1b" not in shown.out
    assert "question: unchanged" in shown.out


def test_pictures_are_written_before_and_after(mrb: Callable, demo: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in demo.rglob("*") if path.is_file()}
    shown = mrb("probes", "show", demo, "sim-000000", "image/blank", "--out", tmp_path / "out")
    assert shown.code == 0, shown.err
    with Image.open(tmp_path / "out" / "before-1.png") as old, Image.open(tmp_path / "out" / "after-1.png") as new:
        assert old.size == new.size
        assert len(new.convert("L").getcolors()) == 1 < len(old.convert("L").getcolors())
    assert {path: path.read_bytes() for path in demo.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("case", "probe", "message"),
    [
        ("sim-000000", "image/*", "names"),
        ("sim-000000", "image/blurr:3", "the nearest are image/blur"),
        ("sim-000000", "image/frames-shuffled", "does not apply to it"),
        ("nobody", "image/blank", "has no such case"),
    ],
)
def test_what_cannot_be_shown_is_said_in_a_line(mrb: Callable, demo: Path, case: str, probe: str, message: str) -> None:
    shown = mrb("probes", "show", demo, case, probe)
    assert shown.code == 2
    assert message in shown.err
    assert shown.err.count("\n") == 1


def test_judging_refuses_an_unknown_probe_before_it_starts(mrb: Callable, demo: Path, tmp_path: Path) -> None:
    judged = mrb("judge", demo, tmp_path / "runs", "--judge", "longer", "--probe", "response/sides")
    assert judged.code == 2
    assert "the nearest are response/side" in judged.err
    assert not (tmp_path / "runs").exists()


def test_judging_and_the_table_of_probes(mrb: Callable, demo: Path, tmp_path: Path) -> None:
    probes = "response/lengthened,image/low-dose:3"
    judged = mrb("judge", demo, tmp_path / "runs", "--judge", "longer", "--probe", probes)
    assert judged.code == 0, judged.err
    assert "probe image/low-dose:3: does not apply to" in judged.err
    table = mrb("analyze", demo, tmp_path / "runs", "--table", "probes", "--dimension", "overall", "--json")
    assert table.code == 0, table.err
    rows = [row for row in json.loads(table.out)["rows"] if row["part"] == "probe"]
    changed = {row["severity"]: row["changed"] for row in rows if "lengthened" in row["probe"]}
    assert changed.keys() == {1, 2, 3}
    assert 0.2 < changed[1] <= changed[2] <= changed[3]
