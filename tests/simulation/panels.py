"""Simulated benchmarks as one panel: each is a dimension of one call. SIMULATED data."""

from typing import Any

import numpy as np
import pandas as pd

from mrb_lib.stats.panel import Panel
from tests.stats import small_tables

from .rows import column, each_case


def panel_of(right: np.ndarray) -> tuple[Panel, pd.DataFrame, pd.DataFrame]:
    """Judges right or wrong, shape (judges, benchmarks, cases) or with an axis of orders; gold is A; a benchmark is a
    dimension."""
    choice = np.where(right, 0, 1).astype(np.int8)
    if choice.ndim == 3:
        choice = np.stack([choice, np.full_like(choice, -2)], axis=3)
    judges, benchmarks, n = choice.shape[:3]
    names = [f"d{i:04d}" for i in range(benchmarks)]
    ids = [f"c{i}" for i in range(n)]
    gold = pd.DataFrame({**each_case(names, ids), "choice": column(np.zeros(benchmarks * n, dtype=np.int64), ["A"])})
    cases = pd.DataFrame({"case_id": ids})
    panel = Panel([f"j{i}" for i in range(judges)], names, [0], choice[..., None], None, pd.DataFrame())
    return panel, gold, cases


def rows_of(table: str, panel: Panel, gold: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """The rows of a table of what `panel_of` gives, each dimension on its own."""
    return small_tables.rows_of(table, cases, panel, gold, dimensions=panel.dimensions, **options)


def accuracy(panel: Panel, gold: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """The table `accuracy` without naive baselines and without the dimension `average`."""
    rows = rows_of("accuracy", panel, gold, cases, references=0, **options)
    return rows[rows["dimension"] != "average"].reset_index(drop=True)


def pairs_of(panel: Panel, gold: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """The rows of `significance` that are about two judges in one dimension."""
    rows = rows_of("significance", panel, gold, cases, **options)
    return rows[(rows["dimension"] != "average") & (rows["part"] == "pair")].reset_index(drop=True)
