"""Asking a chat server: bounded concurrency, attempts, and what a failure means (ask again, ask for less, give up)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from threading import Event
from typing import Final

import httpx
import numpy as np

from mrb_lib.errors import InputError, RunError
from mrb_lib.judges.endpoint.address import Address
from mrb_lib.judges.endpoint.capabilities import Negotiation, Notices, RequestOptions, names_an_option
from mrb_lib.judges.endpoint.reply import (
    ChatReply,
    MalformedReplyError,
    error_message,
    is_content_filter,
    printable,
    read_reply,
)

_CONNECT_S: Final = 10.0
_MAX_BYTES: Final = 64_000_000
_PASSING: Final = (408, 409, 425, 429)


@dataclass(frozen=True)
class Fault:
    """An attempt that may go better next time.

    Attributes
    ----------
    unreachable : no connection could be made
    wait_s : the server's wish, in seconds
    """

    reason: str
    unreachable: bool = False
    wait_s: float = 0.0


@dataclass(frozen=True)
class Refusal:
    """The server's word that it will not answer this.

    Attributes
    ----------
    status : of HTTP, 400 to 499
    by_filter : a filter of the host declined the content
    """

    status: int
    message: str
    by_filter: bool = False


class Transport:
    """The way to one server.

    Parameters
    ----------
    address : where it is, and the key
    connections : at a time
    timeout_s : of one attempt, from sending to the last byte, in seconds
    """

    def __init__(self, address: Address, *, connections: int, timeout_s: float) -> None:
        self.address = address
        self.reached = False
        self._connections = connections
        self._timeout_s = timeout_s

    @contextmanager
    def open(self) -> Iterator[Callable[[bytes], ChatReply | Fault | Refusal]]:
        """Connections for one batch, as a function that sends a body from any thread and says what came back.

        Nothing of the environment (proxies, .netrc) decides where cases go. The function
        raises `InputError` where the server rejects the key or leads elsewhere.
        """
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "mrb-workbench"}
        if self.address.key:
            headers["Authorization"] = f"Bearer {self.address.key}"
        with httpx.Client(
            headers=headers,
            trust_env=False,
            follow_redirects=False,
            limits=httpx.Limits(max_connections=self._connections, max_keepalive_connections=self._connections),
            timeout=httpx.Timeout(self._timeout_s, connect=min(self._timeout_s, _CONNECT_S), pool=None),
        ) as http:
            yield lambda body: self._send(http, body)

    def _send(self, http: httpx.Client, body: bytes) -> ChatReply | Fault | Refusal:
        start = time.perf_counter()
        url, headers = f"{self.address.url}/chat/completions", {"Content-Type": "application/json"}
        try:
            with http.stream("POST", url, content=body, headers=headers) as response:
                self.reached = True
                received = _read(response, start + self._timeout_s)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            return Fault(self._said(error), unreachable=True)
        except httpx.TimeoutException:
            return Fault(f"no reply within {self._timeout_s:g} s")
        except httpx.RequestError as error:
            return Fault(self._said(error))
        if received is None:
            return Fault(f"a reply of more than {_MAX_BYTES / 1e6:.0f} MB")
        if not response.is_success:
            return self._refused(response, received)
        try:
            return read_reply(received, self.address.without_key, time.perf_counter() - start)
        except MalformedReplyError as error:
            return Fault(str(error))

    def _refused(self, response: httpx.Response, body: bytes) -> Fault | Refusal:
        status, message = response.status_code, error_message(body, self.address.without_key)
        # "You are not allowed to request logprobs from this model" is a 403, too, and no word about the key.
        if status == 401 or (status == 403 and not names_an_option(message)):
            state = "is rejected" if self.address.key else "is not set"
            raise InputError(
                f"{self.address.host}: answers HTTP {status}, and the key in the environment variable "
                f"{self.address.key_env} {state}; set it to a key that may use this model ({message})."
            )
        if status < 400:
            raise InputError(
                f"{self.address.host}: answers HTTP {status}, a redirect, and cases are sent to no address "
                "but the one that was named; find out the final base URL and pass it as --url."
            )
        if status >= 500 or status in _PASSING:
            return Fault(f"HTTP {status}: {message}", wait_s=_retry_after(response.headers.get("retry-after")))
        return Refusal(status, message, is_content_filter(body))

    def _said(self, error: httpx.RequestError) -> str:
        return printable(self.address.without_key(str(error))) or type(error).__name__


def _read(response: httpx.Response, deadline: float) -> bytes | None:
    """The body; None if it is too long. A server that sends byte by byte for ever runs into the deadline."""
    received = bytearray()
    for chunk in response.iter_bytes():
        received += chunk
        if len(received) > _MAX_BYTES:
            return None
        if time.perf_counter() > deadline:
            raise httpx.ReadTimeout("the reply took too long", request=response.request)
    return bytes(received)


def _retry_after(header: str | None) -> float:
    """Seconds to wait by a Retry-After header, which holds a number or a date; 0 where it holds neither."""
    if header is None:
        return 0.0
    try:
        seconds = float(header)
    except ValueError:
        try:
            date = parsedate_to_datetime(header)
        except ValueError:
            return 0.0
        date = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
        seconds = (date - datetime.now(UTC)).total_seconds()
    return seconds if seconds > 0 else 0.0


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
    options : what to ask for until it is refused
    concurrency : requests at a time
    notices : grows with what the user should know
    sleep : waits so many seconds
    """

    def __init__(
        self,
        transport: Transport,
        fixed: Mapping[str, object],
        max_tokens: int,
        options: RequestOptions,
        *,
        concurrency: int,
        notices: Notices,
        sleep: Callable[[float], None],
    ) -> None:
        self._transport = transport
        self._fixed = fixed
        self._max_tokens = max_tokens
        self._negotiation = Negotiation(options, notices)
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
        """Ask with all options, and with fewer as long as the server refuses."""
        options, refusal = self._negotiation.options, None
        while True:
            answer = self._attempts(send, request, options)
            if isinstance(answer, ChatReply):
                self._negotiation.granted(options, refusal)
                return answer
            if isinstance(answer, Failure):
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

    def _attempts(self, send: _Send, request: ChatRequest, options: RequestOptions) -> ChatReply | Failure | Refusal:
        """Try until there is an answer.

        The waits between attempts grow, and are drawn from the request's seed so that those of different requests
        do not fall together.
        """
        body = json.dumps(self._body(request, options)).encode()
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
