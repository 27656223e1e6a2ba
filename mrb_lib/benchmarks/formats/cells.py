"""Tables as desks have them: CSV of any separator and encoding, and Excel workbooks; each cell as the text it is."""

import csv
import io
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import Any, Final

import pandas as pd

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import decoded, readable
from mrb_lib.tables.validation import Finding, counted

SEPARATORS: Final[Mapping[str, str]] = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_SNIFFED = 50  # rows that decide on the separator
_THOUSANDS = "[.'\u00a0\u202f]"
_GERMAN_NUMBER = re.compile(rf"-?([0-9]+|[1-9][0-9]{{0,2}}({_THOUSANDS}[0-9]{{3}})+)(,[0-9]+)?")
_POINTED = re.compile(r"-?[1-9][0-9]{0,2}(\.[0-9]{3})+")
_MOST_EXACT = 10**15  # Excel keeps 15 digits of a number


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

    @property
    def with_decimal_points(self) -> pd.DataFrame:
        """Return the table with decimal points, each column by itself: an answer of 1.250 is text."""
        if not self.has_decimal_commas:
            return self.frame
        return pd.DataFrame({name: with_points(self.frame[[name]])[0][name] for name in self.frame})


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
    stated = re.match(r'"?sep=(.)"?\r?\n', text)
    text = text[stated.end() :] if stated else text
    csv.field_size_limit(sys.maxsize)  # a response may be longer than its 128 KiB
    separator = stated[1] if stated else _separator(text)
    found = [] if findings is None else findings
    if not encoding.startswith("UTF"):
        problem = f"is not UTF-8 text and was read as {encoding}"
        found.append(Finding("warning", str(path), None, None, problem, "look at its accents, or save it as UTF-8"))
    frame = _table(_rows(text, separator, path), path, found)
    about = f"CSV, {SEPARATORS.get(separator, repr(separator))}, {encoding}"
    return Source(frame, str(path), about, True, separator != ",")


def read_workbook(path: Path, findings: list[Finding]) -> dict[str, Source]:
    """Read the sheets of an Excel workbook that are not empty, by name, hidden ones last.

    Merged cells all have their value, and whole numbers the zeros in front that their format shows.

    Raises
    ------
    InputError
        The file is missing or is no workbook, or a sheet is no table; names the row.
    """
    import openpyxl

    with readable(path):
        content = path.read_bytes()
    try:
        book, written = (openpyxl.load_workbook(io.BytesIO(content), data_only=stored) for stored in (True, False))
    except Exception as error:  # openpyxl raises nearly anything on damaged files
        raise InputError(
            f"{path}: is not a readable .xlsx workbook ({type(error).__name__}); save it again."
        ) from error
    sheets: dict[str, Source] = {}
    for sheet in sorted(book.worksheets, key=lambda each: each.sheet_state != "visible"):
        cells = [cell for row in sheet.iter_rows() for cell in row]
        texts = {(cell.row, cell.column): _cell_text(cell) for cell in cells}
        for area in sheet.merged_cells.ranges:
            texts |= dict.fromkeys(area.cells, texts.get((area.min_row, area.min_col), ""))
        lines = [[texts[cell.row, cell.column] for cell in row] for row in sheet.iter_rows()]
        rows = list(dropwhile(lambda line: not any(line), lines))
        if not rows:
            continue
        where = path.with_name(f"{path.name} ({sheet.title})")
        frame = _table(iter(rows), where, findings)
        formulas = (cell for row in written[sheet.title].iter_rows() for cell in row if cell.data_type == "f")
        without = sum(sheet[cell.coordinate].value is None for cell in formulas)
        problem, cure = "formulas have no stored value and are empty here", "open the file in Excel and save it again"
        findings += counted(without, "warning", where, problem, cure)
        errors = sum(cell.data_type == "e" for cell in cells)
        problem = "cells hold an Excel error and are empty here"
        findings += counted(errors, "warning", where, problem, "correct the formulas")
        large = sum(isinstance(cell.value, int | float) and abs(cell.value) >= _MOST_EXACT for cell in cells)
        problem = "numbers have more digits than Excel keeps"
        findings += counted(large, "warning", where, problem, "store such ids as text, from their source")
        sheets[sheet.title] = Source(frame, str(path), f"Excel, sheet {sheet.title}", True)
    if not sheets:
        raise InputError(f"{path}: has no filled sheet; fill one, with the names of the columns in its first row.")
    return sheets


