"""The interval of the average over dimensions covers it as often as it claims. SIMULATED data of known truth."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from mrb_lib.stats import intervals
from mrb_lib.stats.estimation import FloatArray, Sampling, averaged, estimate, mean

BENCHMARKS, CASES, RESAMPLES = 800, 120, 300
LEVELS = np.array([0.6, 0.65, 0.7, 0.75, 0.8, 0.7])


def scores(rng: np.random.Generator, missing: float) -> FloatArray:
    """One judge on six dimensions whose errors go together, in clusters of two cases, shape (cases, dimensions)."""
    of_cluster = np.repeat(rng.normal(size=CASES // 2), 2)
    of_case = rng.normal(size=CASES)
    felt = 0.6 * of_cluster + 0.6 * of_case + np.sqrt(1 - 0.72) * rng.normal(size=(len(LEVELS), CASES))
    right = norm.cdf(felt) < LEVELS[:, None]
    # On harder dimensions more is missing, so that the mean over dimensions is not that over verdicts.
    lost = rng.random(felt.shape) < missing * np.linspace(0, 2, len(LEVELS))[:, None]
    return np.where(lost, np.nan, right.astype(float)).T


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_coverage_of_the_average_over_dimensions(missing: float) -> None:
    rng = np.random.default_rng(int(10 * missing))
    cases = pd.DataFrame({"pair": np.repeat(np.arange(CASES // 2), 2)})
    sampling, dimensions = Sampling.of(cases, "pair", RESAMPLES, 0), np.arange(len(LEVELS))[None]
    held = []
    for _ in range(BENCHMARKS):
        made = intervals.share(estimate(averaged(mean(scores(rng, missing)), dimensions), sampling))
        held.append(bool(made.low[0] <= LEVELS.mean() <= made.high[0]))
    assert 0.925 <= np.mean(held) <= 0.975
