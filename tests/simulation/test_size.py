"""A test of significance says "different" of equal judges as often as it may, and no more. SIMULATED data."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from mrb_lib.stats.flips import flip_f, flip_p
from mrb_lib.stats.multiplicity import adjust_families

from .panels import as_judges, chances, pairs_of, rejects_as_claimed, sampling

BENCHMARKS = 1000
HIGH = 0.07
"""A test at .05 rejects so many of 1,000 benchmarks where it is three Monte-Carlo errors off, one at .1 never."""


def sign_test(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """McNemar's exact p, which takes cases as independent and differences as of one size."""
    return np.minimum(1.0, 2 * binom.cdf(np.minimum(first, second), first + second, 0.5))


def equal_judges(seed: int, judges: int, n: int, orders: int = 1) -> np.ndarray:
    """Judges of the same accuracy, .65, that err together half of the time."""
    return chances(np.random.default_rng(seed), judges, BENCHMARKS, n, orders=orders) < 0.65


def pairs_rejected(right: np.ndarray, policy: str = "official", **columns: np.ndarray) -> float:
    """The share of benchmarks in which the first two judges differ significantly."""
    return float((pairs_of(*as_judges(right[:2], **columns), policy=policy, resamples=0)["p_value"] <= 0.05).mean())


def all_rejected(scores: np.ndarray, cluster: np.ndarray | None = None, *, binary: bool = True) -> pd.Series:
    """The share of benchmarks in which each test of all judges is significant, scores (judges, benchmarks, cases)."""
    of = sampling(scores.shape[2] if cluster is None else cluster)
    every = enumerate(scores.transpose(1, 2, 0).astype(float))
    made = [flip_f(own, of, binary=binary, resamples=200, seed=seed) for seed, own in every]
    return (pd.DataFrame([{test["test"]: test["p_value"] for test in tests} for tests in made]) <= 0.05).mean()


def test_two_right_or_wrong_judges() -> None:
    right = equal_judges(100, 2, 100)
    assert pairs_rejected(right) <= HIGH
    assert rejects_as_claimed(*all_rejected(right[..., 0]), trials=BENCHMARKS)


def test_graded_scores_of_several_judges() -> None:
    right = equal_judges(105, 4, 100, orders=2)
    of_all = all_rejected(right.mean(axis=3), binary=False)
    assert rejects_as_claimed(pairs_rejected(right, "balanced"), *of_all, trials=BENCHMARKS)


def test_all_judges_where_they_vary_unequally() -> None:
    """Four judges err together always but for a little, two by themselves: Cochran's Q takes them for alike."""
    generator = np.random.default_rng(6)
    twins = np.repeat(generator.random((1, BENCHMARKS, 100)), 4, axis=0)
    twins = np.where(generator.random(twins.shape) < 0.02, generator.random(twins.shape), twins)
    found = all_rejected(np.concatenate([twins, generator.random((2, BENCHMARKS, 100))]) < 0.6)
    assert rejects_as_claimed(found["permutation_f"], trials=BENCHMARKS)
    assert found["cochran_q"] > 0.08


def steady_leaning_tying(generator: np.random.Generator, lean: np.ndarray) -> np.ndarray:
    """Twice the scores of three judges of the accuracy .75 and alike in nothing else, (3, benchmarks, cases).

    The first is right or wrong. The second prefers a place, and is half right where it is not right. The third ties in
    three cases of ten, which is worth half.

    Parameters
    ----------
    lean : shape (3, benchmarks, cases), by how much the cluster of a case shifts a judge's accuracy, 0 on average
    """
    shape = lean.shape[1:]
    drawn = generator.random((3, *shape), dtype=np.float32)
    tied = generator.random(shape, dtype=np.float32) < 0.3
    steady = 2 * (drawn[0] < 0.75 + lean[0])
    leaning = 1 + (drawn[1] < 0.5 + 2 * lean[1])
    tying = np.where(tied, 1, 2 * (drawn[2] < 0.6 / 0.7 + lean[2] / 0.7))
    return np.stack([steady, leaning, tying]).astype(np.int32)


