"""Stands for a process that `preloaded.py` forks: passes on its exit status, and goes where either of the two goes.

It is run by its path and without site packages, since it is what is to cost nothing.
"""

import json
import os
import select
import signal
import socket
import sys
from pathlib import Path


def main(address: str, module: str, *arguments: str) -> int:
    """Have a module run, with our working folder, environment and output; returns its exit status."""
    parent = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Jupyter interrupts a kernel before it asks it to end
    request = {"module": module, "arguments": arguments, "folder": str(Path.cwd()), "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        # The process is asked to end, and we wait until it has.
        signal.signal(signal.SIGTERM, lambda *_: server.shutdown(socket.SHUT_WR))
        socket.send_fds(server, [b" "], [1, 2])
        server.sendall(json.dumps(request).encode() + b"\n")
        while os.getppid() == parent:  # a kernel must not outlive the process that runs its notebook
            if select.select([server], [], [], 1)[0]:
                return int(server.recv(16) or b"1")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
