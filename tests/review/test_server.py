"""The server of an app: who may ask it, what it answers, and what a page is told."""

import json
import re
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from tornado.httpserver import HTTPServer
from tornado.ioloop import IOLoop
from tornado.testing import bind_unused_port

from mrb_lib.review.access import FILE, Address, address_of, check_address
from mrb_lib.review.app import App, File
from mrb_lib.review.server import application
from mrb_lib.tables.errors import InputError

TOKEN = "t" * 43
JSON = {"Content-Type": "application/json"}


def _refuse(_: object) -> dict[str, object]:
    raise InputError("choose another.")


def _break(_: object) -> dict[str, object]:
    raise ZeroDivisionError


ANSWERS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "double": lambda question: {"n": 2 * question["n"]},
    "file": lambda _: File(b"1,2\n", "text/csv", {"name": "“a”.csv"}),
    "refuse": _refuse,
    "break": _break,
}
APP = App("A <b>title", ANSWERS, ("case/case",), ("case/case",), lambda: "<p>plain</p>")
Ask = Callable[..., tuple[HTTPResponse, str]]


@pytest.fixture(params=["", "https://hub.example/user/me/proxy/8000/"])
def base(request: pytest.FixtureRequest) -> str:
    """The address that a proxy gives the app."""
    return str(request.param)


@pytest.fixture
def ask(base: str) -> Iterator[Ask]:
    """Sends a request to a served app, by default with the cookie of somebody who was let in."""
    started, loops = threading.Event(), list[IOLoop]()
    socket, port = bind_unused_port()
    address = Address("127.0.0.1", port, TOKEN, base)

    def run() -> None:
        loop = IOLoop(make_current=True)
        loops.append(loop)
        with ThreadPoolExecutor(2) as pool:
            server = HTTPServer(application(APP, address, pool), max_buffer_size=10_000)
            server.add_sockets([socket])
            loop.add_callback(started.set)
            loop.start()
            server.stop()
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert started.wait(20)

    def send(path: str, body: bytes | None = None, **headers: str) -> tuple[HTTPResponse, str]:
        connection = HTTPConnection("127.0.0.1", port, timeout=20)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        known = {"Cookie": f"{address.cookie}={TOKEN}", **(JSON if body is not None else {})}
        connection.request("GET" if body is None else "POST", path, body, {**known, **named})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text

    yield send
    loops[0].add_callback(loops[0].stop)
    thread.join(20)


def test_a_question_is_answered(ask: Ask) -> None:
    assert json.loads(ask("/api/double", b'{"n": 4}')[1]) == {"ok": True, "n": 8}
    assert json.loads(ask("/api/refuse", b"{}")[1]) == {"ok": False, "error": "choose another."}
    assert "load the page again" in json.loads(ask("/api/dance", b"{}")[1])["error"]


def test_a_file_comes_with_its_facts(ask: Ask) -> None:
    answer, text = ask("/api/file", b"{}")
    assert text == "1,2\n"
    assert answer.headers["Content-Type"] == "text/csv"
    assert json.loads(unquote(answer.headers["Mrb-Facts"])) == {"name": "“a”.csv"}


def test_a_failure_is_answered_and_logged(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    assert "ZeroDivisionError" in json.loads(ask("/api/break", b"{}")[1])["error"]
    assert "Traceback" in caplog.text


def test_without_the_token_nothing_is_given_away_but_the_door(ask: Ask) -> None:
    for path, words in (("/", "not complete"), (f"/?token={'x' * 43}", "no longer valid")):
        answer, text = ask(path, Cookie="")
        assert answer.status == 403
        assert words in text
        assert "Set-Cookie" not in answer.headers
    assert ask("/api/double", b'{"n": 4}', Cookie="")[0].status == 403
    assert ask("/alive", Cookie="")[0].status == 403
    assert ask("/alive")[0].status == 204


def test_the_token_opens_the_page_and_becomes_a_cookie_that_no_script_reads(ask: Ask, base: str) -> None:
    answer, text = ask(f"/?token={TOKEN}", Cookie="")
    assert answer.status == 200
    assert "<title>A &lt;b&gt;title</title>" in text
    assert not re.search(r'(src|href)="/', text), "every address is relative to the page's own"
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie
    assert f"Path={Address('', 0, '', base).path}/" in cookie
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "unsafe-inline" not in answer.headers["Content-Security-Policy"].split("style-src")[0]


def test_the_page_is_found_below_the_path_of_a_proxy_with_or_without_it(ask: Ask, base: str) -> None:
    path = Address("", 0, "", base).path
    for name in ("/", "/app.js", "/app.css", "/alive"):
        assert ask(f"{path}{name}")[0].status in (200, 204)
    assert json.loads(ask(f"{path}/api/double", b'{"n": 4}')[1])["n"] == 8


def test_the_host_of_the_base_url_is_known() -> None:
    there = Address("127.0.0.1", 8000, TOKEN, "https://hub.example/user/me/")
    assert all(map(there.knows, ("hub.example", "HUB.example.", "localhost", "127.0.0.1", "::1")))
    assert not replace(there, base_url="").knows("hub.example")
    assert there.url == "https://hub.example/user/me/"
    assert replace(there, base_url="/user/me").url == "http://127.0.0.1:8000/user/me/"


FORM = {"Content_Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        *((b'{"n": 4}', {"Host": name}, 421) for name in ("evil.example", "evil:80", "localhost.evil.example", "")),
        (b"n=4", FORM, 415),
        *((body, {}, 400) for body in (b"", b"[1]", b"{", b"\xff", b'"n"')),
    ],
)
def test_what_is_no_question_of_our_page_is_refused(
    ask: Ask, body: bytes, headers: dict[str, str], status: int
) -> None:
    answer, text = ask("/api/double", body, **headers)
    assert answer.status == status
    assert status != 421 or "--base-url" in text


