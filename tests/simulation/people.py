"""Simulated benchmarks of annotators with known confusions and one judge, each a dimension. SIMULATED data."""

import numpy as np
import pandas as pd

from mrb_lib.stats.panel import Panel

from .rows import column

SHARE = np.array([0.45, 0.35, 0.2])
CONFUSION = np.array(
    [
        [[0.90, 0.06, 0.04], [0.08, 0.85, 0.07], [0.10, 0.10, 0.80]],
        [[0.80, 0.15, 0.05], [0.05, 0.90, 0.05], [0.15, 0.10, 0.75]],
        [[0.85, 0.05, 0.10], [0.10, 0.85, 0.05], [0.05, 0.10, 0.85]],
    ]
)
JUDGE = np.array([[0.75, 0.15, 0.10], [0.25, 0.65, 0.10], [0.2, 0.2, 0.6]])
LABELS = np.array(["A", "B", "tie"])


def drawn(table: np.ndarray, truth: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A label for each true one, by a confusion matrix."""
    return (generator.random((*truth.shape, 1)) > np.cumsum(table, axis=1)[truth]).sum(axis=-1)


def simulated(
    n: int, benchmarks: int, generator: np.random.Generator, confusion: np.ndarray = CONFUSION
) -> tuple[pd.DataFrame, pd.DataFrame, Panel, list[str]]:
    truth = generator.choice(3, (benchmarks, n), p=SHARE)
    labels = np.stack([drawn(table, truth, generator) for table in confusion])
    return benchmark_of(labels, drawn(JUDGE, truth, generator))


def benchmark_of(labels: np.ndarray, verdict: np.ndarray) -> tuple[pd.DataFrame, pd.DataFrame, Panel, list[str]]:
    """The labels of annotators, (annotators, benchmarks, cases), and a judge's, (benchmarks, cases), as tables."""
    benchmarks, n = verdict.shape
    ids, names = np.array([f"c{i}" for i in range(n)]), [f"d{i:03d}" for i in range(benchmarks)]
    who, dimension, case = np.indices(labels.shape)
    annotations = pd.DataFrame(
        {
            "case_id": column(case, ids),
            "annotator": column(who, [f"a{i}" for i in range(len(labels))]),
            "dimension": column(dimension, names),
            "choice": column(labels, LABELS),
        }
    )
    choice = np.full((1, benchmarks, n, 2, 1), -2, dtype=np.int8)
    choice[0, :, :, 0, 0] = verdict
    panel = Panel(["j"], names, [0], choice, None, pd.DataFrame({"judge": ["j"], "n_cases": [n]}))
    return annotations, pd.DataFrame({"case_id": ids}), panel, names
