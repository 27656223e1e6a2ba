"""Where the table says .80, the test of the row finds the difference in .77 to .83 of studies. SIMULATED data."""

import numpy as np
import pytest

from mrb_lib.stats.contrasts import CLUSTERED, MCNEMAR, PERMUTATION
from mrb_lib.stats.flips import flip_p
from mrb_lib.stats.tables.power import Pairs, cases_needed, detectable

from .panels import chances, rows_of, tables_of

STUDIES = 2000
"""Of which a power of .8 is found within three Monte-Carlo errors, .027."""
OF_28 = 0.05 / 28
LEAST, MOST = 0.77, 0.83


def known(n: int, variance: float, discordance: float = 1.0) -> Pairs:
    """What is known of n independent cases whose difference has this variance."""
    one = np.ones(1)
    return Pairs(n * one, n * one, np.sqrt(variance / n) * one, discordance * one)


def p_values(gains: np.ndarray) -> np.ndarray:
    """Of differences in whole units, shape (studies, clusters)."""
    return flip_p(gains.T.astype(np.int64))


@pytest.mark.parametrize("level", [0.05, OF_28])
@pytest.mark.parametrize("n", [100, 400])
def test_permutation_test_of_graded_scores(n: int, level: float) -> None:
    """Differences of 1, 1/2, 0, -1/2, -1, on a third of the cases not 0; the variance falls as the mean rises."""
    smallest, halves = 0.0, np.array([-2, -1, 0, 1, 2])
    for _ in range(50):
        up, down = (0.34 + smallest / 0.75) / 4, (0.34 - smallest / 0.75) / 4
        share = np.array([down, down, 1 - 2 * (up + down), up, up])
        variance = float(share @ (halves / 2) ** 2 - (share @ halves / 2) ** 2)
        smallest = float(detectable(known(n, variance), PERMUTATION, level)[0])
    assert share @ halves / 2 == pytest.approx(smallest, rel=1e-3)
    generator = np.random.default_rng(n)
    gains = generator.choice(halves.astype(np.int32), (STUDIES, n), p=share)
    assert LEAST <= (p_values(gains) <= level).mean() <= MOST


def clustered(size: np.ndarray, difference: float, seed: int) -> np.ndarray:
    """Sums by cluster of scores that vary by .4 among cases and by .15 among clusters, shape (studies, clusters)."""
    generator = np.random.default_rng(seed)
    common = generator.normal(difference, 0.15, (STUDIES, len(size)))
    return common * size + generator.normal(0, 0.4, (STUDIES, len(size))) * np.sqrt(size)


def known_clusters(size: np.ndarray) -> Pairs:
    """What is known of such clusters on average."""
    n, one = size.sum(), np.ones(1)
    error = np.sqrt((0.15**2 * size**2 + 0.4**2 * size).sum()) / n
    return Pairs(n * one, len(size) * one, error * one, one)


@pytest.mark.parametrize(("clusters", "level"), [(8, 0.05), (17, OF_28), (50, OF_28)])
def test_permutation_test_of_clusters_of_unequal_size(clusters: int, level: float) -> None:
    size = np.random.default_rng(clusters).integers(2, 31, clusters).astype(float)
    smallest = float(detectable(known_clusters(size), CLUSTERED, level)[0])
    gains = np.rint(12 * clustered(size, smallest, clusters + 1)).astype(np.int32)
    assert LEAST <= (p_values(gains) <= level).mean() <= MOST


@pytest.mark.parametrize("clusters", [False, True])
def test_power_with_the_cases_needed(clusters: bool) -> None:
    """From a pilot of 200 clusters of 4 like cases, or of 800 cases: what the answer takes has a power of .8."""
    difference, test = 0.06, CLUSTERED if clusters else PERMUTATION
    size, spread = (4, np.hypot(0.15, 0.4 / 2)) if clusters else (1, np.hypot(0.15, 0.4))
    one, count = np.ones(1), 800 // size
    pilot = Pairs(800 * one, count * one, spread / np.sqrt(count) * one, one)
    least = detectable(pilot, test, OF_28)[0]
    needed = int(cases_needed(np.array([difference]), 800, least)[0])
    gains = np.rint(12 * clustered(np.full(-(-needed // size), float(size)), difference, 5)).astype(np.int32)
    assert LEAST <= (p_values(gains) <= OF_28).mean() <= MOST


def test_power_of_the_rows_of_the_tables_of_eight_judges() -> None:
    """Issue 12, point 9: at the difference of the table `power`, that of `significance` is asked 250 times.

    Seven judges are right on .62, the best on as much more as the table, made from one large benchmark, finds
    detectable with 300 cases. Before, the difference was that of a t test at level .05, uncorrected for 28 pairs, and
    fewer than 60% were found.
    """
    generator = np.random.default_rng(12)
    n, studies, base = 300, 250, 0.62

    def judges(best: float, count: int, cases: int) -> np.ndarray:
        return chances(generator, 8, count, cases)[..., 0] < np.array([best, *[base] * 7])[:, None, None]

    smallest = 0.1
    for _ in range(3):
        rows = rows_of("power", *tables_of(judges(base + smallest, 1, 40 * n)), policy="official", resamples=0)
        pair = rows[(rows["part"] == "pair") & (rows["judge_1"] == "j00")]
        assert (pair["alpha_adjusted"] == 0.05 / 28).all()
        count = np.full(7, float(n))
        error = (pair["standard_error"] * np.sqrt(pair["n"] / n)).to_numpy()
        shown = Pairs(count, count, error, pair["discordance"].to_numpy())
        smallest = float(np.median(detectable(shown, MCNEMAR, OF_28)))
    made = rows_of("significance", *tables_of(judges(base + smallest, studies, n)), policy="official", resamples=0)
    made = made[made["part"].eq("pair") & made[["judge_1", "judge_2"]].eq("j00").any(axis=1)]
    assert LEAST <= (made["p_value"] <= OF_28).mean() <= MOST
    assert (made["p_adjusted"] <= 0.05).mean() >= (made["p_value"] <= OF_28).mean()
