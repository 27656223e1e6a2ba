"""Strengths, ranks and rank correlations are covered as often as is said. SIMULATED data of known truth.

Each simulated benchmark is a source of one fit. Intervals of strengths cover 93 to 97% of the time; those of ranks hold
the truth at least 95% of the time, near ties included; those of the correlation of true ranks 93 to 98%, and more of
100 cases.
"""

from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats

from mrb_lib.stats.methods.comparisons import Fitted, Responders, fit
from mrb_lib.stats.methods.rank_agreement import agreement, rank_interval

from .panels import clustered, inside, sampling

BENCHMARKS = 240
LOW, HIGH = 0.93, 0.97


def pairs(n: int, r: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    a = generator.integers(0, r, n)
    return a, (a + generator.integers(1, r, n)) % r


def chances(gap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of a win and of a loss, at a difference of log strengths."""
    score = 1 / (1 + np.exp(-gap))
    tie = 0.4 * np.minimum(score, 1 - score)
    return score - tie / 2, 1 - score - tie / 2


def simulated(n: int, skill: np.ndarray, benchmarks: int) -> Iterator[Fitted]:
    """A hundred fits at a time of as many benchmarks, each with n comparisons of random pairs."""
    generator = np.random.default_rng(n)
    r = len(skill)
    for _ in range(benchmarks // 100):
        a, b = pairs(n, r, generator)
        win, loss = chances(skill[a] - skill[b])
        chance = generator.random((100, n))
        choice = np.where(chance < win, 0, np.where(chance < win + loss, 1, 2))
        who = Responders([f"r{i:02d}" for i in range(r)], a, b, np.ones(n, dtype=bool))
        yield fit(np.eye(3)[choice], who, sampling(n))


@pytest.mark.parametrize(("n", "r", "benchmarks"), [(100, 5, 800), (400, 5, 1000), (400, 11, 300)])
def test_coverage_of_strengths(n: int, r: int, benchmarks: int) -> None:
    skill = np.linspace(-0.8, 0.8, r)
    truth = np.exp(skill) / np.exp(skill).sum()
    covered, errors = [], []
    for found in simulated(n, skill, benchmarks):
        low, high = found.bounds
        covered.append((low <= truth) & (truth <= high))
        error = found.log_strength - skill
        errors.append(error / np.sqrt(np.diagonal(found.covariance, axis1=1, axis2=2)))
    by_responder = np.concatenate(covered).mean(axis=0)
    assert LOW <= by_responder.mean() <= HIGH
    if r == 5:
        assert ((by_responder >= LOW) & (by_responder <= HIGH)).all(), by_responder
    assert np.concatenate(errors).std() == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.8])
def test_rank_intervals_hold_the_rank_at_least_as_often_near_ties_too(spread: float) -> None:
    """With equal strengths every rank is true, so that the interval must hold them all."""
    place = np.arange(1, 7)
    least, most = (1, 6) if spread == 0 else (place, place)
    ends = np.array(
        [
            rank_interval(each.of(i))
            for each in simulated(100, np.linspace(spread, -spread, 6), 1000)
            for i in range(100)
        ]
    )
    held = ((ends[:, 0] <= least) & (ends[:, 1] >= most)).mean(axis=0)
    assert held.min() >= 0.95
    if spread == 0.8:
        assert (ends[:, 1] - ends[:, 0]).mean() < 4.5


def correlations(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Kendall's tau and Spearman's rho of each of m pairs of rows, shape (2, m)."""
    rows = [*zip(first, second, strict=True)]
    return np.array([[measure(x, y)[0] for x, y in rows] for measure in (stats.kendalltau, stats.spearmanr)])


def ranked(
    n: int, skills: tuple[np.ndarray, np.ndarray], generator: np.random.Generator, clusters: int = 0
) -> np.ndarray:
    """Intervals of the rank correlations of labels and a judge that errs as they do, shape (2, 2, m).

    The skills of both sides have shape (m, r). Judge and labels share the cases, the luck of each and, where there are
    clusters, what they do to each responder.
    """
    m, r = skills[0].shape
    a, b = pairs(n, r, generator)
    codes, case = np.arange(n) % (clusters or n), np.arange(n)
    shift = (0.7 if clusters else 0.0) * generator.standard_normal((m, clusters or 1, r))[:, codes % (clusters or 1)]
    advantage = [skill[:, a] - skill[:, b] + shift[:, case, a] - shift[:, case, b] for skill in skills]
    luck = generator.standard_normal((2, m, n))
    chance = stats.norm.cdf(np.stack([luck[0], 0.6 * luck[0] + 0.8 * luck[1]]))
    score = 1 / (1 + np.exp(-np.stack(advantage)))
    tie = 0.4 * np.minimum(score, 1 - score)
    choice = np.where(chance < score - tie / 2, 0, np.where(chance < score + tie / 2, 2, 1)).reshape(2 * m, n)
    who = Responders([f"r{i:02d}" for i in range(r)], a, b, np.ones(n, dtype=bool))
    found = fit(np.eye(3)[choice], who, sampling(codes), references=m)
    rows = [agreement(found.of(i), found.of(m + i), found.shared[i, m + i], seed=i) for i in range(m)]
    return np.array([[row.kendall[1:], row.spearman[1:]] for row in rows]).transpose(1, 2, 0)


@pytest.mark.parametrize("n", [100, 400, 1026])
def test_intervals_of_rank_correlations_hold_the_truth_and_say_something(n: int) -> None:
    """Twelve responders and a judge that sees them as the labels do, nearly so, or half.

    Issue 12, point 7: before, the intervals of tau covered 1.000 at mean widths of 2.00, 1.83 and 1.49. Of 900
    benchmarks of each size these cover .994, .979 and .956 (Spearman's: .993, .966, .952) at 1.43, .52 and .35. With
    100 cases twelve strengths are hardly known; more than 95% is also what a few values of tau cost.
    """
    generator = np.random.default_rng([7, n])
    held, width = [], []
    for correlation in np.repeat([0.5, 0.8, 0.95], BENCHMARKS // 60):
        z = generator.standard_normal((2, 20, 12))
        skills = 0.6 * z[0], 0.6 * (correlation * z[0] + np.sqrt(1 - correlation**2) * z[1])
        ends, truth = ranked(n, skills, generator), correlations(*skills)
        there = np.isfinite(ends[0, 0])
        held.append(((ends[:, 0] <= truth + 1e-9) & (ends[:, 1] >= truth - 1e-9))[:, there])
        width.append((ends[:, 1] - ends[:, 0])[:, there])
    coverage, mean_width = (np.concatenate(values, axis=1).mean(axis=1) for values in (held, width))
    assert coverage.min() >= LOW
    if n > 100:
        assert coverage.max() <= 0.98
    assert mean_width[0] < {100: 1.5, 400: 0.6, 1026: 0.4}[n]


@pytest.mark.parametrize(("r", "clusters"), [(6, 15), (12, 15)])
def test_intervals_of_rank_correlations_hold_the_truth_of_few_clusters_too(r: int, clusters: int) -> None:
    """A thousand cases of few clusters, each of which has favourites of its own."""
    generator = np.random.default_rng([9, r, clusters])
    held = []
    for _ in range(5):
        z = generator.standard_normal((2, 40, r))
        skills = 0.6 * z[0], 0.6 * (0.8 * z[0] + 0.6 * z[1])
        ends, truth = ranked(1000, skills, generator, clusters), correlations(*skills)
        held.append((ends[:, 0] <= truth + 1e-9) & (ends[:, 1] >= truth - 1e-9) & np.isfinite(ends[:, 0]))
    assert np.concatenate(held, axis=1).mean(axis=1).min() >= LOW


def test_clusters_that_go_together_are_covered_as_clusters_and_not_as_cases() -> None:
    """Eighty clusters of five cases on one pair each, decided alike three times in four."""
    generator = np.random.default_rng(4)
    skill = np.linspace(-0.6, 0.6, 4)
    truth = np.exp(skill) / np.exp(skill).sum()
    covered: dict[str, list[float]] = {"clusters": [], "cases": []}
    codes = np.repeat(np.arange(80), 5)
    for seed in range(10):
        a, b = (side[codes] for side in pairs(80, 4, generator))
        who = Responders([f"r{i}" for i in range(4)], a, b, np.ones(400, dtype=bool))
        chance = clustered(generator, (100,), codes, 0.75)
        right = (chance < 1 / (1 + np.exp(skill[b] - skill[a]))).astype(float)
        outcomes = np.stack([right, 1 - right, 0 * right], axis=-1)
        for name, unit in (("clusters", codes), ("cases", 400)):
            if name == "clusters" or seed < 2:
                covered[name].append(inside(*fit(outcomes, who, sampling(unit)).bounds, truth))
    assert LOW <= np.mean(covered["clusters"]) <= HIGH
    assert np.mean(covered["cases"]) < 0.80
