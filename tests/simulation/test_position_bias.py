"""A planted position bias is found again, and none is found where none was planted. SIMULATED data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.consistency import consistency


def simulate(bias: float, n: int, generator: np.random.Generator) -> pd.DataFrame:
    """A judge that, with probability |bias|, takes the first (or second) response shown, and judges otherwise."""
    better = generator.choice(["A", "B", "tie"], n, p=[0.5, 0.3, 0.2])
    frames = []
    for order in ("AB", "BA"):
        shown = order if bias >= 0 else order[::-1]
        choice = np.where(generator.random(n) < abs(bias), shown[0], better)
        frames.append(pd.DataFrame({"case_id": [f"c{i}" for i in range(n)], "order": order, "choice": choice}))
    return pd.concat(frames).assign(judge="j", dimension="overall", repeat=0)


@pytest.mark.parametrize("bias", [-0.6, 0.0, 0.25])
def test_a_planted_bias_is_recovered(bias: float) -> None:
    n = 4000
    verdicts = simulate(bias, n, np.random.default_rng(7))
    row = consistency(verdicts, pd.DataFrame({"case_id": [f"c{i}" for i in range(n)]}), resamples=500).iloc[0]
    assert row["position_bias_low"] <= bias <= row["position_bias_high"]
    assert row["position_bias_high"] - row["position_bias_low"] < 0.05
    assert row["position_bias"] == pytest.approx(bias, abs=0.03)


@pytest.mark.slow
def test_coverage_of_the_interval_of_position_bias() -> None:
    generator = np.random.default_rng(3)
    cases = pd.DataFrame({"case_id": [f"c{i}" for i in range(200)]})
    covered: list[bool] = []
    for seed in range(8):
        simulated = [simulate(0.2, 200, generator).assign(dimension=f"d{i:02d}") for i in range(50)]
        rows = consistency(pd.concat(simulated), cases, resamples=400, seed=seed)
        covered.extend((rows["position_bias_low"] <= 0.2) & (rows["position_bias_high"] >= 0.2))
    slack = 3 * np.sqrt(0.95 * 0.05 / len(covered))
    assert 0.94 - slack <= np.mean(covered) <= 0.96 + slack < 1
