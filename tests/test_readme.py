"""The commands and snippets of the README run as they stand there."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mrb_lib.cli.main import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """`my-tables` as the README describes them, in an empty working folder."""
    folder = tmp_path / "my-tables"
    folder.mkdir()
    cases = "".join(f"{i},what is it,one {'word ' * (i % 5)},another {'word ' * (i % 3)},brain\n" for i in range(12))
    (folder / "cases.csv").write_text("case_id,question,response_a,response_b,organ\n" + cases)
    rows = "".join(f"{i},r{r},overall,{'AB'[(i + r) % 2]}\n" for i in range(12) for r in range(3))
    (folder / "annotations.csv").write_text("case_id,annotator,dimension,choice\n" + rows)
    return tmp_path


@pytest.fixture
def mrb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[list[str]], str]:
    """Runs a command in an empty working folder and returns what it says; importing torch for each takes too long."""
    monkeypatch.chdir(tmp_path)

    def run(line: list[str]) -> str:
        monkeypatch.setattr(sys, "argv", line)
        with pytest.raises(SystemExit) as stop:
            main()
        said = capsys.readouterr()
        assert not stop.value.code, said.err
        return said.out

    return run


def _commands() -> list[list[str]]:
    """Every `mrb` command of the README, in its order, without what is a comment."""
    lines = [line for block in _blocks("sh") for line in block.splitlines() if line.startswith("mrb ")]
    return [shlex.split(line, comments=True) for line in lines]


def test_it_is_short_and_the_first_screen_holds_the_picture_and_the_two_commands() -> None:
    lines = README.splitlines()
    assert len(lines) < 200
    first_screen = "\n".join(lines[:20])
    assert "![" in first_screen
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("report", "test"):
        assert f"make {target}" in first_screen
        assert f"\n{target}: " in makefile


def test_the_pictures_are_there() -> None:
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", README)
    assert len(pictures) == 3
    assert all((ROOT / name).is_file() for name in pictures)


@pytest.mark.slow
def test_the_commands_for_own_data_and_the_python_snippet_run(tables: Path, mrb: Callable[[list[str]], str]) -> None:
    [commands] = [block for block in _blocks("sh") if "mrb import" in block]
    lines = [shlex.split(line, comments=True) for line in commands.splitlines() if line.startswith("mrb ")]
    assert {line[1] for line in lines} == {"import", "check", "judge", "analyze"}
    [batch] = [line for line in _commands() if "by=organ" in line]
    for line in [*lines, batch]:
        mrb(line)
    assert (tables / "my-report" / "index.html").is_file()
    [snippet] = _blocks("python")
    subprocess.run([sys.executable, "-c", snippet], cwd=tables, check=True)


@pytest.mark.slow
def test_the_commands_that_try_models_run(mrb: Callable[[list[str]], str]) -> None:
    [block] = [block for block in _blocks("sh") if "random-llava" in block]
    lines = [shlex.split(line, comments=True) for line in block.splitlines() if line.startswith("mrb ")]
    assert [line[1] for line in lines] == ["demo", "split", "train", "judge", "analyze"]
    gains = [mrb(line) for line in lines][-1]
    assert "my-tuned" in gains and "random-llava" in gains


@pytest.mark.slow
def test_the_commands_that_build_a_benchmark_run(mrb: Callable[[list[str]], str], tmp_path: Path) -> None:
    [block] = [block for block in _blocks("sh") if "mrb construct" in block]
    lines = [shlex.split(line, comments=True) for line in block.splitlines() if line.startswith("mrb ")]
    assert [line[1:3] for line in lines] == [["demo", "my-work"], ["construct", "status"], ["construct", "release"]]
    printed = [mrb(line) for line in lines]
    assert "mrb construct release my-work BENCH" in printed[1]
    assert "SIMULATED cases" in printed[2] and (tmp_path / "my-release" / "README.md").is_file()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("named", "lacks"),
    [
        ("qwen2.5-vl-7b", "Qwen2.5-VL-7B"),
        ("path:my-model", "holds no config.json"),
        ("endpoint:MODEL+letters", "127.0.0.1:8000"),
        ("--fits", ""),
        ("doctor", ""),
    ],
)
def test_the_commands_that_need_a_model_say_what_is_not_here(
    named: str, lacks: str, tables: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tables)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(sys, "argv", ["mrb", "import", "table", "my-tables", "my-bench"])
    with pytest.raises(SystemExit):
        main()
    [line] = [line for line in _commands() if named in line]
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", line)
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert "Usage" not in printed.err
    assert bool(stop.value.code) == bool(lacks)
    assert lacks in printed.err + printed.out


@pytest.mark.slow
def test_the_plan_of_judges_runs(
    tables: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], mrb: Callable[[list[str]], str]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    mrb(["mrb", "import", "table", "my-tables", "my-bench"])
    [written] = [line for block in _blocks("sh") for line in block.splitlines() if "> judges.toml" in line]
    subprocess.run(["sh", "-c", written], cwd=tables, check=True)
    [line] = [line for line in _commands() if "--plan" in line]
    monkeypatch.setattr(sys, "argv", line)
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert stop.value.code == 1, printed.err
    rows = {line.split()[0]: line.split() for line in printed.out.splitlines() if line}
    assert rows["longer"][2:4] == ["24", "ok"]
    assert rows["medgemma-4b"] == ["medgemma-4b", "failed"]


@pytest.mark.slow
@pytest.mark.parametrize("named", ["lab", "review", "annotate"])
def test_the_commands_that_serve_print_their_address(named: str, tables: Path, mrb: Callable[[list[str]], str]) -> None:
    mrb(["mrb", "import", "table", "my-tables", "my-bench"])
    mrb(["mrb", "judge", "my-bench", "my-bench/runs", "--judge", "longer"])
    [line] = [line for line in _commands() if line[1] == named]
    server = subprocess.Popen(
        [sys.executable, "-m", "mrb_lib.cli.main", *line[1:], "--no-browser"], cwd=tables,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        assert any("http://127.0.0.1" in shown for shown in server.stdout)
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)


def test_every_command_is_run_by_a_test_above() -> None:
    data = {"import", "check", "split", "demo"}
    judging = {"judge", "judges", "doctor", "train", "analyze", "report"}
    assert {line[1] for line in _commands()} == data | judging | {"lab", "review", "annotate", "construct"}


def test_the_licence_of_krippendorff_is_stated() -> None:
    [paragraph] = [part for part in README.split("\n\n") if "krippendorff" in part and "GPL-3" in part]
    assert paragraph.startswith("MIT")


def test_the_tables_are_listed_with_their_questions_and_the_commands_are_named() -> None:
    from mrb_lib.stats.analyze import TABLES

    assert "\n".join(f"| `{name}` | {spec.question} |" for name, spec in TABLES.items()) in README
    for name in (
        "import",
        "pull",
        "check",
        "doctor",
        "judges",
        "judge",
        "split",
        "train",
        "construct",
        "analyze",
        "report",
        "export",
        "adjudications",
    ):
        assert f"mrb {name}" in README
