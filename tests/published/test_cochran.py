"""Cochran's Q and mean ranks on worked examples."""

from __future__ import annotations

import numpy as np
import pytest

from mrb_lib.stats.significance.lettering import mean_ranks
from mrb_lib.stats.significance.omnibus import OmnibusTest, omnibus_tests


def of_patterns(counts: dict[str, int]) -> np.ndarray:
    return np.array([[int(letter) for letter in pattern] for pattern, count in counts.items() for _ in range(count)])


def cochrans_q(table: np.ndarray) -> OmnibusTest:
    return next(omnibus_tests(table.astype(float), np.arange(len(table)), binary=True, resamples=0, seed=0))


def test_three_drugs() -> None:
    """The SAS documentation of PROC FREQ, example "Cochran's Q Test", Agresti's three drugs for a chronic disease.

    Q = 8.4706 with 2 degrees of freedom, p = .0145.
    """
    counts = {"111": 6, "110": 16, "101": 2, "100": 4, "011": 2, "010": 4, "001": 6, "000": 6}
    test = cochrans_q(of_patterns(counts))
    assert (test.test, test.df) == ("cochran_q", 2)
    assert test.statistic == pytest.approx(8.4706, abs=5e-5)
    assert test.p_value == pytest.approx(0.0145, abs=5e-5)


def test_four_media_for_diphtheria() -> None:
    """After Cochran (1950): 69 specimens on four media, with growth on 6, 10, 7 and 10.

    By hand, Q = 3 (4 * 285 - 33^2) / (4 * 33 - 113) = 153 / 19 = 8.05.
    """
    counts = {"1111": 4, "1101": 2, "0111": 3, "0101": 1, "0000": 59}
    table = of_patterns(counts)
    assert table.sum(axis=0).tolist() == [6, 10, 7, 10]
    assert cochrans_q(table).statistic == pytest.approx(8.05, abs=0.005)


def test_demsars_comparison_of_four_classifiers() -> None:
    """Demsar (2006), table 6: 14 data sets, mean ranks 3.143, 2.000, 2.893, 1.964, chi-squared 9.28."""
    accuracies = np.array(
        [
            [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
            [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
            [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
            [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
            [0.972, 0.981, 0.9751, 0.975], [0.957, 0.978, 0.946, 0.970],
        ]
    )  # fmt: skip
    # Row 13 is printed as .972, .981, .975, .975; the printed mean ranks need it ranked 4, 1, 2, 3, not 4, 1, 2.5, 2.5.
    ranks = mean_ranks(accuracies)
    assert ranks.mean(axis=0) == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    # Demsar leaves ties as they are; without the correction for them the statistic is the one he prints.
    untied = 12 * 14 / (4 * 5) * ((ranks.mean(axis=0) ** 2).sum() - 4 * 5**2 / 4)
    assert untied == pytest.approx(9.28, abs=0.005)
