"""Weighted sums in single precision are taken only where they are exact."""

from __future__ import annotations

import numpy as np
import pytest

from mrb_lib.stats.products import is_exact, weighted

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
