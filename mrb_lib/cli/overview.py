"""A table for people at a terminal: a hundred columns wide, and what is left out is said."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
import pandas as pd

from mrb_lib.cli.listing import aligned
from mrb_lib.report.tabular import NOT_AVAILABLE, TableText, table_text
from mrb_lib.stats.columns import YES_OR_NO, Table
from mrb_lib.stats.options import IntArray
from mrb_lib.stats.phrases import main_dimension, main_rows

WIDTH: Final = 100
MOST_ROWS: Final = 60
ROWS_OF_A_LONG_TABLE: Final = 40
_NAME_WIDTHS: Final = (32, 24, 18, 14, 10)
_NOTE: Final = "note"
_LEADING, _ESTIMATE = 2, 6
_NEEDED: Final = 2
_SELDOM_READ: Final = ("standard_error", "se", "df")
_IN_TITLE: Final = ("policy", "cluster", "n clusters", "df", "interval")
"""Columns that the title states, or how their intervals were made: not repeated where all rows have one value."""


@dataclass(frozen=True)
class _Column:
    """A column as it may be shown.

    Attributes
    ----------
    name, cells, numeric : as in `TableText`; the cells of all rows of a block
    names : whether it says what a row is of, and may be shortened
    importance : the lower, the sooner it is shown
    lead : its place in the headline of the table; None outside
    """

    name: str
    cells: list[str]
    numeric: bool
    names: bool
    importance: int
    lead: int | None = None

    @property
    def value(self) -> str | None:
        """The cell of all rows, where they are the same."""
        return self.cells[0] if len(set(self.cells)) == 1 else None

    def fitted(self, rows: int, longest: int) -> tuple[list[str], list[str]]:
        """The lines of the heading and the first cells, which are shortened where they are names."""
        cells = [_shortened(cell, longest) if self.names else cell for cell in self.cells[:rows]]
        width = max(map(len, [*cells, *self.name.split(" ")]))
        return textwrap.wrap(self.name, width, break_on_hyphens=False), cells


def as_overview(frame: pd.DataFrame, spec: Table, *, title: str) -> str:
    """The table in words and in `WIDTH` columns.

    The title; the sentence of the table; what is the same in all rows; its rows, those of each `part` by themselves,
    with the columns that fit; reasons as footnotes; and what is not shown, and how to see it.
    """
    said = _wrapped(spec.says(frame))
    lines = [*_wrapped(title), *(["", *said] if said else [])]
    if len(frame) and not spec.lacks(frame):
        shown = _baselines_once(frame)
        lines += _body(_main_rows_first(shown) if len(shown) > MOST_ROWS else shown, spec, len(frame))
    return "\n".join(lines)


def main_columns(frame: pd.DataFrame, spec: Table) -> pd.DataFrame:
    """Return the columns that fit a page: the names of a row, the number of cases, and the headline with intervals."""
    kept = {*_names(spec), "n", "n_cases", *spec.headline, "p_adjusted"}
    kept |= {end for column in spec.declared if column.name in spec.headline for end in column.ends}
    chosen = frame[[name for name in frame if name in kept]].dropna(axis="columns", how="all")
    return chosen if spec.headline and len(chosen.columns) else frame


def _baselines_once(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows without the naive baselines of single subfields, whose rows over all cases stay."""
    if not {"kind", "subfield"} <= set(frame.columns):
        return frame
    repeats = frame["kind"].eq("reference") & frame["subfield"].notna()
    return frame if repeats.all() else frame[~repeats]


