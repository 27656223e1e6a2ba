"""Tests of failed attempts: what they mean for a request, the others and the budget. No server is needed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import numpy as np
import pytest

from mrb_lib.judges.budget import Budget
from mrb_lib.judges.endpoint.address import address
from mrb_lib.judges.endpoint.client import ChatClient, ChatRequest, Prices
from mrb_lib.judges.endpoint.limits import RequestOptions
from mrb_lib.judges.endpoint.outcomes import Failure, Fault
from mrb_lib.judges.endpoint.reply import ChatReply
from mrb_lib.judges.endpoint.transport import Send, Transport
from mrb_lib.judges.roster.entry import Entry
from mrb_lib.judges.settings import Settings
from tests.judges.endpoint.clock import Clock


class Line:
    """A line to a server that never was, for one request at a time: what comes of the attempts is scripted."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.clock = Clock()
        self.reached = True
        self.address = address(Entry("m", "endpoint", model="m"), Settings(url="http://127.0.0.1:9/v1"))

    @contextmanager
    def open(self) -> Iterator[Send]:
        yield self.send

    def client(
        self,
        budget: Budget | None = None,
        sleep: Callable[[float], object] | None = None,
    ) -> ChatClient:
        return ChatClient(
            "m",
            cast(Transport, self),
            {},
            10,
            RequestOptions(frozenset({"seed"})),
            Settings(),
            budget=budget,
            prices=Prices(1.0, 2.0),
            notices={},
            sleep=sleep or self.clock.sleep,
            clock=self.clock,
        )


def chat(seed: int = 0) -> ChatRequest:
    return ChatRequest("Which?", None, seed)


def test_a_request_that_a_busy_server_puts_off_while_it_answers_others_is_answered_in_the_end() -> None:
    def send(body: bytes) -> ChatReply | Fault:
        is_poor = json.loads(body)["seed"] == 0
        if not is_poor or len(attempts) > 20:
            return ChatReply("A")
        attempts.append(line.clock.now)
        return Fault("HTTP 429", busy=True, wait_s=7.0)

    line, attempts = Line(send), list[float]()

    def sleep(seconds: float) -> None:
        line.clock.sleep(seconds)
        ask(chat(seed=1))

    with line.client(sleep=sleep).open() as ask:
        assert isinstance(ask(chat()), ChatReply)
    assert len(attempts) == 21
    assert set(np.diff(attempts)) == {7.0}


def test_attempts_whose_reply_is_lost_are_paid_for() -> None:
    sent: list[bytes] = []

    def send(body: bytes) -> Fault:
        sent.append(body)
        return Fault("no reply", may_cost=True)

    most = (2 * 1.0 + 10 * 2.0) / 1e6  # of a question of 6 characters and a reply of 10 tokens
    budget = Budget(3.5 * most)
    client = Line(send).client(budget)
    with client.open() as ask:
        assert ask(chat()) is None
    assert len(sent) == 3
    assert budget.spent == pytest.approx(3 * most)
    assert "budget" in str(client.stopped_by)
    declined = Budget(1.0)
    with Line(lambda _: Fault("HTTP 503", busy=True)).client(declined).open() as ask:
        assert isinstance(ask(chat()), Failure)
    assert declined.spent == 0
