"""Intervals of agreement cover what they estimate as often as they claim. SIMULATED annotations of known truth.

Annotators know a case's label with a probability and guess by its share otherwise; each simulated benchmark
is a dimension of one call. Three Monte-Carlo standard errors around .95 are allowed, so that an
interval which always covers is found out, too.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mrb_lib.stats import icc
from mrb_lib.stats.agreement import agreement, annotator_pairs
from mrb_lib.stats.agreement_measures import icc_intervals
from mrb_lib.stats.measures import Measure, resampled

RESAMPLES = 600
SHARE = np.array([0.45, 0.3, 0.25])
VALUES = np.array([1.0, 2.0, 3.0])
KNOWN = 0.6
NAMES = ("percent_agreement", "cohen_kappa", "linear_kappa", "quadratic_kappa", "fleiss_kappa", "krippendorff_alpha",
         "gwet_ac1", "gwet_ac2", "pabak", "icc_2_1", "icc_2_k")  # fmt: skip


def within(covered: np.ndarray) -> bool:
    """Whether a share of covering intervals is .95, Monte-Carlo error allowed for."""
    return bool(abs(covered.mean() - 0.95) <= 3 * np.sqrt(0.95 * 0.05 / len(covered)))


def cases_of(n: int, cluster: np.ndarray | None = None) -> pd.DataFrame:
    cases = pd.DataFrame({"case_id": [f"c{i}" for i in range(n)]})
    return cases if cluster is None else cases.assign(cluster=cluster)


def labels(shape: tuple[int, int, int], generator: np.random.Generator, case: np.ndarray | None = None) -> np.ndarray:
    """Positions of labels, shape (benchmarks, annotators, cases); `case` says which truth a case has."""
    benchmarks, annotators, n = shape
    truth = generator.choice(3, (benchmarks, 1, n), p=SHARE)
    truth = truth if case is None else truth[..., case]
    guess = generator.choice(3, (benchmarks, annotators, truth.shape[2]), p=SHARE)
    return np.where(generator.random(guess.shape) < KNOWN, truth, guess)


def annotations_of(choice: np.ndarray, names: np.ndarray, there: np.ndarray | None = None) -> pd.DataFrame:
    """A table of labels given by position, shape (benchmarks, annotators, cases)."""
    kept = np.ones(choice.shape, dtype=bool) if there is None else there
    dimension, who, case = np.nonzero(kept)
    return pd.DataFrame(
        {
            "case_id": np.array([f"c{i}" for i in range(choice.shape[2])])[case],
            "annotator": np.array([f"a{i}" for i in range(choice.shape[1])])[who],
            "dimension": np.array([f"d{i:03d}" for i in range(choice.shape[0])])[dimension],
            "choice": names[choice[kept]],
        }
    )


def truths(annotators: int) -> dict[str, float]:
    """Two annotators both know with probability .36, and agree by chance otherwise: so much is beyond chance."""
    beyond = KNOWN**2
    agreeing = beyond + (1 - beyond) * (SHARE**2).sum()
    spread = (SHARE * (1 - SHARE)).sum()
    apart = (VALUES[:, None] - VALUES) ** 2 / 4
    weighted_chance = (1 - apart).sum() * spread / 6
    near = 1 - (1 - beyond) * (SHARE @ apart @ SHARE)
    return dict.fromkeys(NAMES, beyond) | {
        "percent_agreement": agreeing,
        "gwet_ac1": (agreeing - spread / 2) / (1 - spread / 2),
        "gwet_ac2": (near - weighted_chance) / (1 - weighted_chance),
        "pabak": (3 * agreeing - 1) / 2,
        "icc_2_k": annotators * beyond / (1 + (annotators - 1) * beyond),
    }


def covered(rows: pd.DataFrame, name: str, truth: float, kind: str) -> np.ndarray:
    return ((rows[f"{name}{kind}_low"] <= truth) & (truth <= rows[f"{name}{kind}_high"])).to_numpy()


LEVELS = {"nominal": ["A", "B", "tie"], "interval": ["1", "2", "3"]}
ORDERED = np.array(["A", "tie", "B"])
BY_LEVEL = {
    "nominal": ("percent_agreement", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha", "gwet_ac1", "pabak"),
    "interval": ("linear_kappa", "quadratic_kappa", "krippendorff_alpha", "gwet_ac2", "icc_2_1", "icc_2_k"),
}
KINDS = ("", "_bca", "_analytic")


@pytest.mark.slow
@pytest.mark.parametrize("level", list(LEVELS))
@pytest.mark.parametrize("n", [100, 1000])
def test_coverage_of_every_coefficient(n: int, level: str) -> None:
    """The ICC's analytic interval is for normal scores, which these are not; see below."""
    generator = np.random.default_rng(n + 10)
    names = np.array(LEVELS[level])
    tables = [
        agreement(
            annotations_of(labels((100, 3, n), generator), names),
            cases_of(n),
            categories=list(names),
            level=level,
            resamples=RESAMPLES,
            seed=seed,
        )
        for seed in range(4)
    ]
    rows = pd.concat(tables)
    assert len(rows) == 400
    truth = truths(3)
    for name in BY_LEVEL[level]:
        for kind in KINDS:
            found = covered(rows, name, truth[name], kind)
            assert within(found) or (kind and name.startswith("icc")), (name, kind, found.mean())


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 1000])
def test_coverage_where_annotators_are_missing(n: int) -> None:
    """Of four annotators each saw half of the cases, so that a quarter of the annotated cases has one annotator."""
    generator = np.random.default_rng(n + 1)
    names = ORDERED
    there = generator.random((400, 4, n)) < 0.5
    annotations = annotations_of(labels((400, 4, n), generator), names, there)
    rows = agreement(annotations, cases_of(n), categories=list(names), level="ordinal", resamples=RESAMPLES)
    assert rows["n_unpaired"].mean() > 0.2 * n
    truth = truths(4)
    for name in ("percent_agreement", "fleiss_kappa", "krippendorff_alpha", "gwet_ac1"):
        for kind in KINDS:
            found = covered(rows, name, truth[name], kind)
            assert within(found), (name, kind, found.mean())


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 1000])
def test_coverage_for_pairs_of_annotators(n: int) -> None:
    generator = np.random.default_rng(n + 2)
    names = ORDERED
    annotations = annotations_of(labels((400, 2, n), generator), names)
    rows = annotator_pairs(annotations, cases_of(n), categories=list(names), level="ordinal", resamples=RESAMPLES)
    truth = truths(2)
    for name in ("percent_agreement", "cohen_kappa", "linear_kappa", "quadratic_kappa", "gwet_ac1"):
        for kind in KINDS:
            found = covered(rows, name, truth[name], kind)
            assert within(found), (name, kind, found.mean())