def _main_rows_first(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the main dimension over all cases, the others of this dimension, then those of other dimensions."""
    is_main = frame.index.isin(main_rows(frame).index)
    of_dimension = frame["dimension"].eq(main_dimension(frame)) if "dimension" in frame else is_main
    return frame.iloc[np.select([is_main, of_dimension], [0, 1], 2).argsort(kind="stable")]


def _body(frame: pd.DataFrame, spec: Table, total: int) -> list[str]:
    reasons = _texts(frame, "reason")
    filled = frame.drop(columns=["reason"], errors="ignore").dropna(axis="columns", how="all")
    shown = table_text(filled, raw=True)
    names = list(shown.columns)
    columns = [_column(shown, j, name, filled, spec) for j, name in enumerate(names)]
    seen: set[str] = {"reason"} if any(reasons) else set()
    lines: list[str] = []
    common = [column for column in columns if _is_said_once(column, len(frame))]
    if stated := [column for column in common if column.name not in _IN_TITLE and column.value != "0"]:
        lines += ["", *_facts("In all rows", stated)]
        seen |= {column.name for column in stated}
    columns = [column for column in columns if column not in common]
    missing = {*spec.headline} - {*names}  # a headline without a single value needs its reason
    optional = {*spec.columns} - missing - {column.name.replace(" ", "_") for column in common}
    parts = frame.groupby("part", sort=False).indices if "part" in frame else {"": np.arange(len(frame))}
    limits = _limits([len(rows) for rows in parts.values()])
    notes: dict[str, str] = {}
    for (part, rows), limit in zip(parts.items(), limits, strict=True):
        block = [_of_rows(column, np.asarray(rows)) for column in columns if column.name != "part"]
        block_reasons = [reasons[row] for row in rows[:limit]]
        text, used = _block(block, block_reasons, limit, notes, optional)
        text = _with_line(text, frame, np.asarray(rows)[:limit])
        title = f"part {part}" + (f", {limit:,} of {len(rows):,} rows" if limit < len(rows) else "")
        lines += ["", *([title] if len(parts) > 1 else []), *text]
        seen |= used | ({"part"} if len(parts) > 1 else set())
    lines += [""] if notes else []
    lines += [line for reason, letter in notes.items() for line in _wrapped(f"({letter}) {reason}", "    ")]
    return lines + _left_out(frame, [name.replace("_", " ") for name in names], seen, sum(limits), total)


def _with_line(lines: list[str], frame: pd.DataFrame, rows: IntArray) -> list[str]:
    """The lines of a block, with one drawn above the references of a leaderboard, which do not compete."""
    if "kind" not in frame:
        return lines
    is_reference = frame["kind"].iloc[rows].eq("reference").to_numpy()
    below = int(is_reference.sum())
    if not 0 < below < len(rows) or not is_reference[-below:].all() or len(lines) <= len(rows):
        return lines
    return [*lines[:-below], "-" * max(map(len, lines)), *lines[-below:]]


def _column(shown: TableText, j: int, name: str, frame: pd.DataFrame, spec: Table) -> _Column:
    cells = [row[j] for row in shown.rows]
    meant = spec.column(name)
    if meant and meant.unit == YES_OR_NO:
        words = {"1": "yes", "0": "no", "True": "yes", "False": "no"}
        cells = [words.get(cell, cell) for cell in cells]
    names = name in _names(spec)
    importance = _importance(
        name,
        names=names,
        leads=name in spec.headline,
        bounded=f"{name}_low" in frame or _before_low(frame, name),
        verdict=bool(meant and meant.unit == YES_OR_NO),
    )
    lead = spec.headline.index(name) if name in spec.headline else None
    return _Column(name.replace("_", " "), cells, shown.numeric[j], names and not shown.numeric[j], importance, lead)


def _names(spec: Table) -> Sequence[str]:
    """The columns that say what a row is of: those before the first count or estimate with an interval."""
    for i, (name, after) in enumerate(pairwise((*spec.columns, ""))):
        if name == "n" or name.startswith("n_") or after in ("low", f"{name}_low"):
            return spec.columns[:i]
    return spec.columns


def _before_low(frame: pd.DataFrame, name: str) -> bool:
    columns = list(frame.columns)
    return "low" in columns and columns.index("low") > 0 and columns[columns.index("low") - 1] == name


def _importance(name: str, *, names: bool, leads: bool, bounded: bool, verdict: bool) -> int:
    """Who and where, how many, how much (of estimates the first), whether by chance, what follows; then the others."""
    kinds = (names, name in ("n", "n_cases"), leads, name == "p_adjusted", verdict, name in ("n_excluded", "coverage"),
             bounded, name == "p_value", not name.startswith("n_") and name not in _SELDOM_READ)  # fmt: skip
    return next((i for i, kind in enumerate(kinds) if kind), len(kinds))


def _of_rows(column: _Column, rows: np.ndarray) -> _Column:
    """The column in some rows; where these have the ends of an interval alone, they are of another estimate."""
    cells = [column.cells[row] for row in rows]
    lone = f"{NOT_AVAILABLE} ["
    if any(cell.startswith(lone) for cell in cells) and all(cell.startswith(NOT_AVAILABLE) for cell in cells):
        return replace(column, name="interval", cells=[cell.removeprefix(f"{NOT_AVAILABLE} ") for cell in cells])
    return replace(column, cells=cells)


def _is_said_once(column: _Column, rows: int) -> bool:
    """Return whether one value stands in all rows; of a single row, whether it is a name."""
    return column.value is not None and (rows > 1 or not column.numeric)


def _block(
    columns: Sequence[_Column], reasons: Sequence[str], limit: int, notes: dict[str, str], optional: set[str]
) -> tuple[list[str], set[str]]:
    """The lines of the rows of one part, and the names of the columns in them; `notes` gets letters for new reasons.

    What a reason says of `optional` columns that do not fit is left out.
    """
    empty = {NOT_AVAILABLE, "\u2013"}
    filled = [column for column in columns if not set(column.cells[:limit]) <= empty]
    constant = [column for column in filled if _is_said_once(column, len(column.cells))]
    varying = [column for column in filled if column not in constant]
    if not varying:
        varying, constant = constant, []
    fitting, longest = _fitting(varying, limit, WIDTH - (len(_NOTE) + 2 if any(reasons) else 0))
    hidden = optional - {column.name.replace(" ", "_") for column in (*constant, *fitting)}
    reasons = [_about_shown(reason, hidden) for reason in reasons]
    for reason in filter(None, reasons):
        notes.setdefault(reason, _letter(len(notes)))
    marks = [f"({notes[reason]})" if reason else "" for reason in reasons]
    fitted = [column.fitted(limit, longest) for column in fitting]
    numeric = [column.numeric for column in fitting]
    if any(marks):
        fitted.append(([_NOTE], marks))
        numeric.append(False)
    height = max(len(heading) for heading, _ in fitted)
    cells = [[*[""] * (height - len(heading)), *heading, *column] for heading, column in fitted]
    facts = _facts("In all these rows", constant) if constant else []
    return [*facts, *aligned(list(zip(*cells, strict=True)), numeric)], {c.name for c in (*constant, *fitting)}


def _about_shown(reason: str, hidden: set[str]) -> str:
    """Return a reason without what it says of hidden columns: `cohen_kappa: ...`, `no interval of a, b: ...`."""
    kept = []
    for part in reason.split("; "):
        about, _, why = part.partition(": ")
        names = about.removeprefix("no interval of ").split(", ")
        shown = [name for name in names if name not in hidden]
        kept.append(part if shown == names else f"no interval of {', '.join(shown)}: {why}" if shown else "")
    return "; ".join(filter(None, kept))


def _fitting(columns: Sequence[_Column], limit: int, room: int) -> tuple[list[_Column], int]:
    """The columns that fit, in order, and how long names may be in them."""
    leading = [i for i, column in enumerate(columns) if column.importance == _LEADING]
    leading.sort(key=lambda i: columns[i].lead or 0)
    leading = leading or [i for i, column in enumerate(columns) if column.importance == _ESTIMATE][:1]
    needed = {*(i for i, column in enumerate(columns) if column.names), *leading[:_NEEDED]}
    ranks = dict.fromkeys(leading, _LEADING) | dict.fromkeys(leading[:_NEEDED], 0)
    order = [(ranks.get(i, column.importance), column.lead or 0, i) for i, column in enumerate(columns)]
    adjusted = {i for i, column in enumerate(columns) if column.name == "p adjusted"}
    for longest in _NAME_WIDTHS:
        chosen: list[int] = []
        left = room + 2
        for *_, i in sorted(order):
            column = columns[i]
            if column.name == "p value" and not adjusted <= set(chosen):
                continue
            heading, cells = column.fitted(limit, longest)
            width = max(map(len, [*heading, *cells])) + 2
            if width <= left:
                chosen.append(i)
                left -= width
        if needed <= set(chosen):
            break
    return [columns[i] for i in sorted(chosen)], longest


def _facts(head: str, columns: Sequence[_Column]) -> list[str]:
    return _wrapped(f"{head}: " + "; ".join(f"{column.name} {column.value}" for column in columns) + ".", "  ")


def _texts(frame: pd.DataFrame, name: str) -> list[str]:
    if name not in frame:
        return [""] * len(frame)
    return ["" if pd.isna(value) else str(value) for value in frame[name]]


def _limits(counts: Sequence[int]) -> list[int]:
    """Return the rows to show of each part: all if they are few together, else shares of those that are."""
    if sum(counts) <= MOST_ROWS:
        return list(counts)
    limits = [0] * len(counts)
    left = ROWS_OF_A_LONG_TABLE
    while left and any(limit < count for limit, count in zip(limits, counts, strict=True)):
        for i, count in enumerate(counts):
            if left and limits[i] < count:
                limits[i] += 1
                left -= 1
    return limits


def _left_out(frame: pd.DataFrame, names: Sequence[str], seen: set[str], rows: int, total: int) -> list[str]:
    """Return lines on what is not shown, and how to see it; none where all is."""
    said = ["[ ]: 95% interval."] if any(str(name).endswith(("low", "high")) for name in frame) else []
    hidden = [name for name in names if name not in seen]
    if hidden or rows < total:
        columns = f"{len(seen & {*names, 'reason'})} of {len(names) + ('reason' in frame)} columns with values"
        said.append(f"{columns} and {rows:,} of {total:,} rows; --wide shows all, --csv and --json keep everything.")
    return ["", *_wrapped(" ".join(said))] if said else []


def _letter(i: int) -> str:
    return (_letter(i // 26 - 1) if i >= 26 else "") + chr(ord("a") + i % 26)


def _shortened(text: str, longest: int) -> str:
    """Text without its middle where it is longer, since names often differ in their ends."""
    if len(text) <= longest:
        return text
    start = longest // 2
    return f"{text[:start]}\u2026{text[len(text) - (longest - start - 1) :]}"


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False) if text else []
