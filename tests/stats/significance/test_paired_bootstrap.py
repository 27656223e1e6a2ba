"""What is read off resampled differences: quantiles as numpy's, counts as plain comparisons, zeros that stay zero."""

from __future__ import annotations

import numpy as np
import pytest

from mrb_lib.stats.significance.differences import of_replicates


def resampled(resamples: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Differences of the means of two judges on 40 cases, in units of 2^-30 and as fractions, and observed ones."""
    generator = np.random.default_rng(seed)
    sums = generator.integers(0, 81, (12, resamples)) / 2
    whole = np.rint(sums / 40 * 2**30).astype(np.int32)
    return whole[:6] - whole[6:], (sums[:6] - sums[6:]) / 40, generator.normal(0, 0.3, 6)


@pytest.mark.parametrize("resamples", [3, 40, 1001])
def test_as_numpy_and_plain_counts(resamples: int) -> None:
    whole, fractions, value = resampled(resamples)
    out = of_replicates(whole, value)
    assert out[:2] == pytest.approx(np.quantile(fractions, [0.025, 0.975], axis=1), abs=1e-8)
    far = (np.abs(fractions - value[:, None]) >= np.abs(value)[:, None] - 1e-9).sum(axis=1)
    assert out[2] == pytest.approx((1 + far) / (1 + resamples))
    assert of_replicates(fractions, value) == pytest.approx(out, abs=1e-8)


def test_equal_means_differ_by_exactly_nothing() -> None:
    out = of_replicates(np.zeros((1, 150), dtype=np.int32), np.zeros(1))
    assert out.tolist() == [[0.0], [0.0], [1.0]]


def test_undefined_resamples_are_left_out() -> None:
    replicates = np.array([[0.1, 0.2, 0.3, np.nan], [0.1, np.nan, np.nan, np.nan]])
    out = of_replicates(replicates, np.array([0.2, 0.1]))
    assert out[:, 0] == pytest.approx([*np.quantile([0.1, 0.2, 0.3], [0.025, 0.975]), 1 / 4])
    assert np.isnan(out[:, 1]).all()
