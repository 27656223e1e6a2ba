"""Columns of simulated tables, as categories: texts of a million rows take longer to make than what is simulated."""

from collections.abc import Sequence

import numpy as np
import pandas as pd


def column(code: np.ndarray, names: Sequence[str] | np.ndarray) -> pd.Categorical:
    """What each row says, by its position among the names."""
    return pd.Categorical.from_codes(code.ravel(), list(names))


def each_case(dimensions: Sequence[str], cases: Sequence[str]) -> dict[str, pd.Categorical]:
    """The columns `case_id` and `dimension` of a table with a row for every case of every dimension, in that order."""
    dimension, case = np.indices((len(dimensions), len(cases)))
    return {"case_id": column(case, cases), "dimension": column(dimension, dimensions)}
