"""The commands of the workbench as a person starts them, forked from one process of these tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from mrb_lib.cli.preloaded import ADDRESS, DATA, KERNEL, command

APPS: Final = (
    *KERNEL, *DATA, "typer", "typer._adapters", "voila.app", "nbformat.validator:get_validator",
    "mrb_lib.cli.app", "mrb_lib.report.places", "mrb_lib.runs.execute", "mrb_lib.stats.analyze",
    "mrb_lib.review.explorer.app", "mrb_lib.review.annotate.app",
)  # fmt: skip
"""What servers, their kernels and other commands import; the check of a notebook is compiled at its first call."""


def _environment(home: Path, *left_out: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"MRB_STORE", *left_out}}
    return kept | {"MRB_HOME": str(home), "OMP_NUM_THREADS": "1"}


def mrb(bench: Path, *words: object) -> str:
    """What a command prints; it fails where the command does."""
    done = subprocess.run(
        command("mrb_lib.cli.main", *map(str, words)), capture_output=True, text=True, check=False,
        env=_environment(bench.parent / "home"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


class Served:
    """`mrb review` or `mrb annotate` on a benchmark while the block runs; `address` is what it printed.

    With `is_alone` all that it starts is below its own process, as it is for a user.
    """

    def __init__(self, app: str, bench: Path, *options: str, is_alone: bool = False) -> None:
        words = (app, str(bench), "--no-browser", *options)
        alone = [str(Path(sys.executable).with_name("mrb")), *words]
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115  # it is closed with the block
        self.process = subprocess.Popen(
            alone if is_alone else command("mrb_lib.cli.main", *words),
            stdout=subprocess.PIPE, stderr=self._log, text=True,
            env=_environment(bench.parent / "home", *([ADDRESS] if is_alone else [])),
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
