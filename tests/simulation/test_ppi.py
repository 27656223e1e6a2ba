"""Prediction-powered intervals cover as often as they say and are no wider than the classical. SIMULATED data."""

from __future__ import annotations

import numpy as np
import pytest

from mrb_lib.stats.prediction_powered import Estimates, bounds, mean

AGREE = {"good": 0.85, "fair": 0.7, "noise": 0.5, "contrary": 0.2}
RATE = 0.6
SLACK = 0.01 + 3 * np.sqrt(0.95 * 0.05 / 1500)


def simulated(n: int, more: int, agree: float, seed: int, cluster: np.ndarray | None = None) -> Estimates:
    """1,500 benchmarks in which x beats y at RATE: n labelled cases, `more` without a label, and a judge on all.

    Labels of one cluster go together seven times in ten.
    """
    generator = np.random.default_rng(seed)
    shape = (n + more, 1500)
    chance = generator.random(shape)
    if cluster is not None:
        shared = generator.random((int(cluster.max()) + 1, 1500))[cluster]
        chance = np.where(generator.random(shape) < 0.7, shared, chance)
    label = (chance < RATE).astype(float)
    said = np.where(generator.random(shape) < agree, label, 1 - label)
    labelled = np.broadcast_to((np.arange(n + more) < n)[:, None], shape)
    return mean(label, said, labelled, ~labelled, np.arange(n + more) if cluster is None else cluster)


def covers(found: Estimates, *, classical: bool = False) -> float:
    low, high = bounds(found, classical=classical)
    return float(((low <= RATE) & (high >= RATE)).mean())


@pytest.mark.slow
@pytest.mark.parametrize("judge", list(AGREE))
@pytest.mark.parametrize(("n", "more"), [(100, 900), (1000, 1000)])
def test_coverage_and_width(n: int, more: int, judge: str) -> None:
    agree = AGREE[judge]
    found = simulated(n, more, agree, n)
    assert abs(covers(found) - 0.95) <= SLACK, covers(found)
    assert abs(covers(found, classical=True) - 0.95) <= SLACK
    assert found.estimate.mean() == pytest.approx(RATE, abs=0.005)
    said_x = RATE * agree + (1 - RATE) * (1 - agree)
    r = max((2 * agree - 1) * np.sqrt(RATE * (1 - RATE) / (said_x * (1 - said_x))), 0.0)
    ratio = np.sqrt(found.variance / found.classical_variance)
    assert np.median(ratio) == pytest.approx(np.sqrt(1 - r**2 * more / (n + more)), abs=0.02)
    assert np.median(ratio) <= 1
    assert ratio.max() <= 1.02
    assert found.estimate.std() / found.classical.std() == pytest.approx(np.median(ratio), abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("judge", list(AGREE))
def test_coverage_with_clusters_that_hold_labelled_and_unlabelled_cases(judge: str) -> None:
    """A hundred clusters of five cases, of which two are labelled."""
    cluster = np.concatenate([np.repeat(np.arange(100), 2), np.repeat(np.arange(100), 3)])
    found = simulated(200, 300, AGREE[judge], 2, cluster)
    assert abs(covers(found) - 0.95) <= SLACK, covers(found)
    assert (found.variance <= found.classical_variance * (1 + 1e-9)).all()
    as_cases = simulated(200, 300, AGREE[judge], 2)
    assert as_cases.classical_variance.mean() < 0.8 * found.classical_variance.mean()


@pytest.mark.slow
def test_a_judge_biased_towards_one_responder_does_not_bias_the_estimate() -> None:
    """Verdicts alone would put the win rate at .82; labels correct them."""
    generator = np.random.default_rng(6)
    label = (generator.random((600, 1500)) < RATE).astype(float)
    said = np.where(generator.random(label.shape) < 0.55, 1.0, label)
    labelled = np.broadcast_to((np.arange(600) < 100)[:, None], label.shape)
    found = mean(label, said, labelled, ~labelled, np.arange(600))
    assert said.mean() == pytest.approx(0.82, abs=0.01)
    assert found.estimate.mean() == pytest.approx(RATE, abs=0.005)
    assert abs(covers(found) - 0.95) <= SLACK
