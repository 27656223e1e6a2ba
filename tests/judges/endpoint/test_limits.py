"""How much a server is asked, and when it counts as gone."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from mrb_lib.judges.endpoint.limits import Breaker, Gate, Pace, estimated_prompt_tokens
from tests.judges.endpoint.clock import Clock


@pytest.mark.parametrize(("per_minute", "units", "seconds"), [(60, 1, 9.0), (600, 50, 45.0), (0.5, 1, 1080.0)])
def test_no_minute_has_more_than_allowed(per_minute: float, units: float, seconds: float) -> None:
    clock = Clock()
    pace = Pace(per_minute, clock.sleep, clock)
    for _ in range(10):
        pace.wait(units)
    assert clock.now - 100.0 == pytest.approx(seconds)


def test_time_in_which_nothing_was_asked_is_not_made_up_for() -> None:
    clock = Clock()
    pace = Pace(60, clock.sleep, clock)
    pace.wait()
    clock.now += 3600
    starts = []
    for _ in range(3):
        pace.wait()
        starts.append(clock.now)
    assert starts == [3700.0, 3701.0, 3702.0]


def test_the_gate_halves_once_for_all_that_were_under_way_and_opens_slowly() -> None:
    gate = Gate(8)
    with gate.attempt() as first, gate.attempt() as second, gate.attempt() as third:
        for attempt in (first, second, third):
            gate.overloaded(attempt)
    assert gate.width == 4
    with gate.attempt() as later:
        gate.overloaded(later)
    assert gate.width == 2
    gate.answered()
    gate.answered()
    assert 2.5 < gate.width < 3
    for _ in range(100):
        gate.answered()
    assert gate.width == 8
    for _ in range(9):
        with gate.attempt() as attempt:
            gate.overloaded(attempt)
    assert gate.width == 1, "one at a time always goes"


def test_time_that_a_server_asks_for_holds_back_all_attempts() -> None:
    clock = Clock()
    gate = Gate(8, clock.sleep, clock)
    gate.hold(30.0)
    gate.hold(5.0)
    starts = []
    for _ in range(3):
        with gate.attempt():
            starts.append(clock.now)
    assert starts == [130.0] * 3
    assert clock.waits == [30.0]


def test_only_silence_without_a_word_between_breaks() -> None:
    clock = Clock()
    breaker = Breaker(10, clock)
    for number in range(20):
        clock.now += 4.0
        assert breaker.failed(silent=True) == (number == 19)
    breaker.answered()
    for number in range(100):
        clock.now += 4.0
        assert not breaker.failed(silent=number % 19 > 0)
    assert [breaker.gave_up() for _ in range(20)] == [False] * 19 + [True]
    breaker.answered()
    assert not breaker.gave_up()


def test_attempts_that_fail_together_are_no_long_silence() -> None:
    clock = Clock()
    breaker = Breaker(32, clock)
    assert not any(breaker.failed(silent=True) for _ in range(200))
    clock.now += 59.0
    assert not breaker.failed(silent=True)
    clock.now += 1.0
    assert breaker.failed(silent=True)


def test_one_case_that_cannot_be_answered_breaks_nothing() -> None:
    clock = Clock()
    breaker = Breaker(1, clock)
    for _ in range(2 * 6):  # attempts, of both orders
        clock.now += 120.0
        assert not breaker.failed(silent=True)


def test_tokens_are_estimated_from_characters_and_pixels() -> None:
    stream = io.BytesIO()
    Image.new("L", (280, 140)).save(stream, format="PNG")
    url = f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"
    image = {"type": "image_url", "image_url": {"url": url}}
    assert estimated_prompt_tokens("x" * 401) == 101
    assert estimated_prompt_tokens([image, image, {"type": "text", "text": "x" * 8}]) == 2 * 50 + 2
