"""Strengths, ranks and rank correlations are covered as often as is said. SIMULATED data of known truth.

Each simulated benchmark is a source of one fit. Intervals of strengths cover 93 to 97% of the time; those of ranks and
rank correlations hold the truth at least 95% of the time, near ties included.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mrb_lib.stats.core.panel import Panel
from mrb_lib.stats.responders.comparisons import Responders
from mrb_lib.stats.responders.rank_agreement import rank_interval
from mrb_lib.stats.responders.ranking import ranking
from mrb_lib.stats.responders.strengths import Fitted, fit

NOTHING = pd.DataFrame(columns=["case_id", "annotator", "dimension", "choice"])
RESAMPLES = 400
LOW, HIGH = 0.93, 0.97
TIE = {"davidson": 0.6, "rao_kupper": 1.5}


def pairs(n: int, r: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    a = generator.integers(0, r, n)
    return a, (a + generator.integers(1, r, n)) % r


def choose(advantage: np.ndarray, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Choices 0, 1 or 2 (a tie) with the expected score of Bradley and Terry, a tenth and more of them ties."""
    score = 1 / (1 + np.exp(-advantage))
    tie = 0.4 * np.minimum(score, 1 - score)
    chance = generator.random(shape)
    return np.where(chance < score - tie / 2, 0, np.where(chance < score + tie / 2, 2, 1))


