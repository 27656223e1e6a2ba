"""Servers that a person opens in a browser: who can reach them, and what they leave behind."""

import os
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from mrb_lib.demo.build import write_demo


def _started(code: str, folder: Path) -> tuple[subprocess.Popen[str], str]:
    """A process that serves, once it has printed its address."""
    environment = os.environ | {"TMPDIR": str(folder), "http_proxy": "http://127.0.0.1:9"}  # no proxy is there
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


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def _answer(address: str) -> tuple[int, str]:
    try:
        with urllib.request.build_opener(_Stay).open(address, timeout=60) as answer:
            return answer.status, answer.headers["Content-Security-Policy"]
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get("Location", "")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("servers") / "bench"
    write_demo(folder, cases=3, seed=1)
    return folder


@pytest.mark.parametrize(
    ("app", "number"),
    [("review", signal.SIGINT), ("annotate", signal.SIGTERM), ("annotate", signal.SIGKILL)],
)
def test_an_app_is_one_process_that_stops_when_it_is_told_to(
    folder: Path, bench: Path, app: str, number: signal.Signals
) -> None:
    words = ["mrb", app, str(bench), "--no-browser", *(["--annotators", "Dr One"] if app == "annotate" else [])]
    code = f"from mrb_lib.cli.main import main; import sys; sys.argv = {words!r}; main()"
    server, address = _started(code, folder)
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    assert not children.exists() or children.read_text() == ""
    with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310  an address printed by our own server
        assert answer.status == 200
    token = address.split("=")[1]
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(token.encode() in line for line in lines), "the token is in no list of processes"
    server.send_signal(number)
    _, said = server.communicate(timeout=60)
    assert server.returncode == (0 if number != signal.SIGKILL else -signal.SIGKILL), said
    assert "\nReady;" in f"\n{said}" and ("\nStopped." in said) == (number != signal.SIGKILL), said
    assert "http" not in said, "one address is printed, with its token"
    with pytest.raises(OSError, match=r"refused|reset"):
        urllib.request.urlopen(address, timeout=10)  # noqa: S310


def test_jupyterlab_is_served_behind_a_token(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a b.ipynb").write_text('{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}', encoding="utf-8")
    code = "from pathlib import Path; from mrb_lib.cli.lab_server import ServerOptions, serve_lab; "
    code += f"serve_lab(Path({str(tmp_path / 'a b.ipynb')!r}), ServerOptions(browser=False))"
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
    assert lines == [ready], "it starts without a warning, and one address is printed"
