"""JupyterLab as a server behind a token, on this machine unless asked otherwise."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

from mrb_lib.cli.serving import ServerOptions
from mrb_lib.review.access import Address, check_address
from mrb_lib.tables.errors import InputError, RunError

_SECONDS_TO_START = 180.0
_SECONDS_TO_STOP = 20.0
_TAIL = 15


def check_lab(options: ServerOptions) -> int:
    """Return the port that `serve_lab` would use; raises what it would raise before it starts anything."""
    if not find_spec("jupyterlab"):
        raise InputError("jupyterlab: not installed; pip install 'mrb-workbench[lab]' brings it.")
    return check_address(options.host, options.port, options.allow_remote)


def serve_lab(where: Path, options: ServerOptions, environment: Mapping[str, str] | None = None) -> None:
    """Serve JupyterLab on a folder, or on a notebook's folder with the notebook open, until it is stopped.

    Anyone with the token can run code as the user of the server, whose settings of JupyterLab apply. The address with
    the token is printed on stdout, alone, when it can be opened; all else goes to stderr.

    Parameters
    ----------
    environment : variables for the server and its kernels

    Raises
    ------
    InputError
        The host is not this machine and remote use is not allowed, the port is taken, or JupyterLab is not installed.
    RunError
        The server did not start, or stopped unexpectedly.

    Notes
    -----
    Validated by tests/cli/test_servers.py and tests/browser/test_lab.py.
    """
    chosen = check_lab(options)
    root = where if where.is_dir() else where.parent
    flags = [
        "--ServerApp.open_browser=False", f"--ServerApp.ip={options.host}", f"--ServerApp.port={chosen}",
        "--ServerApp.port_retries=0", f"--ServerApp.root_dir={root.resolve()}", "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", "--Application.log_level=ERROR",
        # It reads every old option of the server, which then warns of each; Notebook 6, for which it does, is not here.
        "--ServerApp.jpserver_extensions=notebook_shim=False",
        "--ZMQChannelsWebsocketConnection.iopub_data_rate_limit=1e8",
        *(["--allow-root"] if os.geteuid() == 0 else []),
    ]  # fmt: skip
    path = "lab" if where.is_dir() else f"lab/tree/{urllib.request.pathname2url(where.name)}"
    address = Address(options.host, chosen, secrets.token_urlsafe(32))
    variables = {**os.environ, **(environment or {}), "JUPYTER_TOKEN": address.token}
    with tempfile.TemporaryDirectory(prefix="mrb-") as folder:
        log = Path(folder, "log")
        with log.open("ab") as sink:
            server = subprocess.Popen(
                [sys.executable, "-m", "jupyterlab", *flags], cwd=root, env=variables, stdin=subprocess.DEVNULL,
                stdout=sink, stderr=sink, start_new_session=True,
            )  # fmt: skip
        _watch(server, log, f"{address.url}{path}", address.token, browse=options.browser)


def _watch(server: subprocess.Popen[bytes], log: Path, url: str, token: str, *, browse: bool) -> None:
    """Print the address of a server when it answers, pass on what it logs, and wait for its end."""
    with _stopped_by_signals(server) as stopped, log.open("rb") as lines:
        _await(server, url, stopped, log)
        if not stopped:
            ready = f"Ready; stop it with Ctrl-C. Anyone with this address can use it:\n{url}"
            print(ready, file=sys.stderr, flush=True)
            print(f"{url}?token={token}", flush=True)
            if browse:
                webbrowser.open(f"{url}?token={token}")
        while server.poll() is None:
            _pass_on(lines.read())
            _wait(server, 0.5)
        _pass_on(lines.read())
    if not stopped:
        raise RunError(
            f"the server stopped unexpectedly (exit code {server.returncode}); start it again.\n{_tail(log)}"
        )


@contextmanager
def _stopped_by_signals(server: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """Pass Ctrl-C and SIGTERM on to the server, and yield the list of those that came."""
    came: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        came.append(number)
        if server.poll() is None:
            server.send_signal(signal.SIGTERM if len(came) == 1 else signal.SIGKILL)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield came
    finally:
        if server.poll() is None:
            server.terminate()
        _wait(server, _SECONDS_TO_STOP)
        if server.poll() is None:
            server.kill()
            server.wait()
        for number, handler in before.items():
            signal.signal(number, handler)


def _await(server: subprocess.Popen[bytes], url: str, stopped: list[int], log: Path) -> None:
    """Wait until the server answers."""
    end = time.monotonic() + _SECONDS_TO_START
    while not stopped:
        if server.poll() is not None:
            raise RunError(f"the server did not start (exit code {server.returncode}).\n{_tail(log)}")
        if _answers(url):
            return
        if time.monotonic() > end:
            raise RunError(f"the server was not ready after {_SECONDS_TO_START:.0f} s.\n{_tail(log)}")
        _wait(server, 0.1)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):  # noqa: S310  an http address made above
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False


def _wait(server: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        server.wait(seconds)
    except subprocess.TimeoutExpired:
        return


def _pass_on(output: bytes) -> None:
    if output:
        print(output.decode("utf-8", "replace"), end="", file=sys.stderr, flush=True)


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL:])
