"""Planted difficulties, abilities and wrong gold labels are recovered, with intervals that cover. SIMULATED data."""

import numpy as np
import pytest

from mrb_lib.stats.methods.rasch import Rasch, agreement, fit, trials, worth
from tests.stats.rasch_trials import by_kind, plain

from .panels import cases_of, frame_of, panel_of, rows_of


def score(
    ability: np.ndarray, hard: np.ndarray, rng: np.random.Generator, slope: np.ndarray | float = 1.0
) -> np.ndarray:
    eta = slope * (ability[:, None] - hard)
    return (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(float)


@pytest.mark.parametrize(("judges", "n", "benchmarks"), [(6, 100, 200), (32, 100, 60), (6, 1000, 150)])
def test_coverage_of_abilities_and_difficulties(judges: int, n: int, benchmarks: int) -> None:
    rng = np.random.default_rng(judges + n)
    truth = np.linspace(-1, 1, judges)
    by_judge, by_case = [], []
    for _ in range(benchmarks):
        hard = rng.normal(-0.5, 1.2, n)
        found = fit(plain(score(truth, hard, rng)))
        reach = 1.96 * np.sqrt(np.diag(found.covariance))
        by_judge.append(np.abs(found.parameters - truth) <= reach)
        by_case.append((found.difficulty.low <= hard) & (hard <= found.difficulty.high))
    assert 0.93 <= np.mean(by_judge) <= 0.97
    assert 0.93 <= np.mean(by_case) <= 0.97


def with_position(
    n: int, biased: int, bias: float, rng: np.random.Generator
) -> tuple[Rasch, np.ndarray, np.ndarray, np.ndarray]:
    """Six judges in two orders, some of which lean to the response shown first; what is found, and the truth."""
    hard, truth = rng.normal(0, 1.2, n), np.linspace(-1, 1, 6)
    kind = np.stack([side := rng.integers(0, 2, n), 1 - side])
    lean = bias * (np.arange(6) < biased)
    eta = (truth[:, None] - hard)[:, None] + lean[:, None, None] * (0.5 - kind)
    value = (rng.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(float)
    made = by_kind(value, kind)
    data = trials(made, worth(made))
    data = trials(made, worth(made, agreement(fit(data), data)))
    return fit(data), hard, truth, lean


@pytest.mark.parametrize(("n", "benchmarks", "biased", "bias"), [(100, 120, 0, 0.0), (100, 200, 3, 4.0)])
def test_coverage_whatever_the_judges_do_with_the_response_shown_first(
    n: int, benchmarks: int, biased: int, bias: float
) -> None:
    """Without the effect of position the spread shrinks and 77% of the intervals of difficulty cover."""
    rng = np.random.default_rng(n + biased + int(bias))
    covered: dict[str, list[np.ndarray]] = {"difficulty": [], "ability": [], "position": []}
    for _ in range(benchmarks):
        found, hard, truth, lean = with_position(n, biased, bias, rng)
        covered["difficulty"].append((found.difficulty.low <= hard) & (hard <= found.difficulty.high))
        near = np.abs(found.parameters - np.append(truth, lean)) <= 1.96 * np.sqrt(np.diag(found.covariance))
        covered["ability"].append(near[:6])
        covered["position"].append(near[6:])
    rates = {name: float(np.mean(values)) for name, values in covered.items()}
    assert all(0.93 <= rate <= 0.97 for rate in rates.values()), rates


@pytest.mark.parametrize(("judges", "ability", "top"), [(32, 1.0, 0.7), (6, 1.5, 0.5)])
def test_planted_wrong_gold_labels_are_at_the_top(judges: int, ability: float, top: float) -> None:
    """Twenty of a thousand labels are turned round; by chance one would stand among the first forty."""
    rng = np.random.default_rng(judges)
    n, wrong = 1000, 20
    right = score(ability + np.linspace(-0.5, 0.5, judges), rng.normal(0, 0.8, n), rng) > 0
    truth = rng.integers(0, 2, n)
    planted = rng.choice(n, wrong, replace=False)
    label = truth.copy()
    label[planted] = 1 - label[planted]
    panel = panel_of(np.where(right, truth, 1 - truth)[:, None])
    found = rows_of("difficulty", panel, frame_of(label[None]), cases_of(n), prior=wrong / n)
    ranked = found[found["part"] == "case"].set_index("case_id").loc[cases_of(n)["case_id"]]
    assert (ranked["rank"].to_numpy(dtype=float, na_value=np.inf)[planted] <= 2 * wrong).mean() >= top
    assert (ranked["alternative"].to_numpy()[planted] == np.array(["A", "B"])[truth[planted]]).mean() > 0.9
    # What is suspected is as often wrong as the probabilities say, within the few there are.
    assert ranked["suspicion"].sum() == pytest.approx(wrong, rel=0.6)
