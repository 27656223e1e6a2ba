"""The size of the alternative annotator test at its null boundary. SIMULATED data of known truth."""

import numpy as np
import pytest

from mrb_lib.stats.estimation import Estimate, Sampling, estimate, mean
from mrb_lib.stats.tables.ceiling import ENOUGH_UNITS, lower_tail_p

EPSILON = 0.15


def moments(differences: np.ndarray, codes: np.ndarray) -> Estimate:
    """The means of rows of differences, over clusters of their columns."""
    return estimate(mean(differences.T), Sampling(codes, np.empty((0, int(codes.max()) + 1))))


def size(n: int, shares: tuple[float, float, float], runs: int = 20_000) -> float:
    """How often a true null hypothesis is rejected, where the difference is 1, -1 and 0 with these shares."""
    generator = np.random.default_rng(n)
    step = min(10_000, 2_000_000 // n)
    rejected = [
        lower_tail_p(moments(generator.choice([1.0, -1.0, 0.0], (step, n), p=shares), np.arange(n)), EPSILON) <= 0.05
        for _ in range(0, runs, step)
    ]
    return float(np.concatenate(rejected).mean())


@pytest.mark.parametrize("n", [30, 100, 1000])
def test_size_of_each_annotators_test_at_the_boundary(n: int) -> None:
    """The annotator alone is in line with the others with probability .25, the judge alone with .10."""
    assert 0.04 <= size(n, (0.25, 0.10, 0.65)) <= 0.06


@pytest.mark.parametrize(
    ("n", "shares", "about"),
    [
        (30, (0.20, 0.05, 0.75), 0.067),
        (30, (0.17, 0.02, 0.81), 0.10),
        (30, (0.15, 0.0, 0.85), 0.155),
        (50, (0.15, 0.0, 0.85), 0.115),
        (100, (0.15, 0.0, 0.85), 0.055),
        (1000, (0.15, 0.0, 0.85), 0.05),
    ],
)
def test_size_where_the_judge_is_seldom_alone_in_line(n: int, shares: tuple[float, float, float], about: float) -> None:
    """The paper's t-test is not exact there with few cases, which `reason` says of fewer than a hundred."""
    assert size(n, shares) == pytest.approx(about, abs=0.01)
    assert n < ENOUGH_UNITS or about <= 0.06


def test_size_with_cases_in_clusters() -> None:
    """Sixty clusters of five cases that often go together: only the cluster-robust test keeps its size."""
    generator = np.random.default_rng(7)
    codes = np.repeat(np.arange(60), 5)
    shape = (12_000, 300)
    shared = generator.choice([1.0, -1.0, 0.0], (shape[0], 60), p=[0.25, 0.10, 0.65])[:, codes]
    alone = generator.choice([1.0, -1.0, 0.0], shape, p=[0.25, 0.10, 0.65])
    difference = np.where(generator.random(shape) < 0.75, shared, alone)
    assert 0.04 <= (lower_tail_p(moments(difference, codes), EPSILON) <= 0.05).mean() <= 0.06
    assert (lower_tail_p(moments(difference, np.arange(300)), EPSILON) <= 0.05).mean() > 0.10
