"""Starting a server that a person opens in a browser: on this machine unless asked otherwise, behind a token.

Whoever has the token may read the benchmark and write reviews; nobody may run code through an app, since its server
passes on nothing but the messages of widgets.
"""

from __future__ import annotations

import ipaddress
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

from mrb_lib.cli.preloaded import DATA, KERNEL, command, preloaded, write_kernel
from mrb_lib.tables.errors import InputError, RunError

LOG = "MRB_SERVER_LOG"
_READY = "MRB_SERVER_READY"
_SECONDS_TO_START = 180.0
_SECONDS_TO_STOP = 20.0
_TAIL = 15
_FAILED = b"Error at server while executing cell"  # so Voila's log begins where a cell raised something
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'self'"
)
_HEADERS = {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
# A page that is left tells the server to end its kernel, and proves itself by the kernel's random name alone.
_TORNADO = {"headers": _HEADERS, "disable_check_xsrf": True}
# Tornado warns that jupyter_server lets three pings go unanswered; with one, it would end sound connections.
_QUIET = {"loggers": {"tornado.general": {"level": "ERROR"}}}
_LAST_CELL = f"import os, pathlib\npathlib.Path(os.environ[{_READY!r}]).touch()"


def serve_app(
    cells: Sequence[str],
    *,
    title: str,
    host: str,
    port: int | None,
    allow_remote: bool,
    browse: bool,
    environment: Mapping[str, str],
    preload: Sequence[str] = (),
    fragment: str = "",
) -> None:
    """Serve an app through Voila until it is stopped by Ctrl-C or SIGTERM.

    Parameters
    ----------
    cells : the code that shows the app; what it works on travels in `environment`, never in the code
    title : of the page
    host, port : where to listen; None takes a free port
    allow_remote : permit a host that other machines reach
    browse : open the browser
    environment : variables for the kernel, beside those of this process
    preload : the modules that every visitor's kernel needs; they are imported once
    fragment : what stands after # in the address, for an app that reads it; empty for none

    Raises
    ------
    InputError
        The host is not this machine and `allow_remote` is false, the port is taken, or Voila is not installed.
    RunError
        The server did not start, or stopped unexpectedly.

    Notes
    -----
    The address with the token is printed on stdout, alone, when the app can be opened; all else goes to stderr. Every
    visitor has a kernel, one more waits for the next; one without a visitor ends after an hour. Validated by
    tests/cli/test_servers.py and tests/browser/test_review.py.
    """
    chosen = check_app(host, port, allow_remote)
    with _private_folder() as folder:
        notebook = folder / "app" / "app.ipynb"
        notebook.parent.mkdir()
        notebook.write_text(json.dumps(_notebook([*cells, _LAST_CELL], title)), encoding="utf-8")
        (folder / "config").mkdir()
        (folder / "config" / "voila.json").write_text(json.dumps(_voila_settings(host, chosen)), encoding="utf-8")
        variables = _own_jupyter(folder) | dict(environment) | {_READY: str(folder / "ready"), LOG: str(folder / "log")}
        url = f"http://{_shown(host)}:{chosen}/"
        with preloaded({**os.environ, **variables}, ("voila.app", *KERNEL, *DATA, *preload)) as forking:
            write_kernel(folder / "jupyter", forking)
            server = command("voila", notebook.name, environment=forking)
            _serve(server, notebook.parent, forking, url, browse=browse, ready=folder / "ready", fragment=fragment)


def serve_lab(
    where: Path,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    allow_remote: bool = False,
    browse: bool = True,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Serve JupyterLab on a folder, or on a notebook's folder with the notebook open, until it is stopped.

    Anyone with the token can run code as the user of the server, whose settings of JupyterLab apply. Parameters and
    errors are those of `serve_app`.
    """
    chosen = check_lab(host, port, allow_remote)
    root = where if where.is_dir() else where.parent
    options = [
        "--ServerApp.open_browser=False", f"--ServerApp.ip={host}", f"--ServerApp.port={chosen}",
        "--ServerApp.port_retries=0", f"--ServerApp.root_dir={root.resolve()}", "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", "--Application.log_level=ERROR",
        # It reads every old option of the server, which then warns of each; Notebook 6, for which it does, is not here.
        "--ServerApp.jpserver_extensions=notebook_shim=False",
        "--ZMQChannelsWebsocketConnection.iopub_data_rate_limit=1e8",
        *(["--allow-root"] if os.geteuid() == 0 else []),
    ]  # fmt: skip
    path = "lab" if where.is_dir() else f"lab/tree/{urllib.request.pathname2url(where.name)}"
    with _private_folder() as folder:
        variables = {**(environment or {}), LOG: str(folder / "log")}
        lab = [sys.executable, "-m", "jupyterlab", *options]
        _serve(lab, root, variables, f"http://{_shown(host)}:{chosen}/{path}", browse=browse, ready=None)


def check_app(host: str, port: int | None, allow_remote: bool) -> int:
    """The port that `serve_app` would use; raises what it would, for a command that has work to do first."""
    _require("voila", "anywidget")
    return _address(host, port, allow_remote)


def check_lab(host: str, port: int | None, allow_remote: bool) -> int:
    """The port that `serve_lab` would use; raises what it would raise before it starts anything."""
    _require("jupyterlab")
    return _address(host, port, allow_remote)


def _require(*modules: str) -> None:
    missing = [name for name in modules if not find_spec(name)]
    if missing:
        raise InputError(f"{', '.join(missing)}: not installed; pip install 'mrb-workbench[lab]' brings it.")


def _address(host: str, port: int | None, allow_remote: bool) -> int:
    """The port to listen on, once host and port are known to be usable."""
    if not _is_loopback(host) and not allow_remote:
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


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _shown(host: str) -> str:
    """The host as it stands in a URL; one that stands for every address becomes this machine's name."""
    if host in ("", "0.0.0.0", "::"):  # noqa: S104  recognised, not bound to
        return socket.gethostname()
    return f"[{host}]" if ":" in host else host


@contextmanager
def _private_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="mrb-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _own_jupyter(folder: Path) -> dict[str, str]:
    """Folders of Jupyter that nobody else's settings reach, and the workbench's template."""
    names = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "run"}
    own = {variable: str(folder / name) for variable, name in (names | {"IPYTHONDIR": "ipython"}).items()}
    templates = str(files("mrb_lib.review") / "voila" / "share" / "jupyter")
    # Voila names itself to a kernel that it starts for a visitor; here, to those that wait for one, too.
    paths = os.pathsep.join([str(folder / "jupyter"), templates])
    return own | {"JUPYTER_PATH": paths, "MRB_STATIC": "", "SERVER_SOFTWARE": "voila"}


def _notebook(cells: Sequence[str], title: str) -> dict[str, object]:
    spec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    code: list[dict[str, object]] = [
        {"cell_type": "code", "id": f"cell-{i}", "metadata": {}, "execution_count": None, "outputs": [], "source": text}
        for i, text in enumerate(cells)
    ]
    return {"cells": code, "metadata": {"kernelspec": spec, "title": title}, "nbformat": 4, "nbformat_minor": 5}


def _voila_settings(host: str, port: int) -> dict[str, object]:
    return {
        "Voila": {
            "open_browser": False, "ip": host, "port": port, "port_retries": 0, "auto_token": True,
            "identity_provider_class": "mrb_lib.cli.door.TokenProvider",
            "log_level": "ERROR", "logging_config": _QUIET, "tornado_settings": _TORNADO,
        },
        "VoilaConfiguration": {
            "file_allowlist": [], "template": "mrb", "allow_template_override": "NO", "allow_theme_override": "NO",
            "preheat_kernel": True, "default_pool_size": 1,
        },
        "MappingKernelManager": {"cull_idle_timeout": 3600, "cull_interval": 60},
        "KernelManager": {"transport": "ipc"},
        "PasswordIdentityProvider": {"allow_password_change": False},
        "NotebookClient": {"startup_timeout": int(_SECONDS_TO_START)},
        "ZMQChannelsWebsocketConnection": {"iopub_data_rate_limit": 1e8},
    }  # fmt: skip


def _serve(
    arguments: list[str],
    folder: Path,
    environment: Mapping[str, str],
    url: str,
    *,
    browse: bool,
    ready: Path | None,
    fragment: str = "",
) -> None:
    """Run a server behind a fresh token, print its address when it answers, and wait for its end."""
    token = secrets.token_urlsafe(32)
    log = Path(environment[LOG])
    variables = {**os.environ, **environment, "JUPYTER_TOKEN": token}
    with log.open("ab") as sink:
        server = subprocess.Popen(
            arguments,
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
        )
    with _stopped_by_signals(server) as stopped, log.open("rb") as lines:
        _await(server, url, ready, stopped, log)
        if not stopped:
            print(
                f"Ready; stop it with Ctrl-C. Anyone with this address can use it:\n{url}", file=sys.stderr, flush=True
            )
            address = f"{url}?token={token}{f'#{fragment}' if fragment else ''}"
            print(address, flush=True)
            if browse:
                webbrowser.open(address)
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


def _await(server: subprocess.Popen[bytes], url: str, ready: Path | None, stopped: list[int], log: Path) -> None:
    """Wait until the server answers and, where a file is named, its first page is made."""
    end = time.monotonic() + _SECONDS_TO_START
    while not stopped:
        if server.poll() is not None:
            raise RunError(f"the server did not start (exit code {server.returncode}).\n{_tail(log)}")
        if _FAILED in log.read_bytes():
            raise RunError(f"the app could not be started.\n{_tail(log)}")
        if _answers(url) and (ready is None or ready.exists()):
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
