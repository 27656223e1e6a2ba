"""The kernel of the bootstrap gives what the libraries give, for any weights."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from statsmodels.stats.inter_rater import fleiss_kappa

from mrb_lib.stats.agreement.coefficients import Kernel, category_values, estimated_alpha, scaled
from mrb_lib.tables.schema import LEVELS


def votes(n: int, k: int, annotators: tuple[int, int]) -> np.ndarray:
    generator = np.random.default_rng(n * k)
    number = generator.integers(*annotators, n, endpoint=True)
    share = generator.dirichlet(np.full(k, 0.4), n)
    return np.stack([generator.multinomial(m, p) for m, p in zip(number, share, strict=True)]).astype(float)


def kernel(level: str, categories: list[str], used: int | None = None) -> Kernel:
    n = len(categories)
    return Kernel(level, scaled(categories, level), np.arange(n) < (n if used is None else used))


def coefficients(table: np.ndarray, given: Kernel) -> np.ndarray:
    return given.coefficients(given.case_statistics(table).sum(axis=0)[None])[0]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("annotators", [(3, 3), (0, 5)])
def test_alpha_equals_krippendorff(level: str, annotators: tuple[int, int]) -> None:
    table, values = votes(40, 4, annotators), np.array([0.0, 1.0, 2.5, 7.0])
    found = coefficients(table, kernel(level, ["0", "1", "2.5", "7"]))[2]
    expected = krippendorff.alpha(value_counts=table, value_domain=values, level_of_measurement=level)
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_the_estimate_of_alpha_is_the_kernels_and_nan_where_nothing_varies(level: str) -> None:
    table, values = votes(40, 4, (0, 5)), scaled(["0", "1", "2.5", "7"], level)
    given = kernel(level, ["0", "1", "2.5", "7"])
    assert estimated_alpha(table, level, values) == pytest.approx(coefficients(table, given)[2], abs=1e-12)
    assert np.isnan(estimated_alpha(np.array([[3.0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]]), level, values))
    assert np.isnan(estimated_alpha(np.zeros((0, 4)), level, values))


def test_fleiss_equals_statsmodels_where_nobody_is_missing() -> None:
    table = votes(40, 4, (5, 5))
    assert coefficients(table, kernel("nominal", list("abcd")))[1] == pytest.approx(fleiss_kappa(table), abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_a_weight_is_a_repetition(level: str) -> None:
    table, weight = votes(20, 3, (1, 4)), np.random.default_rng(0).integers(0, 4, 20)
    given = kernel(level, list("123"))
    weighted = given.coefficients((weight @ given.case_statistics(table))[None])[0]
    assert weighted == pytest.approx(coefficients(np.repeat(table, weight, axis=0), given), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("nominal", [0.81818, 0.76117, 0.74342, 0.77544]),
        ("interval", [0.81818, 0.76117, 0.84911, 0.77544, 0.91400]),
    ],
)
def test_missing_annotators_as_in_irrcac(level: str, expected: list[float]) -> None:
    """The data `cac.raw4raters` of the R package irrCAC, and its published coefficients; AC2 with quadratic weights."""
    raters = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
            [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
        ]
    )
    table = np.stack([(raters == category).sum(axis=0) for category in range(1, 6)], axis=1).astype(float)
    found = coefficients(table, kernel(level, list("12345")))
    assert found[: len(expected)] == pytest.approx(expected, abs=5e-6)


def test_one_category_is_undefined_but_for_ac1_with_others_in_use() -> None:
    table = np.array([[3.0, 0], [3, 0]])
    percent, fleiss, alpha, ac1, ac2 = coefficients(table, kernel("ordinal", list("ab")))
    assert (percent, ac1, ac2) == (1, 1, 1)
    assert np.isnan([fleiss, alpha]).all()
    assert np.isnan(coefficients(table, kernel("nominal", list("ab"), used=1))[1:]).all()


@pytest.mark.parametrize("n", [10, 1000, 100_000])
def test_one_score_between_others_is_one_category_whatever_rounding_does(n: int) -> None:
    """A third cannot be written as a binary fraction."""
    table = np.zeros((n, 4))
    table[:, 1] = 3
    assert np.isnan(coefficients(table, kernel("interval", list("1234")))[2])


def test_labels_that_are_numbers_count_as_numbers() -> None:
    assert category_values(["1", "2", "10"]).tolist() == [1, 2, 10]
    assert category_values(["A", "tie", "B"]).tolist() == [0, 1, 2]
    assert category_values(["1", "nan"]).tolist() == [0, 1]
    assert scaled(["1", "2", "5"], "interval").tolist() == [0, 0.25, 1]
    assert scaled(["1", "2", "5"], "ordinal").tolist() == [0, 0.5, 1]
