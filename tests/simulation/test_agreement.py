"""Intervals of agreement cover what they estimate as often as they claim. SIMULATED annotations of known truth.

Annotators know a case's label with a probability and guess by its share otherwise; each simulated benchmark
is a dimension of one call. Coverage is to lie within three Monte-Carlo standard errors of 95%, which are four
points with 250 to 300 benchmarks: intervals that are a fifth too narrow cover 88% of all truths of a table.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats import intervals
from mrb_lib.stats.coefficients import icc
from mrb_lib.stats.estimation import Sampling, estimate
from tests.stats.small_tables import agreement, annotator_pairs

from .rows import column
from .shares import is_near

RESAMPLES = 400
SHARE = np.array([0.45, 0.3, 0.25])
VALUES = np.array([1.0, 2.0, 3.0])
KNOWN = 0.6
NAMES = ("percent_agreement", "cohen_kappa", "linear_kappa", "quadratic_kappa", "fleiss_kappa", "krippendorff_alpha",
         "gwet_ac1", "gwet_ac2", "icc_2_1", "icc_2_k")  # fmt: skip


def within(covered: np.ndarray) -> bool:
    """Whether a share of covering intervals is that of 95% intervals, two points or three Monte-Carlo errors off."""
    return is_near(covered.mean(), 0.95, covered.size, least=0.02)


def cases_of(n: int, cluster: np.ndarray | None = None) -> pd.DataFrame:
    cases = pd.DataFrame({"case_id": [f"c{i}" for i in range(n)]})
    return cases if cluster is None else cases.assign(cluster=cluster)


def labels(shape: tuple[int, int, int], generator: np.random.Generator, known: float = KNOWN) -> np.ndarray:
    """Positions of labels, shape (benchmarks, annotators, cases)."""
    benchmarks, annotators, n = shape
    truth = generator.choice(3, (benchmarks, 1, n), p=SHARE)
    guess = generator.choice(3, (benchmarks, annotators, n), p=SHARE)
    return np.where(generator.random(guess.shape) < known, truth, guess)


def annotations_of(choice: np.ndarray, names: np.ndarray, there: np.ndarray | None = None) -> pd.DataFrame:
    """A table of labels given by position, shape (benchmarks, annotators, cases)."""
    kept = np.ones(choice.shape, dtype=bool) if there is None else there
    dimension, who, case = np.nonzero(kept)
    return pd.DataFrame(
        {
            "case_id": column(case, [f"c{i}" for i in range(choice.shape[2])]),
            "annotator": column(who, [f"a{i}" for i in range(choice.shape[1])]),
            "dimension": column(dimension, [f"d{i:03d}" for i in range(choice.shape[0])]),
            "choice": column(choice[kept], names),
        }
    )


def estimated(table: Callable[..., pd.DataFrame], choice: np.ndarray, **options: object) -> pd.DataFrame:
    """A table of every benchmark, 200 at a time; `there` are the labels given, `cluster` the clusters of the cases."""
    there, cluster, names = (options.pop(name, None) for name in ("there", "cluster", "names"))
    names = NUMBERS if names is None else names
    cases = cases_of(choice.shape[2], cluster)
    rows = []
    for start in range(0, len(choice), 200):
        part = slice(start, start + 200)
        given = annotations_of(choice[part], names, None if there is None else there[part])
        rows.append(table(given, cases, categories=list(names), resamples=RESAMPLES, **options))
    return pd.concat(rows)


def truths(annotators: int, known: float = KNOWN) -> dict[str, float]:
    """Two annotators both know with probability .36, and agree by chance otherwise: so much is beyond chance."""
    beyond = known**2
    agreeing = beyond + (1 - beyond) * (SHARE**2).sum()
    spread = (SHARE * (1 - SHARE)).sum()
    apart = (VALUES[:, None] - VALUES) ** 2 / 4
    weighted_chance = (1 - apart).sum() * spread / 6
    near = 1 - (1 - beyond) * (SHARE @ apart @ SHARE)
    return dict.fromkeys(NAMES, beyond) | {
        "percent_agreement": agreeing,
        "gwet_ac1": (agreeing - spread / 2) / (1 - spread / 2),
        "gwet_ac2": (near - weighted_chance) / (1 - weighted_chance),
        "icc_2_k": annotators * beyond / (1 + (annotators - 1) * beyond),
    }


def covered(rows: pd.DataFrame, name: str, truth: float) -> np.ndarray:
    """Whether each interval covers the truth, of the benchmarks that have one."""
    low, high = (rows[f"{name}_{end}"].to_numpy(dtype=float) for end in ("low", "high"))
    there = np.isfinite(low) & np.isfinite(high)
    assert there.mean() > 0.9, name
    return ((low <= truth) & (truth <= high))[there]


ORDERED = np.array(["A", "tie", "B"])
NUMBERS = np.array(["1", "2", "3"])
OF_PAIRS = tuple(name for name in NAMES if name != "fleiss_kappa")


@pytest.mark.parametrize(("n", "benchmarks"), [(100, 400), (400, 250)])
def test_coverage_of_every_coefficient(n: int, benchmarks: int) -> None:
    generator = np.random.default_rng(n)
    rows = estimated(agreement, labels((benchmarks, 3, n), generator), level="interval")
    for name, truth in truths(3).items():
        found = covered(rows, name, truth)
        assert within(found), (name, found.mean())


@pytest.mark.parametrize(("n", "benchmarks", "level"), [(100, 300, "ordinal"), (400, 250, "nominal")])
def test_coverage_where_annotators_are_missing(n: int, benchmarks: int, level: str) -> None:
    """Of four annotators each saw half of the cases, so that a quarter of the annotated cases has one annotator.

    Of 100 cases two annotators share 25; in about one benchmark of forty most pairs share too few for an interval.
    """
    generator = np.random.default_rng(n + 1)
    there = generator.random((benchmarks, 4, n)) < 0.5
    rows = estimated(agreement, labels((benchmarks, 4, n), generator), there=there, names=ORDERED, level=level)
    assert rows["n_unpaired"].mean() > 0.2 * n
    truth = truths(4)
    nominal = ("percent_agreement", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha", "gwet_ac1")
    ordered = ("linear_kappa", "quadratic_kappa", "gwet_ac2") if level == "ordinal" else ()
    for name in (*nominal, *ordered):
        found = covered(rows, name, truth[name])
        assert within(found), (name, found.mean())


@pytest.mark.parametrize(("n", "benchmarks"), [(100, 400), (1000, 250)])
def test_coverage_for_pairs_of_annotators(n: int, benchmarks: int) -> None:
    generator = np.random.default_rng(n + 2)
    rows = estimated(annotator_pairs, labels((benchmarks, 2, n), generator), level="interval")
    truth = truths(2)
    for name in OF_PAIRS:
        found = covered(rows, name, truth[name])
        assert within(found), (name, found.mean())


def test_coverage_for_pairs_that_share_few_cases() -> None:
    """With 20 cases kappas keep their coverage; nothing else falls below 90%."""
    generator = np.random.default_rng(7)
    rows = estimated(annotator_pairs, labels((300, 2, 20), generator), level="interval")
    truth = truths(2)
    for name in OF_PAIRS:
        found = covered(rows, name, truth[name])
        assert within(found) if "kappa" in name else 0.9 <= found.mean() <= 0.98, (name, found.mean())


def test_coverage_of_the_kappas_of_two_who_nearly_always_agree() -> None:
    generator = np.random.default_rng(8)
    known, n = 0.9, 100
    rows = estimated(annotator_pairs, labels((300, 2, n), generator, known), level="interval")
    for name in ("cohen_kappa", "linear_kappa", "quadratic_kappa"):
        found = covered(rows, name, known**2)
        assert within(found), (name, found.mean())


@pytest.mark.parametrize("n", [100, 1000])
def test_coverage_of_the_icc_for_the_annotators_at_hand(n: int) -> None:
    """The variance of three annotators' own biases, .16, is no sample; that of cases is 1, the rest .5."""
    generator = np.random.default_rng(n + 3)
    reps = 500 if n == 100 else 250
    noise = np.sqrt(0.5) * generator.normal(size=(reps, n, 3)) + np.array([-0.4, 0.0, 0.4])
    scores = (generator.normal(size=(reps, n, 1)) + noise).swapaxes(0, 1)
    values, codes = np.unique(scores, return_inverse=True)
    sampling = Sampling.of(cases_of(n), "case_id", RESAMPLES, 0)
    for several, truth in ((False, 1 / 1.66), (True, 1 / 1.22)):
        found = intervals.coefficient(estimate(icc(codes.reshape(scores.shape), values, several), sampling))
        inside = (found.low <= truth) & (truth <= found.high)
        assert within(inside), (several, inside.mean())


