"""How judges proceed, shown in a notebook: one table that is updated in place, without any script."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Protocol

from mrb_lib.runs.progress import Progress, Status, duration_text

SECONDS_BETWEEN_UPDATES = 0.5

_STYLE = """
.mrb-progress td,.mrb-progress th{padding:2px 10px;text-align:left}
.mrb-progress td.mrb-number{text-align:right}
""".replace("\n", "")
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
    head = "".join(f"<th>{_text(name)}</th>" for name in _HEAD)
    body = "".join(_row(status) for status in statuses)
    return (
        f'<section class="mrb-progress"><style>{_STYLE}</style>'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></section>"
    )


def live_progress(clock: Callable[[], float] = time.monotonic) -> Progress:
    """Show progress below the cell that is running; pass it to `judge` as `progress`.

    Parameters
    ----------
    clock : seconds since any moment; the table is updated at most twice a second
    """
    ipython = import_module("IPython.display")  # only there in a notebook, and not typed
    statuses: dict[str, Status] = {}
    handle: _Handle | None = None
    shown = clock()

    def report(status: Status) -> None:
        nonlocal handle, shown
        is_new = status.judge not in statuses
        statuses[status.judge] = status
        if not (is_new or status.finished or clock() - shown >= SECONDS_BETWEEN_UPDATES):
            return
        shown = clock()
        view = ipython.HTML(progress_html(statuses.values()))
        if handle is None:
            handle = ipython.display(view, display_id=True)
        else:
            handle.update(view)

    return report


def _row(status: Status) -> str:
    left = None if status.finished or status.eta_s is None else duration_text(status.eta_s)
    bar = f'<progress value="{status.held}" max="{max(status.planned, 1)}"></progress>'
    counts = ", ".join(f"{name} {count}" for name, count in status.counts.items())
    cells = [
        f"<td>{_text(status.judge)}</td>",
        f'<td class="mrb-number">{status.held} of {status.planned}</td>',
        f"<td>{bar}</td>",
        _number(None if status.cases_per_s is None else f"{status.cases_per_s:.3g}"),
        _number(None if status.tokens_per_s is None else f"{status.tokens_per_s:,.0f}"),
        _number(left),
        f"<td>{_text(counts)}</td>",
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _number(text: str | None) -> str:
    return f'<td class="mrb-number">{"&ndash;" if text is None else _text(text)}</td>'


def _text(value: str) -> str:
    return html.escape(value.replace("\0", "\ufffd"))