def test_position_bias_is_no_difference_of_accuracy() -> None:
    """Issue 12, point 1: two judges right on .75, one of them with position bias, which the sign test rejected in .89.

    The judge with position bias wins .25 of the cases and loses .375.
    """
    scores = steady_leaning_tying(np.random.default_rng(400), np.zeros((3, BENCHMARKS, 400), dtype=np.float32))
    gains = scores[0] - scores[1]
    assert rejects_as_claimed((flip_p(gains.T.astype(np.int64)) <= 0.05).mean(), trials=BENCHMARKS)
    exact = sign_test((gains > 0).sum(axis=1), (gains < 0).sum(axis=1))
    assert (exact <= 0.05).mean() == pytest.approx(0.89, abs=0.05)


@pytest.mark.parametrize("clusters", [8, 50])
def test_ties_order_bias_and_clusters_of_unequal_size(clusters: int) -> None:
    """Judges of one accuracy that are unequal in all else, in clusters of 2 to 30 cases that suit some judges more."""
    generator, benchmarks = np.random.default_rng(clusters), 2000
    size = generator.integers(2, 31, clusters)
    cluster, start = np.repeat(np.arange(clusters), size), np.cumsum(size) - size
    spread = np.array([0.1, 0.05, 0.02], dtype=np.float32)[:, None, None]
    sums = np.zeros((3, benchmarks, clusters), dtype=np.int32)
    for some in np.array_split(np.arange(benchmarks), 20):
        lean = spread * generator.uniform(-1, 1, (3, len(some), clusters)).astype(np.float32)
        sums[:, some] = np.add.reduceat(steady_leaning_tying(generator, lean[..., cluster]), start, axis=2)
    sizes = [
        (flip_p((sums[one] - sums[other]).T.astype(np.int64)) <= 0.05).mean() for one, other in ((0, 1), (0, 2), (1, 2))
    ]
    within = (sums - sums.mean(axis=0)).transpose(1, 2, 0)
    tests = [
        flip_f(each, sampling(clusters), binary=False, resamples=400, seed=seed)[0] for seed, each in enumerate(within)
    ]
    sizes.append(np.mean([test["p_value"] <= 0.05 for test in tests]))
    assert rejects_as_claimed(*sizes, trials=benchmarks)


def test_clusters_are_known_to_the_tests_that_say_so() -> None:
    """40 clusters of 5 cases, one of two judges better in each: cases are not independent, and the sign test errs."""
    generator = np.random.default_rng(7)
    cluster = np.repeat(np.arange(40), 5)
    lean = generator.normal(0, 0.25, (1, BENCHMARKS, 40))[..., cluster]
    right = generator.random((2, BENCHMARKS, 200)) < 0.6 + np.concatenate([lean, -lean])
    of_all = all_rejected(right, cluster)["permutation_f"]
    assert rejects_as_claimed(pairs_rejected(right, cluster=cluster), of_all, trials=BENCHMARKS)
    only = [(one & ~other).sum(axis=1) for one, other in (right, right[::-1])]
    assert (sign_test(*only) <= 0.05).mean() > 0.08


def test_equivalence_at_the_margin() -> None:
    """Judges of .70 and .60 differ by just the margin, so that saying otherwise is an error."""
    chance = chances(np.random.default_rng(8), 2, BENCHMARKS, 300)[..., 0]
    rows = pairs_of(*as_judges(chance < np.array([0.70, 0.60])[:, None, None]), margin=0.10, resamples=0)
    assert rejects_as_claimed((rows["equivalence_p"] <= 0.05).mean(), trials=BENCHMARKS)


def test_the_family_wise_error() -> None:
    """Of four equal judges: six tests, of which at least one is significant at most one time in twenty."""
    right = equal_judges(9, 4, 150)[..., 0]
    pairs = [(right[i], right[j]) for i, j in combinations(range(4), 2)]
    each = np.stack([sign_test(*((a & ~b).sum(axis=1) for a, b in (pair, pair[::-1]))) for pair in pairs], axis=1)
    assert (each.min(axis=1) <= 0.05).mean() > 0.12
    for correction in ("bonferroni", "holm", "hochberg"):
        adjusted = adjust_families(each.ravel(), np.repeat(np.arange(BENCHMARKS), 6), correction)[0]
        assert 0.005 < (adjusted.reshape(each.shape).min(axis=1) <= 0.05).mean() <= HIGH, correction
