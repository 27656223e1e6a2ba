"""Intervals cover what they estimate as often as they claim. SIMULATED data of known truth.

A 95% interval covers 93% to 97% of the time here. Over 1,000 simulated benchmarks the Monte-Carlo error of a
coverage of 95% is .007, so that one which truly covers 91% or 98.5% is found out.
"""

import numpy as np
import pandas as pd
import pytest

from .panels import accuracy, pairs_of, panel_of
from .rows import column

BENCHMARKS = 1000
RESAMPLES = 400


def covered(rows: pd.DataFrame, name: str, truth: float | np.ndarray) -> float:
    """In what share of the simulated benchmarks the interval with that prefix holds the truth."""
    assert len(rows) in (BENCHMARKS, BENCHMARKS // 2)
    return float(((rows[f"{name}low"] <= truth) & (truth <= rows[f"{name}high"])).mean())


def within(share: float) -> bool:
    """Whether intervals cover as often as 95% ones."""
    return 0.93 <= share <= 0.97


def judged(n: int, level: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Two judges whose errors go together half of the time, the second less accurate by .10."""
    count = len(level)
    together = generator.random((1, count, n, 1))
    alone = generator.random((2, count, n, 2))
    hard = np.where(generator.random((1, count, n, 1)) < 0.5, together, alone)
    return hard < np.stack([level, level - 0.10])[:, :, None, None]


@pytest.mark.parametrize("n", [100, 400])
def test_coverage_of_accuracy_and_of_differences(n: int) -> None:
    """Under `official` scores are 0 or 1, under `balanced` there are halves, too.

    Shares of n cases are few, so that coverage jumps from one accuracy to the next: it is averaged over accuracies.
    """
    generator = np.random.default_rng(n)
    level = generator.uniform(0.62, 0.82, BENCHMARKS if n == 100 else BENCHMARKS // 2)
    tables = panel_of(judged(n, level, generator))
    for policy in ("official", "balanced"):
        rows = accuracy(*tables, policy=policy, resamples=RESAMPLES)
        each = [(rows[rows["judge"] == judge], truth) for judge, truth in (("j0", level), ("j1", level - 0.10))]
        found = {"accuracy": float(np.mean([covered(part, "", truth) for part, truth in each]))}
        found["difference"] = covered(pairs_of(*tables, policy=policy, resamples=RESAMPLES), "", 0.10)
        assert all(within(share) for share in found.values()), (policy, found)


def test_coverage_near_one() -> None:
    """Accuracies of .96 to .995 on 100 cases, where most intervals are Wilson's."""
    generator = np.random.default_rng(12)
    level = generator.uniform(0.96, 0.995, BENCHMARKS)
    right = generator.random((1, BENCHMARKS, 100)) < level[:, None]
    rows = accuracy(*panel_of(right), policy="official", resamples=RESAMPLES)
    assert within(covered(rows, "", level)), covered(rows, "", level)


@pytest.mark.parametrize(("low", "high"), [(0.5, 0.7), (0.8, 0.9), (0.9, 0.96)])
def test_coverage_of_the_interval_on_100_cases(low: float, high: float) -> None:
    """The method depends on the data, and the interval covers with any of them."""
    generator = np.random.default_rng(15)
    level = generator.uniform(low, high, BENCHMARKS)
    rows = accuracy(*panel_of(generator.random((1, BENCHMARKS, 100)) < level[:, None]), resamples=RESAMPLES)
    assert within(covered(rows, "", level)), covered(rows, "", level)


def test_coverage_with_few_clusters() -> None:
    """Ten clusters of five, where the interval is Wilson's or Student's."""
    generator = np.random.default_rng(16)
    cluster = np.repeat(np.arange(10), 5)
    shared, alone = generator.random((1, BENCHMARKS, 10))[..., cluster], generator.random((1, BENCHMARKS, 50))
    right = np.where(generator.random((1, BENCHMARKS, 50)) < 0.6, shared, alone) < 0.65
    panel, gold, cases = panel_of(right)
    rows = accuracy(panel, gold, cases.assign(cluster=cluster), resamples=RESAMPLES)
    assert set(rows["interval"]) <= {"deff", "t"}
    assert within(covered(rows, "", 0.65)), covered(rows, "", 0.65)


def test_coverage_of_the_macro_accuracy() -> None:
    """Three subfields of accuracy .5, .6 and .9, the easy one the largest: macro is .667, micro is .795."""
    organ = np.repeat(["eye", "foot", "lung"], [60, 60, 280])
    level = np.repeat([0.5, 0.6, 0.9], [60, 60, 280])
    panel, gold, cases = panel_of(np.random.default_rng(13).random((1, BENCHMARKS, 400)) < level)
    rows = accuracy(panel, gold, cases.assign(organ=organ), by="organ", resamples=RESAMPLES)
    rows = rows[rows["subfield"].isna()]
    found = covered(rows, "macro_accuracy_", 2 / 3)
    assert within(found), found
    assert rows["accuracy"].mean() == pytest.approx(0.795, abs=0.01)


def test_coverage_of_the_macro_accuracy_over_small_subfields() -> None:
    """Six subfields of three cases beside one of 150: three drawn of three vary by two thirds of what three do."""
    organ = np.repeat([f"organ {i}" for i in range(7)], [150, 3, 3, 3, 3, 3, 3])
    panel, gold, cases = panel_of(np.random.default_rng(17).random((1, BENCHMARKS, len(organ))) < 0.65)
    rows = accuracy(panel, gold, cases.assign(organ=organ), by="organ", resamples=RESAMPLES)
    found = covered(rows[rows["subfield"].isna()], "macro_accuracy_", 0.65)
    assert within(found), found


@pytest.mark.parametrize("n", [100, 400])
def test_coverage_of_kappa(n: int) -> None:
    """A judge that knows the label with probability .6, and otherwise guesses as labels are, has kappa .6."""
    generator = np.random.default_rng(n + 1)
    share = [0.5, 0.35, 0.15]
    label = generator.choice(3, (BENCHMARKS, n), p=share)
    panel, gold, cases = panel_of(np.ones((1, BENCHMARKS, n, 2), dtype=bool))
    for order in range(2):
        guess = generator.choice(3, (BENCHMARKS, n), p=share)
        panel.choice[0, :, :, order, 0] = np.where(generator.random((BENCHMARKS, n)) < 0.6, label, guess)
    gold["choice"] = column(label, ["A", "B", "tie"])
    found = covered(accuracy(panel, gold, cases, resamples=0), "cohen_kappa_", 0.6)
    assert within(found), found


def test_rows_of_clusters_undercover_and_clusters_do_not() -> None:
    """60 clusters of 8 cases that are right or wrong together three times in four."""
    generator = np.random.default_rng(11)
    cluster = np.repeat(np.arange(60), 8)
    shared = generator.random((2, BENCHMARKS, 60))[..., cluster]
    alone = generator.random((2, BENCHMARKS, 480))
    right = np.where(generator.random((2, BENCHMARKS, 480)) < 0.75, shared, alone) < 0.6
    panel, gold, cases = panel_of(right)
    tables = panel, gold, cases.assign(cluster=cluster)
    rows = accuracy(*tables, resamples=RESAMPLES)
    rows = rows[rows["judge"] == "j0"]
    found = {"accuracy": covered(rows, "", 0.6)}
    found["difference"] = covered(pairs_of(*tables, resamples=RESAMPLES), "", 0.0)
    assert all(within(share) for share in found.values()), found
    apart = accuracy(*tables, cluster="case_id", resamples=RESAMPLES)
    apart = apart[apart["judge"] == "j0"]
    design_effect = (rows["standard_error"] / apart["standard_error"]) ** 2
    assert design_effect.mean() == pytest.approx(1 + 7 * 0.75**2, abs=0.2)
    assert covered(apart, "", 0.6) < 0.75
