"""A planted position bias is found again, and none is found where none was planted. SIMULATED data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.consistency import consistency
from mrb_lib.stats.panel import Panel


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
    row = consistency(verdicts, pd.DataFrame({"case_id": [f"c{i}" for i in range(n)]})).iloc[0]
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
        rows = consistency(pd.concat(simulated), cases)
        covered.extend((rows["position_bias_low"] <= 0.2) & (rows["position_bias_high"] >= 0.2))
    slack = 3 * np.sqrt(0.95 * 0.05 / len(covered))
    assert 0.94 - slack <= np.mean(covered) <= 0.96 + slack < 1


def repeated(n: int, benchmarks: int, sway: float, noise: float, seed: int) -> tuple[Panel, float, float]:
    """A judge asked twice in each order: it takes the first shown in a share `sway` of cases, and guesses at times.

    In every presentation it answers at random with probability `noise`. Each benchmark is a dimension.
    """
    generator = np.random.default_rng(seed)
    shape = (benchmarks, n, 2, 2)
    better = generator.integers(0, 2, (benchmarks, n, 1, 1))
    swayed = generator.random((benchmarks, n, 1, 1)) < sway
    settled = np.where(swayed, np.array([0, 1])[:, None], better)
    choice = np.where(generator.random(shape) < noise, generator.integers(0, 2, shape), settled).astype(np.int8)
    names = [f"d{i:03d}" for i in range(benchmarks)]
    panel = Panel(["j"], names, [0, 1], choice[None], None, pd.DataFrame())
    return panel, sway * (1 - noise) ** 2, (1 - (1 - noise) ** 2) / 2


@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize(("sway", "noise"), [(0.3, 0.2), (0.0, 0.4), (0.4, 0.1)])
def test_preference_and_noise_are_told_apart_and_covered(n: int, sway: float, noise: float) -> None:
    panel, preference, scatter = repeated(n, 400, sway, noise, seed=n)
    rows = consistency(panel, pd.DataFrame({"case_id": [f"c{i}" for i in range(n)]}))
    truths = {"position_preference": preference, "position_noise": scatter, "position_bias": sway * (1 - noise)}
    truths |= {"consistency": 1 - preference - scatter, "repeat_agreement": 1 - scatter, "ipi": preference + scatter}
    slack = 3 * np.sqrt(0.95 * 0.05 / len(rows))
    for name, truth in truths.items():
        assert rows[name].mean() == pytest.approx(truth, abs=4 * rows[name].std() / 20), name
        covered = ((rows[f"{name}_low"] <= truth) & (truth <= rows[f"{name}_high"])).mean()
        assert 0.94 - slack <= covered <= 0.96 + slack, (name, covered)


def test_a_preference_that_goes_both_ways_is_no_position_bias_and_is_found() -> None:
    """Half of the cases pull to the first shown, half to the second: on balance nothing, in every case something."""
    n = 2000
    choice = np.zeros((1, 1, n, 2, 2), dtype=np.int8)
    choice[:, :, : n // 2, 1] = 1
    choice[:, :, n // 2 :, 0] = 1
    panel = Panel(["j"], ["overall"], [0, 1], choice, None, pd.DataFrame())
    row = consistency(panel, pd.DataFrame({"case_id": [f"c{i}" for i in range(n)]})).iloc[0]
    assert (row["position_bias"], row["position_preference"], row["position_noise"]) == (0, 1, 0)


@pytest.mark.parametrize("n", [100, 1000])
def test_coverage_of_decisive_consistency_and_of_first_rate(n: int) -> None:
    """Ties in a fifth of the presentations, a flip in a quarter of the others."""
    generator = np.random.default_rng(n)
    content = generator.integers(0, 2, (400, n, 1))
    swayed = np.where(generator.random((400, n, 1)) < 0.25, np.array([0, 1]), content)
    choice = np.where(generator.random((400, n, 2)) < 0.2, 2, swayed).astype(np.int8)
    panel = Panel(["j"], [f"d{i:03d}" for i in range(400)], [0], choice[None, ..., None], None, pd.DataFrame())
    rows = consistency(panel, pd.DataFrame({"case_id": [f"c{i}" for i in range(n)]}))
    slack = 3 * np.sqrt(0.95 * 0.05 / 400)
    for name, truth in {"consistency_decisive": 0.75, "first_rate": 0.625}.items():
        covered = ((rows[f"{name}_low"] <= truth) & (truth <= rows[f"{name}_high"])).mean()
        assert 0.94 - slack <= covered <= 0.96 + slack, (name, covered)
    assert rows["tie_rate_ab"].mean() == pytest.approx(0.2, abs=0.01)
