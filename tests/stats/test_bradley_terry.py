"""Bradley and Terry's model, and rank correlations of strengths, against closed forms, scipy and statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mrb_lib.stats.methods.comparisons import Fitted, Responders, bradley_terry, fit
from mrb_lib.stats.methods.rank_agreement import RankAgreement, Strengths, agreement, rank_interval
from tests.simulation.panels import sampling

R = 5


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
    skill, chance = np.linspace(-1, 1, R), generator.random(n)
    wins = 0.85 / (1 + np.exp(skill[b] - skill[a]))
    choice = np.where(chance < wins, 0, np.where(chance < 0.85, 1, 2))
    return np.eye(3)[choice][None], Responders([f"r{i}" for i in range(R)], a, b, np.ones(n, dtype=bool))


def fitted(made: tuple[np.ndarray, Responders], codes: np.ndarray, crossed: np.ndarray | None = None) -> Fitted:
    return fit(*made, sampling(codes, crossed))


@pytest.mark.parametrize("per_cluster", [1, 5])
def test_standard_errors_are_the_sandwich_of_statsmodels(per_cluster: int) -> None:
    n = 300
    outcomes, who = benchmark(n, 2)
    codes = np.arange(n) // per_cluster
    found = fitted((outcomes, who), codes)
    score, rows = outcomes[0, :, 0] + outcomes[0, :, 2] / 2, np.eye(R)[who.a] - np.eye(R)[who.b]
    how = {"cov_type": "cluster", "cov_kwds": {"groups": codes, "use_correction": False}}
    expected = sm.GLM(score, rows[:, 1:], family=sm.families.Binomial()).fit(**how)
    clusters = n // per_cluster
    from_first = np.eye(R)[1:] - np.eye(R)[0]
    covariance = from_first @ found.covariance[0] @ from_first.T
    np.testing.assert_allclose(from_first @ found.log_strength[0], expected.params, atol=1e-8)
    np.testing.assert_allclose(covariance, expected.cov_params() * clusters / (clusters - R + 1), rtol=1e-6)
    assert (found.clusters[0], found.df[0]) == (clusters, clusters - R + 1)


def test_crossed_clusters_have_the_covariance_of_both() -> None:
    made, first, second = benchmark(300, 2), np.arange(300) // 5, np.arange(300) % 30
    one, other, both = (fitted(made, *codes) for codes in ((first,), (second,), (first, second)))
    np.testing.assert_allclose(both.covariance, one.covariance + other.covariance)
    assert both.clusters.tolist() == [30]


VALUES = st.lists(st.integers(-4, 4), min_size=4, max_size=9)


def sure(values: list[float] | np.ndarray, error: float = 1e-3) -> Strengths:
    x = np.asarray(values, dtype=float)
    return Strengths(x, np.eye(len(x)) * error**2, 1e6)


def agreed(first: Strengths, second: Strengths) -> RankAgreement:
    """With errors that have nothing in common."""
    return agreement(first, second, np.zeros_like(first.covariance))


@given(VALUES, st.randoms(use_true_random=False))
def test_correlations_are_those_of_scipy_ties_included(values: list[int], shuffle) -> None:
    other = list(values)
    shuffle.shuffle(other)
    found = agreed(sure(values), sure(other))
    if len(set(values)) == 1:
        assert np.isnan(found.kendall[0])
        return
    assert found.kendall[0] == pytest.approx(stats.kendalltau(values, other)[0])
    assert found.spearman[0] == pytest.approx(stats.spearmanr(values, other)[0])
    first, second = (stats.rankdata([-x for x in item], method="min") for item in (values, other))
    assert found.pearson_of_ranks == pytest.approx(stats.pearsonr(first, second)[0])


NAN = np.nan


@pytest.mark.parametrize(
    ("first", "second", "kendall", "n"),
    [
        (sure([3, 2, 1, 0]), sure([3, 2, 0, 1]), (4 / 6,) * 3, 4),
        (Strengths(np.array([3, 2, 1, 0.99]), np.eye(4) * 0.05**2, 1e6), sure([3, 2, 1, 0]), (1, 4 / 6, 1), 4),
        (sure([3, 2, 1, 0], error=100), sure([3, 2, 1, 0], error=100), (1, -1, 1), 4),
        (sure([3, 2, 1, 0, NAN]), sure([NAN, 2, 1, 0, 5]), (1, 1, 1), 3),
        (sure([1, 0]), sure([1, 0]), (1, NAN, NAN), 2),
        (Strengths(np.array([1.0, 0.0]), np.full((2, 2), NAN), 1.0), sure([1, 0]), (1, NAN, NAN), 2),
        (sure([3, 2, 1]), sure([NAN] * 3), (NAN,) * 3, 0),
    ],
    ids=["certain", "one open pair of neighbours", "as if nothing had been compared", "one side lacks some",
         "two responders", "an unknown error", "nobody in common"],
)  # fmt: skip
def test_intervals_of_kendalls_tau_by_hand(
    first: Strengths, second: Strengths, kendall: tuple[float, ...], n: int
) -> None:
    found = agreed(first, second)
    assert found.kendall == pytest.approx(kendall, nan_ok=True)
    assert found.n == n


GAP = 2.5 * np.sqrt(2) * 0.1


@pytest.mark.parametrize(
    ("value", "covariance", "low", "high"),
    [
        ([2.0, 1.0, 0.9, -1.0], np.eye(4) * 0.04, [1, 2, 2, 4], [1, 3, 3, 4]),
        ([0.5, 0.0], [[1.0, 0.999], [0.999, 1.0]], [1, 2], [1, 2]),
        ([0.5, 0.0], np.eye(2), [1, 1], [2, 2]),
        ([2.0, 1.0, -1.0], [[0.01, 0.01, 0.0], [0.01, 0.01, 0.0], [0.0, 0.0, 0.01]], [1, 1, 3], [2, 2, 3]),
        ([GAP, 0], np.eye(2) * 0.01, [1, 2], [1, 2]),
        (GAP * np.arange(8)[::-1], np.eye(8) * 0.01, [1, 1, 2, 3, 4, 5, 6, 7], [2, 3, 4, 5, 6, 7, 8, 8]),
    ],
    ids=["gaps of .1 are not told apart", "errors cancel in the difference", "or do not", "a difference without error",
         "2.5 standard errors of two", "of eight"],
)  # fmt: skip
def test_rank_intervals_by_hand(value: list[float], covariance: object, low: list[int], high: list[int]) -> None:
    found = rank_interval(Strengths(np.array(value), np.array(covariance), 1e6))
    assert [end.tolist() for end in found] == [low, high]
