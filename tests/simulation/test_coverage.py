"""Intervals cover what they estimate as often as they claim. SIMULATED data of known truth.

A 95% percentile interval that is right covers between 94% and 96% of the time here, give or take
three Monte-Carlo standard errors of the number of simulated benchmarks: 400 of them, so that an
interval which always covers is found out, too.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.accuracy import accuracy
from mrb_lib.stats.paired import significance

RESAMPLES = 400
LOW, HIGH = 0.94, 0.96


def within(covered: np.ndarray) -> bool:
    """Whether a share of covering intervals is between LOW and HIGH, Monte-Carlo error allowed for."""
    slack = 3 * np.sqrt(0.95 * 0.05 / len(covered))
    return bool(LOW - slack <= covered.mean() <= HIGH + slack)


def cases_of(n: int, cluster: np.ndarray | None = None) -> pd.DataFrame:
    cases = pd.DataFrame({"case_id": [f"c{i}" for i in range(n)]})
    return cases if cluster is None else cases.assign(cluster=cluster)


def verdicts_and_gold(right: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Verdicts from who is right on what, shape (benchmarks, judges, orders, cases); gold is A.

    Each simulated benchmark is a dimension of one call.
    """
    dimension, judge, order, case = (axis.ravel() for axis in np.indices(right.shape))
    ids = np.array([f"c{i}" for i in range(right.shape[3])])
    names = np.array([f"d{i:03d}" for i in range(right.shape[0])])
    verdicts = pd.DataFrame(
        {
            "judge": np.array([f"j{i}" for i in range(right.shape[1])])[judge],
            "case_id": ids[case],
            "dimension": names[dimension],
            "order": np.array(["AB", "BA"])[order],
            "choice": np.where(right.ravel(), "A", "B"),
        }
    )
    gold = pd.DataFrame({"case_id": np.tile(ids, len(names)), "dimension": np.repeat(names, len(ids)), "choice": "A"})
    return verdicts, gold


def judged(n: int, benchmarks: int, generator: np.random.Generator) -> np.ndarray:
    """Two judges of accuracies .70 and .60 whose errors go together half of the time."""
    shape = (benchmarks, 2, 2, n)
    together = generator.random((benchmarks, 1, 1, n))
    hard = np.where(generator.random((benchmarks, 1, 1, n)) < 0.5, together, generator.random(shape))
    return hard < np.array([0.70, 0.60])[:, None, None]


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 1000])
def test_coverage_of_accuracy_and_of_differences(n: int) -> None:
    generator = np.random.default_rng(n)
    first, second, difference = [], [], []
    for seed in range(10):
        tables = (*verdicts_and_gold(judged(n, 40, generator)), cases_of(n))
        single = accuracy(*tables, resamples=RESAMPLES, seed=seed)
        pair = significance(*tables, resamples=RESAMPLES, seed=seed)
        for name, truth, found in (("j0", 0.70, first), ("j1", 0.60, second)):
            rows = single[single["judge"] == name]
            found.extend((rows["low"] <= truth) & (truth <= rows["high"]))
        difference.extend((pair["low"] <= 0.10) & (pair["high"] >= 0.10))
    for column in (first, second, difference):
        assert len(column) == 400
        assert within(np.array(column)), np.mean(column)


@pytest.mark.slow
def test_rows_of_clusters_undercover_and_clusters_do_not() -> None:
    """40 clusters of 10 cases that are right or wrong together three times in four."""
    generator = np.random.default_rng(11)
    cluster = np.repeat(np.arange(40), 10)
    covered: dict[str, list[bool]] = {"case_id": [], "cluster": []}
    for seed in range(10):
        shared = generator.random((30, 1, 1, 40))[..., cluster]
        alone = generator.random((30, 1, 1, 400))
        right = np.where(generator.random(alone.shape) < 0.75, shared, alone) < 0.6
        tables = (*verdicts_and_gold(right), cases_of(400, cluster))
        for name, found in covered.items():
            rows = accuracy(*tables, cluster=name, resamples=RESAMPLES, seed=seed)
            found.extend((rows["low"] <= 0.6) & (rows["high"] >= 0.6))
    assert np.mean(covered["case_id"]) < 0.75
    assert np.mean(covered["cluster"]) > 0.90
