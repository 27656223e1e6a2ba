"""A judge that is weak in a subfield is found, a subfield that is hard for all is not taken for one. SIMULATED data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.dif import dif
from mrb_lib.stats.panel import Panel

ABILITY = np.linspace(-0.8, 0.8, 8)


def tables(n: int, benchmarks: int, seed: int, *, hard: float = 0.0, weak: float = 0.0, orders: int = 1):
    """Eight judges; a third of the cases are eyes, which are `hard` for all, and `weak` is judge 0's own loss there."""
    rng = np.random.default_rng(seed)
    eye = np.arange(n) % 3 == 0
    difficulty = rng.normal(0, 1, (1, benchmarks, n, 1)) + hard * eye[:, None]
    eta = ABILITY[:, None, None, None] - difficulty - weak * eye[:, None] * (np.arange(8) == 0)[:, None, None, None]
    right = rng.random((8, benchmarks, n, orders)) < 1 / (1 + np.exp(-eta))
    choice = np.full((8, benchmarks, n, 2, 1), -2, dtype=np.int8)
    choice[..., :orders, 0] = np.where(right, 0, 1)
    names = [f"d{i:03d}" for i in range(benchmarks)]
    ids = [f"c{i}" for i in range(n)]
    cases = pd.DataFrame({"case_id": ids, "organ": np.where(eye, "eye", "lung")})
    gold = pd.DataFrame({"case_id": np.tile(ids, benchmarks), "dimension": np.repeat(names, n), "choice": "A"})
    return Panel([f"j{i}" for i in range(8)], names, [0], choice, None, pd.DataFrame()), gold, cases


def eyes(*args: int, **more: float) -> pd.DataFrame:
    found = dif(*tables(*args, **more), by="organ")
    return found[found["subfield"] == "eye"]


@pytest.mark.slow
@pytest.mark.parametrize(("hard", "orders"), [(0.0, 1), (1.0, 1), (1.0, 2)])
def test_size_and_coverage_whether_or_not_the_subfield_is_hard(hard: float, orders: int) -> None:
    """500 benchmarks of eight judges without DIF: 0.01 is three standard errors."""
    found = eyes(500, 500, 7, hard=hard, orders=orders)
    assert 0.04 <= (found["p_value"] < 0.05).mean() <= 0.06
    assert 0.04 <= (found["logistic_p"] < 0.05).mean() <= 0.06
    assert 0.94 <= ((found["low"] <= 1) & (found["high"] >= 1)).mean() <= 0.96
    assert 0.94 <= ((found["logistic_low"] <= 0) & (found["logistic_high"] >= 0)).mean() <= 0.96


def test_a_planted_weakness_is_found_and_classed_as_large() -> None:
    """A loss of 1.2 in log odds is an ETS delta of -2.8; matching with the judge itself takes a little away."""
    found = eyes(1000, 60, 9, hard=1.0, weak=1.2)
    weak = found[found["judge"] == "j0"]
    assert (weak["p_adjusted"] < 0.05).mean() > 0.95
    assert weak["ets_delta"].mean() == pytest.approx(-2.8, abs=0.35)
    assert (weak["ets_class"] == "C").mean() > 0.9
    assert weak["logistic_effect"].mean() == pytest.approx(-1.2, abs=0.15)
    level = ABILITY[0] - 1.0 - np.random.default_rng(0).normal(size=100_000)
    loss = np.mean(1 / (1 + np.exp(-level)) - 1 / (1 + np.exp(1.2 - level)))
    assert weak["excess"].mean() == pytest.approx(-loss, abs=0.02)
    others = found[found["judge"] != "j0"]
    assert (others["ets_class"] == "A").mean() > 0.9


def test_a_hard_subfield_alone_is_seen_in_accuracy_and_not_in_dif() -> None:
    found = eyes(1000, 60, 10, hard=1.0)
    assert (found["accuracy_inside"] - found["accuracy_outside"]).mean() < -0.15
    assert found["ets_delta"].mean() == pytest.approx(0.0, abs=0.05)
    assert found["excess"].mean() == pytest.approx(0.0, abs=0.005)
    assert (found["ets_class"] == "C").mean() < 0.01
