"""Progress in a notebook: rich's bars below the cell that is running; where no page answers, a line when it is done."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as Bars

from mrb_lib.review.plain import can_run
from mrb_lib.runs.progress import ReportProgress, RunProgress, pace_text

SECONDS_BETWEEN_UPDATES: Final = 0.5
Clock = Callable[[], float]


def live_progress(clock: Clock = time.monotonic) -> ReportProgress:
    """Show how judges proceed; pass it to `judge` as `progress`.

    Parameters
    ----------
    clock : seconds since any moment; the bars are drawn at most twice a second

    Notes
    -----
    Validated by tests/review/test_progress.py.
    """
    show = _bars(clock)

    def report(status: RunProgress) -> None:
        show(status.judge, status.held, status.planned, note=pace_text(status), finished=status.finished)

    return report


def live_steps(clock: Clock = time.monotonic) -> Callable[[str, int, int], None]:
    """Show how far steps have come; the function returned takes a step's name, how much is done, and of how much.

    Parameters
    ----------
    clock : seconds since any moment; the bars are drawn at most twice a second
    """
    show = _bars(clock)

    def report(step: str, done: int, total: int) -> None:
        show(step, done, total, finished=done >= total)

    return report


def _bars(clock: Clock) -> Callable[..., None]:
    """A function that shows one bar a name, all in one place."""
    name, note = (TextColumn(f"{{task.{field}}}", markup=False) for field in ("description", "fields[note]"))
    bars = Bars(
        name, BarColumn(bar_width=20), MofNCompleteColumn(), note,
        console=Console(), auto_refresh=False, redirect_stdout=False, redirect_stderr=False,
    )  # fmt: skip
    tasks: dict[str, TaskID] = {}
    drawn = clock()

    def show(name: str, done: int, total: int, *, note: str = "", finished: bool) -> None:
        nonlocal drawn
        if not can_run():
            if finished:
                print(f"{name}: {done:,} of {total:,}" + (f"; {note}" if note else ""))
            return
        is_new = name not in tasks
        if is_new:
            tasks[name] = bars.add_task(name, total=total, note=note)
            bars.start()
        bars.update(tasks[name], completed=done, total=total, note=note)
        if is_new or finished or clock() - drawn >= SECONDS_BETWEEN_UPDATES:
            drawn = clock()
            bars.refresh()
        if finished and not bars.console.is_jupyter:  # where it would leave an empty line each time
            bars.stop()

    return show
