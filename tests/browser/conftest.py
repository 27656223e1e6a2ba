"""A real Chromium for tests of what a person touches; what it complains about fails the test that made it."""

import shutil
import time
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    LocatorAssertions,
    Page,
    PageAssertions,
    Request,
    ViewportSize,
    expect,
    sync_playwright,
)

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.report.html.pdf import browser

from .hand import WAYS, Hand
from .server import Served, path_of

_ALLOWED = ("http://127.0.0.1:", "ws://127.0.0.1:", "file:", "data:", "blob:", "about:")
_BROKEN = (
    "net::ERR_CONNECTION_",
    "net::ERR_EMPTY_RESPONSE",
    "net::ERR_SOCKET_NOT_CONNECTED",
    "status of 403 (Forbidden)",
)
PATIENT = 90_000
"""Milliseconds that an expectation may take where a test says nothing else: two busy cores are slow."""
SIZE: ViewportSize = {"width": 1280, "height": 860}
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


SHARED_MEMORY, ROOMY = Path("/dev/shm"), 1 << 30  # noqa: S108  # only its size is asked
"""Where Chromium keeps what its processes say to each other if that many bytes are free, as in many containers they are
not. Playwright has it write files instead, which took a sixth of its processor time."""


TRY, LONGEST_TRY = 260, 2_400
"""Milliseconds of the first and of the longest try of an expectation. Within these Playwright looks again every 50 to
100, but every 500 within longer ones: what is there after 0.3 s is then seen after 0.8."""


def _tried_again(method: Callable[..., None]) -> Callable[..., None]:
    @wraps(method)
    def expected(*args: Any, timeout: float = PATIENT, **options: Any) -> None:
        until, tried = time.monotonic() + timeout / 1000, 0
        while True:
            tried = min(tried + TRY, LONGEST_TRY)
            try:
                return method(*args, timeout=tried, **options)
            except AssertionError:
                if time.monotonic() > until:
                    raise

    return expected


@pytest.fixture(scope="session", autouse=True)
def _expectations_that_look_often() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for kind in (LocatorAssertions, PageAssertions):
            for name in [each for each in dir(kind) if each.startswith(("to_", "not_to_"))]:
                patch.setattr(kind, name, _tried_again(getattr(kind, name)))
        yield


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The Chromium that also prints reports. Without one the tests of this folder fail, naming the package."""
    path = browser()
    with sync_playwright() as playwright:
        has_room = SHARED_MEMORY.exists() and shutil.disk_usage(SHARED_MEMORY).free > ROOMY
        unwanted = ["--disable-dev-shm-usage"] if has_room else None
        launched = playwright.chromium.launch(executable_path=path, args=list(FLAGS), ignore_default_args=unwanted)
        yield launched
        launched.close()


class Watched:
    """A browser context whose pages may log no error, raise nothing, and ask nobody but this machine."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.complaints: list[str] = []
        context.set_default_timeout(PATIENT)
        context.on("page", self._watch)
        context.on("request", self._asked)

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(_ALLOWED):
            self.complaints.append(f"asked {request.url[:120]}")

    def _said(self, message: ConsoleMessage) -> None:
        # A server that the test stopped breaks connections, and the door is a 403: neither is the page's fault.
        if message.type == "error" and not any(broken in message.text for broken in _BROKEN):
            self.complaints.append(f"logged {message.text}")

    def _asks(self, dialog: Dialog) -> None:
        if dialog.type == "beforeunload":  # what is not saved yet is asked about by the browser, in its own words
            dialog.accept()
            return
        self.complaints.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _watch(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.complaints.append(f"raised {error}"))
        page.on("console", self._said)
        page.on("dialog", self._asks)


def unhurried(page: Page, patch: pytest.MonkeyPatch) -> None:
    """Press a key only when what is in sight is painted, as a person does: until then the apps refuse it on purpose."""
    press = page.keyboard.press

    def press_when_painted(key: str, **options: Any) -> None:
        if page.locator(".mrb-changing").count():  # to expect something takes longer than to ask
            expect(page.locator(".mrb-changing")).to_have_count(0)
        press(key, **options)

    patch.setattr(page.keyboard, "press", press_when_painted)


@pytest.fixture(scope="module")
def served(request: pytest.FixtureRequest, bench: Benchmark) -> Iterator[Served]:
    """The review of a module's `bench` while its tests last, or the app that it names as `APP`, with its `OPTIONS`."""
    app, options = (getattr(request.module, name, usual) for name, usual in (("APP", "review"), ("OPTIONS", ())))
    with Served(app, path_of(bench), *options) as running:
        yield running


@pytest.fixture
def new_page(chromium: Browser, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Page]]:
    """Makes pages, each in a context of its own (a reviewer of their own); options are those of a context.

    Whoever is `hasty` presses keys whatever the page is about to show.
    """
    made: list[Watched] = []

    def make(*, hasty: bool = False, **options: Any) -> Page:
        given: dict[str, Any] = {"viewport": SIZE, "accept_downloads": True, **options}
        watched = Watched(chromium.new_context(**given))
        made.append(watched)
        page = watched.context.new_page()
        if not hasty:
            unhurried(page, monkeypatch)
        return page

    yield make
    complaints = [complaint for watched in made for complaint in watched.complaints]
    for watched in made:
        watched.context.close()
    assert complaints == []


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """One page, 1280 wide."""
    return new_page()


@pytest.fixture(params=WAYS)
def hand(request: pytest.FixtureRequest, new_page: Callable[..., Page]) -> Hand:
    """Somebody with a page of their own, who uses it by mouse, by touch, or by keys alone."""
    rights = ["clipboard-read", "clipboard-write"]
    return Hand(new_page(has_touch=request.param == "touch", permissions=rights), request.param)


@pytest.fixture(scope="module")
def kept(chromium: Browser) -> Iterator[Watched]:
    """The context of `same_page`."""
    watched = Watched(chromium.new_context(viewport=SIZE))
    watched.context.new_page()
    yield watched
    watched.context.close()


@pytest.fixture
def same_page(kept: Watched, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """One page for tests of a module that change no more of it than its document and its size, empty and 1280 wide.

    A page of one's own takes a process, and its script is compiled anew there.
    """
    (page,) = kept.context.pages
    page.set_viewport_size(SIZE)
    page.goto("about:blank")
    page.mouse.move(0, 0)
    unhurried(page, monkeypatch)
    kept.complaints.clear()
    yield page
    assert kept.complaints == []
