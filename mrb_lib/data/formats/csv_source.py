"""Reading CSV files as the text they are: nothing becomes a number, and the answer "None" is not missing."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from mrb_lib.data.formats.sources import Record, readable, skipped
from mrb_lib.errors import InputError
from mrb_lib.validation import Finding

_CHUNK = 50_000


def read_csv(path: Path, findings: list[Finding] | None = None) -> pd.DataFrame:
    """A CSV file with a header, every cell as the text it is: nothing becomes a number or missing.

    Parameters
    ----------
    findings : blank lines are counted here

    Returns
    -------
    DataFrame
        Columns of dtype str; the text "None" stays "None", an empty cell is "".

    Raises
    ------
    InputError
        The file is missing, empty or not UTF-8, a name occurs twice in the header,
        or a row has more or fewer cells than the header; names the row.
    """
    chunks: list[pd.DataFrame] = []
    rows: list[list[str]] = []
    blank = 0
    number = 0
    with readable(path), path.open(encoding="utf-8-sig", newline="") as stream, _long_cells():
        cells = csv.reader(stream, strict=True)
        try:
            header = _header(next(cells, None), path)
            for row in cells:
                if not row:
                    blank += 1
                    continue
                number += 1
                if len(row) != len(header):
                    raise InputError(
                        f"{path}, row {number}: has {len(row)} cells where the header has {len(header)}; "
                        "check the quotes and commas of the row."
                    )
                rows.append(row)
                if len(rows) == _CHUNK:
                    chunks.append(pd.DataFrame(rows, columns=header, dtype="str"))
                    rows = []
        except csv.Error as error:
            raise InputError(
                f"{path}, row {number + 1}: is not valid CSV ({error}); check the quotes of the row."
            ) from error
    chunks.append(pd.DataFrame(rows, columns=header, dtype="str"))
    if findings is not None and blank:
        findings.append(skipped(path, f"{blank:,} blank lines"))
    return pd.concat(chunks, ignore_index=True)


def _header(header: list[str] | None, path: Path) -> list[str]:
    if not header:
        raise InputError(f"{path}: is empty; write a header line with the names of the columns.")
    for name in header:
        if header.count(name) > 1:
            raise InputError(f"{path}, column {name}: the name occurs twice in the header; rename one of the two.")
    return header


@contextmanager
def _long_cells() -> Iterator[None]:
    """Lift the csv module's limit of 128 KiB a cell: a response may be longer."""
    limit = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def csv_records(path: Path, required: tuple[str, ...]) -> list[Record]:
    """The rows of a CSV file as records of text; the columns in `required` must be there.

    Raises
    ------
    InputError
        See `read_csv`; or a required column is missing.
    """
    frame = read_csv(path)
    for name in required:
        if name not in frame.columns:
            raise InputError(f"{path}, column {name}: the column is missing; check that it is the file you mean.")
    names = list(frame.columns)
    columns = [frame[name].tolist() for name in names]
    return [
        Record(str(path), f"row {i}", dict(zip(names, cells, strict=True)))
        for i, cells in enumerate(zip(*columns, strict=True), start=1)
    ]
