"""Percentile intervals are numpy's quantiles of what is defined, however few, tied, negative or undefined it is."""

from __future__ import annotations

import numpy as np
import pytest

from mrb_lib.stats.resampling.quantiles import interval, quantiles, selected

TAILS = [0.025, 0.975]


def replicates(resamples: int, kind: type[np.floating]) -> np.ndarray:
    """Columns of both signs with ties, of one sign, of both zeros, undefined in a fifth, half and most, and tiny."""
    found = (np.round(np.random.default_rng(resamples).normal(size=(resamples, 7)) * 20) / 7).astype(kind)
    found[:, 1] = np.abs(found[:, 1])
    found[:, 2] = 0.0
    found[::2, 2] = -0.0
    found[::5, 3] = np.nan
    found[: resamples // 2, 4] = -np.float64(np.nan)  # NaN has a sign, too
    found[: resamples // 2 + 1, 5] = np.nan
    found[1::9, 6] *= 1e-30
    return found


def numpys(column: np.ndarray) -> np.ndarray:
    kept = column[~np.isnan(column)].astype(np.float64)
    if not len(kept) or 2 * len(kept) < len(column):
        return np.full(2, np.nan)
    return np.quantile(kept, TAILS)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("resamples", [1, 2, 3, 39, 40, 41, 81, 1001, 10_000])
def test_intervals_are_numpys_quantiles(resamples: int, kind: type[np.floating]) -> None:
    found = replicates(resamples, kind)
    wanted = np.stack([numpys(column) for column in found.T], axis=1)
    exact = 1e-6 if kind is np.float32 else 1e-12
    assert np.isnan(wanted[:, 5]).all()
    assert np.stack(interval(found)) == pytest.approx(wanted, abs=exact, nan_ok=True)
    assert quantiles(found, TAILS) == pytest.approx(wanted, abs=exact, nan_ok=True)


@pytest.mark.parametrize("kind", [np.float64, np.int32])
@pytest.mark.parametrize("level", [0.001, 0.025, 0.05, 0.06, 0.5, 0.975, 0.999, 1.0])
def test_a_quantile_is_the_same_wherever_the_few_looked_at_first_lie(level: float, kind: type[np.generic]) -> None:
    """Rows whose every sixteenth replicate, of which a bound is guessed, is large, small, tied, or like the others."""
    rows = np.round(np.random.default_rng(0).normal(size=(6, 5000)) * 1000)
    rows[0, ::16], rows[1, ::16], rows[2] = 9000, -9000, 7
    rows[3] = np.sort(rows[3])
    rows[4] = rows[4] > 1500
    wanted = np.quantile(rows, level, axis=1)
    assert selected(rows.astype(kind), level) == pytest.approx(wanted, abs=1e-9)


def test_replicates_are_left_as_they_were() -> None:
    for layout in (np.ascontiguousarray, np.asfortranarray):
        found = layout(np.random.default_rng(0).normal(size=(100, 3)))
        before = found.copy()
        interval(found)
        quantiles(found, TAILS)
        assert (found == before).all()


def test_without_replicates_there_is_no_interval() -> None:
    assert np.isnan(interval(np.empty((0, 2)))).all()
    assert np.isnan(quantiles(np.empty((0, 2)), TAILS)).all()
    assert quantiles(np.empty((9, 0)), TAILS).shape == (2, 0)
