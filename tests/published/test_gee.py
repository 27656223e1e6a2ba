"""Marginal logistic models on the data of a textbook, and as statsmodels computes them."""

import numpy as np
import pytest
from statsmodels.genmod.cov_struct import Exchangeable, Independence
from statsmodels.genmod.families import Binomial
from statsmodels.genmod.generalized_estimating_equations import GEE

from mrb_lib.stats.methods.marginal import fit

# Agresti, Categorical Data Analysis (3rd ed., 2013), table 13.3: whether abortion should be legal in three situations,
# the number of people of each sex by their three answers (1 yes, 0 no). The counts are those of the author's
# Abortion2.dat, github.com/alanagresti/categorical-data.
ANSWERS = [(1, 1, 1), (1, 1, 0), (0, 1, 1), (0, 1, 0), (1, 0, 1), (1, 0, 0), (0, 0, 1), (0, 0, 0)]
PEOPLE = {0: [342, 26, 6, 21, 11, 32, 19, 356], 1: [440, 25, 14, 18, 14, 47, 22, 457]}


def test_marginal_model_of_opinions_on_abortion() -> None:
    """The digits are those of statsmodels' GEE with an exchangeable correlation, its robust errors among them.

    The third situation and men are the reference.
    """
    answers = np.array([answer for counts in PEOPLE.values() for answer in np.repeat(ANSWERS, counts, axis=0)])
    female = np.repeat([0.0, 1.0], [sum(counts) for counts in PEOPLE.values()])
    situation = np.array([[1, 1, 0], [1, 0, 1], [1, 0, 0]], dtype=float)
    x = np.column_stack([np.tile(situation, (len(female), 1)), np.repeat(female, 3)])
    person = np.repeat(np.arange(len(female)), 3)
    found = fit(x, answers.ravel().astype(float), person, [person])
    np.testing.assert_allclose(found.beta, [-0.1253, 0.1493, 0.0520, 0.0034], atol=5e-5)
    np.testing.assert_allclose(found.error(np.eye(4)), [0.0676, 0.0297, 0.0270, 0.0878], atol=2e-4)
    assert found.correlation == pytest.approx(0.8173, abs=5e-5)


@pytest.fixture(scope="module")
def uneven() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Four judges in two orders, up to two verdicts each, some missing, on sixty cases of three kinds."""
    generator = np.random.default_rng(5)
    n = 60
    judge, order, case = (each.ravel() for each in np.meshgrid(range(4), [-0.5, 0.5], range(n), indexing="ij"))
    kind, sign = generator.integers(0, 3, n), generator.choice([-1.0, 1.0], n)
    longer, hard = generator.normal(size=n), generator.normal(size=n)
    x = np.column_stack([np.eye(4)[judge], np.eye(3)[kind[case]][:, 1:], order, order * sign[case], longer[case]])
    chance = 1 / (1 + np.exp(-(hard[case] + 0.5 * longer[case] + generator.normal(size=4)[judge])))
    rows = np.repeat(np.arange(len(case)), generator.integers(0, 3, len(case)))
    rows = rows[np.argsort(case[rows], kind="stable")]
    return x[rows], (generator.random(len(rows)) < chance[rows]).astype(float), case[rows]


@pytest.mark.parametrize(
    ("exchangeable", "structure", "cases_per_cluster"),
    [(True, Exchangeable, 1), (False, Independence, 1), (False, Independence, 3)],
)
def test_the_same_as_statsmodels(uneven, exchangeable, structure, cases_per_cluster) -> None:
    x, right, case = uneven
    cluster = case // cases_per_cluster
    other = GEE(right, x, groups=cluster, family=Binomial(), cov_struct=structure())
    expected = other.fit(cov_type="bias_reduced", ctol=1e-11, maxiter=200)
    found = fit(x, right, case, [cluster], exchangeable=exchangeable)
    assert not found.flaw
    np.testing.assert_allclose(found.beta, expected.params, atol=1e-8)
    np.testing.assert_allclose(found.covariances[0], expected.cov_params(), atol=1e-8)
    if exchangeable:
        assert found.correlation == pytest.approx(other.cov_struct.dep_params, abs=1e-8)
