"""McNemar's test on the tables of textbooks and papers."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom
from statsmodels.stats.contingency_tables import mcnemar

from mrb_lib.stats.flips import flip_p
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


def test_every_pair_of_counts_has_mcnemars_mid_p() -> None:
    for first, second in product(range(0, 60, 3), range(8, 400, 17)):
        n, smaller = first + second, min(first, second)
        wanted = 2 * binom.cdf(smaller - 1, n, 0.5) + binom.pmf(smaller, n, 0.5)
        found = flip_p(np.repeat([1, -1], [first, second])[:, None])[0]
        assert found == pytest.approx(max(wanted, 1e-12), rel=1e-9)
