"""Mantel-Haenszel tests and odds ratios as textbooks print them."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import chdtri, ndtri

from mrb_lib.stats.methods.mantel_haenszel import ETS_PER_LOG_ODDS, MantelHaenszel, ets_class, ets_tail, mantel_haenszel

# Agresti, An Introduction to Categorical Data Analysis (1996), table 3.3: smokers with and without lung cancer, then
# non-smokers, in eight Chinese cities; statsmodels has them as `china_smoking`, with 280.138, 2.174, 1.984 and 2.383.
SMOKING = [
    (126, 100, 35, 61), (908, 688, 497, 807), (913, 747, 336, 598), (235, 172, 58, 121),
    (402, 308, 121, 215), (182, 156, 72, 98), (60, 99, 11, 43), (104, 89, 21, 36),
]  # fmt: skip
# Agresti, Categorical Data Analysis (3rd ed., 2013), table 6.9: success and failure under a drug, then under a control,
# in eight centres; the author's Infection.dat, github.com/alanagresti/categorical-data. statsmodels has 6.3841, .0115
# and 2.1345.
INFECTION = [
    (11, 25, 10, 27), (16, 4, 22, 10), (14, 5, 7, 12), (2, 14, 1, 16),
    (6, 11, 0, 12), (1, 10, 0, 10), (1, 4, 1, 8), (4, 2, 6, 1),
]  # fmt: skip


def stacked(tables: list[tuple[int, int, int, int]]) -> MantelHaenszel:
    """Of tables of right and wrong cases inside, then outside."""
    times = np.array(tables).ravel()
    score, side = (np.repeat(np.tile(each, len(tables)), times) for each in ([1.0, 0.0, 1.0, 0.0], [0, 0, 1, 1]))
    return mantel_haenszel(score, side, np.repeat(np.arange(len(times)) // 4, times))


def chi2(found: MantelHaenszel) -> float:
    return float(chdtri(1, found.p_value))


def test_smoking_and_lung_cancer_in_chinese_cities() -> None:
    """The p of a chi2 of 280.1."""
    found = stacked(SMOKING)
    assert np.exp(found.log_odds) == pytest.approx(2.17, abs=0.005)
    assert chi2(found) == pytest.approx(280.1, abs=0.05)
    ends = np.exp(found.log_odds + ndtri([0.025, 0.975]) * found.se)
    assert ends == pytest.approx([1.98, 2.38], abs=0.005)


def test_infections_in_eight_centres() -> None:
    found = stacked(INFECTION)
    assert chi2(found) == pytest.approx(6.38, abs=0.005)
    assert found.p_value == pytest.approx(0.012, abs=0.0005)
    assert np.exp(found.log_odds) == pytest.approx(2.13, abs=0.005)


def test_scores_of_one_half_are_as_exact_as_counting_every_permutation() -> None:
    """Mantel's variance is that over all ways to assign the scores of a stratum to the two groups."""
    strata = [(np.array([0, 0.5, 0.5, 1, 1]), [1, 4]), (np.array([0, 0, 0.5, 1.0]), [2])]
    excess = variance = 0.0
    for scores, inside in strata:
        sums = [sum(some) for some in combinations(scores, len(inside))]
        excess += scores[inside].sum() - np.mean(sums)
        variance += np.var(sums)
    score = np.concatenate([scores for scores, _ in strata])
    side = np.concatenate([~np.isin(np.arange(len(scores)), inside) for scores, inside in strata]).astype(int)
    found = mantel_haenszel(score, side, np.repeat([0, 1], [5, 4]))
    assert chi2(found) == pytest.approx(excess**2 / variance, abs=1e-12)


def test_bounds_of_the_ets_classes() -> None:
    """A delta of 1 is an odds ratio of 1.53 or 0.65, one of 1.5 an odds ratio of 1.89 or 0.53 (Zieky 1993)."""
    delta = ETS_PER_LOG_ODDS * np.log([1.53, 0.65, 1.89, 0.53])
    np.testing.assert_allclose(np.abs(delta), [1, 1, 1.5, 1.5], atol=0.015)
    assert (np.sign(delta) == [1, -1, 1, -1]).all()


@pytest.mark.parametrize(
    ("delta", "se", "expected"),
    [(0.99, 0.01, "A"), (-1.2, 0.7, "A"), (1.2, 0.1, "B"), (-1.6, 0.5, "B"), (-1.6, 0.3, "C"), (2.4, 0.8, "C")],
)
def test_ets_classes(delta: float, se: float, expected: str) -> None:
    """Large needs a delta of 1.5 that is above 1 by 1.645 standard errors; negligible is what may be 0."""
    of = np.array([delta]) / ETS_PER_LOG_ODDS, np.array([se]) / ETS_PER_LOG_ODDS, np.array([np.inf])
    found = ets_class(np.array([delta]), 2 * ets_tail(*of, 0.0), ets_tail(*of, 1.0))
    assert found.tolist() == [expected]
