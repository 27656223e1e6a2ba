"""A chat server on loopback that does as a test says, and remembers what it was sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Response:
    """A reply of the server; a body that is a mapping is sent as JSON.

    Attributes
    ----------
    announced : a Content-Length other than the body's, after which the server hangs up
    """

    body: Mapping[str, object] | bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    announced: int | None = None


@dataclass(frozen=True)
class Received:
    """A request as it came in."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """The text of its one message."""
        content = self.body["messages"][0]["content"]
        return content if isinstance(content, str) else content[-1]["text"]


Answer = Callable[[Received], "Response | None"]
"""None hangs up without a word."""


class ChatServer:
    """Answers every POST by a function, in a thread of its own; `with` starts and ends it.

    Attributes
    ----------
    received : every request, in the order of arrival
    busiest : the most requests that were in hand at one time
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.received: list[Received] = []
        self.busiest = 0
        self._busy = 0
        self._lock = Lock()
        self._http = Loopback(self._handle)

    @property
    def busy(self) -> int:
        """The requests in hand now."""
        return self._busy

    @property
    def port(self) -> int:
        return self._http.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> ChatServer:
        self._http.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.__exit__(kind, error, trace)

    def _handle(self, handler: Handler) -> None:
        received = Received(handler.path, dict(handler.headers), json.loads(handler.content))
        with self._lock:
            self.received.append(received)
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
        try:
            response = self.answer(received)
        finally:
            with self._lock:
                self._busy -= 1
        if response is None:
            handler.close_connection = True
            return
        body = response.body if isinstance(response.body, bytes) else json.dumps(response.body).encode()
        handler.reply(response.status, body, response.headers, announced=response.announced)


class Handler(BaseHTTPRequestHandler):
    """Reads a POST whole and hands it to the server's function."""

    protocol_version = "HTTP/1.1"
    server: Loopback

    def do_POST(self) -> None:
        self.content = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.handle_post(self)

    def reply(self, status: int, body: bytes, headers: Mapping[str, str], *, announced: int | None = None) -> None:
        """Send a response; `announced` is a Content-Length other than the body's."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if announced is None else announced))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection |= announced is not None

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Loopback(ThreadingHTTPServer):
    """A server on a free port of this machine, for the time of a `with`."""

    daemon_threads = True

    def __init__(self, handle_post: Callable[[Handler], None]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.handle_post = handle_post
        self._thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Loopback:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that hung up: tests make it do so."""


def message(
    content: str, *, tokens: Sequence[Mapping[str, object]] | None = None, finish: str = "stop", **more: object
) -> Response:
    """A well-formed reply.

    Parameters
    ----------
    tokens : the entries of `logprobs.content`; None where the server gives none
    finish : why the reply ended
    more : further members of the message
    """
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **more},
        "finish_reason": finish,
        "logprobs": None if tokens is None else {"content": list(tokens)},
    }
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return Response({"object": "chat.completion", "choices": [choice], "usage": usage})


def token(text: str, **alternatives: float) -> dict[str, object]:
    """An entry of `logprobs.content`: a token, and the logarithm of the probability of each alternative."""
    listed = [{"token": name, "logprob": value} for name, value in alternatives.items()]
    return {
        "token": text,
        "logprob": alternatives.get(text, -1.0),
        "bytes": list(text.encode()),
        "top_logprobs": listed,
    }


def error(status: int, text: str, **headers: str) -> Response:
    """An error as these servers word it."""
    return Response({"error": {"message": text, "type": "error", "code": status}}, status, headers)
