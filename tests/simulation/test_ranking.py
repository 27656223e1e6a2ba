"""Strengths, ranks and rank correlations are covered as often as is said. SIMULATED data of known truth.

Each simulated benchmark is a judge on a dimension of one call. Intervals of strengths cover 95% of the time, within 93
to 97; those of ranks and rank correlations hold the truth at least that often, near ties included.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mrb_lib.stats.comparisons import Responders
from mrb_lib.stats.panel import Panel
from mrb_lib.stats.ranking import ranking
from mrb_lib.stats.strengths import fit

NOTHING = pd.DataFrame(columns=["case_id", "annotator", "dimension", "choice"])
RESAMPLES = 400
LOW, HIGH = 0.93, 0.97


def pairs(n: int, r: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    a = generator.integers(0, r, n)
    return a, (a + generator.integers(1, r, n)) % r


def choose(advantage: np.ndarray, shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Choices 0, 1 or 2 (a tie) with the expected score of Bradley and Terry, a tenth and more of them ties."""
    score = 1 / (1 + np.exp(-advantage))
    tie = 0.4 * np.minimum(score, 1 - score)
    chance = generator.random(shape)
    return np.where(chance < score - tie / 2, 0, np.where(chance < score + tie / 2, 2, 1))


def simulated(n: int, skill: np.ndarray, judges: int, dimensions: int, seed: int) -> pd.DataFrame:
    """The ranking of the responders by every judge on every dimension."""
    generator = np.random.default_rng(seed)
    r = len(skill)
    a, b = pairs(n, r, generator)
    choice = choose(skill[a] - skill[b], (judges, dimensions, n), generator)[..., None, None].astype(np.int8)
    absent = np.full_like(choice, -2)
    panel = Panel(
        [f"j{i:03d}" for i in range(judges)],
        [f"d{i:03d}" for i in range(dimensions)],
        [0],
        np.concatenate([choice, absent], axis=3),
        None,
        pd.DataFrame(),
    )
    names = np.array([f"r{i:02d}" for i in range(r)])
    cases = pd.DataFrame({"case_id": [f"c{i}" for i in range(n)], "model_a": names[a], "model_b": names[b]})
    found = ranking(panel, NOTHING, NOTHING, cases, resamples=RESAMPLES, seed=seed)
    return found[(found["part"] == "strength") & (found["source"] == "judge")]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "r"), [(100, 5), (1000, 5), (1000, 11)])
def test_coverage_of_strengths(n: int, r: int) -> None:
    skill = np.linspace(-0.8, 0.8, r)
    truth = pd.Series(np.exp(skill) / np.exp(skill).sum(), index=[f"r{i:02d}" for i in range(r)])
    rows = pd.concat([simulated(n, skill, 40, 4, seed) for seed in range(3)])
    expected = rows["responder"].map(truth)
    covered = ((rows["low"] <= expected) & (expected <= rows["high"])).to_numpy().reshape(-1, r)
    assert len(covered) == 480
    by_responder = covered.mean(axis=0)
    assert LOW <= covered.mean() <= HIGH
    assert (np.abs(by_responder - 0.95) <= 0.01 + 3 * np.sqrt(0.95 * 0.05 / 480)).all(), by_responder
    error = (rows["log_strength"] - rows["responder"].map(dict(zip(truth.index, skill, strict=True)))) / rows[
        "standard_error"
    ]
    assert error.std() == pytest.approx(1, abs=0.08)


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 0.1, 0.8])
def test_rank_intervals_hold_the_rank_at_least_as_often_near_ties_too(spread: float) -> None:
    """With equal strengths every rank is true, so that the interval must hold them all."""
    skill = np.linspace(spread, -spread, 6)
    rows = simulated(100, skill, 40, 10, 1)
    place = rows["responder"].str[1:].astype(int) + 1
    low, high = (1, 6) if spread == 0 else (place, place)
    holds = ((rows["rank_low"] <= low) & (rows["rank_high"] >= high)).to_numpy(dtype=bool).reshape(-1, 6)
    assert len(holds) == 400
    assert (holds.mean(axis=0) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400)).all()
    if spread == 0.8:
        assert (rows["rank_high"] - rows["rank_low"]).mean() < 4.5


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
    """Forty clusters of ten cases on one pair each, decided alike three times in four."""
    generator = np.random.default_rng(4)
    skill = np.linspace(-0.6, 0.6, 4)
    truth = np.exp(skill) / np.exp(skill).sum()
    covered: dict[str, list[float]] = {"clusters": [], "cases": []}
    codes = np.repeat(np.arange(80), 5)
    for seed in range(4):
        a, b = (side[codes] for side in pairs(80, 4, generator))
        who = Responders([f"r{i}" for i in range(4)], a, b, np.ones(400, dtype=bool))
        chance = np.where(
            generator.random((100, 400)) < 0.75, generator.random((100, 80))[:, codes], generator.random((100, 400))
        )
        right = (chance < 1 / (1 + np.exp(skill[b] - skill[a]))).astype(float)
        outcomes = np.stack([right, 1 - right, 0 * right], axis=-1)
        for name, unit in (("clusters", codes), ("cases", np.arange(400))):
            found = fit([outcomes], who, unit, resamples=RESAMPLES, seed=seed)[0]
            covered[name].append(float(((found.bounds.low <= truth) & (truth <= found.bounds.high)).mean()))
    assert LOW <= np.mean(covered["clusters"]) <= HIGH
    assert np.mean(covered["cases"]) < 0.80
