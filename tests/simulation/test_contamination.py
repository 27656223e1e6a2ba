"""Accuracy before and after a cut-off: size of the test and coverage of the interval. SIMULATED data."""

import numpy as np
import pytest
from scipy import special

from mrb_lib.stats import intervals
from mrb_lib.stats.contrasts import t_test
from mrb_lib.stats.methods.welch import unpaired

from .panels import inside, sampling

BENCHMARKS = 4000


@pytest.mark.parametrize(("n", "share_before", "in_cluster", "known"), [
    (120, 0.3, 1, 0.0), (120, 0.3, 3, 0.0), (400, 0.5, 4, 0.0), (120, 0.3, 3, 1.2), (400, 0.2, 2, 0.8),
])  # fmt: skip
def test_it_is_found_as_often_as_it_should_be(n: int, share_before: float, in_cluster: int, known: float) -> None:
    """Clusters are of one side or of both; `known` is what having seen the case adds to the log-odds."""
    rng = np.random.default_rng([n, in_cluster, int(10 * known)])
    codes = np.arange(n) // in_cluster
    before = np.broadcast_to((np.arange(n) < n * share_before) ^ (rng.random(n) < 0.1), (BENCHMARKS, n))
    felt = 0.4 + np.repeat(rng.normal(0, 0.8, (BENCHMARKS, n // in_cluster)), in_cluster, axis=1) + known * before
    value = (rng.random(felt.shape) < special.expit(felt)).astype(np.float64)
    common = special.expit(0.4 + rng.normal(0, 0.8, 10**6))
    truth = special.expit(special.logit(common) + known).mean() - common.mean()
    made = unpaired(*(np.where(side, value, np.nan).T for side in (before, ~before)), sampling(codes))
    assert 0.94 <= inside(*intervals.t(made)[:2], truth) <= 0.96
    assert made.value.mean() == pytest.approx(truth, abs=0.005)
    if known == 0:
        assert 0.04 <= (t_test(made) <= 0.05).mean() <= 0.06
    else:
        assert (t_test(made) <= 0.05).mean() > 0.4
