"""No annotator is accused who is like the others: the sentence of `gold_rules` over many benchmarks. SIMULATED data.

Before, the sentence named the least and the most reliable annotator of every benchmark.
"""

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats.analyze import TABLES
from tests.stats.small_tables import rows_of

from .people import LABELS, SHARE, benchmark_of

ACCUSED, SENTENCES = 0.07, 20


def people(
    right: np.ndarray, n: int, benchmarks: int, generator: np.random.Generator, size: int = 1, shared: float = 0.0
) -> np.ndarray:
    """Labels of annotators who are right with these probabilities, shape (annotators, benchmarks, cases).

    Parameters
    ----------
    size : cases per cluster, in which an annotator is right or wrong on all with probability `shared`
    """
    truth = generator.choice(3, (benchmarks, n), p=SHARE)
    shape = len(right), benchmarks, n
    alone, together = generator.random(shape), np.repeat(generator.random((*shape[:2], n // size)), size, axis=2)
    luck = np.where(np.repeat(generator.random((*shape[:2], n // size)) < shared, size, axis=2), together, alone)
    wrong = (truth + generator.integers(1, 3, shape)) % 3
    return np.where(luck < right[:, None, None], truth, wrong)


def accused(labels: np.ndarray, cases: pd.DataFrame | None = None, seen: np.ndarray | None = None) -> float:
    """The share of benchmarks whose sentence says that an annotator agrees significantly less than the others."""
    annotations, own, _, names = benchmark_of(labels, labels[0])
    if seen is not None:
        annotations = annotations[seen.ravel()]
    table = rows_of(
        "gold_rules", own if cases is None else cases, None, None, annotations, dimensions=names, resamples=0
    )
    rows = table[table["part"] == "annotator"].set_index("dimension")
    apart = ((rows["p_adjusted"] <= 0.05) & (rows["peer_gap"] < 0)).groupby(level=0).any()
    assert len(apart) == len(names)
    for name in names[:SENTENCES]:
        said = TABLES["gold_rules"].says(table[table["dimension"] == name])
        accuses_none = "No annotator agrees significantly less" in said
        assert apart[name] != accuses_none
        assert said.count("significantly less") == 1, "it accuses somebody or says that nobody is"
    return float(apart.mean())


@pytest.mark.parametrize("rate", [0.97, 0.85, 0.6])
@pytest.mark.parametrize(("n", "annotators"), [(40, 3), (150, 12), (600, 5)])
def test_innocent_annotators_are_not_accused(n: int, annotators: int, rate: float) -> None:
    generator = np.random.default_rng([n, annotators, int(100 * rate)])
    assert accused(people(np.full(annotators, rate), n, 250, generator)) <= ACCUSED


def test_nor_where_their_errors_come_in_clusters_of_cases() -> None:
    generator = np.random.default_rng(3)
    labels = people(np.full(4, 0.8), 160, 250, generator, size=4, shared=0.7)
    cases = pd.DataFrame({"case_id": [f"c{i}" for i in range(160)], "cluster": [f"k{i // 4}" for i in range(160)]})
    assert accused(labels, cases) <= ACCUSED


def test_nor_where_each_case_has_three_of_twelve() -> None:
    generator = np.random.default_rng(4)
    labels = people(np.full(12, 0.8), 300, 250, generator)
    order = generator.random(labels.shape).argsort(axis=0).argsort(axis=0)
    assert accused(labels, seen=order < 3) <= ACCUSED


def test_an_annotator_who_is_worse_is_found() -> None:
    generator = np.random.default_rng(5)
    assert accused(people(np.array([0.9, 0.9, 0.9, 0.7]), 200, 100, generator)) > 0.9


def test_labels_are_those_that_were_asked_for() -> None:
    labels = people(np.array([1.0, 0.5]), 2000, 1, np.random.default_rng(6))
    assert labels.max() < len(LABELS)
    assert (labels[0] == labels[1]).mean() == pytest.approx(0.5, abs=0.04)
