"""Reading tables and JSON that somebody else wrote: every error names the file, the row and the column.

Tables come as desks have them: CSV of any separator and encoding, and Excel workbooks; each cell as the text it is.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd
from pydantic_core import from_json

from mrb_lib.benchmarks.encodings import decoded, read_text
from mrb_lib.benchmarks.formats.images import ParquetImages, read_without_bytes
from mrb_lib.benchmarks.formats.mapping import column_map
from mrb_lib.tables.errors import InputError, shortened
from mrb_lib.tables.files import readable, slug
from mrb_lib.tables.names import spelling_key
from mrb_lib.tables.schema import COLUMNS
from mrb_lib.tables.validation import Finding, counted

TEXT_SUFFIXES: Final = (".csv", ".tsv", ".txt")
READ_SUFFIXES: Final = (*TEXT_SUFFIXES, ".xlsx", ".parquet", ".jsonl", ".json")
_OURS: Final = {"images"} | {column.name for table in COLUMNS.values() for column in table if column.required}
SEPARATORS: Final[Mapping[str, str]] = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_SNIFFED = 50  # rows that decide on the separator
_THOUSANDS = "[.'\u00a0\u202f]"
_GERMAN_NUMBER = re.compile(rf"-?([0-9]+|[1-9][0-9]{{0,2}}({_THOUSANDS}[0-9]{{3}})+)(,[0-9]+)?")
_POINTED = re.compile(r"-?[1-9][0-9]{0,2}(\.[0-9]{3})+")
_MOST_EXACT = 10**15  # Excel keeps 15 digits of a number
Label = TypeVar("Label")


@dataclass(frozen=True)
class SourceRow:
    """One object or row of a file; its fields are read with their types checked.

    Attributes
    ----------
    file : the file, to name in messages
    location : where in it, as "row 3" (counted from 1) or "line 3"
    values : the fields
    """

    file: str
    location: str
    values: Mapping[str, object]

    def under(self, renames: Mapping[str, str]) -> SourceRow:
        """Return the record with some fields under other names, as `--map` gives them."""
        return replace(self, values={renames.get(name, name): value for name, value in self.values.items()})

    def error(self, column: str | None, problem: str, cure: str) -> InputError:
        """The error that says what is wrong with this record."""
        where = f"{self.file}, {self.location}" + ("" if column is None else f", column {column}")
        return InputError(f"{where}: {problem}; {cure}.")

    def get(self, column: str) -> object:
        """The value of a field that must be there; it may be null."""
        if column not in self.values:
            raise self.error(column, "the field is missing", "restore the file from its source")
        return self.find(column)

    def find(self, column: str) -> object:
        """The value of a field; None where there is none."""
        column_map().reads([column])
        return self.values.get(column)

    def text(self, column: str) -> str:
        """The value of a field that must be text."""
        value = self.get(column)
        if not isinstance(value, str):
            raise self.error(column, f"{_kind(value)} where text belongs", "write plain text")
        return value

    def texts(self, **names: str) -> dict[str, object]:
        """The values of fields that must be text, under our names: `texts(question="prompt")`."""
        return {ours: self.text(theirs) for ours, theirs in names.items()}

    def id(self, column: str) -> str:
        """The value of an identifier as text: 7, 7.0 and "7" are the same id."""
        text = id_text(self.get(column))
        if text is None:
            value = self.values[column]
            raise self.error(column, f"{_shown(value)} is not an identifier", "write text or a whole number")
        return text

    def label(self, column: str, labels: Mapping[str | int | None, Label]) -> Label:
        """What the value of a field stands for; only the values in `labels`, with their exact type, are known."""
        value = self.get(column)
        for key, label in labels.items():
            if type(value) is type(key) and value == key:
                return label
        allowed = ", ".join(json.dumps(key) for key in labels)
        raise self.error(column, f"{_shown(value)} is not a known value", f"use one of {allowed}")

    def case(self, fields: Mapping[str, object]) -> dict[str, object]:
        """A row of the cases table: what the format makes of this record, and the columns that `--map` adds to it.

        Parameters
        ----------
        fields : the columns that the format fills, all read by now
        """
        carried = column_map().carried(self.values, fields)
        return {**fields, **{ours: self.values[ours] or None for ours in carried}}  # an empty cell is a missing value


def by_id(records: Iterable[SourceRow], column: str) -> dict[str, SourceRow]:
    """Records by their id in a column.

    Raises
    ------
    InputError
        Two have the same id.
    """
    records_of: dict[str, SourceRow] = {}
    for record in records:
        name = record.id(column)
        first = records_of.setdefault(name, record)
        if first is not record:
            where = first.location if first.file == record.file else f"{first.file}, {first.location}"
            raise record.error(column, f"{name!r} occurs again (first in {where})", "keep one of the two")
    return records_of


def id_text(value: object) -> str | None:
    """An identifier as text, whatever type it was stored with; None where it is not an identifier."""
    if isinstance(value, bool) or value is None or value == "":
        return None
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else None
    return str(value) if isinstance(value, (str, int)) else None


def listed(cell: object) -> list[object]:
    """Return what a cell lists: a list, one in JSON, or texts between semicolons; else its value, if it has one.

    Raises
    ------
    ValueError
        It begins like a list in JSON and is none.
    """
    if isinstance(cell, str) and not cell.strip().startswith("["):
        return [text.strip() for text in cell.split(";") if text.strip()]
    value = json.loads(cell) if isinstance(cell, str) else cell
    if isinstance(value, list | tuple | np.ndarray):
        return list(value)
    return [] if value is None or value is pd.NA or value != value else [value]


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__


def _shown(value: object) -> str:
    return shortened(json.dumps(value, ensure_ascii=False, default=str), 60)


def read_json(path: Path) -> list[SourceRow]:
    """Return the objects of a JSON file: of one array, or one object a line, where blank lines are passed over.

    Raises
    ------
    InputError
        The file is missing or is not UTF-8, or holds anything but objects; names the row or line.
    """
    text = read_text(path)
    if text.lstrip().startswith("["):
        values = _parsed(text, str(path), "restore it from its source")
        records = [(f"row {i}", value) for i, value in enumerate(values, start=1)]
    else:
        lines = [(f"line {i}", line) for i, line in enumerate(text.split("\n"), start=1) if line.strip()]
        records = [(where, _parsed(line, f"{path}, {where}", "correct the line")) for where, line in lines]
    for where, value in records:
        if not isinstance(value, dict):
            raise InputError(f"{path}, {where}: {_kind(value)} where an object belongs; write one object a line.")
    return renamed([SourceRow(str(path), where, value) for where, value in records], path)


def _parsed(text: str, where: str, cure: str) -> Any:
    try:
        return from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise InputError(f"{where}: is not valid JSON ({error}); {cure}.") from error


def renamed(records: list[SourceRow], path: Path) -> list[SourceRow]:
    """Records whose fields have the names that `--map` gives them."""
    columns = column_map()
    if not columns.names:
        return records
    renames = columns.of(dict.fromkeys(name for record in records for name in record.values), path)
    return [record.under(renames) for record in records]


def read_sheets(path: Path, findings: list[Finding]) -> dict[str, Source]:
    """Return the table of a file of any of `READ_SUFFIXES`, of a workbook those of all its sheets by name.

    Columns have the names that `--map` gives them, or ours where they are spelled nearly so; of a parquet file,
    `images` are the names of its pictures.

    Raises
    ------
    InputError
        The file is damaged or of another kind; names the row.
    """
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return {"": read_parquet([path], findings)}
    if suffix in (".jsonl", ".json"):
        return {"": Source(_frame(read_json(path), path), str(path), "JSON")}
    if suffix == ".xlsx":
        sheets = read_workbook(path, findings)
    elif suffix in TEXT_SUFFIXES:
        sheets = {"": read_cells(path, findings)}
    else:
        raise InputError(f"{path}: is no file of {', '.join(READ_SUFFIXES)}; save it as .xlsx or .csv.")
    columns = column_map()
    for name, sheet in sheets.items():
        frame = sheet.frame.rename(columns=columns.of(sheet.frame.columns, path))
        columns.reads(frame.columns)
        sheets[name] = replace(sheet, frame=_under_our_names(frame))
    return sheets


def read_rows(path: Path, findings: list[Finding] | None = None, *, decimal_points: bool = False) -> list[SourceRow]:
    """Return the rows of a file of any of `READ_SUFFIXES`, of a workbook its first sheet; see `read_sheets`.

    Parameters
    ----------
    findings : see `read_cells`; by default those of the import that is under way
    decimal_points : write numbers with a point where the file has commas, see `Source.with_decimal_points`
    """
    if path.suffix.lower() in (".jsonl", ".json"):
        records = read_json(path)
        names = _names_of(records)
        return [record.under(_our_names(names)) for record in records]
    source = next(iter(read_sheets(path, column_map().findings if findings is None else findings).values()))
    rows = (source.with_decimal_points if decimal_points else source.frame).to_dict("records")
    return [
        SourceRow(str(path), f"row {i}", {str(k): v for k, v in row.items()}) for i, row in enumerate(rows, start=1)
    ]


def read_parquet(paths: Sequence[Path], findings: list[Finding]) -> Source:
    """Return one table of parquet files; of a column `images` that holds the pictures themselves, their names."""
    images = ParquetImages()
    frames = []
    for path in paths:
        frame, pictures = read_without_bytes(path, ("images", "image"), findings)
        frame = _under_our_names(frame)
        if pictures is not None:
            ids = frame.get("case_id", pd.Series([f"{path.stem}-{row}" for row in range(1, len(frame) + 1)]))
            frame = frame.assign(images=images.add(path, pictures, [slug(str(case_id)) for case_id in ids], findings))
        frames.append(frame)
    file = str(paths[0] if len(paths) == 1 else paths[0].parent)
    about = "parquet with pictures" if images else "parquet"
    return Source(pd.concat(frames, ignore_index=True), file, about, images=images or None)


def _frame(records: list[SourceRow], path: Path) -> pd.DataFrame:
    """Return JSON objects as a table."""
    if not records:
        raise InputError(f"{path}: is empty; write one object a line, or remove the file.")
    names = _names_of(records)
    frame = pd.DataFrame({name: pd.Series([one.values.get(name) for one in records], dtype=object) for name in names})
    return _under_our_names(frame.infer_objects())


def _names_of(records: list[SourceRow]) -> dict[str, None]:
    """Return the names of all fields of a table in JSON, which it is read with."""
    names = dict.fromkeys(name for record in records for name in record.values)
    column_map().reads(names)
    return names


def _our_names(names: Iterable[str]) -> dict[str, str]:
    """Return our names of the columns that are spelled nearly like ours, as "Response A", where no other has them.

    The column `image`, as most data sets call it, is `images`.
    """
    keys = {name: "images" if column_key(name) == "image" else column_key(name) for name in names}
    renames = {name: key for name, key in keys.items() if key in _OURS}
    taken = Counter(renames.get(name, name) for name in keys)
    return {name: ours for name, ours in renames.items() if taken[ours] == 1}


def _under_our_names(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the columns that are ours under our names, and ids as text."""
    frame = frame.rename(columns=_our_names(map(str, frame)))
    ids = [name for name in ("case_id", "annotator", "judge") if name in frame and frame[name].dtype != "str"]
    return frame.assign(**{name: frame[name].map(lambda value: id_text(value) or value) for name in ids})


def column_key(name: object) -> str:
    """Return the name of a column as we spell names: "Response A" is `response_a`."""
    return spelling_key(str(name).replace("_", " ")).replace(" ", "_")


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
        errors = sum(cell.data_type == "e" for cell in cells)
        large = sum(isinstance(cell.value, int | float) and abs(cell.value) >= _MOST_EXACT for cell in cells)
        for count, problem, cure in (
            (without, "formulas have no stored value and are empty here", "open the file in Excel and save it again"),
            (errors, "cells hold an Excel error and are empty here", "correct the formulas"),
            (large, "numbers have more digits than Excel keeps", "store such ids as text, from their source"),
        ):
            findings += counted(count, "warning", where, problem, cure)
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
    kept = [name for name in nameless if (frame[name] != "").any()]
    problem = f"columns have no name: {', '.join(kept)}"
    findings += counted(len(kept), "info", path, problem, "name them if they matter")
    return frame.drop(columns=[name for name in nameless if name not in kept])


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
