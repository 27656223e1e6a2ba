"""How long work proceeds, shown in a notebook: one table that is updated in place, without any script."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Final, Protocol

from mrb_lib.runs.progress import Progress, Status, duration_text
from mrb_lib.widgets.bundle import style
from mrb_lib.widgets.text import escaped

SECONDS_BETWEEN_UPDATES = 0.5

STYLES: Final = ("progress",)
_HEAD = ("judge", "verdicts", "", "cases/s", "tokens/s", "left", "statuses")


class _Handle(Protocol):
    def update(self, obj: object) -> None: ...


def progress_html(statuses: Iterable[Status]) -> str:
    """Where each judge stands, one row each.

    Returns
    -------
    str
        A `<section>` that needs nothing else; a dash stands for what is not known.
        Validated by tests/widgets/test_progress.py.
    """
    head = "".join(f"<th>{escaped(name)}</th>" for name in _HEAD)
    body = "".join(_row(status) for status in statuses)
    return _section(f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>")


def live_progress(clock: Callable[[], float] = time.monotonic) -> Progress:
    """Show progress below the cell that is running; pass it to `judge` as `progress`.

    Parameters
    ----------
    clock : seconds since any moment; the table is updated at most twice a second
    """
    statuses: dict[str, Status] = {}
    show = _screen(clock)

    def report(status: Status) -> None:
        is_new = status.judge not in statuses
        statuses[status.judge] = status
        show(lambda: progress_html(statuses.values()), at_once=is_new or status.finished)

    return report


def steps_html(steps: Mapping[str, tuple[int, int]]) -> str:
    """How far each thing is, one row each.

    Parameters
    ----------
    steps : by its name, how much of it is done, and of how much

    Returns
    -------
    str
        A `<section>` that needs nothing else.
    """
    rows = "".join(
        f'<tr><th scope="row">{escaped(what)}</th><td>{_bar(done, total)}</td>'
        f'<td class="mrb-number">{done:,} of {total:,}</td></tr>'
        for what, (done, total) in steps.items()
    )
    return _section(f"<tbody>{rows}</tbody>")


def live_steps(clock: Callable[[], float] = time.monotonic) -> Callable[[str, int, int], None]:
    """Show bars below the cell that is running; the function returned takes what is done, how much, and of how much.

    Parameters
    ----------
    clock : seconds since any moment; the bars are updated at most twice a second
    """
    steps: dict[str, tuple[int, int]] = {}
    show = _screen(clock)

    def report(what: str, done: int, total: int) -> None:
        is_new = what not in steps
        steps[what] = done, total
        show(lambda: steps_html(steps), at_once=is_new or done >= total)

    return report


def _screen(clock: Callable[[], float]) -> Callable[..., None]:
    """Shows HTML below the running cell, in one place, and at most every `SECONDS_BETWEEN_UPDATES`."""
    ipython = import_module("IPython.display")  # only there in a notebook, and not typed
    handle: _Handle | None = None
    shown = clock()

    def show(made: Callable[[], str], *, at_once: bool) -> None:
        nonlocal handle, shown
        if not at_once and clock() - shown < SECONDS_BETWEEN_UPDATES:
            return
        shown = clock()
        view = ipython.HTML(made())
        if handle is None:
            handle = ipython.display(view, display_id=True)
        else:
            handle.update(view)

    return show


def _section(table: str) -> str:
    return (
        f'<section class="mrb mrb-progress" aria-label="progress"><style>{style(*STYLES)}</style>'
        f"<table>{table}</table></section>"
    )


def _bar(done: int, total: int) -> str:
    return f'<progress value="{done}" max="{max(total, 1)}"></progress>'


def _row(status: Status) -> str:
    left = None if status.finished or status.eta_s is None else duration_text(status.eta_s)
    counts = ", ".join(f"{name} {count}" for name, count in status.counts.items())
    cells = [
        f"<td>{escaped(status.judge)}</td>",
        f'<td class="mrb-number">{status.held} of {status.planned}</td>',
        f"<td>{_bar(status.held, status.planned)}</td>",
        _number(None if status.cases_per_s is None else f"{status.cases_per_s:.3g}"),
        _number(None if status.tokens_per_s is None else f"{status.tokens_per_s:,.0f}"),
        _number(left),
        f"<td>{escaped(counts)}</td>",
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _number(text: str | None) -> str:
    return f'<td class="mrb-number">{"&ndash;" if text is None else escaped(text)}</td>'
