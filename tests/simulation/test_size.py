"""A test of significance says "different" of equal judges as often as it may, and no more. SIMULATED data."""

from __future__ import annotations

from math import comb

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.core.multiplicity import adjust_families
from mrb_lib.stats.significance.paired import sign_test, significance

from .panels import panel_of

LOW, HIGH = 0.04, 0.06
BENCHMARKS = 2000


def equal_judges(generator: np.random.Generator, judges: int, n: int, orders: int = 1) -> np.ndarray:
    """Judges of the same accuracy, .65, that err together half of the time."""
    together = generator.random((1, BENCHMARKS, n, 1))
    alone = generator.random((judges, BENCHMARKS, n, orders))
    right = np.where(generator.random((1, BENCHMARKS, n, 1)) < 0.5, together, alone) < 0.65
    return right[..., 0] if orders == 1 else right


def rejected(rows: pd.DataFrame, name: str) -> float:
    """The share of benchmarks whose first pair, or whose test of all judges, is significant."""
    first = rows.groupby("dimension", sort=False)[name].first()
    assert len(first) == BENCHMARKS
    return float((first <= 0.05).mean())


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 1000])
def test_size_of_the_tests_of_two_right_or_wrong_judges(n: int) -> None:
    """The Monte-Carlo error of a share of .05 over 2,000 benchmarks is .0049."""
    right = equal_judges(np.random.default_rng(n), 2, n)
    rows = significance(*panel_of(right), policy="official", resamples=400, seed=1)
    pairs, together = rows[rows["part"] == "pair"], rows[rows["test"] == "cochran_q"]
    assert rejected(pairs, "p_value") <= HIGH
    sizes = {name: rejected(pairs, name) for name in ("mid_p", "permutation_p", "bootstrap_p", "t_p")}
    sizes["cochran_q"] = rejected(together, "p_value")
    sizes["rm_anova"] = rejected(rows[rows["test"] == "rm_anova"], "p_gg")
    assert all(LOW <= size <= HIGH for size in sizes.values()), sizes


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 1000])
def test_size_of_the_tests_of_graded_scores_and_of_several_judges(n: int) -> None:
    right = equal_judges(np.random.default_rng(n + 5), 4 if n == 100 else 3, n, orders=2)
    rows = significance(*panel_of(right), policy="balanced", resamples=400, seed=2)
    pairs = rows[rows["part"] == "pair"]
    sizes = {name: rejected(pairs, name) for name in ("mid_p", "permutation_p", "bootstrap_p", "t_p")}
    sizes["friedman"] = rejected(rows[rows["test"] == "friedman"], "p_value")
    anova = rows[rows["test"] == "rm_anova"]
    sizes["rm_anova"], sizes["greenhouse_geisser"] = rejected(anova, "p_value"), rejected(anova, "p_gg")
    assert all(LOW <= size <= HIGH for size in sizes.values()), sizes


@pytest.mark.slow
def test_size_of_the_analysis_of_variance_where_judges_vary_unequally() -> None:
    """Two judges err together always but for a little, two by themselves: only the corrected p keeps its size."""
    generator = np.random.default_rng(6)
    twins = np.repeat(generator.random((1, BENCHMARKS, 100)), 4, axis=0)
    twins = np.where(generator.random(twins.shape) < 0.02, generator.random(twins.shape), twins)
    alone = generator.random((2, BENCHMARKS, 100))
    rows = significance(*panel_of(np.concatenate([twins, alone]) < 0.6), policy="official", resamples=0)
    anova = rows[rows["test"] == "rm_anova"]
    assert anova["epsilon"].mean() < 0.6
    assert LOW <= rejected(anova, "p_gg") <= HIGH
    assert rejected(anova, "p_value") > 0.08


@pytest.mark.slow
def test_clusters_are_known_to_the_tests_that_say_so() -> None:
    """40 clusters of 5 cases, one of two judges better in each: cases are not independent, and the exact test errs."""
    generator = np.random.default_rng(7)
    cluster = np.repeat(np.arange(40), 5)
    lean = generator.normal(0, 0.25, (1, BENCHMARKS, 40))[..., cluster]
    right = generator.random((2, BENCHMARKS, 200)) < 0.6 + np.concatenate([lean, -lean])
    panel, gold, cases = panel_of(right)
    rows = significance(panel, gold, cases.assign(cluster=cluster), policy="official", resamples=400)
    pairs = rows[rows["part"] == "pair"]
    sizes = {name: rejected(pairs, name) for name in ("p_value", "t_p")}
    for test, name in (("hotelling_cluster", "p_value"), ("rm_anova", "p_gg")):
        sizes[test] = rejected(rows[rows["test"] == test], name)
    assert all(LOW <= size <= HIGH for size in sizes.values()), sizes
    assert rejected(pairs, "exact_p") > 0.08
    assert rejected(pairs, "bootstrap_p") <= 0.065


