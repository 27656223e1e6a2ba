"""Asking a chat server: what a failure means (ask again, ask for less, give up), within limits of pace and cost."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Final

import numpy as np

from mrb_lib.judges.budget import Budget
from mrb_lib.judges.endpoint.capabilities import Negotiation, Notices, RequestOptions
from mrb_lib.judges.endpoint.limits import Breaker, Gate, Pace, estimated_prompt_tokens
from mrb_lib.judges.endpoint.reply import ChatReply
from mrb_lib.judges.endpoint.transport import Fault, Refusal, Send, Transport
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError, MrbError, RunError

ATTEMPTS: Final = 6
# Of a request that a busy server put off while it answered others.
_ATTEMPTS_IF_PUT_OFF: Final = 30
# A server that has never answered is more likely not there than restarting.
ATTEMPTS_AT_FIRST: Final = 3
LONGEST_WAIT_S: Final = 120.0
_LONGEST_BACKOFF_S: Final = 30.0
_NEGOTIABLE: Final = (400, 403, 404, 422)
_GO_ON: Final = "what was judged is kept, and the same command goes on"


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
class Failure:
    """A request that got no reply.

    Attributes
    ----------
    reason : for the reader of the verdicts
    refused : a filter of the host declined
    """

    reason: str
    refused: bool = False


@dataclass(frozen=True)
class Prices:
    """US dollars per million tokens of prompts and of replies."""

    prompt: float
    completion: float

    def cost(self, prompt_tokens: int | None, completion_tokens: int | None) -> float | None:
        """US dollars; None where the server does not count the tokens."""
        if prompt_tokens is None or completion_tokens is None:
            return None
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


Ask = Callable[[ChatRequest], "ChatReply | Failure | None"]


class ChatClient:
    """The chat endpoint of one server, for any number of threads.

    Parameters
    ----------
    transport : the way to it
    fixed : what every request holds: the model, the sampling
    max_tokens : at which a reply is cut off
    options : what to ask for until it is refused
    settings : `concurrency`, `requests_per_minute`, `tokens_per_minute` are taken from it
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
        transport: Transport,
        fixed: Mapping[str, object],
        max_tokens: int,
        options: RequestOptions,
        settings: Settings,
        *,
        budget: Budget | None,
        prices: Prices | None,
        notices: Notices,
        sleep: Callable[[float], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transport = transport
        self._fixed = fixed
        self._max_tokens = max_tokens
        self._wanted = options
        self._negotiation = Negotiation(options, notices)
        self._notices = notices
        self._stop = Event()
        self._sleep = sleep or self._stop.wait
        self._gate = Gate(settings.concurrency, self._sleep, clock, self._stop.is_set)
        self._breaker = Breaker(settings.concurrency, clock)
        per_minute = settings.requests_per_minute, settings.tokens_per_minute
        self._request_pace, self._token_pace = (Pace(rate, self._sleep, clock) if rate else None for rate in per_minute)
        self._budget, self._prices = budget, prices
        self.stopped_by: MrbError | None = None

    @contextmanager
    def open(self) -> Iterator[Ask]:
        """Connections for one run, as a function that asks from any thread.

        The function returns None for a request that has no answer because the run stops: the server rejects the
        key, does not know the model, leads elsewhere or is gone, or the budget is used up. `stopped_by` then says why.
        """
        self._stop.clear()
        self.stopped_by = None
        with self._transport.open() as send:
            yield lambda request: self._ask(send, request)

    @property
    def is_stopped(self) -> bool:
        """Whether nothing is asked any more."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask nothing more; what is under way is finished."""
        self._stop.set()

    def wanted(self, request: ChatRequest) -> bytes:
        """What is asked for as long as the server refuses nothing, and where: the same bytes for the same request."""
        body = json.dumps(self._body(request, self._wanted), sort_keys=True)
        return f"{self._transport.address.url}\0{body}".encode()

    def bounds(self, request: ChatRequest) -> tuple[int, int]:
        """Tokens of a prompt, estimated, and of its reply, at most."""
        return estimated_prompt_tokens(request.content), self._max_tokens

    def _ask(self, send: Send, request: ChatRequest) -> ChatReply | Failure | None:
        try:
            return self._negotiated(send, request)
        except MrbError as error:
            # Here rather than where it is caught: requests that wait behind this one must not be sent any more.
            self.stopped_by = self.stopped_by or error
            self.stop()
            return None

    def _negotiated(self, send: Send, request: ChatRequest) -> ChatReply | Failure | None:
        """Ask with all options, and with fewer as long as the server refuses."""
        options, refusal = self._negotiation.options, None
        while True:
            answer = self._attempts(send, request, options)
            if isinstance(answer, ChatReply):
                self._negotiation.granted(options, refusal)
                return answer
            if not isinstance(answer, Refusal):
                return answer
            relaxed = options.relax(answer.message, self._negotiation.proven)
            if answer.by_filter or answer.status not in _NEGOTIABLE or relaxed is None:
                return self._given_up(answer)
            options, refusal = relaxed, answer.message

    def _given_up(self, refusal: Refusal) -> Failure:
        if refusal.status == 404:
            raise InputError(
                f"{self._transport.address.url}: knows no model {self._fixed.get('model')!r}, or is not the base URL "
                f"(which often ends in /v1); correct the judge's name or --url ({refusal.message})."
            )
        return Failure(f"HTTP {refusal.status}: {refusal.message}", refused=refusal.by_filter)

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
        n_answered = self._gate.n_answered
        while True:
            with self._gate.attempt() as attempt:
                self._pace(request)
                if self._stop.is_set():
                    return None
                answer = self._billed(send, request, body)
            if answer is None:
                return None
            if not isinstance(answer, Fault):
                self._gate.answered()
                self._breaker.answered()
                return answer
            if answer.overloaded:
                self._gate.overloaded(attempt)
            n_attempts += 1
            # A busy server that answers others in the meantime will answer this one.
            n_answered_before, n_answered = n_answered, self._gate.n_answered
            n_counted += not (answer.busy and n_answered > n_answered_before)
            patience = ATTEMPTS_AT_FIRST if answer.unreachable and not self._transport.reached else ATTEMPTS
            is_last = n_counted >= patience or n_attempts >= _ATTEMPTS_IF_PUT_OFF
            is_missing = is_last and patience == ATTEMPTS_AT_FIRST
            if self._breaker.failed(silent=answer.silent) or is_missing or (is_last and self._breaker.gave_up()):
                raise self._gone(answer)
            if is_last:
                return Failure(f"after {n_attempts} attempts: {answer.reason}")
            doublings = max((self._gate.decreases_in_a_row if answer.busy else n_counted) - 1, 0)
            backoff = min(2.0**doublings, _LONGEST_BACKOFF_S) * (0.5 + 0.5 * float(waits.random()))
            wait_s = max(backoff, self._granted_wait(answer.wait_s))
            if answer.busy:
                self._gate.hold(wait_s)
            else:
                self._sleep(wait_s)

    def _billed(self, send: Send, request: ChatRequest, body: bytes) -> ChatReply | Fault | Refusal | None:
        """One attempt within the budget; None if the run stops before."""
        budget, prices = self._budget, self._prices
        if budget is None or prices is None:
            return send(body)
        most = prices.cost(*self.bounds(request)) or 0.0
        reserved = budget.reserve(most, self._stop.is_set)
        if reserved is None:
            if not self._stop.is_set():
                raise RunError(
                    f"the budget of {budget.usd:.4f} USD leaves no room for another request: {budget.spent:.4f} USD "
                    f"were spent; {_GO_ON} with a new --budget."
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
            return RunError(f"{host} answers no more ({fault.reason}); {_GO_ON} once it does.")
        return RunError(f"no server at {host} ({fault.reason}); start it or correct --url: {_GO_ON}.")

    def _pace(self, request: ChatRequest) -> None:
        if self._request_pace is not None:
            self._request_pace.wait()
        if self._token_pace is not None:
            self._token_pace.wait(sum(self.bounds(request)))

    def _granted_wait(self, wish_s: float) -> float:
        if wish_s > LONGEST_WAIT_S:
            self._notices.add(
                f"the server asked to wait longer than {LONGEST_WAIT_S:.0f} s; it is asked again after that, and "
                "verdicts that fail can be made later with --retry error"
            )
        return min(wish_s, LONGEST_WAIT_S)

    def _body(self, request: ChatRequest, options: RequestOptions) -> dict[str, object]:
        body: dict[str, object] = {
            **self._fixed,
            "messages": [{"role": "user", "content": request.content}],
            options.limit: self._max_tokens,
        }
        if not options.temperature:
            body.pop("temperature", None)
        if options.seed:
            body["seed"] = request.seed
        if options.top_logprobs:
            body |= {"logprobs": True, "top_logprobs": options.top_logprobs}
        if options.schema and request.schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "verdicts", "strict": True, "schema": request.schema},
            }
        return body
