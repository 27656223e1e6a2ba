"""The commands of the workbench as a person starts them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

MRB: Final = str(Path(sys.executable).with_name("mrb"))


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "MRB_STORE"}
    return kept | {"MRB_HOME": str(home), "OMP_NUM_THREADS": "1"}


def mrb(bench: Path, *words: object) -> str:
    """What a command prints; it fails where the command does."""
    done = subprocess.run(
        [MRB, *map(str, words)], capture_output=True, text=True, check=False,
        env=_environment(bench.parent / "home"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


class Served:
    """`mrb review` or `mrb annotate` on a benchmark while the block runs; `address` is what it printed."""

    def __init__(self, app: str, bench: Path, *options: str) -> None:
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115  # it is closed with the block
        self.process = subprocess.Popen(
            [MRB, app, str(bench), "--no-browser", *options], stdout=subprocess.PIPE, stderr=self._log, text=True,
            env=_environment(bench.parent / "home"),
        )  # fmt: skip
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def __enter__(self) -> Served:
        self._log.seek(0)
        assert self.address.startswith("http://127.0.0.1:"), self._log.read()
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=60)
        self._log.close()
