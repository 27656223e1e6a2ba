"""Difficulty tables: the Rasch fit against a fit by other means, what is ranked, and what has no number."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.errors import InputError
from mrb_lib.stats import mixed
from mrb_lib.stats.difficulty import FEW_JUDGES, NO_OTHER, difficulty
from mrb_lib.stats.irt import one_parameter, summary, trials, wrong_gold
from mrb_lib.stats.observations import Design, Observations

N = 200


def simulated(judges: int = 6) -> np.ndarray:
    rng = np.random.default_rng(judges)
    eta = np.linspace(-0.5, 1.5, judges)[:, None] - rng.normal(size=N)
    return rng.random((judges, N)) < 1 / (1 + np.exp(-eta))


def tables(right: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    ids = [f"c{i:03d}" for i in range(right.shape[1])]
    verdicts = pd.concat(
        [
            pd.DataFrame({"judge": f"j{j}", "case_id": ids, "order": "AB", "choice": np.where(row, "A", "B")})
            for j, row in enumerate(right)
        ]
    ).assign(dimension="overall", repeat=0, probe="none")
    return (
        verdicts,
        pd.DataFrame({"case_id": ids, "dimension": "overall", "choice": "A"}),
        pd.DataFrame({"case_id": ids}),
    )


def test_the_rasch_model_is_the_random_intercept_model() -> None:
    """Fitted by adaptive quadrature, without the weak prior of the abilities."""
    right = simulated().astype(float)
    found = one_parameter(right)
    data = Observations(right[None], np.ones((1, *right.shape)), np.arange(N))
    other = mixed.fit(Design(np.eye(6), np.ones((N, 6))), data, nodes=25)
    assert found.spread == pytest.approx(other.sigma, abs=0.01)
    np.testing.assert_allclose(found.ability, other.beta - other.beta.mean(), atol=0.01)
    assert found.mean == pytest.approx(-other.beta.mean(), abs=0.02)
    assert found.converged


def test_posterior_difficulties_are_the_integral() -> None:
    right = simulated().astype(float)
    found = one_parameter(right)
    b = np.linspace(found.mean - 8 * found.spread, found.mean + 8 * found.spread, 8001)
    chance = 1 / (1 + np.exp(-(found.ability[:, None] - b)))
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


def test_quantiles_of_a_normal_distribution() -> None:
    z = np.linspace(-6, 6, 49)
    weight = np.exp(-(z**2) / 2)
    found = summary((weight / weight.sum())[None], z)
    assert (found.mean[0], found.se[0]) == (pytest.approx(0, abs=1e-12), pytest.approx(1, abs=1e-6))
    assert (found.low[0], found.high[0]) == (pytest.approx(-1.96, abs=0.01), pytest.approx(1.96, abs=0.01))


def test_with_one_judge_of_known_ability_suspicion_is_bayes_rule() -> None:
    """No spread of difficulty: the odds are those of the judge being wrong, times the prior odds."""
    found = one_parameter(simulated().astype(float))._replace(spread=0.0, mean=0.0, ability=np.array([np.log(4.0)]))
    doubt = wrong_gold(found, np.array([[0.0, 1.0]]), np.array([[1.0, 0.0]]), 0.1)
    np.testing.assert_allclose(doubt, [0.1 * 0.8 / (0.1 * 0.8 + 0.9 * 0.2), 0.1 * 0.2 / (0.1 * 0.2 + 0.9 * 0.8)])


def test_how_many_trials_a_mean_over_two_orders_is_worth() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.random((2, 20_000)) < 0.7
    score = np.vstack([first, (first.astype(float) + second) / 2, np.full(20_000, 0.5)])
    np.testing.assert_allclose(trials(score, 2), [1, 2, 2], atol=0.05)


def test_rows_ranks_and_alternatives() -> None:
    right = simulated()
    right[:, 3] = False
    right[:, 4] = True
    frame = difficulty(*tables(right))
    cases, judges = frame[frame["part"] == "case"], frame[frame["part"] == "judge"]
    assert (len(cases), len(judges)) == (N, 6)
    assert cases["suspicion"].dropna().is_monotonic_decreasing
    known = cases[cases["suspicion"].notna()]
    assert known["rank"].tolist() == list(range(1, len(known) + 1))
    by_id = cases.set_index("case_id")
    assert by_id.loc["c003", "alternative"] == "B"
    assert by_id.loc["c003", "alternative_share"] == 1
    assert by_id.loc["c003", "suspicion"] > 0.05
    assert by_id.loc["c004", ["alternative", "suspicion", "rank"]].isna().all()
    assert by_id.loc["c004", "reason"] == NO_OTHER
    assert by_id.loc["c004", "difficulty"] == cases["difficulty"].min()
    np.testing.assert_allclose(judges["accuracy"], right.mean(axis=1))
    assert judges["ability"].sum() == pytest.approx(0, abs=1e-9)
    assert (judges["ability_low"] < judges["ability"]).all()
    assert (cases["low"] < cases["difficulty"]).all()
    assert (cases["difficulty"] < cases["high"]).all()


def test_a_judge_that_is_always_right_is_able_and_finite() -> None:
    right = simulated()
    right[5] = True
    judges = difficulty(*tables(right)).query("part == 'judge'")
    assert judges["ability"].is_monotonic_increasing
    assert np.isfinite(judges[["ability", "se"]]).all(axis=None)
    assert judges["se"].iloc[5] > 2 * judges["se"].iloc[4]


def test_missing_verdicts_widen_the_interval_of_a_case() -> None:
    verdicts, gold, cases = tables(simulated())
    fewer = verdicts[(verdicts["case_id"] != "c000") | (verdicts["judge"] == "j0")]
    full, less = (difficulty(v, gold, cases).query("part == 'case'").set_index("case_id") for v in (verdicts, fewer))
    assert less.loc["c000", "n"] == 1
    assert less.loc["c000", "n_excluded"] == 5
    assert less.loc["c000", "se"] > 1.1 * full.loc["c000", "se"]


def test_one_judge_no_gold_and_bad_options() -> None:
    verdicts, gold, cases = tables(simulated())
    alone = difficulty(verdicts[verdicts["judge"] == "j0"], gold, cases)
    assert alone[["difficulty", "suspicion", "ability"]].isna().all(axis=None)
    assert (alone["reason"] == FEW_JUDGES).all()
    assert difficulty(verdicts, gold.iloc[:0], cases)["part"].tolist() == ["judge"] * 6
    with pytest.raises(InputError, match="prior"):
        difficulty(verdicts, gold, cases, prior=0.0)


def test_votes_of_annotators_are_carried_along() -> None:
    verdicts, gold, cases = tables(simulated())
    counted = gold.assign(votes_a=2, votes_b=1, votes_tie=0, n_annotators=3)
    found = difficulty(verdicts, counted, cases).query("part == 'case'")
    assert (found["gold_votes"] == 2).all()
    assert (found["n_annotators"] == 3).all()
