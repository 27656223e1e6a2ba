"""Cases that McNemar's test takes, as textbooks and published calculators give them."""

import numpy as np
import pytest

from mrb_lib.stats.tables.power import mcnemar_power


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # Chow, Shao and Wang, Sample Size Calculations in Clinical Research, example 6.4.3: 59, as the R package
        # TrialSize has it.
        (0.20, 0.50, 59),
        # The worked example of powerandsamplesize.com's two-sided calculator, after Connor (1987), p. 209: 23.
        (0.45, 0.05, 23),
    ],
)
def test_connors_sample_size(first: float, second: float, expected: int) -> None:
    """The exact test falls short with fewer cases, and does not from a few more on: its power rises in saw teeth."""
    n = np.arange(float(expected - 1), expected + 60)
    shares = (np.full(n.shape, each) for each in (first + second, abs(first - second)))
    falls_short = n[mcnemar_power(n, *shares, 0.05) < 0.8]
    assert expected - 1 <= falls_short.max() < expected + 8


def test_a_difference_larger_than_the_discordance_cannot_be() -> None:
    assert np.isnan(mcnemar_power(np.array([50.0]), np.array([0.1]), np.array([0.2]), 0.05)).all()