@pytest.mark.parametrize(
    "path", ["/%2e%2e%2f", "/api/", "/api/double/", "/nowhere", "/app.py", "//", "/%ff", "/api/%00"]
)
def test_any_other_address_is_plainly_not_there(ask: Ask, path: str) -> None:
    for cookie, status in (({}, 404), ({"Cookie": ""}, 403)):
        answer, text = ask(path, **cookie)
        assert answer.status == status
        assert "Traceback" not in text


def test_a_question_that_is_too_long_is_not_read(ask: Ask) -> None:
    try:
        status = ask("/api/double", b" " * 20_000)[0].status
    except (ConnectionError, OSError):
        status = 400
    assert status in (400, 413)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org", "::"])  # noqa: S104  refused
def test_other_machines_are_let_in_only_when_asked(host: str) -> None:
    with pytest.raises(InputError, match="--allow-remote"):
        check_address(host, None, False)


def _listens(folder: Path, app: str = "review", **options: Any) -> Address:
    return address_of(folder, app, **{"host": "127.0.0.1", "port": None, "allow_remote": False, **options})


def test_the_address_of_last_time_comes_again(tmp_path: Path) -> None:
    first = _listens(tmp_path)
    assert re.fullmatch(r"[\w-]{43}", first.token)
    assert _listens(tmp_path) == first
    assert _listens(tmp_path, "annotate").token != first.token, "who annotates may not open the reviewers' app"
    renewed = _listens(tmp_path, renew=True)
    assert renewed.token != first.token
    assert _listens(tmp_path) == renewed
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_a_token_that_others_could_read_is_not_used_again(tmp_path: Path) -> None:
    first = _listens(tmp_path)
    (tmp_path / FILE).chmod(0o644)
    assert _listens(tmp_path).token != first.token
    (tmp_path / FILE).write_text("{", encoding="utf-8")
    assert _listens(tmp_path).token


def test_a_port_that_is_taken_is_named_where_it_was_asked_for(tmp_path: Path) -> None:
    socket, port = bind_unused_port()
    with socket:
        with pytest.raises(InputError, match=f"port {port}"):
            _listens(tmp_path, port=port)
        (tmp_path / FILE).write_text(json.dumps({"review": {"token": TOKEN, "port": port}}), encoding="utf-8")
        (tmp_path / FILE).chmod(0o600)
        found = _listens(tmp_path)
    assert found.token == TOKEN
    assert found.port != port


def test_a_notebook_without_a_page_shows_the_plain_view(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MRB_STATIC", "1")
    assert APP._repr_mimebundle_() == {"text/plain": "A <b>title", "text/html": "<p>plain</p>"}
    monkeypatch.setenv("MRB_STATIC", "")
    data, _ = APP._repr_mimebundle_()
    assert data["text/html"] == "<p>plain</p>"
    assert "application/vnd.jupyter.widget-view+json" in data


def test_a_kernel_answers_with_fields_and_with_the_bytes_of_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    from mrb_lib.review.widget import AppWidget

    shown, sent = AppWidget(APP.kernel_answer, APP.scripts, APP.styles), list[tuple[dict[str, Any], list[bytes]]]()
    monkeypatch.setattr(shown, "send", lambda answer, files: sent.append((answer["response"], files)))
    for question in ({"what": "double", "n": 4}, {"what": "file"}, {"what": "refuse"}, {}):
        shown._handle_custom_msg({"kind": "anywidget-command", "id": "7", "name": "_ask", "msg": question}, [])
    assert sent[:3] == [
        ({"ok": True, "n": 8}, []),
        ({"ok": True, "kind": "text/csv", "name": "“a”.csv"}, [b"1,2\n"]),
        ({"ok": False, "error": "choose another."}, []),
    ]
    assert not sent[3][0]["ok"]
