"""A little benchmark on disk, with texts that every heuristic can tell apart."""

import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from mrb_lib.benchmarks.benchmark import Benchmark

from . import scripted
from .scripted import Use, little_benchmark


@pytest.fixture
def little(tmp_path: Path) -> Benchmark:
    return little_benchmark(tmp_path / "bench")


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Use:
    """Let `judge` find these judges by name, besides those of the roster."""
    return partial(scripted.use, monkeypatch)


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Ctrl-C interrupts, also where the tests themselves were started with it ignored, as in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
