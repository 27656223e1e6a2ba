"""What is read off resampled differences: quantiles as numpy's, counts as plain comparisons, zeros that stay zero."""

from __future__ import annotations

import numpy as np
import pytest

from mrb_lib.stats.significance.differences import bounds, of_partly_defined, of_replicates, whole_means


def resampled(resamples: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Differences of the means of two judges on 40 cases, whole and as fractions, and the room to work in."""
    generator = np.random.default_rng(seed)
    sums = generator.integers(0, 81, (12, resamples)).astype(np.float32) / 2
    divisors = np.full((1, resamples), 40, dtype=np.float32)
    means, defined = whole_means(sums, divisors, np.zeros(12, dtype=np.int64))
    assert defined
    fractions = (sums[:6].astype(np.float64) - sums[6:]) / 40
    return means[:6] - means[6:], fractions, generator.normal(0, 0.3, 6), np.empty((2, 6, resamples), dtype=np.bool_)


@pytest.mark.parametrize("resamples", [3, 40, 1001])
def test_as_numpy_and_plain_counts(resamples: int) -> None:
    whole, fractions, value, room = resampled(resamples)
    ends, p = of_replicates(whole.copy(), bounds(value), room)
    assert ends == pytest.approx(np.quantile(fractions, [0.025, 0.975], axis=1), abs=1e-8)
    far = (np.abs(fractions - value[:, None]) >= np.abs(value)[:, None] - 1e-9).sum(axis=1)
    assert p == pytest.approx((1 + far) / (1 + resamples))
    plain = of_partly_defined(fractions, value)
    assert plain == pytest.approx(np.vstack([ends, p]), abs=1e-8)


def test_equal_means_differ_by_exactly_nothing() -> None:
    thirds = np.tile(np.array([1, 2, 7], dtype=np.float32), (1, 50))
    means, _ = whole_means(np.vstack([thirds, 3 * thirds]), np.vstack([thirds * 3, thirds * 9]), np.array([0, 1]))
    ends, p = of_replicates(means[:1] - means[1:], bounds(np.zeros(1)), np.empty((2, 1, 150), dtype=np.bool_))
    assert ends.tolist() == [[0.0], [0.0]]
    assert p.tolist() == [1.0]


def test_undefined_resamples_are_left_out() -> None:
    _, defined = whole_means(np.ones((1, 2), np.float32), np.array([[0, 1]], np.float32), np.array([0]))
    assert not defined
    found = np.array([[0.1, 0.2, 0.3, np.nan], [0.1, np.nan, np.nan, np.nan]])
    out = of_partly_defined(found, np.array([0.2, 0.1]))
    assert out[:, 0] == pytest.approx([*np.quantile([0.1, 0.2, 0.3], [0.025, 0.975]), 1 / 4])
    assert np.isnan(out[:, 1]).all()
