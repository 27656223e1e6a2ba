"""Servers that a person opens in a browser: who can reach them, and what they leave behind."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_server.base.websocket import WS_PING_INTERVAL

from mrb_lib.cli import servers
from mrb_lib.cli.servers import serve_app, serve_lab
from mrb_lib.tables.errors import InputError, RunError

_APP = """
import sys
from mrb_lib.cli.servers import serve_app
serve_app(["import os", "from IPython.display import HTML, display", "display(HTML(os.environ['SAID']))"],
          title="A <b>title", host="127.0.0.1", port=None, allow_remote=False, browse=False,
          environment={"SAID": "it's \\"served\\""})
"""


def _started(code: str, folder: Path) -> tuple[subprocess.Popen[str], str]:
    """A process that serves, once it has printed its address."""
    environment = os.environ | {"TMPDIR": str(folder)}
    server = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert server.stdout is not None
    assert server.stderr is not None
    address = server.stdout.readline().strip()
    if not address:
        raise AssertionError(server.stderr.read())
    return server, address


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Not pytest's own: the path of a socket must be short."""
    with tempfile.TemporaryDirectory(prefix="m") as name:
        yield Path(name)


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    server, address = _started(_APP, folder)
    yield server, address
    if server.poll() is None:
        server.terminate()
    server.communicate(timeout=60)


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def _answer(address: str) -> tuple[int, str]:
    try:
        with urllib.request.build_opener(_Stay).open(address, timeout=60) as answer:
            return answer.status, answer.headers["Content-Security-Policy"]
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("Location", "")


def test_the_address_holds_a_long_token_of_its_own(app: tuple[subprocess.Popen[str], str]) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}", app[1])


def test_without_the_token_one_is_led_to_the_login(app: tuple[subprocess.Popen[str], str]) -> None:
    base = app[1].split("?")[0]
    for address in (base, f"{base}?token=wrong"):
        code, where = _answer(address)
        assert code == 302
        assert where.startswith("/login")


def test_who_has_no_token_is_told_so_in_plain_words_and_can_set_no_password(
    app: tuple[subprocess.Popen[str], str],
) -> None:
    with urllib.request.urlopen(app[1].split("?")[0], timeout=60) as answer:  # noqa: S310  our own server
        page = answer.read().decode()
    assert "The address is not complete" in page
    assert "password" not in page.lower()


@pytest.mark.parametrize("path", ["api/kernels/0", "voila/files/app.ipynb", "voila/files/../config/voila.json"])
def test_nothing_else_is_given_away_without_the_token(app: tuple[subprocess.Popen[str], str], path: str) -> None:
    code, _ = _answer(app[1].split("?")[0] + path)
    assert code in (302, 403, 404)


def test_with_the_token_the_app_is_served_and_can_fetch_nothing_from_elsewhere(
    app: tuple[subprocess.Popen[str], str],
) -> None:
    with urllib.request.urlopen(app[1], timeout=60) as answer:  # noqa: S310  an address printed by our own server
        page, policy = answer.read().decode(), answer.headers["Content-Security-Policy"]
    assert 'it\'s "served"' in page
    assert "<title>A &lt;b&gt;title" in page
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert not re.search(r"(src|href)=\"?(https?:)?//", page)


def test_the_token_is_in_no_list_of_processes(app: tuple[subprocess.Popen[str], str]) -> None:
    token = app[1].split("=")[1]
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert lines
    assert not any(token.encode() in line for line in lines)


def test_an_app_that_fails_says_why_at_once_and_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(folder.glob("mrb-*"))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with pytest.raises(RunError, match=r"(?s)could not be started.*no such case view"):
        serve_app(
            ["raise RuntimeError('no such case view')"], title="", host="127.0.0.1", port=None, allow_remote=False,
            browse=False, environment={},
        )  # fmt: skip
    assert set(folder.glob("mrb-*")) == before


def test_its_folder_is_its_users_alone(folder: Path, app: tuple[subprocess.Popen[str], str]) -> None:
    modes = {path.stat().st_mode & 0o777 for path in folder.glob("mrb-*")}
    assert modes == {0o700}


def test_it_stops_at_ctrl_c_and_leaves_nothing(folder: Path, app: tuple[subprocess.Popen[str], str]) -> None:
    """The last of those that ask this server something."""
    server, address = app
    mine = set(folder.glob("mrb-*"))
    server.send_signal(signal.SIGINT)
    _, said = server.communicate(timeout=60)
    assert server.returncode == 0, said
    assert mine and not mine & set(folder.glob("mrb-*"))
    with pytest.raises(OSError, match=r"refused|reset"):
        urllib.request.urlopen(address, timeout=10)  # noqa: S310  an address printed by our own server


def test_a_sound_connection_is_not_taken_for_a_broken_one() -> None:
    """The server looks for the last answer when it asks again: it must be given more time than lies between."""
    settings = servers._voila_settings("127.0.0.1", 8000)["Voila"]
    assert isinstance(settings, dict)
    given = settings["tornado_settings"]
    interval = given.get("ws_ping_interval", WS_PING_INTERVAL)
    assert interval > 0
    assert given.get("ws_ping_timeout", 3 * interval) > 1.5 * interval


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org", "::"])  # noqa: S104  refused
def test_other_machines_are_let_in_only_when_asked(host: str) -> None:
    with pytest.raises(InputError, match="--allow-remote"):
        serve_app([], title="", host=host, port=None, allow_remote=False, browse=False, environment={})
    with pytest.raises(InputError, match="--allow-remote"):
        serve_lab(Path(), host=host, browse=False)


def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port}"):
            serve_app([], title="", host="127.0.0.1", port=port, allow_remote=False, browse=False, environment={})


def test_jupyterlab_is_served_behind_a_token(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a b.ipynb").write_text('{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}', encoding="utf-8")
    code = "from pathlib import Path; from mrb_lib.cli.servers import serve_lab; "
    code += f"serve_lab(Path({str(tmp_path / 'a b.ipynb')!r}), browse=False)"
    server, address = _started(code, folder)
    try:
        assert "/lab/tree/a%20b.ipynb?token=" in address
        assert _answer(address)[0] == 200
        code_, where = _answer(address.split("?")[0])
        assert code_ == 302
        assert "/login" in where
    finally:
        server.send_signal(signal.SIGTERM)
        _, said = server.communicate(timeout=60)
    assert server.returncode == 0
    lines = [line for line in said.splitlines() if "received signal" not in line]
    ready = "Ready; stop it with Ctrl-C. Anyone with this address can use it:"
    assert lines == [ready, address.split("?")[0]], "it starts without a warning"
