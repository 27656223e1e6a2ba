"""The server of an app: one process, a token in front of it, pages and answers over HTTP.

Whoever has the token may read the benchmark and write reviews. Nobody can run code: a page may ask the questions of its
app and nothing else.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import json
import signal
import socket
import sys
import webbrowser
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from urllib.parse import quote, urlsplit

from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler

from mrb_lib.review import bundle
from mrb_lib.review.app import App
from mrb_lib.review.file import File
from mrb_lib.review.pages import template
from mrb_lib.tables.errors import InputError

_LARGEST_QUESTION: Final = 1_000_000  # bytes; the longest note takes 100,000 letters
_MOST_AT_ONCE: Final = 4
_POLICY: Final = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; object-src 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
)


@dataclass(frozen=True)
class Address:
    """Where an app listens, and how others reach it.

    Attributes
    ----------
    host, port : as `check_address` found them usable
    token : who has it may use the app
    base_url : the address by which a proxy leads here, such as https://hub.example/user/me/proxy/8000/, or its path
        alone; empty without a proxy
    """

    host: str
    port: int
    token: str
    base_url: str = ""

    @property
    def url(self) -> str:
        """The address to open, without the token."""
        public = urlsplit(self.base_url)
        origin = f"{public.scheme}://{public.netloc}" if public.netloc else f"http://{_shown(self.host)}:{self.port}"
        return f"{origin}{self.path}/"

    @property
    def path(self) -> str:
        """The path of the base URL, without a slash at its end."""
        return urlsplit(self.base_url).path.rstrip("/")

    @property
    def cookie(self) -> str:
        """The name of the cookie: apps on other ports of this machine have others."""
        return f"mrb-{hashlib.sha256(self.token.encode()).hexdigest()[:12]}"

    def knows(self, host: str) -> bool:
        """Whether requests may name this host; any other may be a page of somebody else that found the way here."""
        named = host.lower().rstrip(".")
        own = {self.host, "localhost", socket.gethostname(), socket.getfqdn(), urlsplit(self.base_url).hostname}
        return named in {each.lower() for each in own if each} or _is_number(named)


def check_address(host: str, port: int | None, allow_remote: bool) -> int:
    """Return a port to listen on.

    Raises
    ------
    InputError
        The host is not this machine and `allow_remote` is false, or nothing can listen there.
    """
    if not (host == "localhost" or (_is_number(host) and ipaddress.ip_address(host).is_loopback) or allow_remote):
        raise InputError(
            f"--host {host}: other machines could reach it, and the traffic with its token is not encrypted; "
            "add --allow-remote if the network is trusted, or leave --host out and use an SSH tunnel."
        )
    try:
        family, kind, protocol, _, socket_address = socket.getaddrinfo(host, port or 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(socket_address)
            return int(trial.getsockname()[1])
    except (OSError, OverflowError) as error:
        raise InputError(f"{host}, port {port or 'any'}: cannot be used ({error}); choose another.") from error


def serve(app: App, address: Address, *, browse: bool, fragment: str = "") -> None:
    """Serve an app until Ctrl-C or SIGTERM.

    The address with the token is printed on stdout, alone, when the app can be opened; all else goes to stderr.

    Parameters
    ----------
    browse : open the browser
    fragment : what stands after # in the address; empty for nothing
    """
    asyncio.run(_served(app, address, browse, fragment))


async def _served(app: App, address: Address, browse: bool, fragment: str) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    with ThreadPoolExecutor(_MOST_AT_ONCE) as pool:
        server = HTTPServer(application(app, address, pool), max_buffer_size=_LARGEST_QUESTION, xheaders=True)
        server.listen(address.port, address.host)
        print(f"Ready; stop it with Ctrl-C. Anyone with this address can use it:\n{address.url}", file=sys.stderr)
        whole = f"{address.url}?token={address.token}{f'#{fragment}' if fragment else ''}"
        print(whole, flush=True)
        if browse:
            webbrowser.open(whole)
        await stop.wait()
        server.stop()
        await server.close_all_connections()


def application(app: App, address: Address, pool: ThreadPoolExecutor) -> Application:
    """What answers the requests; questions are answered by the threads of `pool`."""
    own: dict[str, Any] = {"served": Served(app, address, pool)}
    routes: Iterable[tuple[str, type[RequestHandler]]] = (
        (r"/", _Page), (r"/alive", _Alive), (r"/api/(\w+)", _Question), (r"/(app\.js|app\.css)", _Asset),
        (r"/.*", _Nothing),
    )  # fmt: skip
    # A proxy may take its own path away, or leave it.
    prefix = f"(?:{quote(address.path)})?" if address.path else ""
    return Application([(f"{prefix}{path}", handler, own) for path, handler in routes], log_function=lambda _: None)


@dataclass(frozen=True)
class Served:
    """What all requests share."""

    app: App
    address: Address
    pool: ThreadPoolExecutor

    @cached_property
    def assets(self) -> dict[str, tuple[str, str]]:
        """The media type and the text of each file that a page loads."""
        script = bundle.script("shell", *self.app.scripts, "served")
        return {"app.js": ("text/javascript", script), "app.css": ("text/css", bundle.style(*self.app.styles))}

    @cached_property
    def version(self) -> str:
        """Changes with what a page loads, so that no browser keeps an old one."""
        return hashlib.sha256("".join(text for _, text in self.assets.values()).encode()).hexdigest()[:16]


class _Request(RequestHandler):
    """Any request: the host it names, the token, the headers of every answer."""

    def initialize(self, served: Served) -> None:
        self.served = served

    def set_default_headers(self) -> None:
        self.set_header("Content-Security-Policy", _POLICY)
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cache-Control", "no-store")
        self.clear_header("Server")

    def prepare(self) -> None:
        """Refuse what names another host."""
        if not self.served.address.knows(urlsplit(f"//{self.request.host}").hostname or ""):
            self.refuse(421, "this address is not known here; start mrb with --base-url and the address that you use")

    @property
    def is_let_in(self) -> bool:
        """Whether the request brings the token, in its cookie or its address."""
        given = self.get_query_argument("token", "") or self.get_cookie(self.served.address.cookie, "") or ""
        return hmac.compare_digest(given.encode(), self.served.address.token.encode())

    def refuse(self, status: int, error: str) -> None:
        """End the request with a sentence."""
        self.set_status(status)
        self.finish({"ok": False, "error": error})

    def write_error(self, status_code: int, **_: Any) -> None:
        """Say no more than the status: the log holds the rest."""
        self.finish({"ok": False, "error": f"the server cannot answer this ({status_code})"})


class _Page(_Request):
    """The page of the app; who has no token, or an old one, is told so in plain words."""

    def get(self) -> None:
        served = self.served
        if not self.is_let_in:
            self.set_status(403)
            self.finish(template("door").render(refused="token" in self.request.query_arguments))
            return
        self.set_cookie(
            served.address.cookie, served.address.token, path=f"{served.address.path}/", httponly=True, samesite="Lax",
            secure=self.request.protocol == "https",
        )  # fmt: skip
        self.finish(template("app").render(title=served.app.title, version=served.version))


class _Alive(_Request):
    """Tells a page whether its server is there and still knows its token."""

    def get(self) -> None:
        self.set_status(204 if self.is_let_in else 403)
        self.finish()


class _Question(_Request):
    """A question of the page, and its answer."""

    async def post(self, what: str) -> None:
        if not self.is_let_in:
            return self.refuse(403, "the server of this page was started again; open its new address")
        # A page of somebody else can send a form here, but no JSON.
        if self.request.headers.get("Content-Type") != "application/json":
            return self.refuse(415, "a question is sent as JSON")
        try:
            question = json.loads(self.request.body)
        except ValueError:
            question = None
        if not isinstance(question, dict):
            return self.refuse(400, "a question is a JSON object")
        loop, served = asyncio.get_running_loop(), self.served
        answer = await loop.run_in_executor(served.pool, served.app.answer, what, question)
        if isinstance(answer, File):
            self.set_header("Content-Type", answer.kind)
            self.set_header("Mrb-Facts", quote(json.dumps(answer.facts)))
            self.finish(answer.content)
        else:
            self.set_header("Content-Type", "application/json")
            self.finish(json.dumps(answer))
        return None


class _Asset(_Request):
    """The script and the style sheet, which hold no data."""

    def get(self, name: str) -> None:
        kind, text = self.served.assets[name]
        self.set_header("Content-Type", f"{kind}; charset=utf-8")
        self.set_header("Cache-Control", "max-age=31536000, immutable")
        self.finish(text)


class _Nothing(_Request):
    """Any other address; who has no token is not told which there are."""

    def get(self) -> None:
        if self.is_let_in:
            self.refuse(404, "there is no such page")
        else:
            self.refuse(403, "the address is not complete; open the one that mrb printed")

    post = head = get


def _is_number(host: str) -> bool:
    """Whether a host is an IP address, which no other site can take as its name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _shown(host: str) -> str:
    """The host as it stands in a URL; one that stands for every address becomes this machine's name."""
    if host in ("", "0.0.0.0", "::"):  # noqa: S104  recognised, not bound to
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host