def _cell_text(cell: Any) -> str:
    value = cell.value
    if value is None or cell.data_type == "e":
        return ""
    if isinstance(value, datetime | date):
        return value.isoformat().removesuffix("T00:00:00")
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    padded = isinstance(value, int) and value >= 0 and re.fullmatch("0+", cell.number_format)
    return str(value).zfill(len(cell.number_format)) if padded else str(value)


def _separator(text: str) -> str:
    """Return the separator that makes the most cells of the header among those that fit the most rows."""
    fits = {}
    for separator in SEPARATORS:
        try:
            first = list(islice(csv.reader(io.StringIO(text, newline=""), delimiter=separator), _SNIFFED))
        except csv.Error:
            continue
        header, *rows = [row for row in first if sum(map(bool, row)) > 1] or [[]]
        if len(header) > 1:
            fits[separator] = (sum(len(row) == len(header) for row in rows) / max(len(rows), 1), len(header))
    return max(fits, key=lambda separator: fits[separator]) if fits else ","


def _rows(text: str, separator: str, path: Path) -> Iterator[list[str]]:
    number = -1
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True):
            number += 1
            yield row
    except csv.Error as error:
        raise InputError(f"{path}, row {number + 1}: is not valid CSV ({error}); check its quotes.") from error


def _table(rows: Iterator[list[str]], path: Path, findings: list[Finding]) -> pd.DataFrame:
    """Return the rows below a header as a table; blank ones and empty columns without a name are left out."""
    first = list(islice(rows, _SNIFFED))
    titles = next((row for row, cells in enumerate(first) if sum(map(bool, cells)) > 1), 0)
    skipped = [text for cells in first[:titles] for text in cells if text]
    problem, cure = f"rows above the header are skipped: {' '.join(skipped)}", "remove them if a name is among them"
    findings += counted(len(skipped), "info", path, problem, cure)
    header, *first = first[titles:] or [[]]
    if not header:
        raise InputError(f"{path}: is empty; write a header line with the names of the columns.")
    cells: list[list[str]] = []
    blank = 0
    for row in chain(first, rows):
        if not any(cell.strip() for cell in row):
            blank += 1
            continue
        if len(row) < len(header) or any(row[len(header) :]):
            raise InputError(
                f"{path}, row {len(cells) + 1}: has {len(row)} cells where the header has {len(header)}; "
                "check the quotes and separators of the row."
            )
        cells.append(row[: len(header)])
    findings += counted(blank, "info", path, "blank lines are skipped", "look whether rows are missing")
    names = [name if name.strip() else f"unnamed {place}" for place, name in enumerate(header, start=1)]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{path}, column {repeated[0]}: the name occurs twice in the header; rename one of the two.")
    frame = pd.DataFrame(cells, columns=names, dtype="str")
    nameless = [name for name, stated in zip(names, header, strict=True) if not stated.strip()]
    empty = [name for name in nameless if (frame[name] == "").all()]
    kept = ", ".join(name for name in nameless if name not in empty)
    problem = f"columns have no name: {f'kept as {kept}' if kept else 'empty, left out'}"
    findings += counted(len(nameless), "info", path, problem, "name them if they matter")
    return frame.drop(columns=empty)


def with_points(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return a table of texts with decimal points, where a column of nothing but numbers has a decimal comma.

    Then the signs between thousands are taken out of all such columns, but of those whose every text is like 1.250,
    which may be a name or a fraction; these are named.
    """
    numbers = frame[[name for name in frame if all(_GERMAN_NUMBER.fullmatch(text) for text in frame[name] if text)]]
    if not any(values.str.contains(",").any() for _, values in numbers.items()):
        return frame, []
    unclear = [
        str(name)
        for name, texts in numbers.items()
        if {bool(_POINTED.fullmatch(text)) for text in texts if text} == {True}
    ]
    numbers = numbers.drop(columns=unclear)
    return frame.assign(**numbers.replace(_THOUSANDS, "", regex=True).replace(",", ".", regex=True)), unclear
