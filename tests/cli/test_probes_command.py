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


@pytest.mark.parametrize(
    ("probe", "said"),
    [
        ("prompt/labels:3", "The prompt calls the response shown first Alex, and the second Sam."),
        ("prompt/wording:2", "wording 2"),
        ("prompt/persona:4", "the prompt says: Judge as a strict examiner"),
    ],
)
def test_what_a_probe_changes_of_the_prompt_is_said(mrb: Callable, demo: Path, probe: str, said: str) -> None:
    shown = mrb("probes", "show", demo, "sim-000000", probe)
    assert shown.code == 0
    assert said in shown.out
    assert shown.out.count(": unchanged") == 3


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
    probes = "response/lengthened,image/metal-artefact:3"
    judged = mrb("judge", demo, tmp_path / "runs", "--judge", "longer", "--probe", probes)
    assert judged.code == 0, judged.err
    assert "probe image/metal-artefact:3: does not apply to" in judged.err
    table = mrb("analyze", demo, tmp_path / "runs", "--table", "probes", "--dimension", "overall", "--json")
    assert table.code == 0, table.err
    rows = [row for row in json.loads(table.out)["rows"] if row["part"] == "probe"]
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
    judged = mrb(*command)
    assert judged.code == 0, judged.err
    assert "probe question/file-deutsch: does not apply to 24 of 26 cases (the file has no row for it)" in judged.err
    assert "question/file-deutsch: 1 of 3 cases of its file are not in the benchmark ('elsewhere')" in judged.err
    assert "probe response/file-answers: does not apply to 25 of 26 cases" in judged.err
    again = mrb(*command)
    assert "first: 0 SIMULATED verdicts made" in again.out
    path.unlink()
    table = mrb("analyze", demo, runs, "--table", "probes", "--dimension", "overall", "--json")
    assert table.code == 0, table.err
    rows = {row["probe"]: row for row in json.loads(table.out)["rows"] if row["part"] == "probe"}
    assert rows.keys() == {"response/lengthened", "question/file-deutsch", "response/file-answers"}
    german = rows["question/file-deutsch"]
    assert (german["expected"], german["n"], german["changed"], german["target_shift"]) == ("same", 2, 0, None)


def test_a_plan_names_files_and_an_edited_one_is_refused(mrb: Callable, demo: Path, tmp_path: Path) -> None:
    path, plan = _german(tmp_path), tmp_path / "judges.toml"
    plan.write_text('[[judge]]\nname = "longer"\nprobe_file = "deutsch.csv"\nprobe_cases = 20\n', encoding="utf-8")
    command = ("judge", demo, tmp_path / "runs", "--plan", plan)
    assert mrb(*command).code == 0
    _german(tmp_path, "Anders?")
    refused = mrb(*command)
    assert refused.code == 2
    assert "its probe question/file-deutsch was a file of SHA-256" in refused.err
    assert len([line for line in refused.err.splitlines() if line.startswith("mrb: ")]) == 1
    _german(tmp_path)
    assert mrb(*command).code == 0, f"{path} as it was goes on"


def test_the_probe_of_a_file_is_shown_by_its_name_or_without(mrb: Callable, demo: Path, tmp_path: Path) -> None:
    path = _german(tmp_path)
    for named in ((), ("question/file-deutsch",)):
        shown = mrb("probes", "show", demo, "sim-000000", *named, "--probe-file", path)
        assert shown.code == 0, shown.err
        assert "Was zeigt das Bild" in shown.out and "\x1b" not in shown.out
        assert "response_a: unchanged" in shown.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("probes", "show", "{demo}", "sim-000009", "--probe-file", "{file}"), "the file has no row for it"),
        (("probes", "show", "{demo}", "sim-000000", "image/blank", "--probe-file", "{file}"), "name that or none"),
        (("probes", "show", "{demo}", "sim-000000"), "names 0 probes; name one"),
        (("probes", "show", "{demo}", "sim-000000", "--probe-file", "no.csv"), "no.csv: the file is missing"),
        (("judge", "{demo}", "{runs}", "--judge", "first", "--probe-file", "{runs}.csv"), "the file is missing"),
        (("judge", "{demo}", "{runs}", "--judge", "first", "--probe-file", "{judges}"), "needs one column case_id"),
        (("judge", "{demo}", "{runs}", "--judge", "first", "--probe-file", "{strange}"), "2 of 2 cases of its file"),
        (("judge", "{demo}", "{runs}", "--judge", "first", "--probe-cases", "3"), "--probe-file FILE"),
    ],
)
def test_a_file_that_will_not_do_is_one_line_and_leaves_nothing(
    mrb: Callable, demo: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "strange.csv").write_text("case_id,question\n\x1b[31m,x\nb,y\n", encoding="utf-8")
    (tmp_path / "judges.csv").write_text("judge,question\n1,x\n", encoding="utf-8")
    names = {"demo": demo, "file": _german(tmp_path), "runs": tmp_path / "runs", "judges": tmp_path / "judges.csv"}
    result = mrb(*(text.format(**names, strange=tmp_path / "strange.csv") for text in arguments))
    assert result.code == 2, result
    assert message in result.err
    assert result.err.count("\n") == 1 and "\x1b" not in result.err
    assert not (tmp_path / "runs").exists()