def chances(model: str, gap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of a win and of a loss, at a difference of log strengths."""
    if model == "bradley_terry":
        score = 1 / (1 + np.exp(-gap))
        tie = 0.4 * np.minimum(score, 1 - score)
        return score - tie / 2, 1 - score - tie / 2
    if model == "davidson":
        win, loss = np.exp(gap / 2), np.exp(-gap / 2)
        total = win + loss + TIE[model]
        return win / total, loss / total
    return 1 / (1 + TIE[model] * np.exp(-gap)), 1 / (1 + TIE[model] * np.exp(gap))


def simulated(
    n: int, skill: np.ndarray, benchmarks: int, *, model: str = "bradley_terry", resamples: int = RESAMPLES
) -> Iterator[Fitted]:
    """A hundred fits at a time of as many benchmarks, each with n comparisons of random pairs."""
    generator = np.random.default_rng(n)
    r = len(skill)
    for seed in range(benchmarks // 100):
        a, b = pairs(n, r, generator)
        win, loss = chances(model, skill[a] - skill[b])
        chance = generator.random((100, n))
        choice = np.where(chance < win, 0, np.where(chance < win + loss, 1, 2))
        who = Responders([f"r{i:02d}" for i in range(r)], a, b, np.ones(n, dtype=bool))
        yield fit(np.eye(3)[choice], who, np.arange(n), resamples=resamples, seed=seed)


def holds(low: np.ndarray, high: np.ndarray, truth: np.ndarray | float) -> np.ndarray:
    return (low <= truth) & (truth <= high)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "r", "benchmarks"), [(100, 5, 1500), (1000, 5, 1000), (1000, 11, 500)])
def test_coverage_of_strengths(n: int, r: int, benchmarks: int) -> None:
    skill = np.linspace(-0.8, 0.8, r)
    truth = np.exp(skill) / np.exp(skill).sum()
    covered, errors = [], []
    for found in simulated(n, skill, benchmarks):
        covered.append(holds(*found.models["bradley_terry"].bounds[:2], truth))
        error = found.models["bradley_terry"].fit.log_strength - skill
        errors.append(error / np.sqrt(np.diagonal(found.covariance, axis1=1, axis2=2)))
    by_responder = np.concatenate(covered).mean(axis=0)
    assert LOW <= by_responder.mean() <= HIGH
    if r == 5:
        assert ((by_responder >= LOW) & (by_responder <= HIGH)).all(), by_responder
    assert np.concatenate(errors).std() == pytest.approx(1, abs=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("model", list(TIE))
@pytest.mark.parametrize("n", [100, 1000])
def test_coverage_of_the_models_of_ties(n: int, model: str) -> None:
    skill = np.linspace(-0.8, 0.8, 5)
    truth = np.exp(skill) / np.exp(skill).sum()
    strengths, ties = [], []
    for found in simulated(n, skill, 800, model=model):
        bounds = found.models[model].bounds
        strengths.append(holds(bounds.low, bounds.high, truth))
        ties.append(holds(bounds.tie_low, bounds.tie_high, TIE[model]))
    assert LOW <= np.mean(strengths) <= HIGH
    assert LOW <= np.mean(ties) <= HIGH


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 0.1, 0.8])
def test_rank_intervals_hold_the_rank_at_least_as_often_near_ties_too(spread: float) -> None:
    """With equal strengths every rank is true, so that the interval must hold them all."""
    place = np.arange(1, 7)
    least, most = (1, 6) if spread == 0 else (place, place)
    ends = np.array(
        [
            rank_interval(found.of(i))
            for found in simulated(100, np.linspace(spread, -spread, 6), 1000, resamples=0)
            for i in range(100)
        ]
    )
    held = ((ends[:, 0] <= least) & (ends[:, 1] >= most)).mean(axis=0)
    assert held.min() >= 0.95
    if spread == 0.8:
        assert (ends[:, 1] - ends[:, 0]).mean() < 4.5


@pytest.mark.slow
def test_intervals_of_rank_correlations_hold_the_truth() -> None:
    """Kendall's tau, Spearman's rho and the overlap of two sources with different, partly close, strengths."""
    generator = np.random.default_rng(3)
    first, second = np.linspace(1, -1, 7), np.linspace(1, -1, 7)[[1, 0, 2, 4, 3, 6, 5]]
    truth = (stats.kendalltau(first, second)[0], stats.spearmanr(first, second)[0], 1.0)
    held, n, judges = [], 500, 40
    for seed in range(5):
        a, b = pairs(n, 7, generator)
        names = np.array([f"r{i}" for i in range(7)])
        dimensions = [f"d{i}" for i in range(2)]
        ids = np.array([f"c{i}" for i in range(n)])
        cases = pd.DataFrame({"case_id": ids, "model_a": names[a], "model_b": names[b]})
        label = choose(first[a] - first[b], (2, n), generator)
        gold = pd.DataFrame(
            {
                "case_id": np.tile(ids, 2),
                "dimension": np.repeat(dimensions, n),
                "choice": np.array(["A", "B", "tie"])[label.ravel()],
            }
        )
        choice = choose(second[a] - second[b], (judges, 2, n), generator)[..., None, None].astype(np.int8)
        choice = np.concatenate([choice, np.full_like(choice, -2)], axis=3)
        panel = Panel([f"j{i}" for i in range(judges)], dimensions, [0], choice, None, pd.DataFrame())
        found = ranking(panel, gold, NOTHING, cases, resamples=0, seed=seed)
        rows = found[(found["part"] == "agreement") & (found["source"] == "gold")]
        for name, value in zip(("kendall", "spearman", "top_k_overlap"), truth, strict=True):
            held.append(((rows[f"{name}_low"] <= value + 1e-9) & (rows[f"{name}_high"] >= value - 1e-9)).mean())
        assert (rows["n_told_apart"] > 0).all()
        assert rows["kendall_low"].median() > -0.5
    assert np.reshape(held, (-1, 3)).mean(axis=0).min() >= 0.95


@pytest.mark.slow
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
        chance = np.where(
            generator.random((100, 400)) < 0.75, generator.random((100, 80))[:, codes], generator.random((100, 400))
        )
        right = (chance < 1 / (1 + np.exp(skill[b] - skill[a]))).astype(float)
        outcomes = np.stack([right, 1 - right, 0 * right], axis=-1)
        for name, unit in (("clusters", codes), ("cases", np.arange(400))):
            if name == "clusters" or seed < 2:
                bounds = fit(outcomes, who, unit, resamples=RESAMPLES, seed=seed).models["bradley_terry"].bounds
                covered[name].append(float(holds(bounds.low, bounds.high, truth).mean()))
    assert LOW <= np.mean(covered["clusters"]) <= HIGH
    assert np.mean(covered["cases"]) < 0.80
