"""JupyterLab as a server behind a token, on this machine unless asked otherwise."""

import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from mrb_lib.cli.serving import ServerOptions
from mrb_lib.review.access import Address, check_address
from mrb_lib.tables.errors import InputError, RunError

_SECONDS_TO_START = 180.0
_SECONDS_TO_STOP = 20.0


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
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *flags], cwd=root, env=variables, stdin=subprocess.DEVNULL,
        stdout=sys.stderr, start_new_session=True,
    )  # fmt: skip
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        url = f"{address.url}{path}"
        _await(server, url)
        print("Ready; stop it with Ctrl-C. Anyone with this address can use it:", file=sys.stderr, flush=True)
        print(f"{url}?token={address.token}", flush=True)
        if options.browser:
            webbrowser.open(f"{url}?token={address.token}")
        code = server.wait()
    except KeyboardInterrupt:
        return
    finally:
        server.terminate()
        try:
            server.wait(_SECONDS_TO_STOP)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            server.kill()
        for number, handler in before.items():
            signal.signal(number, handler)
    raise RunError(f"JupyterLab stopped unexpectedly (exit code {code}); its reasons are above. Start it again.")


def _await(server: subprocess.Popen[bytes], url: str) -> None:
    """Wait until the server answers."""
    end = time.monotonic() + _SECONDS_TO_START
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # no proxy leads to this machine
    while time.monotonic() < end:
        if server.poll() is not None:
            raise RunError(f"JupyterLab did not start (exit code {server.returncode}); its reasons are above.")
        try:
            with opener.open(url, timeout=5):
                return
        except OSError as error:
            if isinstance(error, urllib.error.HTTPError) and error.code < 500:
                return
        time.sleep(0.1)
    raise RunError(f"JupyterLab was not ready after {_SECONDS_TO_START:.0f} s; its reasons are above.")
