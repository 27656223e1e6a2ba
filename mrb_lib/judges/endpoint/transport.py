"""The way to a chat server: one attempt, and whether it was a reply, a fault that may pass, or a refusal."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Final

import httpx

from mrb_lib.judges.endpoint.address import Address
from mrb_lib.judges.endpoint.capabilities import names_an_option
from mrb_lib.judges.endpoint.reply import (
    ChatReply,
    MalformedReplyError,
    error_message,
    is_content_filter,
    printable,
    read_reply,
)
from mrb_lib.tables.errors import InputError

_CONNECT_S: Final = 10.0
_MAX_BYTES: Final = 64_000_000
_PASSING: Final = (408, 409, 425, 429)
_OVERLOADED: Final = (429, 503)


@cache
def _trusted() -> ssl.SSLContext:
    """The certificate authorities that servers are checked with; to read them takes longer than many an answer."""
    return httpx.create_ssl_context(trust_env=False)


@dataclass(frozen=True)
class Fault:
    """An attempt that may go better next time.

    Attributes
    ----------
    unreachable : no connection could be made
    silent : nothing came back: it is unreachable, or its time was over
    overloaded : it asks for fewer requests, in words or by being late
    busy : it asks for them in words
    may_cost : it was sent, and the host may have begun what it bills
    wait_s : the server's wish, in seconds
    """

    reason: str
    unreachable: bool = False
    silent: bool = False
    overloaded: bool = False
    may_cost: bool = False
    wait_s: float = 0.0

    @property
    def busy(self) -> bool:
        """See above."""
        return self.overloaded and not self.silent


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


Send = Callable[[bytes], ChatReply | Fault | Refusal]


class Transport:
    """The way to one server.

    Parameters
    ----------
    address : where it is, and the key
    connections : at a time
    timeout_s : of one attempt, from sending to the last byte, in seconds

    Attributes
    ----------
    reached : whether it has answered anything yet
    """

    def __init__(self, address: Address, *, connections: int, timeout_s: float) -> None:
        self.address = address
        self.reached = False
        self._connections = connections
        self._timeout_s = timeout_s

    @contextmanager
    def open(self) -> Iterator[Send]:
        """Connections for one run, as a function that sends a body from any thread and says what came back.

        Nothing of the environment (proxies, .netrc) decides where cases go. The function
        raises `InputError` where the server rejects the key or leads elsewhere.
        """
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "mrb-workbench"}
        if self.address.key:
            headers["Authorization"] = f"Bearer {self.address.key}"
        with httpx.Client(
            headers=headers,
            trust_env=False,
            verify=_trusted(),
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
            return Fault(self._said(error), unreachable=True, silent=True)
        except httpx.TimeoutException:
            return Fault(f"no reply within {self._timeout_s:g} s", silent=True, overloaded=self.reached, may_cost=True)
        except httpx.RequestError as error:
            return Fault(self._said(error), may_cost=True)
        if received is None:
            return Fault(f"a reply of more than {_MAX_BYTES / 1e6:.0f} MB", may_cost=True)
        if not response.is_success:
            return self._refused(response, received)
        try:
            return read_reply(received, self.address.without_key, time.perf_counter() - start)
        except MalformedReplyError as error:
            return Fault(str(error), may_cost=True)

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
            wait_s = _retry_after(response.headers.get("retry-after"))
            return Fault(f"HTTP {status}: {message}", overloaded=status in _OVERLOADED, wait_s=wait_s)
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
