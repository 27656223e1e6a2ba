"""A test of significance says "different" of equal judges no more often than it may. SIMULATED data."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from math import comb

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.paired import _exact_p, significance


def equal_judges(
    generator: np.random.Generator, benchmarks: int, n: int, judges: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Judges of the same accuracy, .65, that err together half of the time; each benchmark is a dimension."""
    together = generator.random((benchmarks, 1, n))
    alone = generator.random((benchmarks, judges, n))
    right = np.where(generator.random((benchmarks, 1, n)) < 0.5, together, alone) < 0.65
    dimension, who, case = (axis.ravel() for axis in np.indices(right.shape))
    ids = np.array([f"c{i}" for i in range(n)])
    names = np.array([f"d{i:03d}" for i in range(benchmarks)])
    verdicts = pd.DataFrame(
        {
            "judge": np.array([f"j{i}" for i in range(judges)])[who],
            "case_id": ids[case],
            "dimension": names[dimension],
            "order": "AB",
            "choice": np.where(right.ravel(), "A", "B"),
        }
    )
    gold = pd.DataFrame({"case_id": np.tile(ids, benchmarks), "dimension": np.repeat(names, n), "choice": "A"})
    return verdicts, gold, pd.DataFrame({"case_id": ids})


@pytest.fixture
def quick_collections() -> Iterator[None]:
    """statsmodels collects garbage in every correction; what is loaded already need not be looked through each time."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("quick_collections")
def test_mcnemar_and_the_family_wise_error_of_holm() -> None:
    benchmarks = 500
    tables = equal_judges(np.random.default_rng(0), benchmarks, 150, 4)
    rows = significance(*tables, policy="official", correction="holm", resamples=0)
    slack = 3 * np.sqrt(0.05 * 0.95 / benchmarks)
    single = (rows.groupby("dimension")["p_value"].first() <= 0.05).mean()
    family = (rows.groupby("dimension")["p_adjusted"].min() <= 0.05).mean()
    assert 0.005 < single <= 0.05 + slack
    assert family <= 0.05 + slack


def test_the_exact_test_keeps_its_size_for_every_number_of_differing_cases() -> None:
    """No simulation: over all outcomes of a fair coin, p <= .05 has probability .05 at most."""
    for total in (1, 5, 6, 17, 40):
        for test in ("mcnemar_exact", "sign_exact"):
            rejected = [k for k in range(total + 1) if _exact_p(k, total - k, test) <= 0.05]
            assert sum(comb(total, k) for k in rejected) / 2**total <= 0.05
