"""Money that several threads may spend."""

from __future__ import annotations

from threading import Thread

import pytest

from mrb_lib.judges.budget import Budget, Estimate


def never() -> bool:
    return False


def test_what_does_not_fit_is_refused_once_nothing_is_in_flight() -> None:
    budget = Budget(1.0)
    first = budget.reserve(0.6, never)
    assert first == 0.6
    budget.settle(first, 0.6, 0.6)
    assert budget.reserve(0.5, never) is None
    assert budget.reserve(0.4, never) == pytest.approx(0.4)
    assert budget.spent == 0.6


def test_a_request_waits_for_what_is_in_flight_which_may_cost_less_than_was_reserved() -> None:
    budget, got = Budget(1.0), []
    trial = budget.reserve(0.1, never)
    assert trial is not None
    budget.settle(trial, 0.1, 0.1)
    held = budget.reserve(0.8, never)
    assert held is not None
    waiting = Thread(target=lambda: got.append(budget.reserve(0.5, never)))
    waiting.start()
    budget.settle(held, 0.8, 0.2)
    waiting.join(timeout=10)
    assert got == [0.5]


def test_the_first_request_goes_alone_and_corrects_the_estimate_of_the_others() -> None:
    budget, got = Budget(1.0), []
    trial = budget.reserve(0.01, never)
    assert trial is not None
    waiting = Thread(target=lambda: got.append(budget.reserve(0.01, never)))
    waiting.start()
    waiting.join(timeout=0.3)
    assert got == [], "what a request really costs is not known yet"
    budget.settle(trial, 0.01, 0.3)
    waiting.join(timeout=10)
    assert got == [pytest.approx(0.3)]


def test_a_request_that_came_to_nothing_costs_nothing_and_one_that_nobody_counted_costs_the_most() -> None:
    budget = Budget(1.0)
    for cost, spent in ((0.0, 0.0), (None, 0.25)):
        reserved = budget.reserve(0.25, never)
        assert reserved is not None
        budget.settle(reserved, 0.25, cost)
        assert budget.spent == spent


def test_nobody_waits_for_money_once_the_run_stops() -> None:
    budget = Budget(1.0)
    assert budget.reserve(0.9, never) is not None
    assert budget.reserve(0.9, lambda: True) is None


def test_an_estimate_says_what_it_is_and_whether_it_may_be_too_much() -> None:
    estimate = Estimate(1200, 1_000_000, 9600, 2.5, 2.596, 2.55)
    assert estimate.may_exceed
    assert str(estimate) == (
        "estimated: 1,200 requests, about 1,000,000 prompt tokens and at most 9,600 reply tokens: "
        "2.5000 to 2.5960 USD; the budget is 2.5500 USD"
    )
