"""McNemar's test, the cases that it takes, Cochran's Q and Wilson's interval, as textbooks and papers give them."""

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar

from mrb_lib.stats.flips import flip_f, flip_p
from mrb_lib.stats.intervals import wilson
from mrb_lib.stats.tables.power import mcnemar_power
from tests.simulation.panels import sampling
from tests.stats.small_tables import cases_of, gold_of, significance, verdicts_of


def of_table(both: int, first: int, second: int, neither: int):
    one, other = (
        "A" * (both + first) + "B" * (second + neither),
        "A" * both + "B" * first + "A" * second + "B" * neither,
    )
    return verdicts_of({("j1", "AB"): one, ("j2", "AB"): other}), gold_of("A" * len(one)), cases_of(len(one))


def test_agrestis_approval_ratings() -> None:
    """Agresti, Categorical Data Analysis (1990), p. 350, the example of R's `mcnemar.test`: 794, 150, 86, 570.

    z0 = (86 - 150) / sqrt(86 + 150) = -4.17 (z0^2 = 17.36); the difference of the second survey from the first is
    -.04 with standard error .0095, 95% interval (-.06, -.02).
    """
    row = significance(*of_table(794, 150, 86, 570), policy="official", resamples=4000).iloc[0]
    assert (row["n"], row["only_1"], row["only_2"]) == (1600, 150, 86)
    assert (row["only_1"] - row["only_2"]) / np.sqrt(row["only_1"] + row["only_2"]) == pytest.approx(4.17, abs=0.005)
    assert row["difference"] == pytest.approx(0.04)
    # .00955 by his formula, which divides by n and not by n - 1.
    error = np.sqrt((236 - 64**2 / 1600) / 1600**2)
    assert row["standard_error"] == pytest.approx(error * np.sqrt(1600 / 1599), rel=1e-9)
    assert error == pytest.approx(0.0095, abs=1e-4)
    assert (row["low"], row["high"]) == (pytest.approx(0.0213, abs=0.0015), pytest.approx(0.0587, abs=0.0015))
    assert row["p_value"] == pytest.approx(mcnemar([[794, 150], [86, 570]], exact=True).pvalue, rel=1e-9)


def test_fagerlands_airway_hyperresponsiveness() -> None:
    """Fagerland, Lydersen and Laake (2013), doi:10.1186/1471-2288-13-91, table 1: 1, 1, 7, 12.

    Exact conditional 2 * 9 / 256 = .0703, mid-p 10 / 256 = .0391.
    """
    row = significance(*of_table(1, 1, 7, 12), policy="official", resamples=0).iloc[0]
    assert row["p_value"] == pytest.approx(0.0703, abs=5e-5)
    assert flip_p(np.repeat([1, -1], [1, 7])[:, None])[0] == pytest.approx(0.0391, abs=5e-5)


def of_patterns(counts: dict[str, int]) -> np.ndarray:
    return np.array([[int(letter) for letter in pattern] for pattern, count in counts.items() for _ in range(count)])


def cochrans_q(table: np.ndarray) -> dict[str, object]:
    return flip_f(table.astype(float), sampling(len(table)), binary=True, resamples=0, seed=0)[0]


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


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # Chow, Shao and Wang, Sample Size Calculations in Clinical Research, example 6.4.3: 59, as the R package
        # TrialSize has it.
        (0.20, 0.50, 59),
        # The worked example of powerandsamplesize.com's two-sided calculator, after Connor (1987), p. 209: 23.
        (0.45, 0.05, 23),
    ],
)
def test_connors_sample_size(first: float, second: float, expected: int) -> None:
    """The exact test falls short with fewer cases, and does not from a few more on: its power rises in saw teeth."""
    n = np.arange(float(expected - 1), expected + 60)
    shares = (np.full(n.shape, each) for each in (first + second, abs(first - second)))
    falls_short = n[mcnemar_power(n, *shares, 0.05) < 0.8]
    assert expected - 1 <= falls_short.max() < expected + 8


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_newcombes_examples(right: int, n: int, low: float, high: float) -> None:
    """Newcombe (1998), Statistics in Medicine 17:857, table I, method 3."""
    found = wilson(np.array([right / n]), np.array([n]))
    assert [float(end[0]) for end in found] == pytest.approx([low, high], abs=5e-5)
