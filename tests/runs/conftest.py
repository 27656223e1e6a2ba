"""A little benchmark on disk, with texts that every heuristic can tell apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from mrb_lib.data.benchmark import Benchmark

from .scripted import little_benchmark


@pytest.fixture
def little(tmp_path: Path) -> Benchmark:
    return little_benchmark(tmp_path / "bench")
