"""Where the findings of an audit point: the files of a benchmark, and the row of a case."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from mrb_lib.tables.validation import Finding, Severity

CASES_FILE = "cases.parquet"
ANNOTATIONS_FILE = "annotations.parquet"


def case_finding(
    cases: pd.DataFrame,
    row: int | np.integer[Any],
    column: str,
    problem: str,
    cure: str,
    *,
    severity: Severity = "warning",
) -> Finding:
    """A finding about one case; `row` counts the rows of the cases table from 0."""
    return Finding(severity, CASES_FILE, int(row) + 1, column, problem, cure, str(cases["case_id"].iloc[int(row)]))
