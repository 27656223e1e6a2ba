"""Heterogeneity between domains: size, coverage and prediction at known truth. SIMULATED data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.meta import Pooled, pool, predict
from mrb_lib.stats.transfer_domains import Domains, domain_accuracies, proportion
from mrb_lib.stats.transfer_ranking import ranking_rows

BENCHMARKS = 1000


def slack(rate: float, trials: int = BENCHMARKS) -> float:
    """Three Monte-Carlo standard errors."""
    return 3 * float(np.sqrt(rate * (1 - rate) / trials))


def covers(covered: np.ndarray) -> bool:
    return bool(0.94 - slack(0.95, len(covered)) <= covered.mean() <= 0.96 + slack(0.95, len(covered)))


def accuracies(score: np.ndarray, domain: np.ndarray, cluster: np.ndarray | None = None) -> Domains:
    """The scores of one judge, shape (benchmarks, cases)."""
    codes = np.arange(score.shape[1]) if cluster is None else cluster
    return domain_accuracies(score.astype(np.float64), domain, int(domain.max()) + 1, codes)


def pooled(found: Domains, *, profile: bool = False) -> Pooled:
    return pool(found.effect, found.variance, profile=profile)


@pytest.mark.parametrize("accuracy", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("sizes", [(60,) * 8, (25, 40, 60, 80, 110, 150)], ids=["alike", "different"])
def test_size_of_q_where_domains_do_not_differ(accuracy: float, sizes: tuple[int, ...]) -> None:
    generator = np.random.default_rng(int(10 * accuracy))
    domain = np.repeat(np.arange(len(sizes)), sizes)
    trials = 4 * BENCHMARKS
    found = pooled(accuracies(generator.random((trials, len(domain))) < accuracy, domain))
    size = (found.p_value <= 0.05).mean()
    assert 0.05 - slack(0.05, trials) <= size <= 0.05 + slack(0.05, trials)


def test_size_of_q_with_graded_scores_and_with_clusters() -> None:
    """Both orders, whose errors go together half of the time; and clusters of five cases that do."""
    generator = np.random.default_rng(5)
    trials, domain = 2 * BENCHMARKS, np.repeat(np.arange(8), 60)
    together, alone = generator.random((trials, 480, 1)), generator.random((trials, 480, 2))
    orders = np.where(generator.random(together.shape) < 0.5, together, alone) < 0.7
    graded = accuracies(orders.mean(axis=2), domain)
    assert graded.design_effect.mean() == pytest.approx(0.75, abs=0.01)
    cluster = np.repeat(np.arange(96), 5)
    common = generator.random((trials, 96))[:, cluster]
    right = np.where(generator.random((trials, 480)) < 0.5, common, generator.random((trials, 480))) < 0.7
    for found in (graded, accuracies(right, domain, cluster)):
        size = (pooled(found).p_value <= 0.05).mean()
        assert 0.05 - slack(0.05, trials) <= size <= 0.05 + slack(0.05, trials)
    assert (pooled(accuracies(right, domain)).p_value <= 0.05).mean() > 0.15


def true_accuracies(generator: np.random.Generator, k: int, spread: float) -> np.ndarray:
    """Of k domains, and of a new one: normal around .7 on the arcsine scale."""
    return np.sin(generator.normal(np.arcsin(np.sqrt(0.7)), spread, (BENCHMARKS, k + 1))) ** 2


@pytest.mark.parametrize(("k", "spread"), [(4, 0.10), (13, 0.05), (13, 0.0), (20, 0.15)])
def test_coverage_of_the_summary_and_of_a_new_domain(k: int, spread: float) -> None:
    generator = np.random.default_rng(k)
    truth = true_accuracies(generator, k, spread)
    domain = np.repeat(np.arange(k), 50)
    found = accuracies(generator.random((BENCHMARKS, len(domain))) < truth[:, :-1][:, domain], domain)
    summary = pooled(found)
    assert covers((proportion(summary.low) <= 0.7) & (proportion(summary.high) >= 0.7))
    low, high = (proportion(end) for end in predict(found.effect, found.variance).interval())
    predicted = (low <= truth[:, -1]) & (high >= truth[:, -1])
    # Where domains do not differ, a variance between that may be above 0 but not below makes it too careful.
    assert covers(predicted) if spread else predicted.mean() > 0.94


def test_planted_heterogeneity_is_recovered_and_covered() -> None:
    generator = np.random.default_rng(9)
    truth = true_accuracies(generator, 20, 0.12)[:, :-1]
    domain = np.repeat(np.arange(20), 80)
    found = pooled(accuracies(generator.random((BENCHMARKS, len(domain))) < truth[:, domain], domain), profile=True)
    for tau2 in (found.tau2, found.tau2_dl):
        assert tau2.mean() == pytest.approx(0.12**2, rel=0.05)
    assert covers((found.tau2_low <= 0.12**2) & (found.tau2_high >= 0.12**2))


def test_a_domain_left_out_is_inside_the_prediction_as_often_as_it_should_be() -> None:
    generator = np.random.default_rng(10)
    truth = true_accuracies(generator, 9, 0.10)
    domain = np.repeat(np.arange(10), 50)
    found = accuracies(generator.random((BENCHMARKS, 500)) < truth[:, domain], domain)
    below = predict(found.effect[:, 1:], found.variance[:, 1:]).below(found.effect[:, 0], found.variance[:, 0])
    assert covers((below >= 0.025) & (below <= 0.975))


@pytest.mark.parametrize("turned", [False, True])
def test_the_order_of_judges_transfers_where_it_is_the_same_everywhere(turned: bool) -> None:
    """The permutation test of the mean tau has its size, and finds a domain that turns the order round."""
    generator = np.random.default_rng(11)
    judges, benchmarks, n = 6, 300, 160
    skill = np.linspace(0.45, 0.85, judges)[:, None, None]
    domain = np.repeat(np.arange(4), n // 4)
    right = generator.random((judges, benchmarks, n)) < np.where((domain == 0) & turned, skill[::-1], skill)
    names = [f"d{i:03d}" for i in range(benchmarks)]
    rows = ranking_rows(right.astype(float), domain, pd.Index(list("abcd")), np.arange(n), names, resamples=39, seed=0)
    found = (rows.loc[rows["subfield"].isna(), "p_value"] <= 0.05).mean()
    if turned:
        assert found > 0.7
    else:
        assert 0.05 - slack(0.05, benchmarks) <= found <= 0.05 + slack(0.05, benchmarks)
