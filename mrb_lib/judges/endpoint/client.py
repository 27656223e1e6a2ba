"""Asking a chat server: bounded concurrency, and retries that can be waited for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import Final

import numpy as np

from mrb_lib.errors import InputError, RunError
from mrb_lib.judges.endpoint.capabilities import Negotiation, Notices, Wishes
from mrb_lib.judges.endpoint.reply import ChatReply
from mrb_lib.judges.endpoint.transport import Fault, Refusal, Transport

ATTEMPTS: Final = 6
# A server that has never answered is more likely not there than restarting.
ATTEMPTS_AT_FIRST: Final = 3
LONGEST_WAIT_S: Final = 120.0
_LONGEST_BACKOFF_S: Final = 30.0
_NEGOTIABLE: Final = (400, 403, 404, 422)

_Send = Callable[[bytes], ChatReply | Fault | Refusal]


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
    unreachable : no connection could be made
    refused : a filter of the host declined
    """

    reason: str
    unreachable: bool = False
    refused: bool = False


class ChatClient:
    """The chat endpoint of one server.

    Parameters
    ----------
    transport : the way to it
    fixed : what every request holds: the model, the sampling
    max_tokens : at which a reply is cut off
    wishes : what to ask for until it is refused
    concurrency : requests at a time
    notices : grows with what the user should know
    sleep : waits so many seconds
    """

    def __init__(
        self,
        transport: Transport,
        fixed: Mapping[str, object],
        max_tokens: int,
        wishes: Wishes,
        *,
        concurrency: int,
        notices: Notices,
        sleep: Callable[[float], None],
    ) -> None:
        self._transport = transport
        self._fixed = fixed
        self._max_tokens = max_tokens
        self._negotiation = Negotiation(wishes, notices)
        self._concurrency = concurrency
        self._notices = notices
        self._sleep = sleep
        self._stop = Event()

    def ask_all(self, requests: Sequence[ChatRequest]) -> list[ChatReply | Failure]:
        """Send requests, a bounded number at a time, and wait for all of them.

        Returns
        -------
        list
            A reply or a failure for each request, in their order.

        Raises
        ------
        InputError
            The server rejects the key, does not know the model, or redirects: no other request would fare better.
        RunError
            No request could even be connected.
        """
        self._stop.clear()
        with self._transport.open() as send, ThreadPoolExecutor(self._concurrency) as pool:
            futures = [pool.submit(self._ask, send, request) for request in requests]
            try:
                answers = [future.result() for future in futures]
            except BaseException:
                self._stop.set()
                pool.shutdown(cancel_futures=True)
                raise
        lost = [answer for answer in answers if isinstance(answer, Failure) and answer.unreachable]
        if lost and len(lost) == len(answers):
            raise RunError(
                f"no server at {self._transport.address.host} ({lost[0].reason}); start it or correct --url, then run "
                "the same command again: the verdicts of earlier batches are kept."
            )
        return answers

    def _ask(self, send: _Send, request: ChatRequest) -> ChatReply | Failure:
        try:
            return self._negotiated(send, request)
        except InputError:
            # Here rather than where it is caught: requests that wait behind this one must not be sent any more.
            self._stop.set()
            raise

    def _negotiated(self, send: _Send, request: ChatRequest) -> ChatReply | Failure:
        """Ask with all wishes, and with fewer as long as the server refuses."""
        wishes, told = self._negotiation.wishes, None
        while True:
            answer = self._attempts(send, request, wishes)
            if isinstance(answer, ChatReply):
                self._negotiation.granted(wishes, told)
                return answer
            if isinstance(answer, Failure):
                return answer
            plainer = wishes.plainer(answer.message, self._negotiation.proven)
            if answer.by_filter or answer.status not in _NEGOTIABLE or plainer is None:
                return self._given_up(answer)
            wishes, told = plainer, answer.message

    def _given_up(self, refusal: Refusal) -> Failure:
        if refusal.status == 404:
            raise InputError(
                f"{self._transport.address.url}: knows no model {self._fixed.get('model')!r}, or is not the base URL "
                f"(which often ends in /v1); correct the judge's name or --url ({refusal.message})."
            )
        return Failure(f"HTTP {refusal.status}: {refusal.message}", refused=refusal.by_filter)

    def _attempts(self, send: _Send, request: ChatRequest, wishes: Wishes) -> ChatReply | Failure | Refusal:
        """Try until there is an answer.

        The waits between attempts grow, and are drawn from the request's seed so that those of different requests
        do not fall together.
        """
        body = json.dumps(self._body(request, wishes)).encode()
        waits = np.random.default_rng(request.seed)
        made = 0
        while not self._stop.is_set():
            answer = send(body)
            if not isinstance(answer, Fault):
                return answer
            made += 1
            patience = ATTEMPTS_AT_FIRST if answer.unreachable and not self._transport.reached else ATTEMPTS
            if made >= patience:
                return Failure(f"after {made} attempts: {answer.reason}", answer.unreachable)
            backoff = min(2.0 ** (made - 1), _LONGEST_BACKOFF_S) * (0.5 + 0.5 * float(waits.random()))
            self._sleep(max(backoff, self._granted_wait(answer.wait_s)))
        return Failure("the run was stopped")

    def _granted_wait(self, wish_s: float) -> float:
        if wish_s > LONGEST_WAIT_S:
            self._notices.add(
                f"the server asked to wait longer than {LONGEST_WAIT_S:.0f} s; it is asked again after that, and "
                "verdicts that fail can be made later with --retry error"
            )
        return min(wish_s, LONGEST_WAIT_S)

    def _body(self, request: ChatRequest, wishes: Wishes) -> dict[str, object]:
        body: dict[str, object] = {
            **self._fixed,
            "messages": [{"role": "user", "content": request.content}],
            wishes.limit: self._max_tokens,
        }
        if not wishes.temperature:
            body.pop("temperature", None)
        if wishes.seed:
            body["seed"] = request.seed
        if wishes.top_logprobs:
            body |= {"logprobs": True, "top_logprobs": wishes.top_logprobs}
        if wishes.schema and request.schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "verdicts", "strict": True, "schema": request.schema},
            }
        return body
