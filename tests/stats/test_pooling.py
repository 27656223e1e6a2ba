"""Many meta-analyses at once: by definition, with holes, and at the edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mrb_lib.stats.tables.transfer import pool


def random_sets(rows: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    variance = generator.uniform(0.2, 3.0, (rows, k))
    spread = generator.uniform(0, 1.5, (rows, 1))
    return generator.normal(0, np.sqrt(variance) + spread), variance


def test_the_variance_between_makes_the_generalised_q_its_expectation() -> None:
    """Paule and Mandel's: Q is k - 1 at it, or less at 0; `statsmodels` finds it within 1e-6 of Q."""
    effect, variance = random_sets(60, 7)
    found = pool(effect, variance)
    q = generalised_q(effect, variance, found.tau2)
    assert q[found.tau2 > 0] == pytest.approx(6, abs=1e-5)
    assert (q[found.tau2 == 0] <= 6).all()
    assert (found.tau2 == 0).any() and (found.tau2 > 1).any()


def generalised_q(effect: np.ndarray, variance: np.ndarray, tau2: np.ndarray) -> np.ndarray:
    weight = 1 / (variance + tau2[:, None])
    mean = (weight * effect).sum(axis=1, keepdims=True) / weight.sum(axis=1, keepdims=True)
    return np.asarray((weight * (effect - mean) ** 2).sum(axis=1))


def test_the_bounds_of_i2_are_where_q_is_a_quantile_of_chi_squared() -> None:
    effect, variance = random_sets(40, 6, seed=1)
    found = pool(effect, variance)
    weight = 1 / variance
    typical = 5 * weight.sum(axis=1) / (weight.sum(axis=1) ** 2 - (weight**2).sum(axis=1))
    for i2, target in ((found.i2_low, stats.chi2.ppf(0.975, 5)), (found.i2_high, stats.chi2.ppf(0.025, 5))):
        q = generalised_q(effect, variance, typical * i2 / (1 - i2))
        assert (i2 > 0).any()
        assert q[i2 > 0] == pytest.approx(target, rel=1e-9)
        assert (q[i2 == 0] <= target * (1 + 1e-9)).all()


def test_estimates_more_alike_than_chance_have_no_interval_of_i2() -> None:
    """Issue 42, fault 16: "0.000 [0.000, 0.000]" of four domains of six cases."""
    found = pool(np.array([[0.5, 0.51, 0.5, 0.49], [0.2, 0.5, 0.8, 0.5]]), np.full((2, 4), 0.04))
    assert (found.i2[0], found.p_value[0] > 0.975) == (0, True)
    assert np.isnan([found.i2_low[0], found.i2_high[0]]).all()
    assert 0 <= found.i2_low[1] <= found.i2[1] < found.i2_high[1] < 1


@pytest.mark.parametrize("k", [3, 4, 6, 13])
def test_a_prediction_interval_holds_the_interval_of_the_mean(k: int) -> None:
    """Issue 42, faults 6 and 16: 22 of 102 summaries of the demo had a narrower one."""
    effect, variance = random_sets(500, k, seed=k)
    found = pool(effect, variance)
    assert (found.prediction_low <= found.low).all()
    assert (found.prediction_high >= found.high).all()


def test_a_missing_estimate_is_as_if_it_had_never_been_there() -> None:
    effect, variance = random_sets(5, 6, seed=2)
    holed = effect.copy()
    holed[:, 2] = np.nan
    whole, holes = pool(np.delete(effect, 2, 1), np.delete(variance, 2, 1)), pool(holed, variance)
    for name in set(whole._fields) - {"weight"}:
        assert getattr(holes, name) == pytest.approx(getattr(whole, name), abs=1e-12), name
    assert np.isnan(holes.weight[:, 2]).all()
    assert np.nansum(holes.weight, axis=1) == pytest.approx(np.ones(5))


def test_equal_variances_make_it_a_one_sample_t_test() -> None:
    """Hartung and Knapp's interval is then Student's, whatever the variance between is."""
    effect = np.random.default_rng(3).normal(1, 2, (4, 9))
    found = pool(effect, np.full(effect.shape, 0.7))
    expected = stats.t.interval(0.95, 8, loc=effect.mean(axis=1), scale=stats.sem(effect, axis=1))
    assert found.low == pytest.approx(expected[0])
    assert found.high == pytest.approx(expected[1])


def test_one_two_or_no_estimates() -> None:
    nan = np.nan
    effect = np.array([[1.0, nan, nan], [1.0, 2.0, nan], [nan, nan, nan]])
    found = pool(effect, np.ones((3, 3)))
    assert found.k.tolist() == [1, 2, 0]
    for name in set(found._fields) - {"k", "weight"}:
        values = getattr(found, name)
        assert np.isnan(values[[0, 2]]).all(), name
        assert np.isfinite(values[1]) != name.startswith("prediction"), name


def test_a_prediction_from_exact_estimates_is_students() -> None:
    """A new value from a normal sample: mean plus or minus t s sqrt(1 + 1/k)."""
    for k in (4, 6, 12, 30):
        effect = np.random.default_rng(k).normal(1, 2, (20, k))
        found = pool(effect, np.full(effect.shape, 1e-9))
        low, high = found.prediction_low, found.prediction_high
        scale = effect.std(axis=1, ddof=1) * np.sqrt(1 + 1 / k)
        expected = stats.t.interval(0.95, k - 1, loc=effect.mean(axis=1), scale=scale)
        assert (high - low) == pytest.approx(expected[1] - expected[0], rel=0.01 if k > 4 else 0.03)
        assert (high + low) / 2 == pytest.approx(effect.mean(axis=1), abs=0.01)


def test_a_prediction_where_nothing_varies_is_that_of_the_common_mean() -> None:
    """k estimates that are all the same: the variance between is 0 in nearly all of the confidence distribution."""
    found = pool(np.full((1, 40), 0.3), np.full((1, 40), 0.01))
    assert (found.prediction_low + found.prediction_high)[0] / 2 == pytest.approx(0.3)
    assert (found.prediction_high - found.prediction_low)[0] == pytest.approx(2 * 2.02 * np.sqrt(0.01 / 40), rel=0.02)


def test_a_prediction_is_the_same_on_any_scale() -> None:
    effect, variance = random_sets(60, 5, seed=4)
    found = pool(effect, variance)
    for scale in (1e-3, 1e3):
        scaled = pool(scale * effect, scale**2 * variance)
        for name in ("prediction_low", "prediction_high"):
            assert getattr(scaled, name) / scale == pytest.approx(getattr(found, name), rel=1e-6), name
