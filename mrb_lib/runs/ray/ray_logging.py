"""What keeps Ray's own affairs from the user and from this process, while it is used."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_STDERR: Final = 2


@contextmanager
def quiet() -> Iterator[None]:
    """Keep from the user what Ray Data logs, and remarks on its own settings: this library says what matters."""
    logger = logging.getLogger("ray.data")
    with warnings.catch_warnings():
        # Copying its settings, Ray touches those that it has deprecated itself.
        warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"ray\.")
        import ray.data
        from ray._private import worker

        context, level = ray.data.DataContext.get_current(), logger.level
        bars, context.enable_progress_bars = context.enable_progress_bars, False
        logger.setLevel(logging.CRITICAL + 1)
        # What Ray's own processes report would be printed among this command's results, on stdout.
        reports, worker._worker_logs_enabled = worker._worker_logs_enabled, False
        try:
            yield
        finally:
            worker._worker_logs_enabled = reports
            logger.setLevel(level)
            context.enable_progress_bars = bars


@contextmanager
def silent_stderr() -> Iterator[None]:
    """Ray's compiled part announces on stderr, past Python, that it is to say nothing."""
    sys.stderr.flush()
    kept = os.dup(_STDERR)
    try:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), _STDERR)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, _STDERR)
        os.close(kept)


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set what the user has not set, for as long as the block runs."""
    mine = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(mine)
    try:
        yield
    finally:
        for name in mine:
            os.environ.pop(name, None)


@contextmanager
def own_signals() -> Iterator[None]:
    """Ray takes over SIGTERM where it is started; this gives it back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if handler is not None:
            signal.signal(signal.SIGTERM, handler)
