"""Run a command until it ends or the process that started this one is gone, then end its whole process group.

`mrb_lib.judges.server` runs this file by its path and holds the other end of its standard input. That end is closed
when the server is to stop, and by the system when its holder dies, even by kill -9.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from typing import Final

GRACE_S: Final = 10.0
"""Seconds between asking the server to end and killing it."""
_LEFT_OVER_S: Final = 0.2


def main() -> None:
    """Run the command in the arguments; nothing of its process group is left afterwards."""
    # A handler, since a signal that is ignored would be ignored by the server as well.
    signal.signal(signal.SIGTERM, lambda *_: None)
    server = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    threading.Thread(target=_end_with_starter, daemon=True).start()
    print(f"(the server ended with exit code {server.wait()})", flush=True)
    os.killpg(os.getpgrp(), signal.SIGTERM)
    time.sleep(_LEFT_OVER_S)
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _end_with_starter() -> None:
    sys.stdin.buffer.read()
    os.killpg(os.getpgrp(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main()
