"""Cochran's Q on worked examples."""

import numpy as np
import pytest

from mrb_lib.stats.estimation import Sampling
from mrb_lib.stats.flips import flip_f


def of_patterns(counts: dict[str, int]) -> np.ndarray:
    return np.array([[int(letter) for letter in pattern] for pattern, count in counts.items() for _ in range(count)])


def cochrans_q(table: np.ndarray) -> dict[str, object]:
    sampling = Sampling(np.arange(len(table)), np.empty((0, len(table))))
    return flip_f(table.astype(float), sampling, binary=True, resamples=0, seed=0)[0]


def test_four_media_for_diphtheria() -> None:
    """After Cochran (1950): 69 specimens on four media, with growth on 6, 10, 7 and 10.

    By hand, Q = 3 (4 * 285 - 33^2) / (4 * 33 - 113) = 153 / 19 = 8.05.
    """
    counts = {"1111": 4, "1101": 2, "0111": 3, "0101": 1, "0000": 59}
    table = of_patterns(counts)
    assert table.sum(axis=0).tolist() == [6, 10, 7, 10]
    assert cochrans_q(table)["statistic"] == pytest.approx(8.05, abs=0.005)


def test_three_drugs() -> None:
    """SAS/STAT, PROC FREQ, "Cochran's Q Test": Q = 8.4706 with 2 degrees of freedom, p = 0.0145."""
    table = of_patterns({"111": 6, "110": 16, "101": 2, "100": 4, "011": 2, "010": 4, "001": 6, "000": 6})
    made = cochrans_q(table)
    assert (made["statistic"], made["p_value"]) == pytest.approx((8.4706, 0.0145), abs=5e-5)
