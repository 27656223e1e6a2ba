"""How every command ends."""

from __future__ import annotations

import subprocess
import sys

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
