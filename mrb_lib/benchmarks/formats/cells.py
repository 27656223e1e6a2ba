"""Tables as desks have them: CSV of any separator and encoding, and Excel workbooks; each cell as the text it is."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Final

import pandas as pd

from mrb_lib.benchmarks.formats.mapping import column_map
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import decoded, readable
from mrb_lib.tables.validation import Finding, counted

TEXT_SUFFIXES: Final = (".csv", ".tsv", ".txt")
SEPARATORS: Final[Mapping[str, str]] = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_SNIFFED = 50  # rows that decide on the separator
_DECIMAL_COMMA = re.compile(r"-?[0-9]{1,3}((\.[0-9]{3})+|[0-9]*),[0-9]+")


@dataclass(frozen=True)
class Source:
    """A table as a file holds it.

    Attributes
    ----------
    frame : columns of dtype str where `is_text`; the text "None" stays "None", an empty cell is ""
    about : the kind of file, for a reader: "CSV, semicolons, Windows-1252"
    has_decimal_commas : numbers may be written with a comma, see `with_points`
    images : the pictures within a parquet file
    """

    frame: pd.DataFrame
    file: str
    about: str
    is_text: bool = False
    has_decimal_commas: bool = False
    images: Mapping[str, bytes] | None = None

    @property
    def understood(self) -> str:
        """Return a line on the file for the user to confirm."""
        return f"{self.file}: {self.about}, {len(self.frame):,} rows"


def read_cells(path: Path, findings: list[Finding] | None = None) -> Source:
    """Read a CSV file with a header, whatever its separator and its encoding.

    Parameters
    ----------
    findings : blank lines, columns without a name and an encoding that was guessed are reported here

    Raises
    ------
    InputError
        The file is missing or empty, a name occurs twice in the header, or a row has more or fewer cells than the
        header; names the row.
    """
    with readable(path):
        text, encoding = decoded(path.read_bytes())
    stated = re.match(r"sep=(.)\r?\n", text)
    text = text[stated.end() :] if stated else text
    separator = stated[1] if stated else _separator(text)
    found = [] if findings is None else findings
    if not encoding.startswith("UTF"):
        problem = f"is not UTF-8 text and was read as {encoding}"
        found.append(Finding("warning", str(path), None, None, problem, "look at its accents, or save it as UTF-8"))
    frame = _table(_rows(text, separator, path), path, found)
    about = f"CSV, {SEPARATORS.get(separator, repr(separator))}, {encoding}"
    return Source(frame, str(path), about, True, separator != ",")


def read_workbook(path: Path, findings: list[Finding]) -> dict[str, Source]:
    """Read the sheets of an Excel workbook that are not empty, by name; merged cells all have their value.

    Raises
    ------
    InputError
        The file is missing or is no workbook, or a sheet is no table; names the row.
    """
    import openpyxl

    try:
        with readable(path):
            book = openpyxl.load_workbook(path, data_only=True)
    except InputError:
        raise
    except Exception as error:  # openpyxl raises nearly anything on damaged files
        raise InputError(
            f"{path}: is not a readable .xlsx workbook ({type(error).__name__}); save it again."
        ) from error
    sheets: dict[str, Source] = {}
    for sheet in book.worksheets:
        values = {
            (cell.row, cell.column): "" if cell.data_type == "e" else _cell_text(cell.value)
            for row in sheet.iter_rows()
            for cell in row
        }
        for area in sheet.merged_cells.ranges:
            values |= dict.fromkeys(area.cells, values.get((area.min_row, area.min_col), ""))
        rows = [[values[cell.row, cell.column] for cell in row] for row in sheet.iter_rows()]
        first = next((i for i, row in enumerate(rows) if any(row)), None)
        if first is None:
            continue
        where = path.with_name(f"{path.name} ({sheet.title})")
        frame = _table(iter(rows[first:]), where, findings)
        errors = sum(cell.data_type == "e" for row in sheet.iter_rows() for cell in row)
        problem = "cells hold an Excel error and are empty here"
        findings += counted(errors, "warning", where, problem, "correct the formulas")
        sheets[sheet.title] = Source(frame, str(path), f"Excel, sheet {sheet.title}", True)
    if not sheets:
        raise InputError(f"{path}: has no filled sheet; fill one, with the names of the columns in its first row.")
    return sheets


def read_csv(path: Path, findings: list[Finding] | None = None) -> pd.DataFrame:
    """Read a CSV file, see `read_cells`, with decimal points; its columns have the names that `--map` gives them."""
    source = read_cells(path, findings)
    return renamed_columns(source.frame.apply(with_points) if source.has_decimal_commas else source.frame, path)


def renamed_columns(frame: pd.DataFrame, path: Path | str) -> pd.DataFrame:
    """Return a table whose columns are all kept, under the names that `--map` gives them."""
    columns = column_map()
    renamed = frame.rename(columns=columns.of(frame.columns, path))
    columns.reads(renamed.columns)
    return renamed


def _separator(text: str) -> str:
    """Return the separator that makes the most cells of the header among those that fit the most rows."""
    fits = {}
    for separator in SEPARATORS:
        try:
            with _long_cells():
                first = list(islice(csv.reader(io.StringIO(text, newline=""), delimiter=separator), _SNIFFED))
        except csv.Error:
            continue
        header, *rows = [row for row in first if any(row)] or [[]]
        if len(header) > 1:
            fits[separator] = (sum(len(row) == len(header) for row in rows) / max(len(rows), 1), len(header))
    return max(fits, key=lambda separator: fits[separator]) if fits else ","


def _rows(text: str, separator: str, path: Path) -> Iterator[list[str]]:
    number = -1
    with _long_cells():
        try:
            for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True):
                number += 1
                yield row
        except csv.Error as error:
            raise InputError(f"{path}, row {number + 1}: is not valid CSV ({error}); check its quotes.") from error


def _table(rows: Iterator[list[str]], path: Path, findings: list[Finding]) -> pd.DataFrame:
    """Return the rows below a header as a table; blank ones and empty columns without a name are left out."""
    header = next(rows, None)
    if not header:
        raise InputError(f"{path}: is empty; write a header line with the names of the columns.")
    cells: list[list[str]] = []
    blank = 0
    for row in rows:
        if not any(row):
            blank += 1
            continue
        if len(row) < len(header) or any(row[len(header) :]):
            raise InputError(
                f"{path}, row {len(cells) + 1}: has {len(row)} cells where the header has {len(header)}; "
                "check the quotes and separators of the row."
            )
        cells.append(row[: len(header)])
    if blank:
        problem = f"skipped: {blank:,} blank lines"
        findings.append(Finding("info", str(path), None, None, problem, "look whether rows are missing"))
    return _named(pd.DataFrame(cells, columns=range(len(header)), dtype="str"), header, path, findings)


def _named(frame: pd.DataFrame, header: list[str], path: Path, findings: list[Finding]) -> pd.DataFrame:
    nameless = [place for place, name in enumerate(header) if not name.strip()]
    empty = [place for place in nameless if (frame[place] == "").all()]
    if nameless:
        named = ", ".join(f"unnamed {place + 1}" for place in nameless if place not in empty)
        problem = f"{len(nameless)} columns have no name: " + (f"kept as {named}" if named else "empty, left out")
        findings.append(Finding("info", str(path), None, None, problem, "name them if they matter"))
    names = [f"unnamed {place + 1}" if place in nameless else name for place, name in enumerate(header)]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}, column {name}: the name occurs twice in the header; rename one of the two.")
    return frame.set_axis(names, axis="columns").drop(columns=[f"unnamed {place + 1}" for place in empty])


def with_points(texts: pd.Series) -> pd.Series:
    """Return decimal commas as points where each text of a column is a number with one, or a whole number."""
    given = [text for text in texts if text]
    commas = sum(bool(_DECIMAL_COMMA.fullmatch(text)) for text in given)
    if not commas or not all(_DECIMAL_COMMA.fullmatch(text) or text.lstrip("-").isdecimal() for text in given):
        return texts
    return texts.str.replace(".", "", regex=False).str.replace(",", ".", regex=False)


def _cell_text(value: object) -> str:
    if isinstance(value, datetime | date):
        return value.isoformat().removesuffix("T00:00:00")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


@contextmanager
def _long_cells() -> Iterator[None]:
    """Lift the csv module's limit of 128 KiB per cell: a response may be longer."""
    limit = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(limit)
