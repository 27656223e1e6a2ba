"""The different rows of an array, in the order in which they first occur."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray
from mrb_lib.stats.resampling.resample import cluster_sums


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


def clusters_counted(codes: IntArray, counted: BoolArray) -> IntArray:
    """The number of clusters with a case that counts, shape (m,).

    Parameters
    ----------
    codes : shape (n,), the cluster of each case
    counted : shape (n, m), which cases count for each estimate
    """
    by_cluster = cluster_sums(codes, counted.astype(np.float64)).values
    return np.asarray((by_cluster > 0).sum(axis=0), dtype=np.int64)
