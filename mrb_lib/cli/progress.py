"""Progress on stderr: bars where a person watches, a few plain lines where it goes to a file."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, TaskID

    from mrb_lib.build.training.loop import TrainProgress
    from mrb_lib.runs.progress import ReportProgress

Step = Callable[[str, int, int], None]

SECONDS_BETWEEN_LINES = 60.0
_BAR_WIDTH = 12
_NAME_WIDTH = 24


@contextmanager
def bars() -> Iterator[Step]:
    """Show bars on stderr; the function yielded takes what is done, how much so far, and of how much."""
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.progress import BarColumn, TimeRemainingColumn

    with _bar_a_name(BarColumn(), TimeRemainingColumn()) as update:
        yield lambda what, done, total: update(what, completed=done, total=total)


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
def verdict_bars(what: str = "verdicts") -> Iterator[ReportProgress]:
    """Show on stderr how judges proceed; the function yielded takes a `mrb_lib.runs.progress.RunProgress`."""
    from mrb_lib.runs.progress import pace_text

    with _paced() as update:
        yield lambda status: update(
            status.judge, status.held, status.planned, what, pace_text(status), finished=status.finished
        )


@contextmanager
def training_bars() -> Iterator[Callable[[str, TrainProgress], None]]:
    """Show on stderr how trainings proceed; the function yielded takes the name of one and how far it is."""
    with _paced() as update:
        yield lambda name, one: update(name, one.step, one.n_steps, "steps", one.text, finished=one.step == one.n_steps)


@contextmanager
def _paced() -> Iterator[Callable[..., None]]:
    """Yield what shows a name, how much is done of how much of what, and the pace: as bars, or as `Lines`."""
    if not sys.stderr.isatty():
        yield Lines(lambda line: print(line, file=sys.stderr, flush=True))
        return
    from rich.progress import BarColumn, TextColumn
    from rich.table import Column

    # A bar that leaves room for a text beside it, which goes on below where the terminal is narrow.
    pace_beside = TextColumn("{task.fields[pace]}", markup=False, table_column=Column(ratio=1))
    with _bar_a_name(BarColumn(bar_width=_BAR_WIDTH), pace_beside) as show:
        yield lambda name, done, total, what, pace, *, finished: show(
            name, completed=done, total=total, pace=pace, refresh=finished
        )


@contextmanager
def _bar_a_name(bar: ProgressColumn, end: ProgressColumn) -> Iterator[Callable[..., None]]:
    """Show bars on stderr; the function yielded takes a bar's name and what `rich.progress.Progress.update` takes."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TextColumn
    from rich.table import Column

    tasks: dict[str, TaskID] = {}
    name = TextColumn("{task.description}", markup=False, table_column=Column(max_width=_NAME_WIDTH, overflow="fold"))
    with Progress(name, bar, MofNCompleteColumn(), end, console=Console(stderr=True)) as progress:
        # Until there is something to count: libraries are imported and weights are looked for.
        starting = progress.add_task("starting", total=None, pace="")

        def update(what: str, **fields: Any) -> None:
            progress.update(starting, visible=False)
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=None, pace="")
            progress.update(tasks[what], **fields)

        yield update


class Lines:
    """A plain line when something starts, at most one a minute while it works, and one when it is done.

    Parameters
    ----------
    write : takes each line, without its end
    clock : seconds since any moment
    """

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write, self._clock = write, clock
        self._last: dict[str, float] = {}
        self._line = ""

    def __call__(self, name: str, done: int, total: int, what: str, pace: str, *, finished: bool) -> None:
        """Write how much is done of how much, unless the last line of this name is too recent."""
        now = self._clock()
        if now - self._last.get(name, -SECONDS_BETWEEN_LINES) < SECONDS_BETWEEN_LINES and not finished:
            return
        self._last[name] = now
        line = f"{name}: {done} of {total} {what}" + (f"; {pace}" if pace else "")
        # Where nothing was left to do, the first line and the last are the same.
        if line != self._line:
            self._line = line
            self._write(line)
