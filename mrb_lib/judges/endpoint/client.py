"""Asking a chat server: again, for less, or not at all, within limits of pace and cost."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event, Lock
from typing import Final

import numpy as np

from mrb_lib.judges.budget import Budget
from mrb_lib.judges.endpoint.limits import (
    ATTEMPTS,
    CONSEQUENCES,
    RequestOptions,
    Turns,
    estimated_prompt_tokens,
)
from mrb_lib.judges.endpoint.outcomes import GO_ON, Answer, Failure, Fault, Refusal, cut_prompt
from mrb_lib.judges.endpoint.reply import ChatReply
from mrb_lib.judges.endpoint.transport import Send, Transport
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import RunError

# Of a request that a busy server put off while it answered others.
_ATTEMPTS_IF_PUT_OFF: Final = 30
# A server that has never answered is more likely not there than restarting.
_ATTEMPTS_AT_FIRST: Final = 3
_LONGEST_BACKOFF_S: Final = 30.0
_SHORTEST_SAID_S: Final = 5.0
_NEGOTIABLE: Final = (400, 403, 404, 422)
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class ChatRequest:
    """One user message.

    Attributes
    ----------
    content : text, or parts as the chat protocol has them
    schema : to which the reply is held where the server can do that
    seed : of sampling, and of the waits between attempts
    """

    content: str | Sequence[Mapping[str, object]]
    schema: Mapping[str, object] | None
    seed: int


@dataclass(frozen=True)
class Prices:
    """US dollars per million tokens of prompts and of replies."""

    prompt: float
    completion: float

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """Return the cost in US dollars; None where the server does not count the tokens."""
        if prompt_tokens is None or completion_tokens is None:
            return None
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


Ask = Callable[[ChatRequest], "ChatReply | Failure | None"]


class ChatClient:
    """The chat endpoint of one server, for any number of threads.

    What it waits for and until when is logged as a warning, which the command line shows.

    Parameters
    ----------
    name : of the judge
    transport : the way to the server
    fixed : what every request holds: the model, the sampling
    max_tokens : at which a reply is cut off
    options : what to ask for until it is refused
    settings : `concurrency`, `timeout_s` and `max_wait_s` are taken from it
    budget : what may be spent; None is no limit
    prices : of tokens; needed with a budget
    notices : grows with what the user should know
    sleep : waits so many seconds; None waits until the run stops, at most so long
    clock : seconds since any moment, which pass while `sleep` waits

    Attributes
    ----------
    stopped_by : why nothing is asked any more; None while the client works, and where its user stopped it
    """

    def __init__(
        self,
        name: str,
        transport: Transport,
        fixed: Mapping[str, object],
        max_tokens: int,
        options: RequestOptions,
        settings: Settings,
        *,
        budget: Budget | None,
        prices: Prices | None,
        notices: dict[str, None],
        sleep: Callable[[float], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name, self._transport = name, transport
        self._fixed = fixed
        self._max_tokens = max_tokens
        self._wanted = self._options = options
        self._proven: frozenset[str] = frozenset()
        self._settings, self._notices = settings, notices
        self._stop = Event()
        self._sleep, self._clock = sleep or self._stop.wait, clock
        self._turns = Turns(settings, self._sleep, clock, self._stop.is_set)
        self._budget, self._prices = budget, prices
        self._said_until = clock()
        self._lock = Lock()
        self.stopped_by: RunError | None = None

    @contextmanager
    def open(self) -> Iterator[Ask]:
        """Open connections for one run, as a function that asks from any thread.

        The function returns None for a request that has no answer because the run stops: no other request would fare
        better, the server is gone, or the budget is used up. `stopped_by` then holds why.
        """
        self._stop.clear()
        self.stopped_by = None
        with self._transport.open() as send:
            yield lambda request: self._ask(send, request)

    @property
    def is_stopped(self) -> bool:
        """Return whether nothing is asked any more."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask nothing more, and wait for nothing; what is under way is finished."""
        self._stop.set()

    def wanted(self, request: ChatRequest) -> bytes:
        """Return what is asked for as long as nothing is refused, and where: the same bytes for the same request."""
        body = json.dumps(self._body(request, self._wanted), sort_keys=True)
        return f"{self._transport.address.url}\0{body}".encode()

    def bounds(self, request: ChatRequest) -> tuple[int, int]:
        """Return the tokens of a prompt, estimated, and of its reply, at most."""
        return estimated_prompt_tokens(request.content), self._max_tokens

    def say_idle(self, seconds: float) -> None:
        """Say that no reply has come for so long, unless a longer wait was said."""
        allowed = f"a request may take {self._settings.timeout_s:g} s, see --timeout"
        self._say(f"no reply from {self._transport.address.host} for {seconds:.0f} s ({allowed})", 0.0)

    def _ask(self, send: Send, request: ChatRequest) -> ChatReply | Failure | None:
        try:
            return self._negotiated(send, request)
        except RunError as error:
            # Here rather than where it is caught: requests that wait behind this one must not be sent any more.
            self.stopped_by = self.stopped_by or error
            self.stop()
            return None

    def _negotiated(self, send: Send, request: ChatRequest) -> ChatReply | Failure | None:
        """Ask with all options, and with fewer as long as the server refuses."""
        options, refusal = self._options, None
        while True:
            answer = self._attempts(send, request, options)
            if isinstance(answer, ChatReply):
                self._note_granted(options, refusal)
                return cut_prompt(answer, request.content) or answer
            if not isinstance(answer, Refusal):
                return answer
            relaxed = options.relax(answer.message, self._proven)
            if relaxed is None or answer.status not in _NEGOTIABLE:
                if answer.stop is not None:
                    raise answer.stop
                return Failure(answer.message)
            options, refusal = relaxed, answer.message

    def _note_granted(self, options: RequestOptions, refusal: str | None) -> None:
        """Note a request that was answered, and ask no more for what a refusal made it leave out.

        Only the answer shows that leaving it out was what the server wanted.

        Parameters
        ----------
        refusal : of the server to a request that asked for more; None where there was none
        """
        with self._lock:
            self._proven |= options.names
            if refusal is None:
                return
            lost = self._options.names - options.names
            fewer = min(self._options.top_logprobs, options.top_logprobs)
            self._options = RequestOptions(self._options.names - lost, fewer, options.limit)
        for name in sorted(lost):
            consequence = CONSEQUENCES[name]
            self._notices.setdefault(f"the server refuses {name}, so it is not asked for: {consequence} ({refusal})")

    def _attempts(
        self, send: Send, request: ChatRequest, options: RequestOptions
    ) -> ChatReply | Failure | Refusal | None:
        """Try until there is an answer; None if the run stops before.

        The waits between attempts grow, and are drawn from the request's seed so that those of different requests
        do not fall together. While a server is busy, all requests wait.
        """
        body = json.dumps(self._body(request, options)).encode()
        waits = np.random.default_rng(request.seed)
        n_attempts = n_counted = 0
        n_answered = self._turns.n_answered
        while True:
            with self._turns.turn():
                answer = None if self._stop.is_set() else self._billed(send, request, body)
            if answer is None:
                return None
            if not isinstance(answer, Fault):
                self._turns.answered()
                return answer
            n_attempts += 1
            # A busy server that answers others in the meantime will answer this one.
            n_answered_before, n_answered = n_answered, self._turns.n_answered
            n_counted += not (answer.busy and n_answered > n_answered_before)
            is_missing = answer.unreachable and not self._transport.reached and n_counted >= _ATTEMPTS_AT_FIRST
            if self._turns.failed() or is_missing:
                raise self._gone(answer)
            if n_counted >= ATTEMPTS or n_attempts >= _ATTEMPTS_IF_PUT_OFF:
                return Failure(f"after {n_attempts} attempts: {answer.reason}")
            backoff = min(2.0 ** max(n_counted - 1, 0), _LONGEST_BACKOFF_S) * (0.5 + 0.5 * float(waits.random()))
            self._wait(answer, max(backoff, answer.wait_s))

    def _wait(self, fault: Fault, seconds: float) -> None:
        """Wait before the next attempt, all requests where the server is busy; `RunError` for more than is allowed."""
        outage_s, most_s = self._turns.outage_s, self._settings.max_wait_s
        if fault.wait_s and outage_s + fault.wait_s > most_s:
            before = f" after {outage_s:.0f} s without an answer" if outage_s >= 1 else ""
            raise RunError(
                f"{self._transport.address.host} asks to wait until {_time_in(fault.wait_s)}{before}, longer than the "
                f"{most_s:g} s of --max-wait ({fault.reason}); {GO_ON} then."
            )
        until = _time_in(seconds)
        self._say(f"waits {seconds:.0f} s, until {until}, for {self._transport.address.host} ({fault.reason})", seconds)
        if fault.busy:
            self._turns.hold(seconds)
        else:
            self._sleep(seconds)

    def _say(self, text: str, seconds: float) -> None:
        """Log why nothing happens for so long, unless that is short or ends with a wait that was logged."""
        with self._lock:
            until = self._clock() + seconds
            if 0 < seconds < _SHORTEST_SAID_S or until < self._said_until + min(seconds, 1.0):
                return
            self._said_until = until
        _LOG.warning("%s: %s; Ctrl-C stops and keeps what is judged", self._name, text)

    def _billed(self, send: Send, request: ChatRequest, body: bytes) -> Answer | None:
        """Make one attempt within the budget; None if the run stops before."""
        budget, prices = self._budget, self._prices
        if budget is None or prices is None:
            return send(body)
        most = prices.cost(*self.bounds(request)) or 0.0
        reserved = budget.reserve(most, self._stop.is_set)
        if reserved is None:
            if not self._stop.is_set():
                raise RunError(
                    f"the budget of {budget.usd:.4f} USD leaves no room for another request: {budget.spent:.4f} USD "
                    f"were spent; {GO_ON} with a new --budget."
                )
            return None
        cost: float | None = 0.0
        try:
            answer = send(body)
            if isinstance(answer, ChatReply):
                cost = prices.cost(answer.prompt_tokens, answer.completion_tokens)
            elif isinstance(answer, Fault) and answer.may_cost:
                cost = None
        finally:
            budget.settle(reserved, most, cost)
        return answer

    def _gone(self, fault: Fault) -> RunError:
        host = self._transport.address.host
        if self._transport.reached:
            return RunError(f"{host} answers no more ({fault.reason}); {GO_ON} once it does.")
        cure = "trust it with --ca-file" if "CERTIFICATE" in fault.reason else "start it or correct --url"
        return RunError(f"no server at {host} ({fault.reason}); {cure}: {GO_ON}.")

    def _body(self, request: ChatRequest, options: RequestOptions) -> dict[str, object]:
        body: dict[str, object] = {
            **self._fixed,
            "messages": [{"role": "user", "content": request.content}],
            options.limit: self._max_tokens,
        }
        if "temperature" not in options.names:
            body.pop("temperature", None)
        if "seed" in options.names:
            body["seed"] = request.seed
        if "logprobs" in options.names:
            body |= {"logprobs": True, "top_logprobs": options.top_logprobs}
        if "schema" in options.names and request.schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "verdicts", "strict": True, "schema": request.schema},
            }
        return body


def _time_in(seconds: float) -> str:
    """Return the date and time, of this machine's clock, in so many seconds, at most three years."""
    return f"{datetime.now() + timedelta(seconds=min(seconds, 1e8)):%Y-%m-%d %H:%M:%S}"
