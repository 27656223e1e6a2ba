"""Different rows by their bytes, against `numpy.unique`, which sorts them."""

from __future__ import annotations

import numpy as np
import pytest

from mrb_lib.stats.resampling.distinct import distinct_rows


@pytest.mark.parametrize("shape", [(200, 3), (1, 4), (0, 4), (5, 0)])
def test_kinds_of_rows_are_found_in_the_order_in_which_they_come(shape: tuple[int, int]) -> None:
    rows = np.random.default_rng(3).integers(0, 3, shape).astype(np.float64)
    first, which = distinct_rows(rows)
    np.testing.assert_array_equal(rows[first][which], rows)
    assert len(first) == len(np.unique(rows, axis=0))
    assert (np.diff(first) > 0).all()
    assert (first[which] <= np.arange(len(rows))).all()


def test_columns_of_a_table_are_told_apart_too() -> None:
    table = np.array([[1.0, 2.0, 1.0], [np.nan, 5.0, np.nan]])
    first, which = distinct_rows(table.T)
    assert first.tolist() == [0, 1]
    assert which.tolist() == [0, 1, 0]
