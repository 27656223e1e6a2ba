"""Processes that import nothing: each is forked from one that has loaded what all of them use.

A report takes a process and a kernel for each notebook, an app a kernel for each visitor, and importing is most of what
they do at their start. `python -m mrb_lib.cli.preloaded ADDRESS MODULE...` listens on a socket, loads, and forks
for every client.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

ADDRESS: Final = "MRB_PRELOADED"
_CLIENT = Path(__file__).with_name("preloaded_client.py")
KERNEL: Final = (
    "ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.debugger", "IPython", "IPython.core.completerlib",
    "IPython.core.debugger", "IPython.core.logger", "IPython.core.oinspect", "IPython.extensions.storemagic", "psutil",
    "tornado.platform.asyncio",
)  # fmt: skip
"""What every kernel imports, the second half only as it starts."""
DATA: Final = ("PIL.Image:preinit", "pyarrow.dataset", "sqlalchemy.dialects.sqlite")
"""What is imported where the first picture, table and store is opened."""
_READY = b"ready\n"
_SECONDS_TO_STOP = 5.0


def command(module: str, *arguments: str, environment: Mapping[str, str] = os.environ) -> list[str]:
    """What does as `python -m MODULE ARGUMENTS`, in a forked process where there is one to fork from."""
    address = environment.get(ADDRESS)
    if not address:
        return [sys.executable, "-m", module, *arguments]
    return [sys.executable, "-I", "-S", str(_CLIENT), address, module, *arguments]


def write_kernel(folder: Path, environment: Mapping[str, str] = os.environ, *, name: str = "python3") -> None:
    """Let a kernel's name stand for the interpreter that runs this process, where JUPYTER_PATH begins with `folder`."""
    kernel = folder / "kernels" / name
    kernel.mkdir(parents=True)
    argv = command("ipykernel_launcher", "-f", "{connection_file}", environment=environment)
    spec = {"argv": argv, "display_name": "Python 3", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")


@contextmanager
def preloaded(environment: Mapping[str, str], modules: Sequence[str]) -> Iterator[dict[str, str]]:
    """A process to fork from; gives the environment in which `command` uses it, while it still loads.

    Where there is one already, it is used. Elsewhere than on Linux, where libraries do not survive a fork, and where it
    does not start, which is said, the environment is given back as it is, so that every process imports for itself.

    Parameters
    ----------
    environment : of the process that loads; a forked process has that of its client
    modules : what to load, as `module`, or `module:function` to call that function, too; what is not installed is
        left out
    """
    if sys.platform != "linux" or environment.get(ADDRESS):
        yield dict(environment)
        return
    folder = tempfile.mkdtemp(prefix="mrb-")  # the address of a socket may be no longer than about a hundred letters
    address = str(Path(folder) / "socket")
    server = subprocess.Popen(
        [sys.executable, "-m", __name__, address, *modules], cwd=folder, env=dict(environment),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        is_ready = server.stdout is not None and server.stdout.readline() == _READY
        if not is_ready:
            print("Processes cannot be forked here: each imports for itself, which takes longer.", file=sys.stderr)
        yield {**environment, ADDRESS: address} if is_ready else dict(environment)
    finally:
        server.communicate()  # it ends when its input does
        shutil.rmtree(folder, ignore_errors=True)


def serve(address: str, modules: Sequence[str]) -> None:
    """Listen, load, and fork for every client, until our input closes; returns in no other process than this one."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        os.write(1, _READY)
        ending = _Ending()
        atexit.register(ending.leave)  # the first to be registered is the last to be called
        _load(modules)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how those that stand between have ended
        while True:
            readable, _, _ = select.select([listening.fileno(), 0], [], [])
            if 0 in readable:
                return
            client, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                _serve_one(client, ending)
            client.close()


def _load(modules: Sequence[str]) -> None:
    # jsonschema can check IRIs with this; notebooks hold none, and importing it compiles a grammar for two seconds.
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]  # None is how an import is refused
    for name in modules:
        module, _, function = name.partition(":")
        with suppress(ImportError):  # some other part of the workbench is installed without it
            loaded = import_module(module)
            if function:
                getattr(loaded, function)()
    gc.freeze()  # what is loaded stays: no process is to look through it, nor to copy it by doing so


@dataclass
class _Ending:
    """Ends a process once all that was to be done at its end is, without taking apart what it had loaded.

    To do that writes on memory that it shares, and took a kernel .4 of its 1 s of processor time.

    Attributes
    ----------
    process, status : which one, and its exit status; None leaves the end to the interpreter, as a traceback does
    """

    process: int | None = None
    status: int | None = None

    def leave(self) -> None:
        """End this process if it is to end so."""
        if self.process == os.getpid() and self.status is not None:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.status)


def _serve_one(client: socket.socket, ending: _Ending) -> None:
    """Fork once more and wait for that process or for the end of its client, in a process between the two."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, (out, err), _, _ = socket.recv_fds(client, 1, 2)
    with client.makefile("rb") as stream:
        request = json.loads(stream.readline())
    process = os.fork()
    if process == 0:
        client.close()
        _become(request, out, err, ending)
    threading.Thread(target=_stop_after, args=(client, process), daemon=True).start()
    _, status = os.waitpid(process, 0)
    with suppress(OSError):  # the client is gone
        client.sendall(str(os.waitstatus_to_exitcode(status) & 0xFF).encode())
    os._exit(0)


def _stop_after(client: socket.socket, process: int) -> None:
    client.recv(1)  # a client says nothing more: this is its end
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGTERM)
        time.sleep(_SECONDS_TO_STOP)
        os.kill(process, signal.SIGKILL)


def _become(request: dict[str, Any], out: int, err: int, ending: _Ending) -> None:
    """Run the module as if the interpreter had been started with it; does not return."""
    os.chdir(request["folder"])
    os.environ.clear()
    # A kernel ends when its parent is not the one named here.
    os.environ.update({**request["environment"], "JPY_PARENT_PID": str(os.getppid())})
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (out, 1), (err, 2)):
        os.dup2(source, target)
        os.close(source)
    sys.argv = [request["module"], *request["arguments"]]
    ending.process = os.getpid()
    try:
        runpy.run_module(request["module"], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        ending.status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        raise
    ending.status = 0
    raise SystemExit(0)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2:])
