"""Weighted kappa is scikit-learn's, the intraclass correlations are pingouin's, Spearman's and Pearson's scipy's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pingouin
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from mrb_lib.stats.ratings.coefficients import Moments, moment_sums, spearman, table_cells


def ratings(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Places from 1 to 5 of two raters, of whom the first is lenient."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(3, 1, n)
    return tuple(np.clip(np.rint(truth + bias + rng.normal(0, 0.7, n)), 1, 5) for bias in (0.6, 0.0))


def moments(x: np.ndarray, y: np.ndarray) -> Moments:
    return Moments.of(moment_sums(x, y, np.ones(len(x))).sum(axis=0)[None])


@pytest.mark.parametrize("seed", range(3))
def test_weighted_kappa_is_that_of_scikit_learn(seed: int) -> None:
    x, y = ratings(150, seed)
    expected = cohen_kappa_score(x.astype(int), y.astype(int), weights="quadratic")
    assert moments(x, y).concordance[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # pingouin with pandas 3.1
@pytest.mark.parametrize("n", [6, 40, 300])
def test_intraclass_correlations_are_those_of_pingouin(n: int) -> None:
    x, y = ratings(n, n)
    y = y + np.random.default_rng(0).integers(0, 3, n) / 3  # a mean of three people
    long = pd.DataFrame({"judge": x, "people": y}).reset_index().melt("index")
    expected = pingouin.intraclass_corr(long, "index", "variable", "value").set_index("Type")["ICC"]
    found = moments(x, y)
    assert found.icc_agreement[0] == pytest.approx(expected["ICC(A,1)"], abs=1e-9)
    assert found.icc_consistency[0] == pytest.approx(expected["ICC(C,1)"], abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_correlations_are_those_of_scipy(seed: int) -> None:
    x, y = ratings(80, seed)
    y = y + np.random.default_rng(seed).integers(0, 3, 80) / 3
    assert moments(x, y).pearson[0] == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    table, shape = table_cells(x, y, np.ones(80))
    assert spearman(table.sum(axis=0).reshape(1, *shape))[0] == pytest.approx(
        stats.spearmanr(x, y).statistic, abs=1e-12
    )


def test_a_weight_is_a_repetition() -> None:
    x, y = ratings(60, 5)
    times = np.random.default_rng(1).integers(0, 4, 60)
    again = [np.repeat(values, times) for values in (x, y)]
    weighted = Moments.of((times @ moment_sums(x, y, np.ones(60)))[None])
    table, shape = table_cells(x, y, np.ones(60))
    for name in ("concordance", "icc_agreement", "icc_consistency", "pearson", "difference"):
        assert getattr(weighted, name)[0] == pytest.approx(getattr(moments(*again), name)[0], abs=1e-12)
    expected = stats.spearmanr(*again).statistic
    assert spearman((times @ table).reshape(1, *shape))[0] == pytest.approx(expected, abs=1e-12)


def test_verdicts_of_a_case_count_singly_where_their_mean_square_is_given() -> None:
    """Two repeats a case are the kappa of all pairs of verdict and label."""
    first, y = ratings(90, 6)
    second = np.clip(first + np.random.default_rng(2).integers(-1, 2, 90), 1, 5)
    sums = moment_sums((first + second) / 2, y, np.ones(90), (first**2 + second**2) / 2)
    expected = cohen_kappa_score(np.append(first, second).astype(int), np.tile(y, 2).astype(int), weights="quadratic")
    assert Moments.of(sums.sum(axis=0)[None]).concordance[0] == pytest.approx(expected, abs=1e-12)


def test_nothing_is_said_of_one_category() -> None:
    x, y = np.full(20, 3.0), ratings(20, 7)[1]
    found = moments(x, y)
    assert all(np.isnan(value[0]) for value in (found.concordance, found.icc_agreement, found.pearson))
    assert found.difference[0] == pytest.approx(3 - y.mean())
    table, shape = table_cells(x, y, np.ones(20))
    assert np.isnan(spearman(table.sum(axis=0).reshape(1, *shape))[0])
