"""Agreement of two judges, or of one judge queried in two ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from mrb_lib.stats import intervals
from mrb_lib.stats.analysis import Analysis
from mrb_lib.stats.coefficients import cohen_kappa
from mrb_lib.stats.columns import Column, estimated, reasons
from mrb_lib.stats.estimation import Quantity, divide, mean
from mrb_lib.stats.grid import Measure, grid
from mrb_lib.stats.methods.paired_verdicts import aligned

NEVER_BOTH = "no case was answered by both"


def agreement_between(verdicts: pd.DataFrame, cases: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """Return how often two judges make the same choice. Two that agree may both be wrong.

    Parameters
    ----------
    options : `dimensions`, `cluster`, `resamples`, `seed`, see `Analysis.from_frames`

    Returns
    -------
    One row per pair of judges and dimension: `n` cases that both answered in the same order and repeat; `agreement`,
    the share of equal choices, ties included, with its interval; `cohen_kappa` over these presentations; `reason`
    """
    analysis = Analysis.from_frames(cases, verdicts, **options)
    own = analysis.verdicts
    cells, k = own.cells[["judge", "dimension"]].reset_index(names="cell"), len(own.categories)
    pairs = cells.merge(cells, on="dimension", suffixes=("_1", "_2")).query("cell_1 < cell_2")
    counts = np.zeros((own.n_cases, len(pairs), k * k))
    for pair, numbers in enumerate(pairs[["cell_1", "cell_2"]].to_numpy()):
        one, other = aligned(*(own.of_cells(np.arange(len(cells)) == number) for number in numbers))
        for place, (i, j) in enumerate(np.ndindex(k, k)):
            counts[:, [pair], place] = one.total((one.choice == i) & (other.choice == j))
    share = divide(counts[..., :: k + 1].sum(axis=2), counts.sum(axis=2))
    measures = {
        "agreement": Measure(mean(share), intervals.share),
        "cohen_kappa": Measure(Quantity(counts, cohen_kappa)),
    }
    names = ["judge_1", "judge_2", "dimension"]
    rows, _ = grid(analysis, pairs[names], measures)
    columns = [estimated("agreement", ""), Column("cohen_kappa", "", null="cohen_kappa: one category only")]
    rows["reason"] = np.where(rows["n"] == 0, NEVER_BOTH, "")
    rows["reason"] = reasons(rows, columns, analysis.resamples)
    return rows[[*names, "n", *columns[0].names, "cohen_kappa", "reason"]]
