"""Strengths against the golden files of evalica (Ustalov, COLING 2025 demos)."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.methods.comparisons import bradley_terry


@pytest.mark.parametrize("name", ["simple", "food", "llmfao"])
def test_golden_files(reference_data: Path, name: str) -> None:
    golden = pd.read_csv(reference_data / "evalica" / f"{name}-golden.csv").query("algorithm == 'bradley_terry'")
    frame = pd.read_csv(reference_data / "evalica" / f"{name}.csv")
    at = {str(item): i for i, item in enumerate(golden["item"])}
    left, right = (frame[side].astype(str).map(at) for side in ("left", "right"))
    wins, ties = np.zeros((2, len(at), len(at)))
    for table, winner, pair in ((wins, "left", (left, right)), (wins, "right", (right, left)),
                                (ties, "tie", (left, right)), (ties, "tie", (right, left))):  # fmt: skip
        np.add.at(table, tuple(side[frame["winner"] == winner] for side in pair), 1)
    odds = np.exp(bradley_terry(wins, ties))
    np.testing.assert_allclose(odds / odds.sum(), golden["score"] / golden["score"].sum(), atol=1e-6)
