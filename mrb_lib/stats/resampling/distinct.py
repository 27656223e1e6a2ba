"""The different rows of an array, in the order in which they first occur."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mrb_lib.stats.options import FloatArray, IntArray


def distinct_rows(rows: FloatArray | IntArray) -> tuple[IntArray, IntArray]:
    """The position of the first of each kind of row, in their order, and which of these each row equals.

    Parameters
    ----------
    rows : shape (n, k), compared by their bytes: 0.0 and -0.0 are told apart, and NaN equals NaN

    Returns
    -------
    shape (kinds,) and (n,)
    """
    which, _ = pd.factorize(np.array([row.tobytes() for row in np.ascontiguousarray(rows)], dtype=object))
    first = np.unique(which, return_index=True)[1]
    return first.astype(np.int64), which.astype(np.int64)
