"""Three models of paired comparisons against closed forms, statsmodels and the conditions under which they exist."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.miscmodels.ordinal_model import OrderedModel

from mrb_lib.stats.responders.bradley_terry import (
    bradley_terry,
    compared_at_all,
    components,
    connected,
    davidson,
    rao_kupper,
    to_strength,
)

MODELS = [bradley_terry, davidson, rao_kupper]


def results(seed: int, r: int = 5, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Random results among r responders, a tenth of them ties: wins and ties of shape (1, r, r)."""
    generator = np.random.default_rng(seed)
    wins, ties = np.zeros((1, r, r)), np.zeros((1, r, r))
    skill = generator.normal(size=r)
    for _ in range(n):
        i, j = generator.choice(r, 2, replace=False)
        if generator.random() < 0.1:
            ties[0, i, j] += 1
            ties[0, j, i] += 1
        elif generator.random() < 1 / (1 + np.exp(skill[j] - skill[i])):
            wins[0, i, j] += 1
        else:
            wins[0, j, i] += 1
    return wins, ties


def design(r: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every pair once, and the difference of the indicators of its responders; the first responder is the reference."""
    i, j = np.triu_indices(r, 1)
    rows = np.zeros((len(i), r))
    rows[np.arange(len(i)), i] += 1
    rows[np.arange(len(i)), j] -= 1
    return i, j, rows[:, 1:]


def from_reference(log_strength: np.ndarray) -> np.ndarray:
    return log_strength[1:] - log_strength[0]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_bradley_terry_is_the_logistic_regression_of_statsmodels(seed: int) -> None:
    wins, ties = results(seed)
    i, j, rows = design(5)
    won, lost = (wins + ties / 2)[0][i, j], (wins + ties / 2)[0][j, i]
    fitted = sm.GLM(np.column_stack([won, lost]), rows, family=sm.families.Binomial()).fit(tol=1e-12)
    np.testing.assert_allclose(from_reference(bradley_terry(wins, ties).log_strength[0]), fitted.params, atol=1e-8)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_davidson_is_the_loglinear_model_of_statsmodels(seed: int) -> None:
    """Fienberg and Larntz (1976), Biometrika 63, 245: three counts a pair, with a free level for each pair."""
    wins, ties = results(seed)
    i, j, rows = design(5)
    pairs = len(i)
    counts = np.concatenate([wins[0][i, j], wins[0][j, i], ties[0][i, j]])
    level = np.tile(np.eye(pairs), (3, 1))
    tie = np.repeat([0.0, 0.0, 1.0], pairs)
    table = np.column_stack([np.vstack([rows / 2, -rows / 2, 0 * rows]), tie, level])
    fitted = sm.GLM(counts, table, family=sm.families.Poisson()).fit(tol=1e-12)
    found = davidson(wins, ties)
    np.testing.assert_allclose(from_reference(found.log_strength[0]), fitted.params[:4], atol=1e-7)
    assert found.tie[0] == pytest.approx(np.exp(fitted.params[4]), abs=1e-7)


@pytest.mark.parametrize("seed", [1, 2])
def test_rao_kupper_is_the_ordered_logit_of_statsmodels(seed: int) -> None:
    """A loss, a tie and a win are ordered; every result and its mirror image make the thresholds symmetric."""
    wins, ties = results(seed)
    rows, outcome = [], []
    for a, b in zip(*np.nonzero(~np.eye(5, dtype=bool)), strict=True):
        difference = np.zeros(5)
        difference[a], difference[b] = 1, -1
        for label, n in ((2, wins[0, a, b]), (1, ties[0, a, b]), (0, wins[0, b, a])):
            rows += [difference[1:]] * int(n)
            outcome += [label] * int(n)
    model = OrderedModel(pd.Series(outcome), np.array(rows), distr="logit")
    fitted = model.fit(method="bfgs", gtol=1e-9, maxiter=1000, disp=False)
    found = rao_kupper(wins, ties)
    np.testing.assert_allclose(from_reference(found.log_strength[0]), fitted.params[:4], atol=1e-5)
    assert np.log(found.tie[0]) == pytest.approx(-fitted.params.iloc[4], abs=1e-5)


def two(first: float, tied: float, second: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array([[[0, first], [second, 0]]]), np.array([[[0, tied], [tied, 0]]])


def test_two_responders_have_closed_forms() -> None:
    wins, ties = two(30, 10, 20)
    assert np.ptp(bradley_terry(wins, ties).log_strength) == pytest.approx(np.log(35 / 25))
    found = davidson(wins, ties)
    assert np.ptp(found.log_strength) == pytest.approx(np.log(30 / 20))
    assert found.tie[0] == pytest.approx(10 / np.sqrt(30 * 20))
    found = rao_kupper(wins, ties)
    win, loss = np.log(30 / 30), np.log(20 / 40)
    assert np.ptp(found.log_strength) == pytest.approx((win - loss) / 2)
    assert np.log(found.tie[0]) == pytest.approx(-(win + loss) / 2)


def test_without_ties_all_models_are_one() -> None:
    wins, ties = results(4)
    ties[:] = 0
    plain, nu, theta = (model(wins, ties) for model in MODELS)
    np.testing.assert_array_equal(plain.log_strength, nu.log_strength)
    np.testing.assert_array_equal(plain.log_strength, theta.log_strength)
    assert (nu.tie[0], theta.tie[0]) == (0.0, 1.0)
    assert np.isnan(plain.tie[0])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_turning_every_result_round_turns_the_strengths_round(model) -> None:
    wins, ties = results(5)
    np.testing.assert_allclose(
        model(wins, ties).log_strength, -model(wins.swapaxes(1, 2), ties).log_strength, atol=1e-9
    )


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_many_sets_at_once_are_each_alone(model) -> None:
    """One of them without a maximum, one with a responder that is never compared."""
    sets = [results(6), results(7)]
    sets[1][0][:, 2], sets[1][0][:, :, 2], sets[1][1][:, 2], sets[1][1][:, :, 2] = 0, 0, 0, 0
    hopeless = np.zeros((1, 5, 5))
    hopeless[0, 0, 1:] = 3
    sets.append((hopeless, np.zeros((1, 5, 5))))
    together = model(*(np.concatenate([item[k] for item in sets]) for k in (0, 1)))
    for i, item in enumerate(sets):
        alone = model(*item)
        np.testing.assert_allclose(together.log_strength[i], alone.log_strength[0], atol=1e-9)
    assert np.isnan(together.log_strength[1]).tolist() == [False, False, True, False, False]
    assert np.isnan(together.log_strength[2]).all()
    assert together.strength[1][[0, 1, 3, 4]].sum() == pytest.approx(1)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_repeating_all_results_changes_nothing(model) -> None:
    wins, ties = results(8)
    np.testing.assert_allclose(model(wins, ties).log_strength, model(3 * wins, 3 * ties).log_strength, atol=1e-9)


def test_a_responder_that_won_everything_has_no_finite_strength() -> None:
    wins, ties = results(9, r=4)
    wins[0, 1:, 0] = 0
    ties[0, 0] = ties[0, :, 0] = 0
    for model in MODELS:
        assert np.isnan(model(wins, ties).log_strength).all()
    ties[0, 0, 1] = ties[0, 1, 0] = 1
    assert np.isfinite(bradley_terry(wins, ties).log_strength).all()


def test_a_model_of_ties_needs_more_than_strong_connection() -> None:
    """Wins and ties without a loss: a third of the probability would be 0, at strengths that are infinitely apart."""
    wins, ties = two(5, 5, 0)
    assert np.isfinite(bradley_terry(wins, ties).log_strength).all()
    for model in (davidson, rao_kupper):
        found = model(wins, ties)
        assert np.isnan(found.log_strength).all()
        assert np.isnan(found.tie).all()
    only_ties = two(0, 5, 0)
    assert np.isnan(davidson(*only_ties).tie).all()
    np.testing.assert_array_equal(bradley_terry(*only_ties).log_strength, [[0.0, 0.0]])


def test_two_groups_that_never_met_are_two_components() -> None:
    wins, ties = np.zeros((4, 4)), np.zeros((4, 4))
    wins[0, 1] = wins[1, 0] = wins[2, 3] = 1
    weak, strong = components(wins, ties)
    assert len(set(weak)) == 2
    assert len(set(strong)) == 3
    assert np.isnan(bradley_terry(wins[None], ties[None]).log_strength).all()


def test_sets_are_connected_where_all_who_met_are_one_strong_component() -> None:
    generator = np.random.default_rng(0)
    wins = (generator.random((400, 6, 6)) < generator.choice([0.1, 0.2, 0.4], (400, 1, 1))).astype(float)
    wins[:, np.arange(6), np.arange(6)] = 0
    wins[:100, :, 2] = wins[:100, 2, :] = 0
    ties = np.zeros_like(wins)
    ties[:, 0, 1] = ties[:, 1, 0] = generator.random(400) < 0.2
    alone = [
        len(set(components(*tables)[1][met])) == 1
        for tables, met in zip(zip(wins, ties, strict=True), compared_at_all(wins, ties), strict=True)
    ]
    assert connected(wins, ties).tolist() == alone
    assert 0.1 < np.mean(alone) < 0.9


def test_a_lopsided_contest_converges() -> None:
    """A million to one; Newton's method without a check of its steps runs away from here."""
    wins, ties = two(1e6, 0, 1)
    assert np.ptp(bradley_terry(wins, ties).log_strength) == pytest.approx(np.log(1e6))


def test_strengths_of_nobody_are_nan() -> None:
    assert np.isnan(to_strength(np.full((2, 3), np.nan))).all()