def test_coverage_where_cases_come_in_clusters() -> None:
    """40 clusters of five cases with the same label: taken as independent, intervals are too narrow."""
    generator = np.random.default_rng(6)
    case = np.repeat(np.arange(40), 5)
    easy = generator.random((300, 1, 40))[..., case] < 0.6
    truth = generator.choice(3, (300, 1, 40), p=SHARE)[..., case]
    choice = np.where(easy, truth, generator.choice(3, (300, 3, 200), p=SHARE))
    rows = estimated(agreement, choice, cluster=case, level="interval")
    alone = estimated(agreement, choice[:60], level="interval")
    for name, value in truths(3, np.sqrt(0.6)).items():
        found = covered(rows, name, value)
        assert within(found), (name, found.mean())
        assert covered(alone, name, value).mean() < 0.85, name


def test_intervals_of_thirty_cases_of_two_who_nearly_always_agree_cover_less_as_documented() -> None:
    generator = np.random.default_rng(9)
    rows = estimated(annotator_pairs, labels((500, 2, 30), generator, 0.9), names=ORDERED, level="ordinal")
    assert rows["reason"].str.contains("approximate").mean() > 0.95
    found = covered(rows, "quadratic_kappa", 0.81).mean()
    assert 0.82 <= found <= 0.94, found
