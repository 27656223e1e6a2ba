"""The size of the alternative annotator test at its null boundary. SIMULATED data of known truth."""

from __future__ import annotations

import numpy as np
import pytest

from mrb_lib.stats.alttest_kernel import lower_tail_p

EPSILON = 0.15


@pytest.mark.slow
@pytest.mark.parametrize(("n", "within"), [(30, (0.03, 0.07)), (100, (0.04, 0.06)), (1000, (0.04, 0.06))])
def test_size_of_each_annotators_test_at_the_boundary(n: int, within: tuple[float, float]) -> None:
    """The annotator alone is in line with the others with probability .25, the judge alone with .10.

    At the fewest cases allowed the t-test of numbers with three values is a little less exact.
    """
    generator = np.random.default_rng(n)
    step = 2_000_000 // n
    rejected = []
    while sum(map(len, rejected)) < 20_000:
        difference = generator.choice([1.0, -1.0, 0.0], (min(step, 10_000), n), p=[0.25, 0.10, 0.65])
        rejected.append(lower_tail_p(difference, np.arange(n), EPSILON) <= 0.05)
    size = np.concatenate(rejected).mean()
    assert within[0] <= size <= within[1], size


@pytest.mark.slow
def test_size_with_cases_in_clusters() -> None:
    """Sixty clusters of five cases that often go together: only the cluster-robust test keeps its size."""
    generator = np.random.default_rng(7)
    codes = np.repeat(np.arange(60), 5)
    shape = (12_000, 300)
    shared = generator.choice([1.0, -1.0, 0.0], (shape[0], 60), p=[0.25, 0.10, 0.65])[:, codes]
    alone = generator.choice([1.0, -1.0, 0.0], shape, p=[0.25, 0.10, 0.65])
    difference = np.where(generator.random(shape) < 0.75, shared, alone)
    assert 0.04 <= (lower_tail_p(difference, codes, EPSILON) <= 0.05).mean() <= 0.06
    assert (lower_tail_p(difference, np.arange(300), EPSILON) <= 0.05).mean() > 0.10
