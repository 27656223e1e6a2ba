"""Tables of the coordinator's page: cells that are HTML already, numbers, and what is said where there is no number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from mrb_lib.review.text import OWN_KEYS, escaped

NOT_YET = "not yet"
UNDEFINED = "undefined"
NOT_SAID = "not said"


def table(head: Sequence[str], rows: Iterable[Sequence[object]], label: str) -> str:
    """A table that the keyboard can scroll; the first cell of each row names it.

    Parameters
    ----------
    rows : cells that are HTML, or numbers
    label : what it shows, for who cannot see its heading
    """
    titles = "".join(f'<th scope="col">{escaped(name)}</th>' for name in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for first, *cells in rows
    )
    named = f'aria-label="{escaped(label)}"'
    return (
        f'<div class="mrb-scroll" tabindex="0" role="group" {named} {OWN_KEYS}><table {named}><thead><tr>{titles}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame by the names of its columns."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def estimate(value: float, low: float, high: float, *, missing: str = NOT_YET) -> str:
    """An estimate with its interval, where it has one, as text; `missing` where it is undefined."""
    if value != value:
        return missing
    value, low, high = (round(one, 2) + 0.0 for one in (value, low, high))  # no -0.00
    return f"{value:.2f}" + (f" ({low:.2f} to {high:.2f})" if low == low else "")


def muted(value: str) -> str:
    """An estimate as HTML, quiet where it is none."""
    return f'<span class="mrb-quiet">{value}</span>' if value in (NOT_YET, UNDEFINED, NOT_SAID) else escaped(value)


def when(value: object) -> str:
    """A time of the store to the minute; a dash for never."""
    return (
        f'<span class="mrb-when">{escaped(value[:16].replace("T", " "))}</span>'
        if isinstance(value, str)
        else "&ndash;"
    )


def sentence(text: object) -> str:
    """Words of some length, wide enough to be read where the table is wider than the screen; empty for none."""
    return f'<div class="mrb-words" dir="auto">{escaped(text)}</div>' if text else ""


def quiet(words: str) -> str:
    """A remark below a table; `words` are ours, not the data's."""
    return f'<p class="mrb-quiet">{words}</p>'
