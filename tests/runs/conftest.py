"""A little benchmark on disk, with texts that every heuristic can tell apart."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from mrb_lib.data.benchmark import Benchmark, BenchmarkMeta, load, save


@pytest.fixture
def little(tmp_path: Path) -> Benchmark:
    n = 40
    cases = pd.DataFrame(
        {
            "case_id": [f"c{i}" for i in range(n)],
            "question": [f"what is seen in image {i}" for i in range(n)],
            "response_a": ["image " + "x " * (i % 7) for i in range(n)],
            "response_b": ["word " * (i % 5 + 1) for i in range(n)],
        }
    )
    votes = [(f"c{i}", "r1", dim, "AB"[i % 2]) for i in range(n) for dim in ("overall", "accuracy")]
    annotations = pd.DataFrame(votes, columns=["case_id", "annotator", "dimension", "choice"])
    save(Benchmark(BenchmarkMeta("little", "general", ("overall", "accuracy")), cases, annotations), tmp_path / "bench")
    return load(tmp_path / "bench")
