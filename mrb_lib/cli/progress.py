"""Progress on stderr: bars where a person watches, a few plain lines where it goes to a file."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mrb_lib.runs.progress import ReportProgress, RunProgress

Step = Callable[[str, int, int], None]

SECONDS_BETWEEN_LINES = 60.0


@contextmanager
def bars() -> Iterator[Step]:
    """Show bars on stderr; the function yielded takes what is done, how much so far, and of how much."""
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True)) as progress:

        def step(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield step


@contextmanager
def status_of(logger: str) -> Iterator[None]:
    """Show on stderr the last thing that a logger said at level INFO, from the first on, where a person watches."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.markup import escape

    source, status = logging.getLogger(logger), Console(stderr=True).status("")

    class Shown(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            status.update(escape(record.getMessage()))
            status.start()

    handler, level = Shown(logging.INFO), source.level
    source.addHandler(handler)
    source.setLevel(logging.INFO)
    try:
        yield
    finally:
        source.removeHandler(handler)
        source.setLevel(level)
        status.stop()


@contextmanager
def verdict_bars() -> Iterator[ReportProgress]:
    """Show on stderr how judges proceed; the function yielded takes a `mrb_lib.runs.progress.RunProgress`."""
    if not sys.stderr.isatty():
        yield Lines(lambda line: print(line, file=sys.stderr, flush=True))
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

    from mrb_lib.runs.progress import pace_text

    text = (TextColumn(f"{{task.{field}}}", markup=False) for field in ("description", "fields[pace]"))
    tasks: dict[str, TaskID] = {}
    with Progress(
        next(text), BarColumn(bar_width=20), MofNCompleteColumn(), next(text), console=Console(stderr=True)
    ) as shown:

        def step(status: RunProgress) -> None:
            if status.judge not in tasks:
                tasks[status.judge] = shown.add_task(status.judge, pace="")
            shown.update(
                tasks[status.judge],
                completed=status.held,
                total=status.planned,
                pace=pace_text(status),
                refresh=status.finished,
            )

        yield step


class Lines:
    """A plain line when a judge starts, at most one a minute while it works, and one when it is done.

    Parameters
    ----------
    write : takes each line, without its end
    clock : seconds since any moment
    """

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._last: dict[str, float] = {}
        self._line = ""

    def __call__(self, status: RunProgress) -> None:
        """Report a status, unless the judge's last line is too recent."""
        from mrb_lib.runs.progress import pace_text

        now = self._clock()
        last = self._last.get(status.judge)
        if last is not None and now - last < SECONDS_BETWEEN_LINES and not status.finished:
            return
        self._last[status.judge] = now
        pace = pace_text(status)
        line = f"{status.judge}: {status.held} of {status.planned} verdicts" + (f"; {pace}" if pace else "")
        # Where nothing was left to do, the first line and the last are the same.
        if line != self._line:
            self._line = line
            self._write(line)