@pytest.mark.slow
def test_size_of_equivalence_and_of_non_inferiority_at_the_margin() -> None:
    """Judges of .70 and .60 differ by just the margin, so that saying otherwise is an error."""
    generator = np.random.default_rng(8)
    n = 1000
    together = generator.random((1, BENCHMARKS, n), dtype=np.float32)
    alone = generator.random((2, BENCHMARKS, n), dtype=np.float32)
    drawn = np.where(generator.random((1, BENCHMARKS, n), dtype=np.float32) < 0.5, together, alone)
    right = drawn < np.array([0.70, 0.60], dtype=np.float32)[:, None, None]
    rows = significance(*panel_of(right), policy="official", margin=0.10, resamples=0)
    pairs = rows[rows["part"] == "pair"]
    sizes = {name: rejected(pairs, name) for name in ("equivalence_p", "noninferiority_2_p")}
    assert all(LOW <= size <= HIGH for size in sizes.values()), sizes
    assert rejected(pairs, "noninferiority_p") == 1


@pytest.mark.slow
def test_the_family_wise_error() -> None:
    """Of four equal judges: six tests, of which at least one is significant at most one time in twenty."""
    right = equal_judges(np.random.default_rng(9), 4, 150)
    rows = significance(*panel_of(right), policy="official", resamples=0)
    each = rows.loc[rows["part"] == "pair", "p_value"].to_numpy().reshape(BENCHMARKS, 6)
    assert (each.min(axis=1) <= 0.05).mean() > 0.12
    for correction in ("bonferroni", "holm", "hochberg"):
        family = np.repeat(np.arange(BENCHMARKS), 6)
        adjusted = adjust_families(each.ravel(), family, correction)[0].reshape(BENCHMARKS, 6)
        assert 0.005 < (adjusted.min(axis=1) <= 0.05).mean() <= HIGH, correction
        if correction == "holm":
            assert adjusted.ravel() == pytest.approx(rows.loc[rows["part"] == "pair", "p_adjusted"].to_numpy())


@pytest.mark.slow
@pytest.mark.parametrize(("judges", "clusters", "largest"), [(2, 30, 14), (4, 20, 5), (8, 20, 8), (16, 60, 5)])
def test_size_in_clusters_of_unequal_size(judges: int, clusters: int, largest: int) -> None:
    """Each cluster has judges that it suits. With many judges p_gg errs on the safe side."""
    generator = np.random.default_rng(judges)
    cluster = np.repeat(np.arange(clusters), generator.integers(max(1, largest - 4), largest + 1, clusters))
    lean = generator.normal(0, 0.2, (judges, BENCHMARKS, clusters))[..., cluster]
    panel, gold, cases = panel_of(generator.random(lean.shape) < 0.6 + lean)
    tables = panel, gold, cases.assign(cluster=cluster)
    table = significance(*tables, policy="official", resamples=0)
    rows = table[table["part"] == "omnibus"]
    sizes = {"hotelling": rejected(rows[rows["test"] == "hotelling_cluster"], "p_value")}
    if judges <= 4:
        pairs = table[table["part"] == "pair"]
        sizes |= {name: rejected(pairs, name) for name in ("p_value", "t_p")}
    assert all(LOW <= size <= HIGH for size in sizes.values()), sizes
    corrected = rejected(rows[rows["test"] == "rm_anova"], "p_gg")
    assert (LOW if judges <= 4 else 0.01) <= corrected <= HIGH


def test_the_exact_test_keeps_its_size_for_every_number_of_differing_cases() -> None:
    """No simulation: over all outcomes of a fair coin, p <= .05 has probability .05 at most."""
    for total in (1, 5, 6, 17, 40):
        wins = np.arange(total + 1)
        exact, mid_p = sign_test(wins, total - wins)
        chance = np.array([comb(total, k) for k in wins]) / 2.0**total
        assert chance[exact <= 0.05].sum() <= 0.05
        assert chance[mid_p <= 0.05].sum() <= 0.06 or total < 10
