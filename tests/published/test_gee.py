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
    assert found.case_sd == pytest.approx(8.74, abs=0.05)
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


@pytest.mark.parametrize("judges", [None, 4])
def test_a_mixed_model_is_the_maximum_of_a_likelihood_integrated_by_brute_force(uneven, judges: int | None) -> None:
    """The log likelihood by trapezoid sums, and that no small step away from the fit raises it.

    Of functions as smooth as these, sums of 61 points and of 241 are equal to twelve digits.
    """
    design, (n_correct, n_trials) = uneven
    found = mixed.fit(design, Observations(n_correct, n_trials, np.arange(n_trials.shape[2])), judges)
    z = np.linspace(-9, 9, 61)
    weight = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    by_judge = (4, 2, n_trials.shape[2])
    correct, trials = n_correct.reshape(by_judge)[..., None], n_trials.reshape(by_judge)[..., None]

    def likelihood(parameters: np.ndarray) -> float:
        eta = design.linear(parameters[None, :-2])[0].reshape(by_judge)[..., None]
        given_case = []
        for node in z:
            each = eta + parameters[-2] * node + parameters[-1] * z
            joint = (correct * each - trials * np.logaddexp(0, each)).sum(axis=1)
            given_case.append(np.log(np.exp(joint) @ weight).sum(axis=0))
        return float(np.log(np.exp(np.array(given_case).T) @ weight).sum())

    best = np.append(found.beta, [found.case_sd, np.nan_to_num(found.judge_case_sd)])
    highest = likelihood(best)
    assert found.log_likelihood == pytest.approx(highest, abs=1e-5)
    assert found.kept[-1] == (judges is not None) == (best[-1] > 0.1)
    for i in np.flatnonzero(found.kept):
        nudge = np.zeros(len(best))
        nudge[i] = 1e-3
        up, down = likelihood(best + nudge), likelihood(best - nudge)
        assert abs(up - down) / 2e-3 < 1e-4
        curvature = -(up + down - 2 * highest) / 1e-6
        assert np.linalg.inv(found.model)[i, i] == pytest.approx(curvature, rel=1e-3)


def lme4_example() -> tuple[Design, Observations]:
    """Four judges, 200 cases, both orders, and an effect of each judge on each case. SIMULATED data."""
    generator, n, judges = np.random.default_rng(14), 200, 4
    case, own = generator.normal(0, 1.0, n), generator.normal(0, 1.2, (judges, n))
    eta = np.repeat(np.array([0.2, 0.6, 1.0, 1.4])[:, None, None] + case + own[:, None], 2, axis=1)
    sign = np.where(generator.integers(0, 2, n) == 1, 1.0, -1.0)
    is_ba = np.tile([-0.5, 0.5], judges)
    eta -= 0.5 * is_ba.reshape(judges, 2, 1) * sign
    correct = (generator.random(eta.shape) < 1 / (1 + np.exp(-eta))).astype(float).reshape(1, -1, n)
    cells = np.column_stack([np.repeat(np.eye(judges), 2, axis=0), is_ba, -is_ba])
    design = Design(cells, np.column_stack([np.ones((n, judges + 1)), sign]))
    return design, Observations(correct, np.ones_like(correct), np.arange(n))


def test_the_mixed_model_of_cases_is_that_of_lme4() -> None:
    """lme4 1.1-31 in R 4.2.2: glmer(y ~ 0 + judge + order + gold_first + (1 | case), binomial, nAGQ = 15).

    Its errors are the inverse information, which take the two verdicts of a judge on a case as independent; the robust
    ones do not, and are larger.
    """
    found = mixed.fit(*lme4_example(), nodes=15)
    lme4 = [0.40645105, 0.39432448, 0.84775259, 1.16698715, -0.06267467, 0.31244016]
    np.testing.assert_allclose(found.beta, lme4, atol=2e-5)
    assert found.case_sd == pytest.approx(0.91123, abs=2e-5)
    errors = np.sqrt(np.diag(found.model))[:-2]
    np.testing.assert_allclose(errors, [0.1282778, 0.1281812, 0.1337334, 0.1400749, 0.1139868, 0.1142026], atol=2e-5)
    assert (np.sqrt(np.diag(found.robust))[:4] > errors[:4]).all()


def test_an_effect_of_each_judge_on_each_case_accounts_for_its_two_verdicts() -> None:
    """Issue 12, point 14: robust errors were 1.2 to 1.9 times those of lme4, whose model had the effect.

    lme4 1.1-31 in R 4.2.2, the same data: glmer(y ~ 0 + judge + order + gold_first + (1 | case) + (1 | case:judge),
    binomial), which knows Laplace's approximation only: it finds .66 for the standard deviation of judges on cases,
    which is 1.2, and shrinks all coefficients alike. Errors are compared in units of their coefficients.
    """
    found = mixed.fit(*lme4_example(), 4)
    assert found.converged
    lme4 = np.array([0.43749741, 0.42372679, 0.91601388, 1.25974400, -0.06766195, 0.33827088])
    error = np.array([0.14119767, 0.14096612, 0.14977218, 0.15922949, 0.11862595, 0.11954058])
    np.testing.assert_allclose(found.beta / found.beta[3], lme4 / lme4[3], atol=0.02)
    model, robust = (np.sqrt(np.diag(cov))[:4] / found.beta[:4] for cov in (found.model, found.robust))
    np.testing.assert_allclose(model, error[:4] / lme4[:4], rtol=0.05)
    np.testing.assert_allclose(robust, model, rtol=0.05)
    low, high = found.judge_case_sd + np.array([-1.96, 1.96]) * np.sqrt(found.robust[-1, -1])
    assert low < 1.2 < high
    assert found.judge_case_sd == pytest.approx(1.2, abs=0.25)


def test_verdicts_that_never_differ_leave_the_effect_of_a_judge_on_a_case_out() -> None:
    """Its standard deviation is then infinite; the fit is that without it, and is no slower for it."""
    generator, n = np.random.default_rng(3), 100
    eta = np.array([0.0, 1.0])[:, None] + generator.normal(size=n)
    once = generator.random((2, n)) < 1 / (1 + np.exp(-eta))
    correct = np.repeat(once, 2, axis=0)[None].astype(float)
    design = Design(np.repeat(np.eye(2), 2, axis=0), np.ones((n, 2)))
    data = Observations(correct, np.ones_like(correct), np.arange(n))
    found, plain = mixed.fit(design, data, 2), mixed.fit(design, data)
    assert np.isnan(found.judge_case_sd) and found.converged
    np.testing.assert_allclose(found.beta, plain.beta)
