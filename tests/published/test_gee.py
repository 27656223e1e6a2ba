"""Marginal and mixed logistic models on the data of a textbook, and as statsmodels computes them."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.genmod.cov_struct import Exchangeable, Independence
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.generalized_estimating_equations import GEE

from mrb_lib.stats.models import gee, mixed
from mrb_lib.stats.models.observations import Design, Observations

# Agresti, Categorical Data Analysis (3rd ed., 2013), table 13.3: whether abortion should be legal in three situations,
# the number of people of each sex by their three answers (1 yes, 0 no). The counts are those of the author's
# Abortion2.dat, github.com/alanagresti/categorical-data.
ANSWERS = [(1, 1, 1), (1, 1, 0), (0, 1, 1), (0, 1, 0), (1, 0, 1), (1, 0, 0), (0, 0, 1), (0, 0, 0)]
PEOPLE = {0: [342, 26, 6, 21, 11, 32, 19, 356], 1: [440, 25, 14, 18, 14, 47, 22, 457]}


@pytest.fixture(scope="module")
def abortion() -> tuple[Design, Observations]:
    """The third situation and men are the reference."""
    answers = np.array([answer for counts in PEOPLE.values() for answer in np.repeat(ANSWERS, counts, axis=0)])
    female = np.repeat([0.0, 1.0], [sum(counts) for counts in PEOPLE.values()])
    n = len(female)
    situation = np.array([[1, 1, 0, 1], [1, 0, 1, 1], [1, 0, 0, 1]], dtype=float)
    n_correct = answers.T[None].astype(float)
    design = Design(situation, np.column_stack([np.ones((n, 3)), female]))
    return design, Observations(n_correct, np.ones_like(n_correct), np.arange(n))


def test_marginal_model_of_opinions_on_abortion(abortion: tuple[Design, Observations]) -> None:
    """The digits are those of statsmodels' GEE with an exchangeable correlation, its robust errors among them."""
    found = gee.fit(*abortion)
    np.testing.assert_allclose(found.beta[0], [-0.1253, 0.1493, 0.0520, 0.0034], atol=5e-5)
    np.testing.assert_allclose(np.sqrt(np.diag(found.robust[0])), [0.0676, 0.0297, 0.0270, 0.0878], atol=2e-4)
    assert found.alpha[0] == pytest.approx(0.8173, abs=5e-5)


def test_mixed_model_of_opinions_on_abortion(abortion: tuple[Design, Observations]) -> None:
    """The random intercept is so wide that 15 points are far too few, which the fit finds out by itself.

    The maximum of the likelihood of the sixteen patterns, integrated by a trapezoid sum on 801 points, is .8348, .2924,
    .0126 and 8.745, with standard errors .160, .157 and .490.
    """
    found = mixed.fit(*abortion)
    np.testing.assert_allclose(found.beta[1:], [0.834, 0.292, 0.013], atol=2e-3)
    np.testing.assert_allclose(np.sqrt(np.diag(found.model))[1:4], [0.160, 0.157, 0.49], atol=3e-3)
    assert found.sigma == pytest.approx(8.74, abs=0.05)
    assert found.converged


@pytest.fixture(scope="module")
def uneven() -> tuple[Design, FloatArrays]:
    """Four judges in two orders, up to two verdicts a cell, some missing, on sixty cases of three kinds."""
    generator = np.random.default_rng(5)
    judges, n = 4, 60
    judge = np.repeat(np.eye(judges), 2, axis=0)
    order = np.tile([-0.5, 0.5], judges)
    kind = (generator.integers(0, 3, n)[:, None] == np.arange(1, 3)).astype(float)
    sign, longer = generator.choice([-1.0, 1.0], n), generator.normal(size=n)
    cells = np.column_stack([judge, np.ones((2 * judges, 2)), order, order, np.ones(2 * judges)])
    design = Design(cells, np.column_stack([np.ones((n, judges)), kind, np.ones(n), sign, longer]))
    n_trials = generator.integers(0, 3, (1, 2 * judges, n))
    chance = 1 / (
        1 + np.exp(-(generator.normal(size=n) + 0.5 * longer + judge @ generator.normal(size=judges)[:, None]))
    )
    return design, (generator.binomial(n_trials, chance).astype(float), n_trials.astype(float))


FloatArrays = tuple[np.ndarray, np.ndarray]


@pytest.mark.parametrize(
    ("correlation", "structure", "cases_a_cluster"),
    [("exchangeable", Exchangeable, 1), ("independence", Independence, 1), ("independence", Independence, 3)],
)
def test_the_same_as_statsmodels(uneven, correlation, structure, cases_a_cluster) -> None:
    design, (n_correct, n_trials) = uneven
    cluster = np.arange(n_trials.shape[2]) // cases_a_cluster
    rows = [
        (design.cells[c] * design.cases[n], k < n_correct[0, c, n], cluster[n])
        for n in range(n_trials.shape[2])
        for c in range(n_trials.shape[1])
        for k in range(int(n_trials[0, c, n]))
    ]
    x, y, groups = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    other = GEE(y, x, groups=groups, family=Binomial(), cov_struct=structure())
    fitted = other.fit(cov_type="bias_reduced", ctol=1e-11, maxiter=200)
    found = gee.fit(design, Observations(n_correct, n_trials, cluster), correlation)
    assert found.converged.all()
    np.testing.assert_allclose(found.beta[0], fitted.params, atol=1e-8)
    np.testing.assert_allclose(found.robust[0], fitted.cov_params(), atol=1e-8)
    if correlation == "exchangeable":
        assert found.alpha[0] == pytest.approx(other.cov_struct.dep_params, abs=1e-8)


