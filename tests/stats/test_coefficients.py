"""Coefficients of agreement are those of the libraries, for any weights of cases."""

import krippendorff
import numpy as np
import pandas as pd
import pingouin
import pytest

from mrb_lib.stats.coefficients import coefficients, scaled
from mrb_lib.stats.estimation import Quantity
from mrb_lib.tables.schema import LEVELS


def random_labels(n: int, k: int, annotators: int, fewest: int) -> np.ndarray:
    """Codes of labels, shape (n, 1, annotators); -1 where an annotator is missing."""
    generator = np.random.default_rng(n * k)
    share = generator.dirichlet(np.full(k, 0.4), n)
    labels = np.stack([generator.choice(k, annotators, p=p) for p in share])
    number = generator.integers(fewest, annotators, n, endpoint=True)
    return np.where(np.arange(annotators) < number[:, None], labels, -1)[:, None]


def votes_of(labels: np.ndarray, k: int) -> np.ndarray:
    return (labels[:, 0, :, None] == np.arange(k)).sum(axis=1)


def made(labels: np.ndarray, level: str, categories: list[str], used: int | None = None) -> dict[str, Quantity]:
    k = len(categories)
    found = coefficients(labels, scaled(categories, level), level, np.arange(k) < (k if used is None else used))
    every = np.arange(len(labels))
    return {name: each if isinstance(each, Quantity) else each(every) for name, each in found.items()}


def value(quantity: Quantity, weight: np.ndarray | float = 1.0) -> float:
    return float(quantity.statistic((quantity.adds.T * weight).T.sum(axis=0))[0])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("annotators", "fewest"), [(3, 3), (5, 0)])
def test_alpha_equals_krippendorff(level: str, annotators: int, fewest: int) -> None:
    labels = random_labels(40, 4, annotators, fewest)
    found = value(made(labels, level, ["0", "1", "2.5", "7"])["krippendorff_alpha"])
    table, domain = votes_of(labels, 4), np.array([0.0, 1.0, 2.5, 7.0])
    expected = krippendorff.alpha(value_counts=table, value_domain=domain, level_of_measurement=level)
    assert found == pytest.approx(expected, abs=1e-12)


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
        [[*map(int, given)] for given in ("123321412000", "123322412503", "033323422510", "123324412510")]
    )
    found = made(raters.T[:, None] - 1, level, list("12345"))
    names = ["percent_agreement", "fleiss_kappa", "krippendorff_alpha", "gwet_ac1", "gwet_ac2"][: len(expected)]
    assert [value(found[name]) for name in names] == pytest.approx(expected, abs=5e-6)


def test_one_score_between_others_is_one_category_whatever_rounding_does() -> None:
    """A third cannot be written as a binary fraction."""
    for n in (10, 1000, 100_000):
        found = made(np.ones((n, 1, 3), dtype=np.int64), "interval", list("1234"))
        assert np.isnan(value(found["krippendorff_alpha"]))


@pytest.mark.parametrize(
    ("labels", "level", "places"),
    [("125", "interval", [0, 0.25, 1]), ("125", "ordinal", [0, 0.5, 1]), (["1", "nan"], "interval", [0, 1])],
)
def test_labels_that_are_numbers_count_as_numbers(labels: list[str], level: str, places: list[float]) -> None:
    assert scaled(list(labels), level).tolist() == places


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # pingouin with pandas 3.1
@pytest.mark.parametrize(("n", "annotators"), [(8, 2), (40, 3), (25, 7)])
def test_complete_scores_as_in_pingouin(n: int, annotators: int) -> None:
    generator = np.random.default_rng(n)
    labels = np.clip(generator.integers(0, 9, (n, 1)) + generator.integers(-2, 3, (n, annotators)), 0, 8)
    long = pd.DataFrame(labels).reset_index().melt("index")
    expected = pingouin.intraclass_corr(long, "index", "variable", "value").set_index("Type")
    found = made(labels[:, None], "interval", [str(i) for i in range(9)])
    for name, kind in (("icc_2_1", "ICC(A,1)"), ("icc_2_k", "ICC(A,k)")):
        assert value(found[name]) == pytest.approx(expected.loc[kind, "ICC"], abs=1e-9)


def test_missing_scores_leave_the_icc_unbiased() -> None:
    """Variances: 1 of cases, .36 of annotators, 1 of the rest; a third of the scores is missing."""
    generator = np.random.default_rng(0)
    found = []
    for _ in range(60):
        score = generator.normal(size=(80, 1)) + 0.6 * generator.normal(size=(1, 6)) + generator.normal(size=(80, 6))
        codes = np.clip(np.rint(score * 10).astype(np.int64) + 60, 0, 120)
        labels = np.where(generator.random((80, 6)) < 1 / 3, -1, codes)
        found.append(value(made(labels[:, None], "interval", [str(i) for i in range(121)])["icc_2_1"]))
    assert np.mean(found) == pytest.approx(1 / 2.36, abs=0.03)
