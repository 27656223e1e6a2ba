"""The kernel of the bootstrap gives what the libraries give, for any weights."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from statsmodels.stats.inter_rater import fleiss_kappa

from mrb_lib.schema import LEVELS
from mrb_lib.stats.agreement_kernel import Kernel, case_statistics, category_values


def votes(n: int, k: int, annotators: tuple[int, int]) -> np.ndarray:
    generator = np.random.default_rng(n * k)
    number = generator.integers(*annotators, n, endpoint=True)
    share = generator.dirichlet(np.full(k, 0.4), n)
    return np.stack([generator.multinomial(m, p) for m, p in zip(number, share, strict=True)]).astype(float)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("annotators", [(3, 3), (0, 5)])
def test_alpha_equals_krippendorff(level: str, annotators: tuple[int, int]) -> None:
    table, values = votes(40, 4, annotators), np.array([0.0, 1.0, 2.5, 7.0])
    found = Kernel(level, values, 4).coefficients(case_statistics(table).sum(axis=0)[None])[0, 2]
    expected = krippendorff.alpha(value_counts=table, value_domain=values, level_of_measurement=level)
    assert found == pytest.approx(expected, abs=1e-12)


def test_fleiss_equals_statsmodels_where_nobody_is_missing() -> None:
    table = votes(40, 4, (5, 5))
    found = Kernel("nominal", np.arange(4.0), 4).coefficients(case_statistics(table).sum(axis=0)[None])[0, 1]
    assert found == pytest.approx(fleiss_kappa(table), abs=1e-12)


def test_a_weight_is_a_repetition() -> None:
    table, weight = votes(20, 3, (1, 4)), np.random.default_rng(0).integers(0, 4, 20)
    kernel = Kernel("ordinal", np.arange(3.0), 3)
    weighted = kernel.coefficients((weight @ case_statistics(table))[None])
    repeated = kernel.coefficients(case_statistics(np.repeat(table, weight, axis=0)).sum(axis=0)[None])
    assert weighted == pytest.approx(repeated, abs=1e-12)


def test_missing_annotators_as_in_irrcac() -> None:
    """The data `cac.raw4raters` of the R package irrCAC, and its published coefficients."""
    raters = np.array(
        [
            [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
            [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
        ]
    )
    table = np.stack([(raters == category).sum(axis=0) for category in range(1, 6)], axis=1).astype(float)
    found = Kernel("nominal", np.arange(5.0), 5).coefficients(case_statistics(table).sum(axis=0)[None])[0]
    assert found == pytest.approx([0.81818, 0.76117, 0.74342, 0.77544], abs=5e-6)


def test_one_category_is_undefined_but_for_ac1_with_others_in_use() -> None:
    sums = case_statistics(np.array([[3.0, 0], [3, 0]])).sum(axis=0)[None]
    percent, fleiss, alpha, ac1 = Kernel("nominal", np.arange(2.0), 2).coefficients(sums)[0]
    assert (percent, ac1) == (1, 1)
    assert np.isnan([fleiss, alpha]).all()
    assert np.isnan(Kernel("nominal", np.arange(2.0), 1).coefficients(sums)[0, 1:]).all()


def test_labels_that_are_numbers_count_as_numbers() -> None:
    assert category_values(["1", "2", "10"]).tolist() == [1, 2, 10]
    assert category_values(["A", "tie", "B"]).tolist() == [0, 1, 2]
    assert category_values(["1", "nan"]).tolist() == [0, 1]
