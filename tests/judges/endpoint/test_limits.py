"""How much a server is asked, and when it counts as gone."""

from __future__ import annotations

import base64
import io

from PIL import Image

from mrb_lib.judges.endpoint.limits import Turns, estimated_prompt_tokens
from mrb_lib.judges.settings import Settings
from tests.judges.endpoint.clock import Clock


def turns(clock: Clock, **settings: float) -> Turns:
    return Turns(Settings(**settings), clock.sleep, clock, lambda: False)


def test_time_that_a_server_asks_for_holds_back_all_attempts() -> None:
    clock, starts = Clock(), []
    held = turns(clock, concurrency=8)
    held.hold(30.0)
    held.hold(5.0)
    for _ in range(3):
        with held.turn():
            starts.append(clock.now)
    assert starts == [130.0] * 3
    assert clock.waits == [30.0]


def test_a_server_that_answers_nothing_for_a_minute_is_gone_and_one_answer_is_enough() -> None:
    clock = Clock()
    asked = turns(clock, concurrency=4)
    for number in range(24):
        assert asked.failed() == (number == 23)
        clock.now += 4.0
    asked.answered()
    assert not any(asked.failed() for _ in range(200)), "failures of one moment are no outage"
    clock.now += 60.0
    assert asked.failed()


def test_one_case_that_cannot_be_answered_ends_no_run() -> None:
    clock = Clock()
    asked = turns(clock, concurrency=1)
    for _ in range(2 * 6):  # attempts, of both orders
        clock.now += 120.0
        assert not asked.failed()


def test_tokens_are_estimated_from_characters_and_pixels() -> None:
    stream = io.BytesIO()
    Image.new("L", (280, 140)).save(stream, format="PNG")
    url = f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"
    image = {"type": "image_url", "image_url": {"url": url}}
    assert estimated_prompt_tokens("x" * 401) == 101
    assert estimated_prompt_tokens([image, image, {"type": "text", "text": "x" * 8}]) == 2 * 50 + 2
