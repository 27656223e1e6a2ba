from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import t as student

from mrb_lib.stats.bias import logistic

N, JUDGES = 240, 4


def simulated(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    x = np.stack([np.ones(N), generator.choice([-1, 0, 1], N), generator.normal(size=N)], axis=1)[None]
    mean = 1 / (1 + np.exp(-(x @ np.array([0.2, 0.8, -0.4]))[0]))
    y = generator.binomial(2, mean, (JUDGES, N)) / 2
    y[generator.random(y.shape) < 0.1] = np.nan
    return x, y, generator.integers(0, 60, N)


@pytest.mark.parametrize("clustered", [True, False])
def test_coefficients_and_errors_equal_statsmodels(clustered: bool) -> None:
    x, y, codes = simulated(1)
    codes = codes if clustered else np.arange(N)
    found = logistic.fit(x, y, codes)
    for row in range(JUDGES):
        kept = np.isfinite(y[row])
        model = sm.GLM(y[row, kept], x[0, kept], family=sm.families.Binomial())
        expected = model.fit(cov_type="cluster", cov_kwds={"groups": codes[kept]}, tol=1e-12)
        assert found.coefficient[row] == pytest.approx(expected.params, abs=1e-8)
        assert found.error[row] == pytest.approx(expected.bse, abs=1e-8)
        assert (found.n[row], found.clusters[row]) == (kept.sum(), len(set(codes[kept])))
        freedom = found.clusters[row] - 1
        low, high = found.interval(2)
        assert (high - low)[row] == pytest.approx(2 * student.ppf(0.975, freedom) * expected.bse[2], abs=1e-8)


def test_what_has_no_estimate_says_why() -> None:
    x, y, codes = simulated(2)
    y = np.where(np.isfinite(y), np.round(y), 0.0)
    y[0] = 1.0
    y[1] = x[0, :, 2] > 0
    y[2] = np.nan
    found = logistic.fit(x, y, codes)
    assert found.reason == [logistic.ONE_CHOICE, logistic.SEPARATED, logistic.NO_CASES, ""]
    assert np.isnan(found.coefficient[:3]).all()
    flat = logistic.fit(np.concatenate([x, x[:, :, :1]], axis=2), y[3:], codes)
    assert flat.reason == [logistic.COLLINEAR]


def test_few_clusters_give_an_estimate_and_no_interval() -> None:
    x, y, _ = simulated(3)
    found = logistic.fit(x, y, np.arange(N) % 5)
    assert np.isfinite(found.coefficient).all()
    assert np.isnan(found.interval(2)[0]).all()
    assert set(found.reason) == {logistic.FEW_CLUSTERS}
