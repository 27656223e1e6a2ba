"""Difficulty tables: the Rasch fit against a fit by other means, what is ranked, and what has no number."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from mrb_lib.stats.methods.rasch import fit, item_rest_correlation, wrong_gold
from mrb_lib.stats.tables.difficulty import NO_OTHER, NOT_CONVERGED
from tests.stats.rasch_trials import plain
from tests.stats.small_tables import Tables, difficulty, judged, part_of

N = 200


def simulated(judges: int = 6) -> np.ndarray:
    rng = np.random.default_rng(judges)
    eta = np.linspace(-0.5, 1.5, judges)[:, None] - rng.normal(size=N)
    return rng.random((judges, N)) < 1 / (1 + np.exp(-eta))


def tables(right: np.ndarray) -> Tables:
    """Verdicts of shape (judges, cases) in one order, or (judges, 2, cases) in both: then every other label is B."""
    gold = "A" * N if right.ndim == 2 else "AB" * (right.shape[-1] // 2)
    return judged({f"j{j}": rows for j, rows in enumerate(right)}, gold)


def cases_and_judges(*made: pd.DataFrame, **options: object) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of cases, by their ids, and those of judges."""
    rows = difficulty(*made, **options)
    return part_of(rows, "case").set_index("case_id"), part_of(rows, "judge")


def test_the_rasch_model_is_the_random_intercept_model() -> None:
    """Whose likelihood is integrated by brute force, without the weak prior of the abilities."""
    right = simulated().astype(float)
    found = fit(plain(right))
    z = np.linspace(-8, 8, 161)
    log_weight = -(z**2) / 2 + np.log((z[1] - z[0]) / np.sqrt(2 * np.pi))

    def loss(parameters: np.ndarray) -> float:
        eta = parameters[:-1, None] + parameters[-1] * z
        given = right.T @ -np.logaddexp(0, -eta) + (1 - right.T) @ -np.logaddexp(0, eta)
        return -float(logsumexp(given + log_weight, axis=1).sum())

    *beta, spread = minimize(loss, np.append(np.zeros(6), 1.0), method="BFGS").x
    assert found.spread == pytest.approx(spread, abs=0.01)
    np.testing.assert_allclose(found.parameters, beta - np.mean(beta), atol=0.01)
    assert found.mean == pytest.approx(-np.mean(beta), abs=0.02)
    assert found.converged


def test_posterior_difficulties_are_the_integral() -> None:
    right = simulated().astype(float)
    found = fit(plain(right))
    b = np.linspace(found.mean - 8 * found.spread, found.mean + 8 * found.spread, 8001)
    chance = 1 / (1 + np.exp(-(found.parameters[:, None] - b)))
    for case in (0, 7, 50):
        hit = right[:, case, None]
        density = np.exp(-(((b - found.mean) / found.spread) ** 2) / 2) * np.prod(
            np.where(hit > 0, chance, 1 - chance), axis=0
        )
        density /= density.sum()
        mean = (density * b).sum()
        assert found.difficulty.mean[case] == pytest.approx(mean, abs=1e-4)
        assert found.difficulty.se[case] == pytest.approx(np.sqrt((density * (b - mean) ** 2).sum()), abs=1e-4)
        reached = np.cumsum(density)
        assert found.difficulty.low[case] == pytest.approx(np.interp(0.025, reached, b), abs=0.03)
        assert found.difficulty.high[case] == pytest.approx(np.interp(0.975, reached, b), abs=0.03)


def test_with_one_judge_of_known_ability_suspicion_is_bayes_rule() -> None:
    """No spread of difficulty: the odds are those of the judge being wrong, times the prior odds."""
    found = fit(plain(simulated().astype(float)))
    found = found._replace(spread=0.0, mean=0.0, parameters=np.array([np.log(4.0)]))
    doubt = wrong_gold(found, plain(np.array([[0.0, 1.0]])), plain(np.array([[1.0, 0.0]])), 0.1)
    np.testing.assert_allclose(doubt, [0.1 * 0.8 / (0.1 * 0.8 + 0.9 * 0.2), 0.1 * 0.2 / (0.1 * 0.2 + 0.9 * 0.8)])


@pytest.mark.parametrize("policy", ["official", "strict", "net", "answered"])
def test_every_policy_has_a_scale(policy: str) -> None:
    rng = np.random.default_rng(5)
    eta = np.linspace(-0.5, 1, 5)[:, None, None] - rng.normal(size=N)
    cases, judges = cases_and_judges(*tables(rng.random((5, 2, N)) < 1 / (1 + np.exp(-eta))), policy=policy)
    assert cases["difficulty"].notna().all()
    assert judges["ability"].notna().all()


def test_a_fit_that_fails_says_so_and_shows_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mrb_lib.stats.methods.rasch._STEPS", 1)
    frame = difficulty(*tables(simulated()))
    assert frame[["difficulty", "suspicion", "ability", "discrimination"]].isna().all(axis=None)
    assert frame["reason"].str.startswith(NOT_CONVERGED).all()


def test_rows_ranks_and_alternatives() -> None:
    right = simulated()
    right[:, 3] = False
    right[:, 4] = True
    by_id, judges = cases_and_judges(*tables(right))
    assert (len(by_id), len(judges)) == (N, 6)
    known = by_id[by_id["suspicion"].notna()]
    assert known["suspicion"].is_monotonic_decreasing
    assert known["rank"].tolist() == list(range(1, len(known) + 1))
    assert by_id.loc["c3", ["alternative", "alternative_share"]].tolist() == ["B", 1]
    assert by_id.loc["c3", "suspicion"] > 0.05
    assert by_id.loc["c4", ["alternative", "suspicion", "rank"]].isna().all()
    assert by_id.loc["c4", "reason"] == NO_OTHER
    assert by_id.loc["c4", "difficulty"] == by_id["difficulty"].min()
    np.testing.assert_allclose(judges["accuracy"], right.mean(axis=1))
    assert judges["ability"].sum() == pytest.approx(0, abs=1e-9)


def test_a_judge_that_is_always_right_is_able_and_finite() -> None:
    right = simulated()
    right[5] = True
    _, judges = cases_and_judges(*tables(right))
    assert judges["ability"].is_monotonic_increasing
    assert np.isfinite(judges[["ability", "se"]]).all(axis=None)
    assert judges["se"].iloc[5] > 2 * judges["se"].iloc[4]


def test_the_item_rest_correlation_is_that_of_numpy() -> None:
    score = np.random.default_rng(7).choice([0.0, 0.5, 1.0, np.nan], (6, 40), p=[0.3, 0.1, 0.5, 0.1])
    score[:, 0] = 1.0
    score[2:, 1] = np.nan
    found = item_rest_correlation(score)
    assert np.isnan(found[:2]).all()
    for case in range(2, 40):
        used = np.isfinite(score[:, case])
        if len(set(score[used, case])) < 2:
            assert np.isnan(found[case])
            continue
        rest = np.nanmean(np.delete(score, case, axis=1), axis=1)
        assert found[case] == pytest.approx(np.corrcoef(score[used, case], rest[used])[0, 1], abs=1e-12)
