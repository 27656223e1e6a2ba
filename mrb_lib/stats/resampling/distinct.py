"""The different rows of a table of numbers, found by their bytes: `numpy.unique` would sort them."""

from __future__ import annotations

import numpy as np

from mrb_lib.stats.core.options import BoolArray, FloatArray, IntArray


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


def distinct_rows(rows: FloatArray | IntArray) -> tuple[IntArray, IntArray]:
    """The place of the first of each kind of row, in their order, and which of these each row equals.

    Parameters
    ----------
    rows : shape (n, k); 0.0 and -0.0 are told apart, and NaN equals NaN

    Returns
    -------
    shape (kinds,) and (n,)
    """
    seen: dict[bytes, int] = {}
    which = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in np.ascontiguousarray(rows)], dtype=np.int64)
    first = np.unique(which, return_index=True)[1]
    return first.astype(np.int64), which
