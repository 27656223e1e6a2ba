"""Sign flips of pairs and of all judges: all of them, whole clusters at a time, as other packages."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import permutation_test
from statsmodels.stats.anova import AnovaRM

from mrb_lib.stats.flips import NO_FLIPS, flip_f, flip_p, whole_units
from tests.simulation.panels import sampling
from tests.stats.small_tables import cases_of, gold_of, significance, verdicts_of


def every_flip(gain: np.ndarray) -> float:
    """The share of flips farther from 0, and half of those as far, or, with fewer than 8 clusters, all of them."""
    sums = np.zeros(1)
    for each in gain:
        sums = np.concatenate([sums + each, sums - each])
    sums, bound = np.abs(sums), abs(gain.sum())
    farther, as_far = (sums > bound + 1e-9).mean(), (np.abs(sums - bound) <= 1e-9).mean()
    return float(farther + as_far * (1 if len(gain) < 8 else 0.5))


def of_right(first: str, second: str, **columns: list[object]):
    verdicts = verdicts_of({("a", "AB"): first, ("b", "AB"): second})
    return verdicts, gold_of("A" * len(first)), cases_of(len(first), **columns)


def p_values(gains: object) -> np.ndarray:
    """The p of each row."""
    return flip_p(np.atleast_2d(gains).astype(np.int64).T)


def test_the_table_has_the_p_of_scipy_but_for_half_of_the_ties() -> None:
    first, second = "AAAAAAAAABTB", "BBTABBAABABA"
    worth = {"A": 1.0, "T": 0.5, "B": 0.0}
    sides = tuple(np.array([worth[letter] for letter in text]) for text in (first, second))
    options = {"permutation_type": "samples", "alternative": "greater", "n_resamples": np.inf}
    found = permutation_test(sides, lambda a, b: abs(np.mean(a - b)), **options)
    ties = (np.abs(found.null_distribution - found.statistic) < 1e-9).mean()
    row = significance(*of_right(first, second), resamples=0).iloc[0]
    assert row["p_value"] == pytest.approx(found.pvalue - ties / 2, abs=1e-12)


def test_clusters_are_flipped_as_one() -> None:
    cluster = list(np.repeat(np.arange(6), 4))
    first, second = "AAAA" * 4 + "ABBB" * 2, "BBBA" * 4 + "AABB" * 2
    tables = of_right(first, second, cluster=cluster)
    row = significance(*tables, resamples=0).iloc[0]
    gain = np.array([a == "A" for a in first]) * 1.0 - np.array([b == "A" for b in second])
    exact = every_flip(np.add.reduceat(gain, np.arange(0, 24, 4)))
    assert row["p_value"] == pytest.approx(exact, abs=1e-12)
    alone = significance(*tables[:2], tables[2].drop(columns="cluster"), resamples=0).iloc[0]
    assert alone["p_value"] < row["p_value"] / 3


@pytest.mark.parametrize(
    ("clusters", "largest", "rows"),
    [(11, 1, 60), (11, 6, 60), (11, 300, 60), (5, 10_000, 20), (8, 10_000, 20), (12, 10_000, 20)],
)
def test_as_all_flips_of_many_small_benchmarks(clusters: int, largest: int, rows: int) -> None:
    generator = np.random.default_rng(largest)
    gains = generator.integers(-largest, largest + 1, (rows, clusters)) * (generator.random((rows, clusters)) < 0.8)
    expected = [every_flip(gain) if gain.sum() else 1.0 for gain in gains]
    assert p_values(gains) == pytest.approx(expected, abs=1e-12)


def test_equal_judges_have_a_p_of_1_and_none_is_0() -> None:
    assert significance(*of_right("AABB", "BBAA"), resamples=99).iloc[0]["p_value"] == 1
    clear = significance(*of_right("A" * 20, "B" * 20), resamples=99).iloc[0]
    assert clear["p_value"] == pytest.approx(2.0**-20)
    assert 0 < p_values(np.ones(5000))[0] < 1e-11


@pytest.mark.parametrize(("values", "unit"), [([0, 1], 1), ([0.25, np.nan], 4), ([1 / 3, 0.5], 6), ([0.1234], 240)])
def test_units_make_scores_whole(values: list[float], unit: int) -> None:
    assert whole_units(np.array(values)) == unit


def scores(n: int = 40, judges: int = 5) -> np.ndarray:
    generator = np.random.default_rng(8)
    right = generator.random((n, judges)) < 0.4 + 0.3 * generator.random((n, 1)) + 0.05 * np.arange(judges)
    return right * np.where(generator.random((n, judges)) < 0.2, 0.5, 1.0)


def f_test(table: np.ndarray, clusters: np.ndarray | int, resamples: int, seed: int) -> dict[str, object]:
    return flip_f(table, sampling(clusters), binary=False, resamples=resamples, seed=seed)[0]


def anova(table: np.ndarray) -> tuple[float, ...]:
    """F and its degrees of freedom by statsmodels."""
    case, judge = (axis.ravel() for axis in np.indices(table.shape))
    long = pd.DataFrame({"case": case, "judge": judge, "score": table.ravel()})
    return tuple(AnovaRM(long, "score", "case", within=["judge"]).fit().anova_table.iloc[0, :3])


@pytest.mark.parametrize(("n", "judges"), [(40, 5), (12, 3), (30, 2)])
def test_as_statsmodels(n: int, judges: int) -> None:
    table = scores(n, judges)
    found = f_test(table, n, resamples=0, seed=0)
    assert tuple(found[name] for name in ("statistic", "df", "df_error")) == pytest.approx(anova(table))
    assert "p_value" not in found
    assert found["reason"] == NO_FLIPS


def test_of_equal_clusters_it_is_the_analysis_of_their_means() -> None:
    table, clusters = scores(60, 4), np.repeat(np.arange(20), 3)
    found, means = f_test(table, clusters, resamples=500, seed=1), table.reshape(20, 3, 4).mean(axis=1)
    assert tuple(found[name] for name in ("statistic", "df", "df_error")) == pytest.approx(anova(means))
    assert found["p_value"] == f_test(means, 20, resamples=500, seed=1)["p_value"]


def test_p_is_the_share_of_all_flips_whose_f_is_larger() -> None:
    """Ten clusters have 1,024 flips; each F is computed anew, and those that tie count half."""
    table = scores(10, 4)
    within = table - table.mean(axis=1, keepdims=True)
    signs = np.array(list(product([-1.0, 1.0], repeat=10)))[:, :, None]
    statistic = np.array([_f(sign * within) for sign in signs])
    observed = _f(within)
    expected = ((statistic > observed + 1e-9).mean() + (statistic > observed - 1e-9).mean()) / 2
    found = f_test(table, 10, resamples=20_000, seed=3)["p_value"]
    assert found == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 20_000))


def _f(within: np.ndarray) -> float:
    """F but for its degrees of freedom, of scores less each case's mean."""
    means = within.mean(axis=0)
    return float(len(within) * (means**2).sum() / ((within - means) ** 2).sum())
