"""The failures behind each number of accuracy: which cases a judge gets wrong, over all and by subfield."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from mrb_lib.stats.core.panel import Panel, as_panel
from mrb_lib.stats.failures.failure_kinds import HALF, MISSED, RIGHT, failure_kinds
from mrb_lib.stats.subfields import By, groups

COLUMNS = ("judge", "dimension", "by", "subfield", "n", "n_right", "n_half_right", "n_wrong", "wrong")


def failing_cases(
    verdicts: pd.DataFrame | Panel,
    gold: pd.DataFrame,
    cases: pd.DataFrame,
    *,
    by: By = None,
    dimensions: Sequence[str] | None = None,
    policy: str = "balanced",
) -> pd.DataFrame:
    """List the cases that each judge gets wrong, for every cell that the table `accuracy` has.

    Parameters
    ----------
    verdicts : the verdicts table of one probe, or its panel
    gold, cases : the gold and the cases table
    by : a column of the cases, or several; None for all cases together only
    dimensions : those to list; None for all that were judged
    policy : the scoring policy that says what is wrong

    Returns
    -------
    DataFrame
        One row a judge, dimension and part with a verdict on it: `by` and `subfield`, null for all cases; `n` cases
        scored, which `n_right` (score above 1/2), `n_half_right` (1/2) and `n_wrong` (below) add up to; `wrong`, the
        ids of the wrong ones, in the order of the cases. What could not be read is wrong where the policy says so.

    Notes
    -----
    Wrong is what `mrb_lib.stats.failures.failure_kinds.failure_kinds` calls so, and a list of `mrb review` with the
    outcome "wrong" under the same policy. Validated by tests/stats/failures/test_cells.py.
    """
    panel = as_panel(verdicts, cases["case_id"], dimensions)
    kinds = failure_kinds(panel, gold, cases, policy=policy)
    ids = cases["case_id"].to_numpy()
    rows = []
    for group in groups(cases, by):
        for j, judge in enumerate(kinds.judges):
            for d, dimension in enumerate(kinds.dimensions):
                outcome = kinds.outcome[j, d, group.cases]
                if not kinds.judged[j, d, group.cases].any():
                    continue
                counts = [int((outcome == one).sum()) for one in (RIGHT, HALF, MISSED)]
                wrong = tuple(map(str, ids[group.cases[np.flatnonzero(outcome == MISSED)]]))
                rows.append((judge, dimension, group.by, group.subfield, sum(counts), *counts, wrong))
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"by": "str", "subfield": "str"})
