"""The kernel gives what scikit-learn gives, for every table at once."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, precision_recall_fscore_support

from mrb_lib.stats.accuracy import confusion

ROWS, COLUMNS = np.repeat(range(3), 3), np.tile(range(3), 3)


def tables(n: int = 60) -> np.ndarray:
    generator = np.random.default_rng(5)
    counts = generator.integers(0, 9, (n, 3, 3)) * (generator.random((n, 3, 3)) < 0.7)
    counts[0] = np.diag([3, 0, 4])
    counts[1] = np.array([[0, 0, 0], [2, 5, 0], [1, 0, 0]])
    return counts.astype(float)


def test_kappa_equals_scikit_learn() -> None:
    found = confusion.cohen_kappa(tables())
    expected = [cohen_kappa_score(ROWS, COLUMNS, sample_weight=table.ravel()) for table in tables()]
    assert found == pytest.approx(expected, abs=1e-12)


def test_macro_averages_equal_scikit_learn() -> None:
    found = np.stack(confusion.macro(tables()), axis=1)
    for row, table in zip(found, tables(), strict=True):
        occurs = np.flatnonzero(table.sum(axis=0) + table.sum(axis=1))
        expected = precision_recall_fscore_support(
            ROWS, COLUMNS, labels=occurs, average="macro", sample_weight=table.ravel(), zero_division=0
        )
        assert row == pytest.approx(expected[:3], abs=1e-12)


def test_what_is_undefined_is_nan() -> None:
    empty, one = np.zeros((3, 3)), np.diag([4.0, 0, 0])
    assert np.isnan(confusion.cohen_kappa(np.stack([empty, one]))).all()
    assert np.isnan(confusion.accuracy(empty[None])).all()
    assert np.isnan(np.stack(confusion.macro(empty[None]))).all()


def test_counts_tell_tables_and_categories_apart() -> None:
    cells, first, second = np.array([0, 0, 2]), np.array([1, 1, 2]), np.array([0, 0, 2])
    found = confusion.counts(cells, first, second, 3, 3)
    assert found.sum() == 3
    assert found[0, 1, 0] == 2
    assert found[2, 2, 2] == 1