def of_scores(score: np.ndarray) -> Measure:
    """The ICCs of a table of cases by annotators."""
    case, annotator = np.indices(score.shape).reshape(2, -1)
    sums = icc.case_sums(case, annotator, score.ravel(), len(score))
    return Measure(np.arange(len(score)), sums, icc.coefficients)


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 1000])
def test_coverage_of_the_icc_for_the_annotators_at_hand(n: int) -> None:
    """Bootstrap: the variance of three annotators' own biases, .16, is no sample; that of cases is 1, the rest .5."""
    generator = np.random.default_rng(n + 3)
    noise = np.sqrt(0.5) * generator.normal(size=(400, n, 3)) + np.array([-0.4, 0.0, 0.4])
    measures = [of_scores(score) for score in generator.normal(size=(400, n, 1)) + noise]
    drawn = resampled([measures], np.arange(n), resamples=RESAMPLES, seed=0)[0]
    found = np.array([icc_intervals(item, False, 0)[0] for item in drawn])
    for i, truth in enumerate((1 / 1.66, 1 / 1.22)):
        for low, high in ((1, 2), (3, 4)):
            inside = (found[:, i, low] <= truth) & (truth <= found[:, i, high])
            assert within(inside), (i, low, inside.mean())


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 1000])
def test_coverage_of_the_icc_for_annotators_like_these(n: int) -> None:
    """Annotators are a sample. Mean squares are drawn as they come of normal scores; no table need be made."""
    generator = np.random.default_rng(n + 4)
    reps, rest = 1000, 0.5
    for k, spread in ((3, 0.0), (5, 0.02), (3, 0.2)):
        expected = np.array([k + rest, n * spread + rest, rest])
        freedom = np.array([n - 1, k - 1, (n - 1) * (k - 1)])
        rows, columns, error = (expected * generator.chisquare(freedom, (reps, 3))).T
        size = [np.full(reps, float(x)) for x in (n * k, n, k)]
        squares = icc.Squares(*size, rows + columns + error, rows, columns, 0 * rows, size[2], size[1], size[1] / k)
        truth = 1 / (1 + spread + rest)
        low, high = icc.f_intervals(squares)
        by_f = (low <= truth) & (truth <= high)
        each = [icc.Squares(*(field[i : i + 1] for field in squares)) for i in range(400)]
        bounds = np.array([icc.generalized_interval(one, seed) for seed, one in enumerate(each)])
        generalized = (bounds[:, 0] <= truth) & (truth <= bounds[:, 1])
        assert within(generalized), (k, spread, generalized.mean())
        if spread < 0.1:
            assert within(by_f), (k, spread, by_f.mean())
        elif n == 1000:
            assert by_f.mean() < 0.9, "the docstring of f_intervals warns of a bad case that is none any more"


@pytest.mark.slow
def test_coverage_where_cases_come_in_clusters() -> None:
    """40 clusters of five cases with the same label: taken as independent, both kinds of intervals are too narrow."""
    generator = np.random.default_rng(6)
    names, case = np.array(LEVELS["nominal"]), np.repeat(np.arange(40), 5)
    easy = generator.random((400, 1, 40))[..., case] < 0.6
    truth = generator.choice(3, (400, 1, 40), p=SHARE)[..., case]
    choice = np.where(easy, truth, generator.choice(3, (400, 3, 200), p=SHARE))
    annotations = annotations_of(choice, names)
    share = 0.6 + 0.4 * (SHARE**2).sum()
    for column, right in (("cluster", True), ("case_id", False)):
        rows = agreement(annotations, cases_of(200, case), cluster=column, resamples=RESAMPLES)
        for name, value in (("percent_agreement", share), ("cohen_kappa", 0.6), ("krippendorff_alpha", 0.6)):
            for kind in KINDS:
                found = covered(rows, name, value, kind)
                assert within(found) if right else found.mean() < 0.85, (name, kind, column, found.mean())
