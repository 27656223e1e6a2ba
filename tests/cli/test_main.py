"""Tests of how every command ends."""

import json
import os
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

# Several commands, as four processes of a user would run them, which take two seconds to start each.
ONE_BY_ONE = """
import sys
from mrb_lib.cli.main import main
codes = []
for line in {lines!r}:
    sys.argv = ["mrb", *line]
    try:
        main()
    except SystemExit as stop:
        codes.append(int(stop.code or 0))
    sys.stdout.flush()
    if len(codes) < 4:
        print("<done>", flush=True)
print(*codes)
"""


@pytest.mark.parametrize("module", ["typer", "mrb_lib.cli.judges", "mrb_lib.judges.roster.roster"])
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
def test_letters_that_a_terminal_lacks_are_escaped(encoding: str, tmp_path: Path) -> None:
    glass = "\N{RIGHT-POINTING MAGNIFYING GLASS}"
    rows = f"case_id,question,response_a,response_b,organ\nc1,q,yes,no,\u80c3\nc2,q,yes,no,{glass}\n"
    (tmp_path / "cases.csv").write_text(rows, encoding="utf-8")
    (tmp_path / "annotations.csv").write_text(
        "case_id,annotator,dimension,choice\nc1,\xe9ve,overall,A\n", encoding="utf-8"
    )

    bench = tmp_path / "\u9aa8"
    table = ["analyze", str(bench), "--table", "composition"]
    lines = [["import", "table", str(tmp_path), str(bench)], table, [*table, "--json"], ["check", f"{tmp_path}\u8033"]]
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, "-c", ONE_BY_ONE.format(lines=lines)], capture_output=True, env=environment)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False), done.stderr
    _, text, rows, codes = done.stdout.split(b"<done>")
    shown = text.decode("utf-8" if encoding == "ascii" else encoding)
    assert ("\u80c3" if encoding == "ascii" else r"\u80c3") in shown  # Typer writes UTF-8 where only ASCII is promised
    assert {"\u80c3", glass} <= {row["organ"] for row in json.loads(rows)["rows"]}
    assert codes.split() == [b"0", b"0", b"0", b"2"]


@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize(
    ("module", "cure"),
    [
        ("sqlalchemy.orm", "'mrb-workbench[review]'"),
        ("huggingface_hub", "'mrb-workbench[hub]'"),
        ("krippendorff", "krippendorff"),
    ],
)
def test_a_missing_package_is_one_line_with_what_installs_it(
    module: str, cure: str, quote: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)

    extras = {
        "all": ("huggingface-hub>=2", "sqlalchemy", "torch"),
        "hub": ("huggingface_hub",),
        "review": ("SQLAlchemy>=2",),
    }
    lines = [f"{package}; extra == {quote}{extra}{quote}" for extra, own in extras.items() for package in own]
    monkeypatch.setattr("importlib.metadata.requires", lambda _: ["krippendorff>=0.8", *lines])
    monkeypatch.setattr("mrb_lib.cli.app.app", missing)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert capsys.readouterr().err == f"mrb: this needs {module}; install it with `pip install {cure}`.\n"
