"""The power at the smallest detectable difference is .8. SIMULATED data of known truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mrb_lib.stats.power.formulas import cases_needed, detectable, differences, mcnemar_detectable

STUDIES = 4000


def studies(n: int, only_1: float, only_2: float, seed: int) -> np.ndarray:
    """Differences of two right-or-wrong judges, shape (studies, n)."""
    drawn = np.random.default_rng(seed).random((STUDIES, n), dtype=np.float32)
    return (drawn < only_1).astype(float) - (drawn > 1 - only_2)


def found_by_t(gaps: np.ndarray, n: int) -> float:
    found = differences(gaps, np.zeros_like(gaps), np.arange(n))
    return float((np.abs(found.value / found.error) > stats.t.ppf(0.975, n - 1)).mean())


@pytest.mark.parametrize("n", [100, 1000])
def test_power_at_the_detectable_difference(n: int) -> None:
    """At a discordance of .3 the variance of a difference d is .3 - d^2, which sets d."""
    discordance, smallest = 0.3, 0.0
    for _ in range(50):
        error = np.sqrt((discordance - smallest**2) / n)
        smallest = float(detectable(np.array([error]), np.array([n]))[0])
    gaps = studies(n, (discordance + smallest) / 2, (discordance - smallest) / 2, n)
    assert found_by_t(gaps, n) == pytest.approx(0.8, abs=0.02)
    found = differences(gaps, np.zeros_like(gaps), np.arange(n))
    assert np.median(detectable(found.error, found.clusters)) == pytest.approx(smallest, rel=0.02)


@pytest.mark.parametrize("n", [100, 1000])
def test_size_of_the_test_whose_power_is_told(n: int) -> None:
    assert 0.04 <= found_by_t(studies(n, 0.15, 0.15, n + 1), n) <= 0.06


def test_power_of_mcnemars_test_at_connors_difference() -> None:
    n, discordance = 500, 0.25
    smallest = float(mcnemar_detectable(np.array([n]), np.array([discordance]))[0])
    gaps = studies(n, (discordance + smallest) / 2, (discordance - smallest) / 2, 3)
    first, second = (gaps > 0).sum(axis=1), (gaps < 0).sum(axis=1)
    assert (np.abs(first - second) / np.sqrt(first + second) > 1.959964).mean() == pytest.approx(0.8, abs=0.02)


def test_power_with_the_cases_needed_in_clusters() -> None:
    """From a pilot of 200 clusters of 4 like cases: the clusters that the answer takes have a power of .8."""
    difference = 0.06

    def clusters(count: int, shift: float, seed: int, repeats: int) -> np.ndarray:
        generator = np.random.default_rng(seed)
        common = generator.normal(0, 0.4, (repeats, count, 1))
        return (shift + common + generator.normal(0, 0.5, (repeats, count, 4))).reshape(repeats, -1)

    pilot = clusters(200, 0.0, 4, 1)
    found = differences(pilot, np.zeros_like(pilot), np.repeat(np.arange(200), 4))
    needed = int(cases_needed(np.array([difference]), found.error, found.n, found.clusters, np.ones(1))[0]) // 4
    truth = np.sqrt(0.4**2 + 0.5**2 / 4)
    expected = stats.norm.sf(1.96 - difference * np.sqrt(needed) / truth)
    assert expected == pytest.approx(0.8, abs=0.08)
    gaps = clusters(needed, difference, 5, 1000)
    again = differences(gaps, np.zeros_like(gaps), np.repeat(np.arange(needed), 4))
    reached = (np.abs(again.value / again.error) > 1.96).mean()
    assert reached == pytest.approx(expected, abs=0.04)
