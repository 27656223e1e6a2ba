"""Text for a terminal: lists with aligned columns, the last one cut to the width there is, and terminal-safe lines."""

import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import Final

import pandas as pd
from pandas.api.types import is_numeric_dtype

from mrb_lib.report.tabular import one_line

_NOTHING: Final = "-"
_CUT: Final = "..."
_UNSAFE: Final = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def listing(frame: pd.DataFrame, *, width: int | None) -> str:
    """The rows of a frame under its column names; numbers to one decimal, `-` where a value is missing.

    Parameters
    ----------
    width : of a line; what the last column holds beyond it is cut and ends in `...`. None cuts nothing.
    """
    cells = [[name.replace("_", " ") for name in frame.columns]]
    values = frame.astype(object).where(frame.notna(), None)
    cells += [[_cell(value) for value in row] for row in values.itertuples(index=False)]
    numeric = [is_numeric_dtype(frame[name]) for name in frame.columns]
    return "\n".join(_cut(text, width) for text in aligned(cells, numeric))


def aligned(rows: Sequence[Sequence[str]], numeric: Sequence[bool]) -> list[str]:
    """Rows of cells as lines whose columns are aligned, those of numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    columns = list(zip(widths, numeric, strict=True))
    return [
        "  ".join(
            f"{cell:{'>' if number else '<'}{width}}" for cell, (width, number) in zip(row, columns, strict=True)
        ).rstrip()
        for row in rows
    ]


def line(text: str) -> str:
    """Text from data on one line; what would control the terminal, end the line or turn it is escaped as in Python."""
    return "".join(
        letter.encode("unicode_escape").decode("ascii") if unicodedata.category(letter) in _UNSAFE else letter
        for letter in text
    )


def terminal_width(otherwise: int | None) -> int | None:
    """The width of the terminal that stdout is, or `otherwise` where it is a file or a pipe."""
    return get_terminal_size().columns if sys.stdout.isatty() else otherwise


def _cell(value: object) -> str:
    if value is None:
        return _NOTHING
    return f"{value:.1f}" if isinstance(value, float) else one_line(str(value))


def _cut(line: str, width: int | None) -> str:
    if width is None or len(line) <= width:
        return line
    return line[: max(width - len(_CUT), 1)] + _CUT


def count(number: int, one: str) -> str:
    """A number of things in words."""
    return f"{number} {one}{'' if number == 1 else 's'}"


def next_after(bench: Path, has_verdicts: bool) -> str:
    """Return the command to type next about a benchmark that was just written."""
    if has_verdicts:
        return f"mrb analyze {bench} --table accuracy"
    return f"mrb judge {bench} {bench / 'runs'} --judge random"
