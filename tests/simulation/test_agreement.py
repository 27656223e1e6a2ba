"""Intervals of agreement cover what they estimate as often as they claim. SIMULATED annotations of known truth.

Annotators know a case's label with a probability and guess by its share otherwise. Coverage is to lie within three
Monte-Carlo standard errors of 95%, three to four points: intervals that are a fifth too narrow cover 88% of all truths
of a table.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats import intervals
from mrb_lib.stats.coefficients import icc
from mrb_lib.stats.estimation import Sampling, estimate
from tests.stats.small_tables import agreement, annotator_pairs

from .panels import cases_of, covered, covers_as_claimed, frame_of, inside, is_near

RESAMPLES, BENCHMARKS = 400, 400
SHARE, VALUES = np.array([0.45, 0.3, 0.25]), np.array([1.0, 2.0, 3.0])
KNOWN = 0.6
NUMBERS, ORDERED = ("1", "2", "3"), ("A", "tie", "B")
NAMES = ("percent_agreement", "cohen_kappa", "linear_kappa", "quadratic_kappa", "fleiss_kappa", "krippendorff_alpha",
         "gwet_ac1", "gwet_ac2", "icc_2_1", "icc_2_k")  # fmt: skip
OF_PAIRS = tuple(name for name in NAMES if name != "fleiss_kappa")
KAPPAS = ("cohen_kappa", "linear_kappa", "quadratic_kappa")
Table = Callable[..., pd.DataFrame]


def labels(annotators: int, n: int, generator: np.random.Generator, known: float = KNOWN) -> np.ndarray:
    """Positions of labels, shape (annotators, benchmarks, cases)."""
    shape = annotators, BENCHMARKS, n
    truth, guess = generator.choice(3, (1, *shape[1:]), p=SHARE), generator.choice(3, shape, p=SHARE)
    return np.where(generator.random(shape) < known, truth, guess)


def estimated(
    table: Table, choice: np.ndarray, names: Sequence[str] = NUMBERS,
    there: np.ndarray | None = None, cluster: np.ndarray | None = None, level: str = "interval",
) -> pd.DataFrame:  # fmt: skip
    """A table of every benchmark, 200 at a time; `there` are the labels given, `cluster` the clusters of the cases."""
    made, cases = frame_of(choice, names, there), cases_of(choice.shape[2], cluster)
    every = made["dimension"].cat.categories
    parts = (made[made["dimension"].isin(every[i : i + 200])] for i in range(0, len(every), 200))
    return pd.concat(table(each, cases, categories=list(names), level=level, resamples=RESAMPLES) for each in parts)


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


def coverages(rows: pd.DataFrame, truth: dict[str, float], names: Sequence[str] = NAMES) -> dict[str, float]:
    """The coverage of each coefficient, over the benchmarks that have an interval."""
    known = {name: rows[rows[f"{name}_low"].notna() & rows[f"{name}_high"].notna()] for name in names}
    assert min(map(len, known.values())) > 0.9 * len(rows)
    return {name: covered(some, truth[name], f"{name}_") for name, some in known.items()}


def check(rows: pd.DataFrame, truth: dict[str, float], names: Sequence[str] = NAMES) -> None:
    found = coverages(rows, truth, names)
    assert covers_as_claimed(*found.values(), trials=len(rows)), found


@pytest.mark.parametrize(
    ("table", "annotators", "known", "names"),
    [(agreement, 3, KNOWN, NAMES), (annotator_pairs, 2, KNOWN, OF_PAIRS), (annotator_pairs, 2, 0.9, KAPPAS[:2])],
    ids=["three", "pairs", "pairs who nearly always agree"],
)
def test_coverage(table: Table, annotators: int, known: float, names: Sequence[str]) -> None:
    choice = labels(annotators, 100, np.random.default_rng([annotators, int(10 * known)]), known)
    check(estimated(table, choice), truths(annotators, known), names)


def test_the_quadratic_kappa_of_two_who_nearly_always_agree_covers_92_percent() -> None:
    rows = estimated(annotator_pairs, labels(2, 100, np.random.default_rng(8), 0.9))
    assert is_near(coverages(rows, truths(2, 0.9), KAPPAS[2:])["quadratic_kappa"], 0.923, len(rows), 0.02)


def test_coverage_where_annotators_are_missing() -> None:
    """Of four annotators each saw half of the cases, so that a quarter of the annotated cases has one annotator.

    Of 100 cases two annotators share 25; in about one benchmark of forty most pairs share too few for an interval.
    """
    generator = np.random.default_rng(101)
    there = generator.random((4, BENCHMARKS, 100)) < 0.5
    rows = estimated(agreement, labels(4, 100, generator), ORDERED, there, level="ordinal")
    assert rows["n_unpaired"].mean() > 0.2 * 100
    check(rows, truths(4), NAMES[:-2])  # no ICC


def test_coverage_for_pairs_that_share_few_cases() -> None:
    """With 20 cases kappas keep their coverage; nothing else falls below 90%."""
    rows = estimated(annotator_pairs, labels(2, 20, np.random.default_rng(7)))
    check(rows, truths(2), KAPPAS)
    found = coverages(rows, truths(2), OF_PAIRS)
    assert all(0.9 <= share <= 0.98 for share in found.values()), found


def test_intervals_of_thirty_cases_of_two_who_nearly_always_agree_cover_less_as_documented() -> None:
    rows = estimated(annotator_pairs, labels(2, 30, np.random.default_rng(9), 0.9), ORDERED, level="ordinal")
    assert rows["reason"].str.contains("approximate").mean() > 0.95
    assert 0.82 <= coverages(rows, truths(2, 0.9), ["quadratic_kappa"])["quadratic_kappa"] <= 0.94


def test_coverage_of_the_icc_for_these_annotators() -> None:
    """The variance of three annotators' own biases, .16, is no sample; that of cases is 1, the rest .5."""
    generator, trials, n = np.random.default_rng(103), 500, 100
    noise = np.sqrt(0.5) * generator.normal(size=(trials, n, 3)) + np.array([-0.4, 0.0, 0.4])
    scores = (generator.normal(size=(trials, n, 1)) + noise).swapaxes(0, 1)
    values, codes = np.unique(scores, return_inverse=True)
    sampling = Sampling.of(cases_of(n), "case_id", RESAMPLES, 0)
    for several, truth in ((False, 1 / 1.66), (True, 1 / 1.22)):
        found = intervals.coefficient(estimate(icc(codes.reshape(scores.shape), values, several), sampling))
        assert covers_as_claimed(inside(found.low, found.high, truth), trials=trials), several


def test_coverage_where_cases_come_in_clusters() -> None:
    """40 clusters of five cases with the same label: taken as independent, intervals are too narrow."""
    generator = np.random.default_rng(6)
    case = np.repeat(np.arange(40), 5)
    easy = generator.random((1, 300, 40))[..., case] < 0.6
    truth = generator.choice(3, (1, 300, 40), p=SHARE)[..., case]
    choice = np.where(easy, truth, generator.choice(3, (3, 300, 200), p=SHARE))
    known = truths(3, np.sqrt(0.6))
    check(estimated(agreement, choice, cluster=case), known)
    assert max(coverages(estimated(agreement, choice[:, :60]), known).values()) < 0.85
