"""The way to a chat server: one attempt, and what came back."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Final

import httpx

from mrb_lib.judges.endpoint.address import Address
from mrb_lib.judges.endpoint.outcomes import MAX_BYTES, Answer, Fault, Received, outcome_of, printable
from mrb_lib.judges.settings import Settings
from mrb_lib.tables.errors import InputError

_CONNECT_S: Final = 10.0

Send = Callable[[bytes], Answer]


@cache
def _trusted(ca_file: str | None) -> ssl.SSLContext:
    """Return the certificate authorities that servers are checked with; reading them takes longer than many answers."""
    context = httpx.create_ssl_context(trust_env=False)
    if ca_file is not None:
        try:
            context.load_verify_locations(ca_file)
        except OSError as error:
            raise InputError(f"ca_file {ca_file}: holds no certificates in PEM form ({error}); correct it.") from error
    return context


def http_client(server: Address, timeout_s: float, connections: int = 1) -> httpx.Client:
    """Return connections to a server. Nothing of the environment (proxies, .netrc) decides where the key goes.

    Parameters
    ----------
    timeout_s : of one attempt, in seconds
    connections : at a time
    """
    headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "mrb-workbench"}
    if server.key:
        headers["Authorization"] = f"Bearer {server.key}"
    return httpx.Client(
        headers=headers,
        trust_env=False,
        proxy=server.proxy,
        verify=_trusted(server.ca_file),
        follow_redirects=False,
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, _CONNECT_S), pool=None),
    )


class Transport:
    """The way to one server.

    Parameters
    ----------
    address : where it is, and the key
    model : that it is asked for
    settings : `concurrency` and `timeout_s`, which is that of one attempt, from sending to the last byte

    Attributes
    ----------
    reached : whether it has answered anything yet
    """

    def __init__(self, address: Address, model: str, settings: Settings) -> None:
        self.address, self.reached = address, False
        self._model, self._settings = model, settings

    @contextmanager
    def open(self) -> Iterator[Send]:
        """Open connections for one run, as a function that sends a body from any thread and returns what came back.

        The function raises `RunError` where no other request would fare better.
        """
        with http_client(self.address, self._settings.timeout_s, self._settings.concurrency) as http:
            yield lambda body: self._send(http, body)

    def _send(self, http: httpx.Client, body: bytes) -> Answer:
        start, timeout_s = time.perf_counter(), self._settings.timeout_s
        url, headers = f"{self.address.url}/chat/completions", {"Content-Type": "application/json"}
        try:
            with http.stream("POST", url, content=body, headers=headers) as response:
                self.reached = True
                content = _read(response, start + timeout_s)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
            return Fault(self._reason(error), unreachable=True)
        except httpx.TimeoutException:
            return Fault(f"no reply within {timeout_s:g} s", may_cost=True)
        except httpx.RequestError as error:
            return Fault(self._reason(error), may_cost=True)
        if content is None:
            return Fault(f"a reply of more than {MAX_BYTES / 1e6:.0f} MB", may_cost=True)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        wait_s = _retry_after(response.headers.get("retry-after"))
        received = Received(response.status_code, kind, content, wait_s, time.perf_counter() - start)
        return outcome_of(received, self.address, self._model)

    def _reason(self, error: httpx.RequestError) -> str:
        return printable(self.address.without_key(str(error))) or type(error).__name__


def _read(response: httpx.Response, deadline: float) -> bytes | None:
    """Return the body; None if it is too long. A server that sends byte by byte runs into the deadline."""
    received = bytearray()
    for chunk in response.iter_bytes():
        received += chunk
        if len(received) > MAX_BYTES:
            return None
        if time.perf_counter() > deadline:
            raise httpx.ReadTimeout("the reply took too long", request=response.request)
    return bytes(received)


def _retry_after(header: str | None) -> float:
    """Return the seconds of a Retry-After header, which holds a number or a date; 0 where it holds neither."""
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
