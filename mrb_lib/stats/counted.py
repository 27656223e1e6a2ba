"""How many cases, and how many clusters of them, stand behind each of many estimates."""

from __future__ import annotations

import numpy as np

from mrb_lib.stats.options import BoolArray, FloatArray, IntArray


def clusters_counted(codes: IntArray, counted: BoolArray) -> IntArray:
    """The number of clusters with a case that counts.

    Parameters
    ----------
    codes : shape (n,), the cluster of each case
    counted : shape (n, m), which cases count for each estimate

    Returns
    -------
    Shape (m,)
    """
    clusters, position = np.unique(codes, return_inverse=True)
    if len(clusters) == len(codes):
        return np.asarray(counted.sum(axis=0), dtype=np.int64)
    order = np.argsort(position.reshape(-1), kind="stable")
    starts = np.searchsorted(position.reshape(-1)[order], np.arange(len(clusters)))
    present = np.logical_or.reduceat(counted[order], starts, axis=0)
    return np.asarray(present.sum(axis=0), dtype=np.int64)


def distinct_columns(columns: FloatArray) -> tuple[FloatArray, IntArray]:
    """The different columns of a table, and which of them each column is: most judges are scored on the same cases."""
    seen: dict[bytes, int] = {}
    which = [seen.setdefault(column.tobytes(), len(seen)) for column in np.ascontiguousarray(columns.T)]
    first = np.unique(which, return_index=True)[1] if which else np.zeros(0, dtype=np.int64)
    return columns[:, first], np.array(which, dtype=np.int64)
