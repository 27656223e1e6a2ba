"""Coverage of the intervals of the ceiling and of the alternative annotator test. SIMULATED data of known truth."""

from dataclasses import replace

import numpy as np
import pytest

from tests.stats.small_tables import ceiling

from .people import CONFUSION, JUDGE, SHARE, benchmark_of, simulated
from .shares import is_near


def truths() -> dict[str, float]:
    """What the table estimates, summed over all votes and verdicts there can be."""
    own, judge, advantage = np.zeros(3), np.zeros(3), np.zeros(3)
    for who in range(3):
        first, second = (CONFUSION[i] for i in range(3) if i != who)
        weight = SHARE[:, None] * first * second  # by truth and the label on which the others agree
        own[who] = (weight * CONFUSION[who]).sum() / weight.sum()
        judge[who] = (weight * JUDGE).sum() / weight.sum()
        for truth, a, b, mine, theirs in np.ndindex(3, 3, 3, 3, 3):
            chance = SHARE[truth] * first[truth, a] * second[truth, b] * CONFUSION[who, truth, mine]
            no_worse = (a == theirs) + (b == theirs) >= (a == mine) + (b == mine)
            advantage[who] += chance * JUDGE[truth, theirs] * no_worse
    return {
        "annotator": own[0],
        "mean": own.mean(),
        "judge": judge.mean(),
        "difference": judge.mean() - own.mean(),
        "advantage_probability": advantage.mean(),
    }


@pytest.mark.parametrize(("n", "benchmarks"), [(100, 300), (400, 150)])
def test_coverage_of_annotators_judges_and_their_difference(n: int, benchmarks: int) -> None:
    """Each at 95%, within three Monte-Carlo errors."""
    annotations, cases, panel, names = simulated(n, benchmarks, np.random.default_rng(n))
    table = ceiling(panel, annotations, cases, policy="official", dimensions=names, resamples=200, seed=1)
    people = table[table["part"] == "annotator"]
    judges = table[table["part"] == "judge"].rename(columns={"difference_low": "d_low", "difference_high": "d_high"})
    tests = table[table["part"] == "alt_test"]
    shown = {
        "annotator": (people[people["annotator"] == "a0"], "accuracy", "low", "high"),
        "mean": (people[people["annotator"] == "mean"], "accuracy", "low", "high"),
        "judge": (judges, "accuracy", "low", "high"),
        "difference": (judges, "difference", "d_low", "d_high"),
        "advantage_probability": (
            tests,
            "advantage_probability",
            "advantage_probability_low",
            "advantage_probability_high",
        ),
    }
    for name, truth in truths().items():
        rows, value, low, high = shown[name]
        assert len(rows) == benchmarks
        assert rows[value].mean() == pytest.approx(truth, abs=4 * rows[value].std() / np.sqrt(benchmarks))
        coverage = ((rows[low] <= truth) & (truth <= rows[high])).mean()
        assert is_near(coverage, 0.95, benchmarks, least=0.02), (name, coverage)


def test_innocent_judges_are_seldom_accused() -> None:
    """Twelve judges who err as the annotators do: any of them is called below or above in about 5% of benchmarks."""
    generator, benchmarks, n, judges = np.random.default_rng(5), 400, 200, 12
    truth = generator.integers(0, 2, (benchmarks, n))
    labels = np.where(generator.random((3 + judges, benchmarks, n)) < 0.85, truth, 1 - truth)
    annotations, cases, panel, names = benchmark_of(labels[:3], labels[3])
    choice = np.full((judges, benchmarks, n, 2, 1), -2, dtype=np.int8)
    choice[..., 0, 0] = labels[3:]
    panel = replace(panel, judges=[f"j{k:02d}" for k in range(judges)], choice=choice)
    table = ceiling(panel, annotations, cases, policy="official", dimensions=names, resamples=0)
    rows = table[table["part"] == "judge"]
    accused = rows["verdict"].isin(["below", "above"]).groupby(rows["dimension"]).any()
    assert len(accused) == benchmarks
    assert accused.mean() <= 0.07
