"""Intervals and tests where clusters are uneven, dominated by one, or crossed; SIMULATED verdicts of two judges."""

import numpy as np
import pytest
from scipy.special import ndtri

from mrb_lib.stats import intervals
from mrb_lib.stats.contrasts import t_test
from mrb_lib.stats.estimation import Sampling, estimate, mean

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


def test_with_more_than_three_quarters_in_one_cluster_there_is_no_interval() -> None:
    codes = np.repeat(np.arange(16), [285] + [1] * 15)
    values = correct(np.random.default_rng(3), [], len(codes))[:, :5]
    e = estimate(mean(values), sampling(codes))
    assert np.isnan(e.error).all()
    assert np.isnan(intervals.difference(e).low).all()


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
