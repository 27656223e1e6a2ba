"""Tests of how every command ends."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from mrb_lib.cli.main import main

# Ctrl-C at the moment when a module is looked for, as when somebody is quicker than the imports.
INTERRUPTED = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
from mrb_lib.cli.main import main
sys.meta_path.insert(0, Interrupting())
sys.argv = ["mrb", "judges"]
main()
"""


@pytest.mark.parametrize("module", ["typer", "mrb_lib.judges.roster.roster"])
def test_ctrl_c_during_imports_is_quiet(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(module=module)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "mrb: interrupted; nothing is half-written, so run the same command again.\n"


def test_windows_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert "WSL" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_letters_that_a_terminal_lacks_are_escaped(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    glass = "\N{RIGHT-POINTING MAGNIFYING GLASS}"
    rows = f"case_id,question,response_a,response_b,organ\nc1,q,yes,no,\u80c3\nc2,q,yes,no,{glass}\n"
    (tmp_path / "cases.csv").write_text(rows, encoding="utf-8")
    votes = "case_id,annotator,dimension,choice\nc1,\xe9ve,overall,A\n"
    (tmp_path / "annotations.csv").write_text(votes, encoding="utf-8")

    def run(*words: str) -> tuple[int, str]:
        """The exit code of a command, and what the terminal shows of its output."""
        shown = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding=encoding))
        monkeypatch.setattr(sys, "argv", ["mrb", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        sys.stdout.flush()
        # Typer writes UTF-8 where only ASCII is promised.
        return int(stop.value.code or 0), shown.getvalue().decode("utf-8" if encoding == "ascii" else encoding)

    bench = str(tmp_path / "\u9aa8")
    table = ("analyze", bench, "--table", "composition")
    assert run("import", "table", str(tmp_path), bench)[0] == 0
    assert ("\u80c3" if encoding == "ascii" else r"\u80c3") in run(*table)[1]
    assert {"\u80c3", glass} <= {row["organ"] for row in json.loads(run(*table, "--json")[1])["rows"]}
    assert run("check", f"{tmp_path}\u8033")[0] == 2


@pytest.mark.parametrize(
    ("module", "cure"),
    [
        ("sqlalchemy.orm", "'mrb-workbench[review]'"),
        ("huggingface_hub", "'mrb-workbench[hub]'"),
        ("krippendorff", "krippendorff"),
    ],
)
def test_a_missing_package_is_one_line_with_what_installs_it(
    module: str, cure: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    extras = {
        "all": ("huggingface-hub>=2", "sqlalchemy", "torch"),
        "hub": ("huggingface_hub",),
        "review": ("SQLAlchemy>=2",),
    }
    lines = [f"{package}; extra == '{extra}'" for extra, own in extras.items() for package in own]
    monkeypatch.setattr("importlib.metadata.requires", lambda _: ["krippendorff>=0.8", *lines])
    monkeypatch.setattr("mrb_lib.cli.app.app", missing)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert capsys.readouterr().err == f"mrb: this needs {module}; install it with `pip install {cure}`.\n"
