"""Money that several threads may spend."""

from __future__ import annotations

from threading import Thread

import pytest

from mrb_lib.judges.budget import Budget


def never() -> bool:
    return False


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


def test_nobody_waits_for_money_once_the_run_stops() -> None:
    budget = Budget(1.0)
    assert budget.reserve(0.9, never) is not None
    assert budget.reserve(0.9, lambda: True) is None
