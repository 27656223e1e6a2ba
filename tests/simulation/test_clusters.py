"""Intervals and tests where clusters are uneven, dominated by one, or crossed; SIMULATED verdicts of two judges.

And of unpaired sides: accuracy before and after a cut-off.
"""

import numpy as np
import pytest
from scipy import special
from scipy.special import ndtri

from mrb_lib.stats import intervals
from mrb_lib.stats.contrasts import t_test
from mrb_lib.stats.estimation import Sampling, estimate, mean
from mrb_lib.stats.methods.welch import unpaired

from .panels import inside, sampling

REPLICATIONS = 2000
SHARE = 0.7


def correct(rng: np.random.Generator, effects: list[tuple[np.ndarray, float]], n: int) -> np.ndarray:
    """Which of n cases are right, 0 or 1, in each replication: a share of the variance is that of each clustering."""
    own = 1 - sum(share for _, share in effects)
    latent = rng.normal(size=(n, REPLICATIONS)) * np.sqrt(own)
    for codes, share in effects:
        latent += (rng.normal(size=(int(codes.max()) + 1, REPLICATIONS)) * np.sqrt(share))[codes]
    return (latent < ndtri(SHARE)).astype(np.float64)


def coverage(values: np.ndarray, of: Sampling) -> float:
    ends = intervals.difference(estimate(mean(values), of))
    assert np.isfinite(ends.low).all()
    return inside(ends.low, ends.high, SHARE)


@pytest.mark.parametrize(
    "sizes",
    [[8, 8, 16, 24, 40, 8, 24, 32], [4] * 10 + [20] * 10, [304, 250, 160, 110, 80, 50, 30, 20, 22], [200] + [10] * 10],
    ids=["eight", "two sizes", "modalities", "two thirds of the cases in one"],
)
@pytest.mark.parametrize("correlation", [0.0, 0.1])
def test_of_few_unequal_clusters_95_percent_intervals_cover_93_or_more(sizes: list[int], correlation: float) -> None:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    values = correct(np.random.default_rng(1), [(codes, correlation)], len(codes))
    assert 0.93 <= coverage(values, sampling(codes)) <= (0.98 if max(sizes) < 0.5 * sum(sizes) else 1)


@pytest.mark.parametrize("shares", [(0.15, 0.15), (0.2, 0.0), (0.0, 0.0)])
def test_crossed_clusters_cover_and_reject_as_often_as_they_say(shares: tuple[float, float]) -> None:
    """50 images x 10 questions: clustered by one column alone, coverage is .71 and the size of the test .17."""
    rng = np.random.default_rng(4)
    image, question = (axis.ravel() for axis in np.meshgrid(np.arange(50), np.arange(10), indexing="ij"))
    values = correct(rng, [(image, shares[0]), (question, shares[1])], len(image))
    of = sampling(question, image)
    assert 0.93 <= coverage(values, of) <= 0.99
    e = estimate(mean(values - SHARE), of)
    p, ends = t_test(e), intervals.difference(e)
    assert (p <= 0.05).mean() <= 0.07
    assert ((p <= 0.05) == ((ends.low > 0) | (ends.high < 0))).all()


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
