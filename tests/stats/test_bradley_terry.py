"""Bradley and Terry's model, and rank correlations of strengths, against closed forms, scipy and statsmodels."""

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from mrb_lib.stats.estimation import Sampling
from mrb_lib.stats.methods.comparisons import Fitted, Responders, bradley_terry, fit
from mrb_lib.stats.methods.rank_agreement import RankAgreement, Strengths, agreement, rank_interval, ranks

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


VALUES = st.lists(st.integers(-4, 4), min_size=4, max_size=9)


def sure(values: list[float] | np.ndarray, error: float = 1e-3, df: float = 1e6) -> Strengths:
    x = np.asarray(values, dtype=float)
    return Strengths(x, np.eye(len(x)) * error**2, df)


def agreed(first: Strengths, second: Strengths, *, shared: float = 0.0) -> RankAgreement:
    """With errors of the same responder that have this covariance."""
    return agreement(first, second, shared * np.eye(len(first.value)))


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


@given(VALUES)
def test_ranks_are_those_of_scipy(values: list[int]) -> None:
    x = np.array([*values, np.nan])
    np.testing.assert_array_equal(ranks(x), [*stats.rankdata(-x[:-1], method="min"), np.nan])
    assert np.isnan(ranks(np.full(3, np.nan))).all()


def test_what_is_certain_has_no_width() -> None:
    found = agreed(sure([3, 2, 1, 0]), sure([3, 2, 0, 1]))
    assert found.kendall == pytest.approx((4 / 6,) * 3)
    assert found.spearman == pytest.approx((0.8,) * 3)


def test_what_is_unknown_is_left_open() -> None:
    """As if nothing had been compared; by errors as large the estimate says nothing, whatever it is."""
    found = agreed(sure([3, 2, 1, 0], error=100), sure([3, 2, 1, 0], error=100))
    assert found.kendall == (1.0, -1.0, 1.0)
    assert found.spearman == (1.0, -1.0, 1.0)


def test_errors_on_the_same_cases_are_not_agreement() -> None:
    """Two true rankings that have nothing to do with each other, estimated with the same errors."""
    first, second, error = np.random.default_rng(0).normal(size=(3, 40))
    x, y = sure(first + error, error=1), sure(second + error, error=1)
    assert agreed(x, y).kendall[1] > 0
    low, high = agreed(x, y, shared=0.99).kendall[1:]
    assert low < stats.kendalltau(first, second)[0] < high


def test_noise_is_taken_off_and_not_added() -> None:
    """Of 40 responders whose true strengths are in the same order the estimates have tau .5; the interval has 1."""
    generator = np.random.default_rng(1)
    truth = generator.normal(size=40)
    first, second = (sure(truth + generator.normal(0, 0.7, 40), error=0.7) for _ in range(2))
    found = agreed(first, second)
    assert found.kendall[0] < 0.6
    assert found.kendall[1] > 0.3 and found.kendall[2] > 0.85
    again = agreement(first, second, np.zeros((40, 40)), seed=7)
    assert again.kendall[1:] == pytest.approx(found.kendall[1:], abs=0.05)


def test_one_open_pair_of_neighbours_costs_two_sixths_of_kendall() -> None:
    first = Strengths(np.array([3.0, 2.0, 1.0, 0.99]), np.eye(4) * 0.05**2, 1e6)
    found = agreed(first, sure([3, 2, 1, 0]))
    assert found.kendall == pytest.approx((1.0, 4 / 6, 1.0))


@given(VALUES, st.floats(0.01, 3))
def test_the_estimate_lies_in_its_interval(values: list[int], error: float) -> None:
    if len(set(values)) < len(values):
        return
    found = agreed(sure(values, error), sure(values[::-1], error))
    for value, low, high in (found.kendall, found.spearman):
        assert low - 1e-9 <= value <= high + 1e-9


def test_rank_intervals_by_hand() -> None:
    """Gaps of 1 with a standard error of sqrt(2) x 0.2: told apart; gaps of 0.1 are not."""
    low, high = rank_interval(sure([2.0, 1.0, 0.9, -1.0], error=0.2))
    assert low.tolist() == [1, 2, 2, 4]
    assert high.tolist() == [1, 3, 3, 4]


def test_the_covariance_of_two_strengths_counts() -> None:
    """Strongly correlated errors cancel in the difference."""
    covariance = np.array([[1.0, 0.999], [0.999, 1.0]])
    close = Strengths(np.array([0.5, 0.0]), covariance, 1e6)
    assert rank_interval(close)[1].tolist() == [1, 2]
    assert rank_interval(replace(close, covariance=np.eye(2)))[1].tolist() == [2, 2]


def test_a_difference_without_an_error_is_unknown_and_the_others_are_not() -> None:
    """The errors of the first two are one: their difference has none, but both differ from the third."""
    covariance = np.array([[0.01, 0.01, 0.0], [0.01, 0.01, 0.0], [0.0, 0.0, 0.01]])
    low, high = rank_interval(Strengths(np.array([2.0, 1.0, -1.0]), covariance, 1e6))
    assert (low.tolist(), high.tolist()) == ([1, 1, 3], [2, 2, 3])


def test_more_responders_never_make_a_difference_of_two_clearer() -> None:
    """Gaps of 2.5 standard errors: clear of two responders, not of eight."""
    gap = 2.5 * np.sqrt(2) * 0.1
    assert rank_interval(sure([gap, 0], error=0.1))[1].tolist() == [1, 2]
    assert rank_interval(sure(gap * np.arange(8)[::-1], error=0.1))[1].tolist() == [2, 3, 4, 5, 6, 7, 8, 8]


def test_responders_that_one_side_lacks_are_left_out() -> None:
    first = sure([3, 2, 1, 0, np.nan])
    second = sure([np.nan, 2, 1, 0, 5])
    found = agreed(first, second)
    assert found.n == 3
    assert found.kendall[0] == 1
    nobody = agreed(first, sure([np.nan] * 5))
    assert nobody.n == 0
    assert np.isnan(nobody.kendall).all()


def test_two_responders_give_no_interval() -> None:
    found = agreed(sure([1, 0]), sure([1, 0]))
    assert found.kendall[0] == 1
    assert np.isnan(found.kendall[1:]).all()


def test_an_unknown_error_gives_no_interval() -> None:
    first = Strengths(np.array([1.0, 0.0]), np.full((2, 2), np.nan), 1.0)
    found = agreed(first, sure([1, 0]))
    assert found.kendall[0] == 1
    assert np.isnan(found.kendall[1:]).all()
