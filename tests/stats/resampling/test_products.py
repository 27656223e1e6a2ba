"""Weighted sums in single precision are taken only where they are exact."""

from __future__ import annotations

import numpy as np
import pytest

from mrb_lib.stats.resampling.products import is_exact, weighted
from mrb_lib.stats.resampling.weighted_sums import Sums, weighted_sums

TOTAL = 500


def _weights(clusters: int) -> np.ndarray:
    generator = np.random.default_rng(0)
    return generator.multinomial(TOTAL, np.full(clusters, 1 / clusters), size=40).T.astype(np.float32)


@pytest.mark.parametrize("unit", [1.0, 0.5, 0.25])
def test_sums_of_quarters_are_the_same_in_either_precision(unit: float) -> None:
    values = unit * np.random.default_rng(1).integers(-4, 5, size=(7, TOTAL)).astype(np.float64)
    weights = _weights(TOTAL)
    assert is_exact(values, TOTAL)
    np.testing.assert_array_equal(weighted(values, weights, exact=True), values @ weights.astype(np.float64))


def test_thirds_are_not_exact_and_are_summed_in_double_precision() -> None:
    values = np.full((1, TOTAL), 1 / 3)
    assert not is_exact(values, TOTAL)
    found = weighted(values, _weights(TOTAL), exact=False)
    np.testing.assert_allclose(found, TOTAL / 3, rtol=1e-13)
    assert np.abs(weighted(values, _weights(TOTAL), exact=True) - TOTAL / 3).max() > 1e-7  # what the rule avoids


def test_what_24_bits_cannot_hold_is_not_exact() -> None:
    values = np.array([[2.0**21, 0.25]])
    assert is_exact(values, 1)
    assert not is_exact(values, 2)


def test_nothing_is_exact_and_infinite_values_are_not() -> None:
    assert is_exact(np.empty((0, 3)), 10)
    assert not is_exact(np.array([[np.inf]]), 10)
    assert not is_exact(np.array([[np.nan]]), 10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("unit", "exact"), [(1.0, True), (1 / 3, True), (1 / 6, True), (1 / 7, False), (0.1, False)])
def test_sums_by_cluster_are_right_in_the_precision_asked_for(
    unit: float, exact: bool, dtype: type[np.floating]
) -> None:
    times = np.random.default_rng(2).integers(-6, 7, size=(TOTAL, 5))
    weights = _weights(TOTAL)
    block = Sums(np.arange(TOTAL), unit * times)
    (found,) = weighted_sums([block], lambda: [weights[:, :25], weights[:, 25:]], TOTAL, 40, dtype)
    whole = times.T @ weights.astype(np.int64)
    rounded = np.divide(whole, round(1 / unit))
    assert found.dtype == dtype
    near = 1e-4 if dtype is np.float32 else 1e-12
    assert found == pytest.approx(rounded, rel=near, abs=near)
    if exact:  # as near as the precision holds it
        assert (found == rounded.astype(dtype)).all()
