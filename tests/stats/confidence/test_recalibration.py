"""Recalibration across folds: what a library fits to the other folds, applied to this one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special
from sklearn.isotonic import IsotonicRegression

from mrb_lib.stats.confidence.forecasts import Forecasts
from mrb_lib.stats.confidence.recalibration import FOLDS, folds, isotonic, scale_temperature
from mrb_lib.stats.resampling.robust import layout
from mrb_lib.stats.subfields import Group


def forecasts(n: int, columns: int, seed: int, digits: int = 12) -> Forecasts:
    generator = np.random.default_rng(seed)
    logit = generator.normal(0, 2, (columns, n))
    outcome = (generator.random((columns, n)) < special.expit(logit / 2)).astype(float)
    column, case = np.indices((columns, n))
    return Forecasts(column.ravel(), case.ravel(), special.expit(logit).round(digits).ravel(), outcome.ravel())


def one_group(n: int):
    return layout([Group(None, None, np.arange(n), 0)], np.arange(n))


def loss(slope: float, p: np.ndarray, outcome: np.ndarray) -> float:
    logit = special.logit(p)
    return float(np.logaddexp(0, -slope * np.where(outcome > 0.5, logit, -logit)).mean())


def test_each_fold_is_scaled_by_the_best_temperature_of_the_others() -> None:
    found, fold = forecasts(300, 3, 1), folds(np.arange(300), 0)
    scaled = scale_temperature(found, fold[found.case], 3, one_group(300))
    for column in range(3):
        mine = found.column == column
        whole = optimize.minimize_scalar(loss, (0, 1), args=(found.p[mine], found.outcome[mine]), tol=1e-12)
        assert scaled.value[column] == pytest.approx(1 / whole.x, rel=1e-6)
        for held in range(FOLDS):
            out, rest = mine & (fold[found.case] == held), mine & (fold[found.case] != held)
            best = optimize.minimize_scalar(loss, (0, 1), args=(found.p[rest], found.outcome[rest]), tol=1e-12)
            np.testing.assert_allclose(scaled.p[out], special.expit(best.x * special.logit(found.p[out])), rtol=1e-6)


@pytest.mark.parametrize("digits", [2, 12])
def test_each_fold_is_stepped_by_the_isotonic_regression_of_the_others(digits: int) -> None:
    found, fold = forecasts(250, 2, 2, digits), folds(np.arange(250), 4)
    confidence, right, fold = found.confidence, found.correct, fold[found.case]
    got = isotonic(found, fold, 2)
    for column in range(2):
        for held in range(FOLDS):
            out = (found.column == column) & (fold == held)
            rest = (found.column == column) & (fold != held)
            m = rest.sum()
            fitted = IsotonicRegression(out_of_bounds="clip").fit(confidence[rest], right[rest])
            expected = np.clip(fitted.predict(confidence[out]), 1 / (m + 2), (m + 1) / (m + 2))
            np.testing.assert_allclose(got[out], expected, atol=1e-9)


def test_a_map_is_not_fitted_to_the_outcomes_it_is_applied_to() -> None:
    found, fold = forecasts(200, 1, 3), folds(np.arange(200), 0)[np.arange(200)]
    other = found._replace(outcome=np.where(fold == 2, 1 - found.outcome, found.outcome))
    at, here = one_group(200), fold == 2
    before, after = (scale_temperature(each, fold, 1, at).p for each in (found, other))
    np.testing.assert_array_equal(before[here], after[here])
    assert not np.allclose(before[~here], after[~here])
    before, after = (isotonic(each, fold, 1) for each in (found, other))
    np.testing.assert_array_equal(before[here], after[here])
    assert not np.allclose(before[~here], after[~here])


def test_folds_keep_clusters_together_and_are_of_equal_size() -> None:
    codes = np.repeat(np.arange(53), 3)
    dealt = folds(codes, 9)
    assert all(len(set(dealt[codes == c])) == 1 for c in range(53))
    sizes = np.bincount(dealt[::3], minlength=FOLDS)
    assert sizes.max() - sizes.min() <= 1
    assert not np.array_equal(dealt, folds(codes, 10))


def test_where_no_temperature_is_best_nothing_is_recalibrated_by_one() -> None:
    """Of a judge worse than chance every probability would be made one half; of one that is always right, certain."""
    n = 100
    right = forecasts(n, 1, 5)
    sure = right._replace(outcome=(right.p > 0.5).astype(float))
    worse = right._replace(outcome=(right.p < 0.5).astype(float))
    fold = folds(np.arange(n), 0)
    for found in (sure, worse):
        scaled = scale_temperature(found, fold, 1, one_group(n))
        assert np.isnan([scaled.value[0], scaled.low[0], scaled.high[0]]).all()
        assert np.isnan(scaled.p).all()


def test_one_fold_without_a_best_temperature_is_enough() -> None:
    """The one wrong forecast of a column is in one fold: the others, without it, have no best temperature."""
    found, fold = forecasts(60, 2, 6), folds(np.arange(60), 0)
    outcome = np.where((found.column == 0) & (found.case != 7), found.p > 0.5, found.outcome)
    outcome[(found.column == 0) & (found.case == 7)] = found.p[7] < 0.5
    scaled = scale_temperature(found._replace(outcome=outcome.astype(float)), fold[found.case], 2, one_group(60))
    assert np.isfinite(scaled.value).all()
    assert np.isnan(scaled.p[found.column == 0]).all()
    assert np.isfinite(scaled.p[found.column == 1]).all()


def test_columns_are_recalibrated_apart() -> None:
    """Alone or among others of any number, a column gets the same probabilities."""
    found = forecasts(80, 3, 7, digits=2)
    kept = (found.column != 1) | (found.case % 3 == 0)
    found, fold = found.take(kept), folds(np.arange(80), 1)
    scaled = scale_temperature(found, fold[found.case], 3, one_group(80)).p
    stepped = isotonic(found, fold[found.case], 3)
    for column in range(3):
        mine = found.column == column
        alone = found.take(mine)._replace(column=np.zeros(mine.sum(), dtype=np.int64))
        mine_fold = fold[alone.case]
        np.testing.assert_allclose(scale_temperature(alone, mine_fold, 1, one_group(80)).p, scaled[mine], rtol=1e-9)
        np.testing.assert_allclose(isotonic(alone, mine_fold, 1), stepped[mine], rtol=1e-9)


@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0])
def test_temperatures_far_from_one_are_found(spread: float) -> None:
    generator = np.random.default_rng(8)
    truth = generator.normal(0, 1.5, 400)
    p = special.expit(np.clip(truth * spread, -13, 13))
    outcome = (generator.random(400) < special.expit(truth)).astype(float)
    found = Forecasts(np.zeros(400, dtype=np.int64), np.arange(400), p, outcome)
    value = scale_temperature(found, folds(np.arange(400), 0), 1, one_group(400)).value[0]
    best = optimize.minimize_scalar(lambda t: loss(1 / np.exp(t), p, outcome), (-6, 6), tol=1e-12)
    assert value == pytest.approx(np.exp(best.x), rel=1e-5)


@pytest.mark.parametrize("n", range(3, 60))
def test_a_step_at_one_half_stays_there(n: int) -> None:
    """A step at 1/2 leans to neither side; one that rounding moved by 1e-14 would count as wrong or right."""
    k = n // 2 + 1
    confidence = np.repeat([0.6, 0.7, 0.6, 0.7], [n, n, 1, 1])
    correct = np.concatenate([np.arange(n) < k, np.arange(n) < n - k, [1, 1]]).astype(float)
    found = Forecasts(np.zeros(2 * n + 2, dtype=np.int64), np.arange(2 * n + 2), confidence, correct)
    fold = np.repeat([1, 0], [2 * n, 2])
    assert (isotonic(found, fold, 1)[-2:] == 0.5).all()
