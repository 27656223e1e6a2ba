"""Simulated benchmarks of annotators with known confusions and one judge, each a dimension. SIMULATED data."""

import numpy as np
import pandas as pd

from mrb_lib.stats.panel import Panel

from .panels import cases_of, frame_of, panel_of

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
) -> tuple[Panel, pd.DataFrame, pd.DataFrame]:
    """The verdicts of the judge, the cases, and the annotations."""
    truth = generator.choice(3, (benchmarks, n), p=SHARE)
    labels = np.stack([drawn(table, truth, generator) for table in confusion])
    return panel_of(drawn(JUDGE, truth, generator)[None]), cases_of(n), frame_of(labels)
