"""A benchmark of a few words in the place of the embedded one, which takes long to draw."""

from pathlib import Path

import pandas as pd

from mrb_lib.benchmarks.benchmark import Benchmark, save
from mrb_lib.benchmarks.meta import BenchmarkMeta


def write_stand_in(folder: Path, cases: int, seed: int) -> None:
    """Write cases, one annotator and what is behind them, as the demo does."""
    ids = [f"c{i}" for i in range(cases)]
    frame = pd.DataFrame({"case_id": ids, "question": "Q?", "response_a": "left", "response_b": "right"})
    frame = frame.assign(department="Neurology", model_a="one", model_b="other")
    votes = pd.DataFrame({"case_id": ids, "annotator": "r1", "dimension": "overall", "choice": "A"})
    save(Benchmark(BenchmarkMeta("demo", "simulated", ("overall",)), frame, votes), folder)
    truth = pd.DataFrame({"case_id": ids, "dimension": "overall", "quality_a": 0.4, "quality_b": 0.1})
    truth.to_parquet(folder / "truth.parquet")
