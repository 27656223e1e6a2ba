"""A chat server on loopback that does as a test says, and remembers what it was sent."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Self


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


class ChatServer(ThreadingHTTPServer):
    """Answers every POST by a function, in a thread of its own; `with` starts and ends it.

    Attributes
    ----------
    received : every request, in the order of arrival
    pages : what a GET of a path is answered with
    busy, busiest : the requests in hand now, and the most at one time
    """

    daemon_threads = True

    def __init__(
        self, answer: Answer, port: int = 0, pages: Mapping[str, Response | Mapping[str, object]] | None = None
    ) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.answer, self.received, self.pages = answer, list[Received](), pages or {}
        self.busy = self.busiest = 0
        self._lock = Lock()
        self._thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def port(self) -> int:
        return self.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def response_to(self, received: Received) -> Response | None:
        """Note a request, and answer it."""
        with self._lock:
            self.received.append(received)
            self.busy += 1
            self.busiest = max(self.busiest, self.busy)
        try:
            return self.answer(received)
        finally:
            with self._lock:
                self.busy -= 1

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that hung up: tests make it do so."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ChatServer

    def do_GET(self) -> None:
        page = self.server.pages.get(self.path, Response({}, 404))
        self.send(page if isinstance(page, Response) else Response(page))

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        response = self.server.response_to(Received(self.path, dict(self.headers), asked))
        if response is None:
            self.close_connection = True
        else:
            self.send(response)

    def send(self, response: Response) -> None:
        """Send what was answered."""
        body = response.body if isinstance(response.body, bytes) else json.dumps(response.body).encode()
        self.send_response(response.status)
        for name, value in response.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if response.announced is None else response.announced))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection |= response.announced is not None

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


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
    said, logprobs = {"role": "assistant", "content": content, **more}, {"content": list(tokens)} if tokens else None
    choice = {"index": 0, "message": said, "finish_reason": finish, "logprobs": logprobs}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return Response({"object": "chat.completion", "choices": [choice], "usage": usage})


def token(text: str, **alternatives: float) -> dict[str, object]:
    """An entry of `logprobs.content`: a token, and the logarithm of the probability of each alternative."""
    listed = [{"token": name, "logprob": value} for name, value in alternatives.items()]
    own = {"token": text, "logprob": alternatives.get(text, -1.0), "bytes": list(text.encode())}
    return {**own, "top_logprobs": listed}


def error(status: int, text: str, **headers: str) -> Response:
    """An error as these servers word it."""
    return Response({"error": {"message": text, "type": "error", "code": status}}, status, headers)
