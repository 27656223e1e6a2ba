"""Progress in a notebook: rich's bars below the cell that is running; where no page answers, a line when it is done."""

import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn
from rich.progress import Progress as Bars

from mrb_lib.review.app import can_run
from mrb_lib.runs.progress import ReportProgress, RunProgress, pace_text


def live_progress(clock: Callable[[], float] = time.monotonic) -> ReportProgress:
    """Show how judges proceed; pass it to `judge` as `progress`.

    Parameters
    ----------
    clock : seconds since any moment; the bars are drawn at most twice a second

    Notes
    -----
    Validated by tests/review/test_notebook.py.
    """
    name, note = (TextColumn(f"{{task.{field}}}", markup=False) for field in ("description", "fields[note]"))
    bars = Bars(
        name, BarColumn(bar_width=20), MofNCompleteColumn(), note,
        console=Console(), auto_refresh=False, redirect_stdout=False, redirect_stderr=False,
    )  # fmt: skip
    tasks: dict[str, TaskID] = {}
    drawn = clock()

    def report(status: RunProgress) -> None:
        nonlocal drawn
        name, pace = status.judge, pace_text(status)
        if not can_run():
            if status.finished:
                print(f"{name}: {status.held:,} of {status.planned:,}" + (f"; {pace}" if pace else ""))
            return
        if is_new := name not in tasks:
            tasks[name] = bars.add_task(name, total=status.planned, note=pace)
            bars.start()
        bars.update(tasks[name], completed=status.held, total=status.planned, note=pace)
        if is_new or status.finished or clock() - drawn >= 0.5:
            drawn = clock()
            bars.refresh()
        if status.finished and not bars.console.is_jupyter:  # where it would leave an empty line each time
            bars.stop()

    return report
