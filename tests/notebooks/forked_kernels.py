"""Kernels forked from one process that has imported what notebooks import, torch included, which takes seconds.

Each notebook still has a process of its own, with nothing in it that another notebook did.
`python forked_kernels.py SOCKET` forks a kernel for each connection file that it is sent.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NAME = "forked"
# What Jupyter starts and watches: it asks for a fork, and ends when that kernel has.
_ASK = """
import signal, socket, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # Jupyter interrupts a kernel before it asks it to end
with socket.socket(socket.AF_UNIX) as kernel:
    kernel.connect(sys.argv[1])
    kernel.sendall(sys.argv[2].encode())
    kernel.shutdown(socket.SHUT_WR)
    kernel.recv(1)
"""


@contextmanager
def forked_kernels(folder: Path) -> Iterator[Path]:
    """Let forks be had; yields the folder for JUPYTER_PATH in which they are the kernel `forked`."""
    kernel = folder / "kernels" / NAME
    kernel.mkdir(parents=True)
    address = folder / "fork"  # short: the path of a socket has at most 107 characters
    argv = [sys.executable, "-S", "-E", "-c", _ASK, str(address), "{connection_file}"]
    spec = {"argv": argv, "display_name": "Python 3, forked", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    command = [sys.executable, __file__, str(address)]
    # It ends when its input does: with us, however we end.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        yield folder


def _import_what_notebooks_import() -> None:
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as a kernel sets it before it imports
    import mrb_lib.notebook
    import mrb_lib.plots

    rooms = (mrb_lib.plots, mrb_lib.notebook)
    own = [f"{room.__name__}.{module.name}" for room in rooms for module in pkgutil.iter_modules(room.__path__)]
    judges = ("checkpoint", "base", "tiny")  # torch and transformers
    own += ["mrb_lib.stats.tables", "mrb_lib.widgets.case", *(f"mrb_lib.judges.local.{name}" for name in judges)]
    others = ("ipykernel.kernelapp", "nbformat", "scipy.stats", "statsmodels.api", "formulaic")
    drawing = ("matplotlib.pyplot", "matplotlib.backends.backend_pdf", "fontTools.subset")
    for name in (*others, *drawing, *own):
        importlib.import_module(name)


def _serve(address: str) -> None:
    _import_what_notebooks_import()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        print("ready", flush=True)
        os.dup2(2, 1)  # nobody reads on
        while listening in select.select([listening, sys.stdin], [], [])[0]:
            asking, _ = listening.accept()
            with asking:
                connection_file = asking.makefile().read()
                if os.fork() == 0:
                    listening.close()
                    _run_kernel(connection_file)
            _reap()


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _run_kernel(connection_file: str) -> None:
    from ipykernel.kernelapp import IPKernelApp

    # The kernel ends when the process it is forked from does.
    IPKernelApp.launch_instance(argv=["-f", connection_file, f"--IPKernelApp.parent_handle={os.getppid()}"])
    os._exit(0)  # taking all that was imported apart takes as long as importing it


if __name__ == "__main__":
    _serve(sys.argv[1])
