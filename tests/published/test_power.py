"""Cases that McNemar's test takes, as textbooks and published calculators give them."""

from __future__ import annotations

import numpy as np
import pytest

from mrb_lib.stats.power.formulas import mcnemar_cases, mcnemar_detectable, mcnemar_power


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
    discordance, difference = np.array([first + second]), np.array([abs(first - second)])
    needed = mcnemar_cases(discordance, difference)
    assert np.ceil(needed[0]) == expected
    assert mcnemar_power(needed, discordance, difference)[0] == pytest.approx(0.8, abs=1e-6)
    assert mcnemar_detectable(needed, discordance)[0] == pytest.approx(difference[0])


def test_a_difference_larger_than_the_discordance_cannot_be() -> None:
    assert np.isnan(mcnemar_cases(np.array([0.1]), np.array([0.2]))).all()
    assert np.isnan(mcnemar_power(np.array([50]), np.array([0.1]), np.array([0.2]))).all()
