"""The different rows of a table of numbers, found by their bytes: `numpy.unique` would sort them."""

from __future__ import annotations

import numpy as np

from mrb_lib.stats.options import FloatArray, IntArray


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
