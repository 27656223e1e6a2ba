"""Bradley and Terry's model against closed forms and statsmodels, and the conditions under which it has strengths."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm

from mrb_lib.stats.estimation import Sampling
from mrb_lib.stats.methods.comparisons import Fitted, Responders, bradley_terry, fit

R = 5


def results(seed: int, r: int = R, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Random results among r responders, a tenth of them ties: wins and ties of shape (r, r)."""
    generator = np.random.default_rng(seed)
    wins, ties = np.zeros((r, r)), np.zeros((r, r))
    skill = generator.normal(size=r)
    for _ in range(n):
        i, j = generator.choice(r, 2, replace=False)
        if generator.random() < 0.1:
            ties[i, j] += 1
            ties[j, i] += 1
        elif generator.random() < 1 / (1 + np.exp(skill[j] - skill[i])):
            wins[i, j] += 1
        else:
            wins[j, i] += 1
    return wins, ties


def two(first: float, tied: float, second: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array([[0, first], [second, 0]]), np.array([[0, tied], [tied, 0]])


def test_two_responders_have_a_closed_form() -> None:
    assert np.ptp(bradley_terry(*two(30, 10, 20))) == pytest.approx(np.log(35 / 25))
    assert bradley_terry(*two(0, 5, 0)).tolist() == pytest.approx([0, 0])


def test_a_lopsided_contest_converges() -> None:
    assert np.ptp(bradley_terry(*two(1e6, 0, 1))) == pytest.approx(np.log(1e6))


def test_turning_every_result_round_turns_the_strengths_round() -> None:
    wins, ties = results(5)
    np.testing.assert_allclose(bradley_terry(wins, ties), -bradley_terry(wins.T, ties), atol=1e-9)
    np.testing.assert_allclose(bradley_terry(wins, ties), bradley_terry(3 * wins, 3 * ties), atol=1e-9)


def test_a_responder_that_is_never_compared_has_no_strength() -> None:
    wins, ties = results(7)
    for table in (wins, ties):
        table[2], table[:, 2] = 0, 0
    found = bradley_terry(wins, ties)
    assert np.isnan(found).tolist() == [False, False, True, False, False]
    others = [0, 1, 3, 4]
    np.testing.assert_allclose(found[others], bradley_terry(*(each[np.ix_(others, others)] for each in (wins, ties))))


def test_a_responder_that_won_everything_has_no_finite_strength() -> None:
    wins, ties = results(9, r=4)
    wins[1:, 0] = ties[0] = ties[:, 0] = 0
    assert np.isnan(bradley_terry(wins, ties)).all()
    ties[0, 1] = ties[1, 0] = 1
    assert np.isfinite(bradley_terry(wins, ties)).all()


def test_strengths_are_finite_where_everyone_is_linked_by_wins_both_ways() -> None:
    ties, circle, apart = np.zeros((4, 4)), np.zeros((4, 4)), np.zeros((4, 4))
    circle[0, 1] = circle[1, 2] = circle[2, 0] = 1
    assert np.isfinite(bradley_terry(circle, ties)).tolist() == [True, True, True, False]
    best, worst = circle.copy(), circle.copy()
    best[3, 0] = worst[0, 3] = 2
    apart[0, 1] = apart[1, 0] = apart[2, 3] = apart[3, 2] = 1
    for wins in (best, worst, apart, ties):
        assert np.isnan(bradley_terry(wins, ties)).all()
    tied = ties.copy()
    tied[3, 0] = tied[0, 3] = 1
    assert np.isfinite(bradley_terry(best, tied)).all()


def benchmark(n: int, seed: int) -> tuple[np.ndarray, Responders]:
    """Comparisons of one source, shape (1, n, 3), and who was compared."""
    generator = np.random.default_rng(seed)
    a = generator.integers(0, R, n)
    b = (a + generator.integers(1, R, n)) % R
    skill = np.linspace(-1, 1, R)
    chance = generator.random(n)
    wins = 0.85 / (1 + np.exp(skill[b] - skill[a]))
    choice = np.where(chance < wins, 0, np.where(chance < 0.85, 1, 2))
    return np.eye(3)[choice][None], Responders([f"r{i}" for i in range(R)], a, b, np.ones(n, dtype=bool))


def fitted(outcomes: np.ndarray, who: Responders, codes: np.ndarray, crossed: np.ndarray | None = None) -> Fitted:
    return fit(outcomes, who, Sampling(codes, np.zeros((0, codes.max() + 1)), crossed))


@pytest.mark.parametrize("clustered", [False, True])
def test_standard_errors_are_the_sandwich_of_statsmodels(clustered: bool) -> None:
    n = 300
    outcomes, who = benchmark(n, 2)
    codes = np.arange(n) // 5 if clustered else np.arange(n)
    found = fitted(outcomes, who, codes)
    rows = np.zeros((n, R))
    rows[np.arange(n), who.a] += 1
    rows[np.arange(n), who.b] -= 1
    score = outcomes[0, :, 0] + outcomes[0, :, 2] / 2
    how = {"cov_type": "cluster", "cov_kwds": {"groups": codes, "use_correction": False}}
    expected = sm.GLM(score, rows[:, 1:], family=sm.families.Binomial()).fit(**how)
    clusters = len(np.unique(codes))
    covariance = found.covariance[0]
    from_first = covariance[1:, 1:] - covariance[:1, 1:] - covariance[1:, :1] + covariance[0, 0]
    np.testing.assert_allclose(found.log_strength[0][1:] - found.log_strength[0][0], expected.params, atol=1e-8)
    np.testing.assert_allclose(from_first, expected.cov_params() * clusters / (clusters - R + 1), rtol=1e-6)
    assert (found.clusters[0], found.df[0]) == (clusters, clusters - R + 1)


def test_crossed_clusters_have_the_covariance_of_both() -> None:
    outcomes, who = benchmark(300, 2)
    first, second = np.arange(300) // 5, np.arange(300) % 30
    one, other, both = (fitted(outcomes, who, *codes) for codes in ((first,), (second,), (first, second)))
    np.testing.assert_allclose(both.covariance, one.covariance + other.covariance)
    assert both.clusters.tolist() == [30]


@pytest.mark.parametrize("codes", [np.zeros(200, dtype=np.int64), np.arange(200) % 3])
def test_too_few_clusters_give_no_interval(codes: np.ndarray) -> None:
    outcomes, who = benchmark(200, 6)
    found = fitted(outcomes, who, codes)
    assert np.isnan(found.bounds[0]).all() and np.isnan(found.bounds[1]).all()
    assert np.isfinite(found.strength).all()
