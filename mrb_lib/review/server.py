"""The server of an app: one process, a token in front of it, pages and answers over HTTP.

Whoever has the token may read the benchmark and write reviews. Nobody can run code: a page may ask the questions of its
app and nothing else.
"""

import asyncio
import hashlib
import hmac
import json
import signal
import sys
import webbrowser
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final
from urllib.parse import quote, urlsplit

from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler

from mrb_lib.review.access import Address
from mrb_lib.review.app import App, File
from mrb_lib.review.pages import script, style, template

_LARGEST_QUESTION: Final = 1_000_000  # bytes; the longest note takes 100,000 letters
_MOST_AT_ONCE: Final = 4
_POLICY: Final = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; object-src 'none'; "
    "base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
)


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
        print("Ready; stop it with Ctrl-C. Anyone with this address can use it:", file=sys.stderr, flush=True)
        whole = f"{address.url}?token={address.token}{f'#{fragment}' if fragment else ''}"
        print(whole, flush=True)
        if browse:
            webbrowser.open(whole)
        await stop.wait()
        print("Stopped. Everything that was saved is kept.", file=sys.stderr)
        server.stop()
        await server.close_all_connections()


def application(app: App, address: Address, pool: ThreadPoolExecutor) -> Application:
    """Return what answers the requests; questions are answered by the threads of `pool`."""
    code, look = script("shell", *app.scripts, "served"), style(*app.styles)
    routes: Iterable[tuple[str, type[RequestHandler]]] = (
        (r"/", _Page), (r"/alive", _Alive), (r"/api/(\w+)", _Question), (r"/(app\.js|app\.css)", _Asset),
        (r"/.*", _Nothing),
    )  # fmt: skip
    # A proxy may take its own path away, or leave it.
    prefix = f"(?:{quote(address.path)})?" if address.path else ""
    return Application(
        [(f"{prefix}{path}", handler) for path, handler in routes], log_function=lambda _: None,
        app=app, address=address, pool=pool,
        assets={"app.js": ("text/javascript", code), "app.css": ("text/css", look)},
        version=hashlib.sha256(f"{code}{look}".encode()).hexdigest()[:16],  # no browser keeps an old one
    )  # fmt: skip


class _Request(RequestHandler):
    """Any request: the host it names, the token, the headers of every answer."""

    def set_default_headers(self) -> None:
        self.set_header("Content-Security-Policy", _POLICY)
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Referrer-Policy", "no-referrer")
        self.set_header("Cache-Control", "no-store")
        self.clear_header("Server")

    def prepare(self) -> None:
        """Refuse what names another host."""
        if not self.settings["address"].knows(urlsplit(f"//{self.request.host}").hostname or ""):
            self.refuse(421, "this address is not known here; start mrb with --base-url and the address that you use")

    @property
    def is_let_in(self) -> bool:
        """Whether the request brings the token, in its cookie or its address."""
        given = self.get_query_argument("token", "") or self.get_cookie(self.settings["address"].cookie, "") or ""
        return hmac.compare_digest(given.encode(), self.settings["address"].token.encode())

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
        address, version = self.settings["address"], self.settings["version"]
        if not self.is_let_in:
            self.set_status(403)
            refused = "token" in self.request.query_arguments
            self.finish(template("door").render(refused=refused, version=version))
            return
        self.set_cookie(
            address.cookie, address.token, path=f"{address.path}/", httponly=True, samesite="Lax",
            secure=self.request.protocol == "https",
        )  # fmt: skip
        self.finish(template("app").render(title=self.settings["app"].title, version=version))


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
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self.settings["pool"], self.settings["app"].answer, what, question)
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
        kind, text = self.settings["assets"][name]
        self.set_header("Content-Type", f"{kind}; charset=utf-8")
        self.set_header("Cache-Control", "max-age=31536000, immutable")
        self.finish(text)


class _Nothing(_Request):
    """Any other address; who has no token is not told which there are."""

    def prepare(self) -> None:
        if self.is_let_in:
            self.refuse(404, "there is no such page")
        else:
            self.refuse(403, "the address is not complete; open the one that mrb printed")
