"""Reading tables and JSON that somebody else wrote: every error names the file, the row and the column."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

import pandas as pd

from mrb_lib.benchmarks.formats.cells import Source, read_cells, read_workbook
from mrb_lib.benchmarks.formats.images import ParquetImages, read_without_bytes
from mrb_lib.benchmarks.formats.mapping import column_map
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import read_text, slug
from mrb_lib.tables.names import spelling_key
from mrb_lib.tables.schema import COLUMNS
from mrb_lib.tables.validation import Finding

TEXT_SUFFIXES: Final = (".csv", ".tsv", ".txt")
READ_SUFFIXES: Final = (*TEXT_SUFFIXES, ".xlsx", ".parquet", ".jsonl", ".json")
_NEEDED: Final = [column.name for contract in COLUMNS.values() for column in contract if column.required]
Label = TypeVar("Label")


@dataclass(frozen=True)
class SourceRow:
    """One object or row of a file; its fields are read with their types checked.

    Attributes
    ----------
    file : the file, to name in messages
    location : where in it, as "row 3" (counted from 1) or "line 3"
    values : the fields
    renamed : what the file calls the fields that `--map` renames, by our names
    """

    file: str
    location: str
    values: Mapping[str, object]
    renamed: Mapping[str, str] = field(default_factory=dict)

    def under(self, renames: Mapping[str, str]) -> SourceRow:
        """Return the record with some fields under other names, as `--map` gives them."""
        values = {renames.get(name, name): value for name, value in self.values.items()}
        return replace(self, values=values, renamed={ours: theirs for theirs, ours in renames.items()})

    def error(self, column: str | None, problem: str, cure: str) -> InputError:
        """The error that says what is wrong with this record."""
        where = f"{self.file}, {self.location}" + ("" if column is None else f", column {column}")
        return InputError(f"{where}: {problem}; {cure}.")

    def get(self, column: str) -> object:
        """The value of a field that must be there; it may be null."""
        if column not in self.values:
            raise self.error(column, "the field is missing", "restore the file from its source")
        column_map().reads([column])
        return self.values[column]

    def text(self, column: str) -> str:
        """The value of a field that must be text."""
        value = self.get(column)
        if not isinstance(value, str):
            raise self.error(column, f"{_kind(value)} where text belongs", "write plain text")
        return value

    def texts(self, **names: str) -> dict[str, object]:
        """The values of fields that must be text, under our names: `texts(question="prompt")`."""
        return {ours: self.text(theirs) for ours, theirs in names.items()}

    def optional_text(self, column: str) -> str | None:
        """The value of a field that may be null."""
        return None if self.get(column) is None else self.text(column)

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

        Raises
        ------
        InputError
            A column is mapped to one that the format fills itself.
        """
        carried = column_map().carried(self.renamed, fields, self.file) if self.renamed else []
        # An empty cell is a missing value.
        return {**fields, **{ours: self.values.get(ours) or None for ours in carried}}


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


def text_id(text: str) -> str:
    """An id for a text: equal texts, and practically only they, have the same one, in whatever order they are read."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]


def _kind(value: object) -> str:
    return "null" if value is None else type(value).__name__


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def parse_json(text: str) -> object:
    """Parse JSON strictly: no repeated keys, no NaN, no halves of surrogate pairs.

    Raises
    ------
    ValueError
        The text is not such JSON.
    """
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError as error:
            raise ValueError("half of a surrogate pair, which is not a character") from error
    return value


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) != len(pairs):
        [(repeated, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {repeated!r} occurs twice")
    return values


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def read_json_array(path: Path) -> list[SourceRow]:
    """The objects of a JSON file that holds one array of objects.

    Raises
    ------
    InputError
        The file is missing, is not JSON, or is not an array of objects.
    """
    text = read_text(path)
    if not text.strip():
        raise InputError(f"{path}: is empty; restore it from its source.")
    values = _parsed(text, str(path), "restore it from its source")
    if not isinstance(values, list):
        what = f"holds {_kind(values)} where an array of objects belongs"
        raise InputError(f"{path}: {what}; check that it is the file you mean.")
    records = ((f"row {i}", value) for i, value in enumerate(values, start=1))
    return _records(records, path, "restore the file from its source")


def read_jsonl(path: Path) -> list[SourceRow]:
    """Return the objects of a file with one JSON object a line; blank lines are passed over.

    Raises
    ------
    InputError
        The file is missing or is not UTF-8, or a line is not a JSON object; names the line.
    """
    lines = [(f"line {i}", line) for i, line in enumerate(read_text(path).split("\n"), start=1) if line.strip()]
    records = ((where, _parsed(line, f"{path}, {where}", "correct or remove the line")) for where, line in lines)
    return _records(records, path, "write one object a line")


def _parsed(text: str, where: str, cure: str) -> object:
    try:
        return parse_json(text)
    except ValueError as error:
        raise InputError(f"{where}: is not valid JSON ({error}); {cure}.") from error


def _records(values: Iterable[tuple[str, object]], path: Path, cure: str) -> list[SourceRow]:
    records = []
    for location, value in values:
        if not isinstance(value, dict):
            raise InputError(f"{path}, {location}: {_kind(value)} where an object belongs; {cure}.")
        records.append(SourceRow(str(path), location, value))
    return renamed(records, path)


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
        return {"": Source(_frame(read_rows(path), path), str(path), "JSON")}
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
    decimal_points : write numbers with a point where the file has commas, see `Source.with_decimal_points`
    """
    suffix = path.suffix.lower()
    if suffix in (".jsonl", ".json"):
        return read_jsonl(path) if suffix == ".jsonl" else read_json_array(path)
    source = next(iter(read_sheets(path, [] if findings is None else findings).values()))
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
    """Return JSON objects as a table; a column of our contracts keeps its values as they are, such as ids with gaps."""
    if not records:
        raise InputError(f"{path}: is empty; write one object a line, or remove the file.")
    names = dict.fromkeys(name for record in records for name in record.values)
    column_map().reads(names)
    frame = pd.DataFrame({name: pd.Series([one.values.get(name) for one in records], dtype=object) for name in names})
    others = frame.columns.difference([column.name for contract in COLUMNS.values() for column in contract])
    return _under_our_names(frame.assign(**frame[others].infer_objects()))


def _under_our_names(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns spelled nearly like ours, as "Response A", have our names, and whose ids are text.

    The column `image`, as most data sets call it, is `images`.
    """
    ours = {_column_key(name): name for name in (*_NEEDED, "images")} | {"image": "images"}
    renames = {name: ours[_column_key(name)] for name in frame if _column_key(name) in ours}
    taken = Counter([*renames.values(), *(name for name in frame if name not in renames)])
    frame = frame.rename(columns={name: our for name, our in renames.items() if taken[our] == 1})
    ids = [name for name in ("case_id", "annotator", "judge") if name in frame and frame[name].dtype != "str"]
    return frame.assign(**{name: frame[name].map(lambda value: id_text(value) or value) for name in ids})


def _column_key(name: object) -> str:
    return spelling_key(str(name).replace("_", " "))


def csv_records(path: Path, required: tuple[str, ...]) -> list[SourceRow]:
    """The rows of a CSV file as records of text; the columns in `required` must be there.

    Raises
    ------
    InputError
        See `read_cells`; or a required column is missing.
    """
    rows = read_cells(path).frame.to_dict("records")
    records = _records(((f"row {i}", row) for i, row in enumerate(rows, start=1)), path, "")
    for name in required:
        if records and name not in records[0].values:
            raise InputError(f"{path}, column {name}: the column is missing; check that it is the file you mean.")
    return records
