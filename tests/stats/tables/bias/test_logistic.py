from __future__ import annotations

import numpy as np

from mrb_lib.stats.tables.bias import COLLINEAR, ONE_CHOICE, SEPARATED, fit

N, JUDGES = 240, 4


def simulated(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    x = np.stack([np.ones(N), generator.choice([-1, 0, 1], N), generator.normal(size=N)], axis=1)[None]
    mean = 1 / (1 + np.exp(-(x @ np.array([0.2, 0.8, -0.4]))[0]))
    y = generator.binomial(2, mean, (JUDGES, N)) / 2
    y[generator.random(y.shape) < 0.1] = np.nan
    return x, y, generator.integers(0, 60, N)


def columns_of(x: np.ndarray) -> list[np.ndarray]:
    return [x[:, :, i] for i in range(x.shape[2])]


def test_what_has_no_estimate_says_why() -> None:
    x, y, _ = simulated(2)
    y = np.where(np.isfinite(y), np.round(y), 0.0)
    y[0] = 1.0
    y[1] = x[0, :, 2] > 0
    y[2] = np.nan
    found = fit(columns_of(x), y)
    assert found.flaw.tolist() == [ONE_CHOICE, SEPARATED, ONE_CHOICE, ""]
    assert np.isnan(found.value[:3]).all()
    assert not found.moves[:3].any()
    assert fit([*columns_of(x), x[:, :, 0]], y[3:]).flaw.tolist() == [COLLINEAR]