def test_the_covariance_over_clusters_is_that_of_statsmodels_where_they_are_cases(uneven) -> None:
    """Codes that do not ascend take the path of clusters that are coarser than cases, which statsmodels has not."""
    design, (n_correct, n_trials) = uneven
    n = n_trials.shape[2]
    ascending, descending = (
        gee.fit(design, Observations(n_correct, n_trials, cluster)) for cluster in (np.arange(n), np.arange(n)[::-1])
    )
    np.testing.assert_allclose(descending.robust, ascending.robust, atol=1e-9)


def test_a_covariate_that_is_a_combination_of_others_is_left_out(uneven) -> None:
    design, (n_correct, n_trials) = uneven
    doubled = Design(
        np.column_stack([design.cells, design.cells[:, 0]]), np.column_stack([design.cases, design.cases[:, 0]])
    )
    found = gee.fit(doubled, Observations(n_correct, n_trials, np.arange(n_trials.shape[2])))
    plain = gee.fit(design, Observations(n_correct, n_trials, np.arange(n_trials.shape[2])))
    assert found.kept[0].tolist() == [True] * design.cells.shape[1] + [False]
    np.testing.assert_allclose(found.beta[0, :-1], plain.beta[0], atol=1e-10)


def test_a_mixed_model_is_the_maximum_of_a_likelihood_integrated_by_brute_force(uneven) -> None:
    """The log likelihood by a trapezoid sum on 4,001 points, and that no small step away from the fit raises it."""
    design, (n_correct, n_trials) = uneven
    found = mixed.fit(design, Observations(n_correct, n_trials, np.arange(n_trials.shape[2])))
    z = np.linspace(-9, 9, 4001)
    weight = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])

    def likelihood(parameters: np.ndarray) -> float:
        eta = design.linear(parameters[None, :-1])[0][:, :, None] + parameters[-1] * z
        joint = (n_correct[0][:, :, None] * eta - n_trials[0][:, :, None] * np.logaddexp(0, eta)).sum(axis=0)
        return float(np.log(np.exp(joint) @ weight).sum())

    best = np.append(found.beta, found.sigma)
    assert found.log_likelihood == pytest.approx(likelihood(best), abs=1e-6)
    for i in range(len(best)):
        nudge = np.zeros(len(best))
        nudge[i] = 1e-3
        up, down = likelihood(best + nudge), likelihood(best - nudge)
        assert abs(up - down) / 2e-3 < 1e-4
        curvature = -(up + down - 2 * likelihood(best)) / 1e-6
        assert np.linalg.inv(found.model)[i, i] == pytest.approx(curvature, rel=1e-3)


def test_the_mixed_model_is_that_of_lme4_but_for_the_likeness_of_a_judges_two_verdicts() -> None:
    """Four judges, 200 cases, both orders, and an effect of each judge on each case. SIMULATED data.

    lme4 1.1-31 in R 4.2.2: glmer(y ~ 0 + judge + order + gold_first + (1 | case), binomial, nAGQ = 15), whose errors
    are the inverse information; those of judges with (1 | case:judge), by Laplace's approximation, are .1412, .1410,
    .1498 and .1592, of coefficients 8% larger.
    """
    generator, n, judges = np.random.default_rng(14), 200, 4
    case, own = generator.normal(0, 1.0, n), generator.normal(0, 1.2, (judges, n))
    eta = np.repeat(np.array([0.2, 0.6, 1.0, 1.4])[:, None, None] + case + own[:, None], 2, axis=1)
    sign = np.where(generator.integers(0, 2, n) == 1, 1.0, -1.0)
    is_ba = np.tile([-0.5, 0.5], judges)
    eta -= 0.5 * is_ba.reshape(judges, 2, 1) * sign
    correct = (generator.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(float).reshape(1, -1, n)
    cells = np.column_stack([np.repeat(np.eye(judges), 2, axis=0), is_ba, -is_ba])
    design = Design(cells, np.column_stack([np.ones((n, judges + 1)), sign]))
    found = mixed.fit(design, Observations(correct, np.ones_like(correct), np.arange(n)), nodes=15)
    lme4 = [0.40645105, 0.39432448, 0.84775259, 1.16698715, -0.06267467, 0.31244016]
    np.testing.assert_allclose(found.beta, lme4, atol=2e-5)
    assert found.sigma == pytest.approx(0.91123, abs=2e-5)
    errors = np.sqrt(np.diag(found.model))[:-1]
    np.testing.assert_allclose(errors, [0.1282778, 0.1281812, 0.1337334, 0.1400749, 0.1139868, 0.1142026], atol=2e-5)
    robust = np.sqrt(np.diag(found.robust))[:4]
    assert (robust > errors[:4]).all()
    with_own = np.array([0.1411969, 0.1409652, 0.1497711, 0.1592276]) / [0.43750365, 0.42372886, 0.91601224, 1.25973297]
    np.testing.assert_allclose(robust / found.beta[:4], with_own, rtol=0.09)
