"""Writing the tidy tables as CSV or parquet, with the images beside them."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.data.benchmark import Benchmark, write_meta
from mrb_lib.data.formats.base import counted
from mrb_lib.errors import InputError
from mrb_lib.files import inside
from mrb_lib.schema import COLUMNS, TableName
from mrb_lib.validation import Finding

FileFormat = Literal["csv", "parquet"]
_CHUNK = 50_000


def write(benchmark: Benchmark, verdicts: pd.DataFrame, out: Path, *, file_format: FileFormat = "csv") -> list[Finding]:
    """Write the tables, the images and `benchmark.toml`; `read` gives identical tables back.

    Parameters
    ----------
    verdicts : no file is written where there are none
    out : the folder to write into
    file_format : "csv" or "parquet"

    Returns
    -------
    list of Finding
        What CSV cannot tell apart, counted: an empty text where the column may be
        missing, and other columns that hold no text. Parquet loses nothing.

    Raises
    ------
    InputError
        `file_format` is unknown.
    """
    if file_format not in get_args(FileFormat):
        raise InputError(f"file format {file_format!r}: is unknown; use csv or parquet.")
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    findings: list[Finding] = []
    tables: dict[TableName, pd.DataFrame] = {"cases": benchmark.cases, "annotations": benchmark.annotations}
    if len(verdicts):
        tables["verdicts"] = verdicts
    for table, frame in tables.items():
        path = out / f"{table}.{file_format}"
        if file_format == "csv":
            _write_csv(frame, table, path, findings)
        else:
            pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, compression="zstd")
    _write_images(benchmark, out / "images", findings)
    write_meta(benchmark.meta, out / "benchmark.toml")
    return findings


def _write_images(benchmark: Benchmark, folder: Path, findings: list[Finding]) -> None:
    absent = 0
    for name in dict.fromkeys(name for names in benchmark.cases["images"] for name in names):
        if name not in benchmark.images:
            absent += 1
            continue
        path = inside(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(benchmark.images[name])
    findings += counted(absent, "warning", "images", "images could not be found", "restore them and export again")


def _write_csv(frame: pd.DataFrame, table: TableName, path: Path, findings: list[Finding]) -> None:
    _count_losses(frame, table, path, findings)
    # The line ending with a carriage return makes the writer quote cells that hold one.
    with path.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\r\n")
        rows.writerow(frame.columns)
        for start in range(0, len(frame), _CHUNK):
            part = frame.iloc[start : start + _CHUNK]
            rows.writerows(zip(*(_cells(part[name]) for name in frame.columns), strict=True))


def _cells(values: pd.Series) -> Iterator[object]:
    """Text as it is, numbers so that they read back to the last digit, lists as JSON, missing as nothing."""
    for value in values.tolist():
        if isinstance(value, (list, dict, np.ndarray)):
            yield json.dumps(value, ensure_ascii=False, default=np.ndarray.tolist)
        else:
            yield "" if pd.isna(value) else value


def _count_losses(frame: pd.DataFrame, table: TableName, path: Path, findings: list[Finding]) -> None:
    known = {column.name: column for column in COLUMNS[table]}
    for name in frame.columns:
        column, values = known.get(name), frame[name]
        if (column is None or column.nullable) and isinstance(values.dtype, pd.StringDtype):
            empty = int((values == "").sum())
            findings += counted(
                empty, "info", path.name, "texts are empty", "they read back as missing; use parquet", name
            )
        if column is None and not isinstance(values.dtype, pd.StringDtype):
            problem = f"holds {values.dtype}, which CSV does not tell"
            findings.append(Finding("info", path.name, None, name, problem, "it reads back as text; use parquet"))
