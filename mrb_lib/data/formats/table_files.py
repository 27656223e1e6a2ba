"""One table from a CSV, parquet or JSON lines file, before its contract is checked."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa

from mrb_lib.data.benchmark import read_table
from mrb_lib.data.formats.csv_source import read_csv
from mrb_lib.data.formats.sources import Record, read_jsonl
from mrb_lib.errors import InputError
from mrb_lib.schema import COLUMNS, Column, TableName
from mrb_lib.validation import Finding

SUFFIXES = (".csv", ".parquet", ".jsonl")


def find_table(folder: Path, table: TableName) -> Path | None:
    """The file of a table in a folder, or None.

    Raises
    ------
    InputError
        The table is there in two formats.
    """
    found = [path for suffix in SUFFIXES if (path := folder / f"{table}{suffix}").is_file()]
    if len(found) > 1:
        raise InputError(f"{folder}: both {found[0].name} and {found[1].name} are there; keep the one you mean.")
    return found[0] if found else None


def read_frame(path: Path, table: TableName, findings: list[Finding]) -> pd.DataFrame:
    """Read a table from a file of any of the three formats.

    Returns
    -------
    DataFrame
        Missing values as missing, numbers as numbers, images as lists; `conform` still has to check it.

    Raises
    ------
    InputError
        The file is damaged; names the row.
    """
    known = {column.name: column for column in COLUMNS[table]}
    if path.suffix == ".csv":
        frame = read_csv(path, findings)
        return pd.DataFrame({name: _from_text(frame[name], known.get(name), path) for name in frame.columns})
    frame = _from_records(read_jsonl(path, findings), path, known) if path.suffix == ".jsonl" else read_table(path)
    for name, column in known.items():
        if column.type == "names" and name in frame.columns:
            lists = [[] if value is None else value for value in frame[name].tolist()]
            frame[name] = pd.Series(lists, index=frame.index, dtype=object)
    return frame


def _from_text(values: pd.Series, column: Column | None, path: Path) -> pd.Series:
    """The values of a CSV column, in the type its contract asks for."""
    if column is not None and column.type == "names":
        cells = [_names(cell, path, row) for row, cell in enumerate(values, start=1)]
        return pd.Series(cells, index=values.index, dtype=object)
    if column is None or column.nullable or column.type != "str":
        values = values.mask(values == "")
    if column is None or column.type == "str":
        return values
    try:
        # float() reads what repr() wrote to the last digit; pandas' own parser may not.
        return pd.Series(
            [float("nan") if pd.isna(v) else _number(v) for v in values], index=values.index, dtype="float64"
        )
    except ValueError:
        return values


def _number(text: str) -> float:
    number = float(text)
    if number != number or "_" in text:
        raise ValueError(text)
    return number


def _names(cell: str, path: Path, row: int) -> list[str]:
    if not cell.startswith("["):
        return [name.strip() for name in cell.split(";") if name.strip()]
    try:
        names = json.loads(cell)
    except ValueError as error:
        raise InputError(
            f"{path}, row {row}, column images: is not a JSON list ({error}); write names separated by semicolons."
        ) from error
    if not isinstance(names, list):
        raise InputError(f"{path}, row {row}, column images: is not a list; write names separated by semicolons.")
    return names


def _from_records(records: list[Record], path: Path, known: dict[str, Column]) -> pd.DataFrame:
    if not records:
        raise InputError(f"{path}: is empty; write one object a line, or remove the file.")
    names = list(dict.fromkeys(name for record in records for name in record.values))
    columns = {}
    for name in names:
        values = [record.values.get(name) for record in records]
        column = pd.Series(values, dtype=object)
        if name not in known:
            try:
                pa.array(values, from_pandas=True)
            except (pa.ArrowException, OverflowError) as error:
                problem = f"mixes types or holds a number that is too large ({error})"
                raise InputError(f"{path}, column {name}: {problem}; make its values alike, or text.") from error
            column = column.infer_objects()
        columns[name] = column
    return pd.DataFrame(columns)
