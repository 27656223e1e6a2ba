"""Failed attempts, and money that several threads may spend. No server is needed."""

import json
from collections.abc import Callable

import numpy as np
import pytest

from mrb_lib.judges.budget import Budget
from mrb_lib.judges.endpoint.client import ChatClient
from mrb_lib.judges.endpoint.outcomes import Answer, Failure, Fault
from mrb_lib.judges.endpoint.reply import ChatReply
from mrb_lib.judges.endpoint.requests import ChatRequest, RequestOptions
from mrb_lib.judges.roster.engines import JudgeRequest
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.settings import Settings
from tests.judges.endpoint.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Callable[..., ChatClient]:
    """Makes a client whose attempts go nowhere: what comes of each is scripted."""

    def made(send: Callable[[bytes], Answer], budget: Budget | None = None) -> ChatClient:
        monkeypatch.setattr(ChatClient, "_send", lambda client, body: send(body))
        settings = Settings(url="http://127.0.0.1:9/v1", price_prompt=1.0, price_completion=2.0)
        request = JudgeRequest(Entry("m", "endpoint", model="m"), settings, {}, budget=budget)
        options = RequestOptions(frozenset({"seed"}))
        return ChatClient(request, {"model": "m"}, 10, options, {}, lambda s: clock.sleep(s), clock)

    return made


def chat(seed: int = 0) -> ChatRequest:
    return ChatRequest("Which?", (), None, seed)


def test_a_request_that_a_busy_server_puts_off_while_it_answers_others_is_answered_in_the_end(
    client: Callable[..., ChatClient], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts, pass_by = list[float](), clock.sleep

    def send(body: bytes) -> Answer:
        if json.loads(body)["seed"] or len(attempts) > 20:
            return ChatReply("A")
        attempts.append(clock.now)
        return Fault("HTTP 429", busy=True, wait_s=7.0)

    asked = client(send)
    monkeypatch.setattr(clock, "sleep", lambda seconds: (pass_by(seconds), asked.ask(chat(seed=1))))
    with asked.open():
        assert isinstance(asked.ask(chat()), ChatReply)
    assert len(attempts) == 21
    assert set(np.diff(attempts)) == {7.0}


def test_attempts_whose_reply_is_lost_are_paid_for(client: Callable[..., ChatClient]) -> None:
    sent: list[bytes] = []

    def send(body: bytes) -> Answer:
        sent.append(body)
        return Fault("no reply", may_cost=True)

    most = (2 * 1.0 + 10 * 2.0) / 1e6  # of a question of 6 characters and a reply of 10 tokens
    budget, declined = Budget(3.5 * most), Budget(1.0)
    poor = client(send, budget)
    with poor.open():
        assert poor.ask(chat()) is None
    assert len(sent) == 3
    assert budget.spent == pytest.approx(3 * most)
    assert "budget" in str(poor.stopped_by)
    busy = client(lambda _: Fault("HTTP 503", busy=True), declined)
    with busy.open():
        assert isinstance(busy.ask(chat()), Failure)
    assert declined.spent == 0


def test_nobody_waits_for_money_once_the_run_stops() -> None:
    budget = Budget(1.0)
    assert budget.reserve(0.9, lambda: False) is not None
    assert budget.reserve(0.9, lambda: True) is None
