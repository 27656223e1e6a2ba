"""The apps as a person starts them, on a port of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

MRB = str(Path(sys.executable).with_name("mrb"))


class Served:
    """`mrb review` or `mrb annotate` on a benchmark while the block runs; `address` is what it printed."""

    def __init__(self, command: str, bench: Path, *options: str) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "MRB_STORE"}
        self.process = subprocess.Popen(
            [MRB, command, str(bench), "--no-browser", *options],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=environment | {"MRB_HOME": str(bench.parent / "home")},
        )  # fmt: skip
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def __enter__(self) -> Served:
        assert self.address.startswith("http://127.0.0.1:"), "the server printed no address"
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)
