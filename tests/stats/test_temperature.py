"""Recalibration across folds: what is fitted to the other folds, applied to this one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special

from mrb_lib.stats.estimation import Sampling
from mrb_lib.stats.methods.calibration_error import fitted, log_odds, recalibrated, temperature
from mrb_lib.stats.methods.forecasts import FOLDS, Forecasts, folds


def dealt(codes: np.ndarray, seed: int) -> np.ndarray:
    return folds(Sampling(codes, np.empty((0, len(np.unique(codes))))), seed)


def drawn(n: int, cells: int, seed: int) -> tuple[Forecasts, np.ndarray, np.ndarray]:
    """Forecasts that are twice as sure as they should be, with their log odds, and those given to what happened."""
    generator = np.random.default_rng(seed)
    odds = generator.normal(0, 2, (cells, n))
    up = generator.random((cells, n)) < special.expit(odds / 2)
    cell, case = (each.ravel() for each in np.indices((cells, n)))
    correct = ((odds > 0) == up).ravel().astype(float)
    forecasts = Forecasts(case, cell, (n, cells), special.expit(np.abs(odds)).ravel(), correct, 0.5)
    return forecasts, odds.ravel(), np.where(up, odds, -odds).ravel()


def best(towards: np.ndarray) -> float:
    """The slope of least log loss, by a library's minimum."""
    return optimize.minimize_scalar(lambda s: np.logaddexp(0, -s * towards).mean(), (0, 1), tol=1e-12).x


def test_each_fold_is_scaled_by_the_best_temperature_of_the_others() -> None:
    (f, odds, towards), fold = drawn(300, 3, 1), dealt(np.arange(300), 0)
    p, found = recalibrated(f, odds, towards, fold), temperature(f, towards, np.arange(300))
    for cell in range(3):
        mine = f.cell == cell
        value = found.statistic(found.adds.sum(axis=0))[cell]
        assert value == pytest.approx(1 / best(towards[mine]), rel=1e-6)
        for held in range(FOLDS):
            out, rest = mine & (fold[f.case] == held), mine & (fold[f.case] != held)
            np.testing.assert_allclose(p[out], special.expit(best(towards[rest]) * odds[out]), rtol=1e-6)


def test_a_map_is_not_fitted_to_the_outcomes_it_is_applied_to() -> None:
    (f, odds, towards), fold = drawn(200, 1, 3), dealt(np.arange(200), 0)
    here = fold == 2
    before, after = (recalibrated(f, odds, t, fold) for t in (towards, np.where(here, -towards, towards)))
    np.testing.assert_array_equal(before[here], after[here])
    assert not np.allclose(before[~here], after[~here])


def test_folds_keep_clusters_together_and_are_of_equal_size() -> None:
    codes = np.repeat(np.arange(53), 3)
    fold = dealt(codes, 9)
    assert all(len(set(fold[codes == c])) == 1 for c in range(53))
    sizes = np.bincount(fold[::3], minlength=FOLDS)
    assert sizes.max() - sizes.min() <= 1
    assert not np.array_equal(fold, dealt(codes, 10))


def test_one_fold_without_a_best_temperature_is_enough() -> None:
    """The one wrong forecast of a cell is in one fold: the others, without it, have no best temperature."""
    (f, odds, towards), fold = drawn(60, 2, 6), dealt(np.arange(60), 0)
    first = f.cell == 0
    towards = np.where(first, np.abs(odds) * np.where(f.case == 7, -1, 1), towards)
    p = recalibrated(f, odds, towards, fold)
    found = temperature(f, towards, np.arange(60))
    assert np.isfinite(found.statistic(found.adds.sum(axis=0))).all()
    assert np.isnan(p[first]).all()
    assert np.isfinite(p[~first]).all()


def test_where_no_temperature_is_best_there_is_none() -> None:
    """A judge worse than chance would be told to say one half everywhere; one that is always right, to be certain."""
    generator = np.random.default_rng(5)
    odds = np.abs(generator.normal(0, 2, 100))
    assert np.isnan([fitted(odds), fitted(-odds), fitted(np.empty(0))]).all()


@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0])
def test_temperatures_far_from_one_are_found(spread: float) -> None:
    generator = np.random.default_rng(8)
    truth = generator.normal(0, 1.5, 400)
    odds = log_odds(special.expit(np.clip(truth * spread, -13, 13)))
    towards = np.where(generator.random(400) < special.expit(truth), odds, -odds)
    target = optimize.minimize_scalar(
        lambda t: np.logaddexp(0, -towards / np.exp(t)).mean(), (-6, 6), tol=1e-12
    ).x  # fmt: skip
    assert 1 / fitted(towards) == pytest.approx(np.exp(target), rel=1e-5)
