"""Being asked to stop: SIGINT and SIGTERM let the batch in flight be finished, a second one stops at once."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from mrb_lib.tables.errors import RunError

_STOP_NOTICE = b"\nThe batch in flight is finished and kept; once more stops at once.\n"
_STDERR = 2


class InterruptedRunError(RunError):
    """A run was asked to stop, and did so after a batch; what it had is kept."""


@dataclass
class Stop:
    """Return whether somebody asked to stop."""

    asked: bool = False


@contextmanager
def stop_on_signals(tell: Callable[[], None] | None = None) -> Iterator[Stop]:
    """Note SIGINT and SIGTERM instead of obeying them; the handlers come back after the first, and at the end.

    Only the main thread receives signals, so in any other nothing is changed. A signal
    that is ignored stays so.

    Parameters
    ----------
    tell : called after the first signal, in a thread of its own: what it locks may be locked by what the signal stopped
    """
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    mine = {number: old for number, old in handlers.items() if old not in (signal.SIG_IGN, None)}

    def restore() -> None:
        for number, old in mine.items():
            signal.signal(number, old)

    def ask(number: int, frame: FrameType | None) -> None:
        stop.asked = True
        restore()
        # A handler may run in the middle of a print, which must not be entered twice.
        os.write(_STDERR, _STOP_NOTICE)
        if tell is not None:
            threading.Thread(target=tell).start()

    try:
        for number in mine:
            signal.signal(number, ask)
        yield stop
    finally:
        restore()
