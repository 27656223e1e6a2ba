from __future__ import annotations

import numpy as np
import pytest

from mrb_lib.stats.consistency.intervals import score_interval, signed_interval
from mrb_lib.stats.resampling.robust import layout, ratio_of_sums, share_interval
from mrb_lib.stats.subfields import Group

Z2 = 1.959963984540054**2


@pytest.mark.parametrize(
    ("only_first", "only_second", "n", "low", "high"),
    [(1, 7, 21, -0.517, -0.026), (6, 16, 161, -0.1240, -0.0054)],
)
def test_tango_interval_of_textbook_tables(only_first: int, only_second: int, n: int, low: float, high: float) -> None:
    """Fagerland, Lydersen and Laake, Statistical Analysis of Contingency Tables (2017), chapter 8.

    Airway hyper-responsiveness before and after transplantation (Bentur et al. 2009), and complete response before
    and after consolidation therapy (Cavo et al. 2012): Tango's asymptotic score intervals, to the digits printed.
    """
    found = score_interval(np.array([only_first / n]), np.array([only_second / n]), np.array([Z2 / n]))
    assert [float(end[0]) for end in found] == pytest.approx([low, high], abs=0.0005 if n == 21 else 0.00005)


def estimate(values: np.ndarray, codes: np.ndarray | None = None):
    """The mean of values in one group, and the mean of what lies above 0."""
    cases = np.arange(len(values))
    at = layout([Group(None, None, cases, 0)], cases if codes is None else codes)
    units = np.zeros((2, at.shape[1]))
    np.add.at(units, (slice(None), at.unit), np.stack([values, np.ones(len(values))]))
    return ratio_of_sums(units[0], units[1], at), np.array([np.maximum(values, 0).mean()])


@pytest.mark.parametrize("share", [0.0, 0.02, 0.3, 1.0])
def test_where_every_case_leans_it_is_the_interval_of_a_share(share: float) -> None:
    values = np.where(np.arange(100) < 100 * share, 1.0, -1.0)
    low, high = signed_interval(*estimate(values))
    expected = share_interval(estimate((values + 1) / 2)[0])
    assert (low[0], high[0]) == pytest.approx([2 * end[0] - 1 for end in expected], abs=1e-9)


def test_no_case_that_leans_is_no_certainty() -> None:
    low, high = signed_interval(*estimate(np.zeros(50)))
    assert high[0] == pytest.approx(Z2 / (50 + Z2), abs=1e-9)
    assert low[0] == -high[0]


def test_turning_every_case_turns_the_interval() -> None:
    values = np.repeat([1.0, 0.5, 0.0, -1.0], [9, 4, 20, 3])
    (low, high), (turned_low, turned_high) = (signed_interval(*estimate(v)) for v in (values, -values))
    assert (low[0], high[0]) == pytest.approx((-turned_high[0], -turned_low[0]), abs=1e-9)
    assert -1 < low[0] < values.mean() < high[0] < 1


def test_copies_of_the_cases_of_a_cluster_add_nothing() -> None:
    values = np.repeat([1.0, 0.0, -1.0], [9, 20, 3])
    once = signed_interval(*estimate(values))
    twice = signed_interval(*estimate(np.repeat(values, 2), np.repeat(np.arange(32), 2)))
    assert np.concatenate(once) == pytest.approx(np.concatenate(twice), abs=1e-9)


def test_one_cluster_has_no_interval() -> None:
    low, high = signed_interval(*estimate(np.array([1.0, 0.0]), np.zeros(2, dtype=np.int64)))
    assert np.isnan([low[0], high[0]]).all()
