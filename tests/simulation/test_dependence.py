"""Cases that share a question are one observation: intervals and tests hold with few clusters. SIMULATED data.

A 95% interval covers 93% to 97% of the time, and a test rejects 3% to 7% of true hypotheses, over 1,000 benchmarks,
where three Monte-Carlo errors are two points.
"""

import numpy as np
import pandas as pd
import pytest

from tests.stats.small_tables import ceiling

from .panels import accuracy, pairs_of, panel_of
from .rows import column
from .shares import is_near

BENCHMARKS, RESAMPLES = 1000, 400
LEVEL = 0.62


def unequal(clusters: int) -> np.ndarray:
    """The cluster of each case: sizes from 6 to 18, or of many clusters from 2 to 6, the largest three times the
    smallest."""
    sizes = [6, 18, 9, 12, 15, 7, 11, 16] if clusters < 100 else [2, 6, 3, 4, 5, 2, 4, 5]
    return np.repeat(np.arange(clusters), np.resize(sizes, clusters))


def judged(cluster: np.ndarray, generator: np.random.Generator, level: float = LEVEL) -> np.ndarray:
    """Two judges, equally accurate, each with its own accuracy in every cluster: an intraclass correlation of .2."""
    own = generator.beta(4 * level, 4 * (1 - level), (2, BENCHMARKS, cluster.max() + 1))
    return generator.random((2, BENCHMARKS, len(cluster))) < own[..., cluster]


def hits(rows: pd.DataFrame, truth: float, name: str = "") -> float:
    """In what share of the benchmarks the interval holds the truth; one without ends does not."""
    return float(((rows[f"{name}low"] <= truth) & (truth <= rows[f"{name}high"])).mean())


def by_question(cluster: np.ndarray) -> pd.Series:
    return pd.Series(cluster, dtype="str").radd("what is seen in picture ")


@pytest.mark.parametrize("clusters", [8, 15, 30, 100])
def test_accuracy_and_differences_with_few_clusters(clusters: int) -> None:
    """Percentiles covered .86 with 8 clusters, and their p rejected 13% of equal judges: Student's t is used there."""
    generator = np.random.default_rng(clusters)
    cluster = unequal(clusters)
    panel, gold, cases = panel_of(judged(cluster, generator))
    cases = cases.assign(cluster=cluster)
    rows = accuracy(panel, gold, cases, resamples=RESAMPLES)
    pairs = pairs_of(panel, gold, cases, policy="official", resamples=RESAMPLES)
    found = {"accuracy": hits(rows, LEVEL), "difference": hits(pairs, 0.0)}
    found["above_constant"] = hits(rows, LEVEL - 1, "above_constant_")  # always A is always right
    size = float((pairs["p_value"] <= 0.05).mean())
    assert set(pairs["interval"]) == {"t" if clusters < 50 else "percentile"}
    assert is_near(np.array(list(found.values())), 0.95, BENCHMARKS, least=0.02), (found, size)
    assert is_near(np.array([size]), 0.05, BENCHMARKS, least=0.01), (found, size)


@pytest.mark.parametrize("clusters", [8, 15, 30, 100])
def test_kappa_with_few_clusters(clusters: int) -> None:
    """A judge that knows the label with probability .3 to .9, as the cluster is, .6 on average, and guesses else."""
    generator = np.random.default_rng(clusters + 1)
    cluster, share = unequal(clusters), [0.5, 0.35, 0.15]
    benchmarks = 2000
    shape = (benchmarks, len(cluster))
    label, guess = (generator.choice(3, shape, p=share) for _ in range(2))
    knows = generator.random(shape) < generator.uniform(0.3, 0.9, (benchmarks, clusters))[:, cluster]
    panel, gold, cases = panel_of(np.ones((1, *shape), dtype=bool))
    panel.choice[0, :, :, 0, 0] = np.where(knows, label, guess)
    gold["choice"] = column(label, ["A", "B", "tie"])
    rows = accuracy(panel, gold, cases.assign(cluster=cluster), resamples=0)
    assert 0.93 <= hits(rows, 0.6, "cohen_kappa_") <= 0.97, hits(rows, 0.6, "cohen_kappa_")


@pytest.mark.parametrize("clusters", [8, 15])
def test_distance_to_the_annotators_with_few_clusters(clusters: int) -> None:
    """A judge like the annotators, all four with accuracies that vary by question: by percentiles 15% and 9% of such
    judges were unlike the annotators."""
    generator, sets = np.random.default_rng(clusters), 600
    cluster = np.repeat(np.arange(clusters), 10)
    right = np.clip(generator.normal(0.8, 0.15, (4, sets, clusters)), 0.05, 0.99)[:, :, cluster]
    labels = generator.random(right.shape) < right
    judge, gold, cases = panel_of(labels[:1])
    people = [gold.assign(annotator=f"r{i}", choice=column(1 - own, ["A", "B"])) for i, own in enumerate(labels[1:])]
    rows = ceiling(judge, pd.concat(people, ignore_index=True), cases.assign(cluster=cluster), resamples=RESAMPLES)
    rows = rows[rows["part"] == "judge"]
    unlike = rows["verdict"].isin(["below", "above"]).mean()
    assert 0.03 <= unlike <= 0.075, unlike


def test_questions_that_repeat_are_the_default() -> None:
    """Thirteen questions of sixty cases, as in LLMFAO: over cases most equal judges differ, by question
    one in twenty."""
    generator = np.random.default_rng(13)
    cluster = np.repeat(np.arange(13), 60)
    panel, gold, cases = panel_of(judged(cluster, generator))
    cases = cases.assign(question=by_question(cluster))
    sizes = {}
    for name in (None, "case_id"):
        pairs = pairs_of(panel, gold, cases, policy="official", cluster=name, resamples=0)
        sizes[name] = float((pairs["p_value"] <= 0.05).mean())
    assert is_near(sizes[None], 0.05, BENCHMARKS, least=0.01), sizes
    assert sizes["case_id"] > 0.4, sizes
