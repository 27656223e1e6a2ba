"""The commands and snippets of the README run as they stand there."""

from __future__ import annotations

import re
import shlex
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


def test_the_first_screen_holds_the_two_commands() -> None:
    first_screen = "\n".join(README.splitlines()[:20])
    assert "make report" in first_screen
    assert "make test" in first_screen
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "\nreport: setup\n" in makefile
    assert "\ntest: setup\n" in makefile


@pytest.mark.slow
def test_the_commands_for_own_data_and_the_python_snippet_run(tables: Path, mrb: Callable[[list[str]], str]) -> None:
    [commands] = [block for block in _blocks("sh") if "mrb import" in block]
    lines = [shlex.split(line, comments=True) for line in commands.splitlines() if line.startswith("mrb ")]
    assert {line[1] for line in lines} == {"import", "check", "judge", "analyze", "report"}
    for line in lines:
        mrb(line)
    assert (tables / "my-report" / "index.html").is_file()
    [snippet] = _blocks("python")
    subprocess.run([sys.executable, "-c", snippet], cwd=tables, check=True)


@pytest.mark.slow
def test_the_commands_that_try_models_run(mrb: Callable[[list[str]], str]) -> None:
    [commands] = [block for block in _blocks("sh") if "random-llava" in block]
    lines = [shlex.split(line, comments=True) for line in commands.splitlines()]
    assert {line[1] for line in lines} == {"demo", "judge", "analyze"}
    said = [mrb(line) for line in lines]
    assert {line.split()[0] for line in said[-1].splitlines() if line} >= {"random-llava", "random-llava+rating"}


def test_the_licence_of_krippendorff_is_stated() -> None:
    [paragraph] = [part for part in README.split("\n\n") if "krippendorff" in part and "GPL-3" in part]
    assert paragraph.startswith("MIT")


def test_every_command_and_table_is_named() -> None:
    from mrb_lib.stats.tables import TABLES

    for table in TABLES:
        assert f"`{table}`" in README
    for command in (
        "import",
        "pull",
        "check",
        "doctor",
        "judges",
        "judge",
        "analyze",
        "report",
        "export",
        "adjudications",
    ):
        assert f"mrb {command}" in README
