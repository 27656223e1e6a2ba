"""A proxy on loopback that spoils a server's first answers to each request, then lets it through.

The server is asked once for each request, and its answer is what is spoiled and let through.
"""

from __future__ import annotations

import http.client
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import cycle
from threading import Event, Lock
from types import TracebackType
from typing import Literal, get_args
from urllib.parse import urlsplit

from tests.judges.endpoint.chat_server import Handler, Loopback

Fault = Literal["drop", "delay", "truncate", "cut json", "no choices", "429", "429 until", "500", "503", "html"]
FAULTS: tuple[Fault, ...] = get_args(Fault)
WAIT_S = 7  # what a 429 asks the client to wait


class FaultProxy:
    """Stands before a server.

    Parameters
    ----------
    upstream : the server's base URL
    faults : taken in turn; "delay" keeps the client waiting until the proxy ends
    each : how many faults every distinct request meets before it is let through; also an attribute

    Attributes
    ----------
    met : how often each fault was committed
    """

    def __init__(self, upstream: str, faults: Sequence[Fault], *, each: int = 1) -> None:
        parts = urlsplit(upstream)
        self._upstream = (str(parts.hostname), int(parts.port or 80))
        self._path = parts.path
        self._faults = cycle(faults)
        self.each = each
        self._seen: Counter[bytes] = Counter()
        self._answers: dict[bytes, tuple[int, bytes]] = {}
        self._lock = Lock()
        self._ended = Event()
        self._http = Loopback(self._handle)
        self.met: Counter[str] = Counter()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}{self._path}"

    def __enter__(self) -> FaultProxy:
        self._http.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._http.__exit__(kind, error, trace)

    def _handle(self, handler: Handler) -> None:
        with self._lock:
            fault = next(self._faults) if self._seen[handler.content] < self.each else None
            self._seen[handler.content] += 1
            if fault is not None:
                self.met[fault] += 1
        if fault is None:
            status, body = self._forward(handler)
            handler.reply(status, body, {"Content-Type": "application/json"})
        else:
            self._commit(fault, handler)

    def _commit(self, fault: Fault, handler: Handler) -> None:
        if fault == "drop":
            handler.close_connection = True
        elif fault == "delay":
            self._ended.wait(60)
            handler.close_connection = True
        elif fault == "truncate":
            status, body = self._forward(handler)
            handler.reply(status, body[: len(body) // 2], {}, announced=len(body))
            handler.close_connection = True
        elif fault == "cut json":
            status, body = self._forward(handler)
            handler.reply(status, body[: len(body) // 2], {})
        elif fault == "no choices":
            handler.reply(200, b'{"error": {"message": "upstream overloaded"}}', {})
        elif fault == "429":
            handler.reply(429, b'{"error": {"message": "slow down"}}', {"Retry-After": str(WAIT_S)})
        elif fault == "429 until":
            until = format_datetime(datetime.now(UTC) + timedelta(seconds=WAIT_S + 1), usegmt=True)
            handler.reply(429, b"", {"Retry-After": until})
        elif fault == "html":
            handler.reply(200, b"<!doctype html><title>Welcome to the gateway</title>", {"Content-Type": "text/html"})
        else:
            handler.reply(int(fault), b"<html>Internal error</html>", {"Content-Type": "text/html"})

    def _forward(self, handler: Handler) -> tuple[int, bytes]:
        if handler.content not in self._answers:
            self._answers[handler.content] = self._ask(handler)
        return self._answers[handler.content]

    def _ask(self, handler: Handler) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(*self._upstream, timeout=120)
        try:
            headers = {name: value for name, value in handler.headers.items() if name.lower() != "host"}
            connection.request("POST", handler.path, handler.content, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()
