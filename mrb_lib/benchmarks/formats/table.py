"""The tidy tables of this library as CSV, parquet or JSON lines: the format to bring one's own data in.

A folder holds `cases`, and may hold `annotations`, `verdicts`, `images/` and
`benchmark.toml`; each table as `.csv`, `.parquet` or `.jsonl`, with the columns of
`mrb_lib.tables.schema`. Other columns are kept.

In CSV every cell is text. An empty cell is missing where the column may be missing
(and in columns the contract does not know), else it is the empty text; "None" and
"NA" are texts like any other. A column of the cases that the contract does not know
is one of numbers if each of its cells is a number in plain form ("60", "-1.5"; "007"
and "1,000" are text), so that `--where "age > 60"` compares numbers. `images` holds
file names separated by semicolons, or a JSON list of them, which it is taken for if it
starts with `[`.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.benchmarks.benchmark import Benchmark, FolderImages, empty_annotations, read_table
from mrb_lib.benchmarks.formats.base import Imported, counted, import_tables, reads, verdict_table, writes
from mrb_lib.benchmarks.formats.sources import SourceRow, only_folder, read_csv, read_jsonl, renamed_columns
from mrb_lib.benchmarks.meta import BenchmarkMeta, read_meta, write_meta
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import inside
from mrb_lib.tables.schema import CHOICES, COLUMNS, DIMENSIONS, KINDS, Column, Kind, TableName, are_numbers
from mrb_lib.tables.validation import Finding, check_references, conform

READ_SUFFIXES = (".csv", ".parquet", ".jsonl")
WRITTEN = ("csv", "parquet")
_CHUNK = 50_000
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,17})?(e[+-][0-9]{2,3})?")


@reads("table", about="cases, annotations and verdicts as CSV, parquet or JSON lines: for your own data")
def read(
    src: Path,
    *,
    kind: Annotated[str | None, "clinical, general or simulated"] = None,
    name: Annotated[str | None, "the benchmark's name"] = None,
) -> Imported:
    """Read tables that somebody wrote by hand or with another program.

    Parameters
    ----------
    src : the folder that holds the tables
    kind : "clinical", "general" or "simulated"; by default what benchmark.toml states, else "general"
    name : the benchmark's name; by default what benchmark.toml states, else the folder's name

    Returns
    -------
    Imported
        Without benchmark.toml the dimensions are those that occur, the six standard
        ones first, and the categories are A, B, tie; or, where no label is one of
        these, the labels that occur: numbers from the lowest, other labels in alphabetical order.

    Raises
    ------
    InputError
        A file is damaged or there twice, a value breaks the contract of its table, or a
        row names a case that does not exist; names file, row and column.

    Notes
    -----
    Validated by tests/benchmarks/formats/test_table.py (round trips of arbitrary text).
    """
    folder = only_folder(Path(src))
    findings: list[Finding] = []
    cases_path = find_table(folder, "cases")
    if cases_path is None:
        raise InputError(f"{folder}: there is no cases.csv, cases.parquet or cases.jsonl; add one of them.")
    cases = read_frame(cases_path, "cases", findings)
    annotations_path, verdicts_path = find_table(folder, "annotations"), find_table(folder, "verdicts")
    annotations = empty_annotations()
    if annotations_path is not None:
        annotations = read_frame(annotations_path, "annotations", findings)
    verdicts = verdict_table([], folder)
    if verdicts_path is not None:
        verdicts = read_frame(verdicts_path, "verdicts", findings)
    meta = _meta(folder, kind, name, annotations, verdicts, findings)
    own = partial(conform, dimensions=meta.dimensions, categories=meta.categories, task=meta.task, labels=meta.labels)
    cases = own(cases, "cases", str(cases_path))
    annotations = own(annotations, "annotations", str(annotations_path))
    verdicts = own(verdicts, "verdicts", str(verdicts_path))
    for frame, path in ((annotations, annotations_path), (verdicts, verdicts_path)):
        check_references(frame, cases, str(path))
    images = FolderImages(folder / "images")
    absent = sum(name not in images for names in cases["images"] for name in names)
    findings += counted(absent, "warning", folder / "images", "images are not there", "add the files", "images")
    return import_tables(meta, cases, annotations, verdicts, findings, source=cases_path, images=images)


def _meta(
    folder: Path,
    kind: str | None,
    name: str | None,
    annotations: pd.DataFrame,
    verdicts: pd.DataFrame,
    findings: list[Finding],
) -> BenchmarkMeta:
    if kind is not None and kind not in KINDS:
        raise InputError(f"kind {kind!r}: is unknown; use one of {', '.join(KINDS)}.")
    path = folder / "benchmark.toml"
    if path.is_file():
        meta = read_meta(path)
        return replace(meta, kind=cast(Kind, kind or meta.kind), name=name or meta.name)
    labels = _values(annotations, "choice")
    categories: tuple[str, ...] = CHOICES
    if labels and not set(labels) & set(CHOICES):
        categories = tuple(sorted(labels, key=float) if are_numbers(labels) else labels)
        problem = f"the labels are not A, B, tie but {', '.join(categories)}"
        cure = "state the categories and their order in benchmark.toml if this is not what you mean"
        findings.append(Finding("info", "annotations", None, "choice", problem, cure))
    occurring = set(_values(annotations, "dimension")) | set(_values(verdicts, "dimension"))
    dimensions = [d for d in DIMENSIONS if d in occurring] + sorted(occurring - set(DIMENSIONS))
    return BenchmarkMeta(
        name=name or folder.resolve().name or "table",
        kind=cast(Kind, kind or "general"),
        dimensions=tuple(dimensions) or DIMENSIONS,
        categories=categories,
    )


def _values(frame: pd.DataFrame, column: str) -> Sequence[str]:
    """The different values of a column, sorted; none where the column is missing."""
    if column not in frame.columns:
        return []
    return sorted(value for value in frame[column].dropna().astype("str").unique() if value)


def find_table(folder: Path, table: TableName) -> Path | None:
    """The file of a table in a folder, or None.

    Raises
    ------
    InputError
        The table is there in two formats.
    """
    paths = [path for suffix in READ_SUFFIXES if (path := folder / f"{table}{suffix}").is_file()]
    if len(paths) > 1:
        raise InputError(f"{folder}: both {paths[0].name} and {paths[1].name} are there; keep the one you mean.")
    return paths[0] if paths else None


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
    contract = {column.name: column for column in COLUMNS[table]}
    if path.suffix == ".jsonl":
        frame = _from_records(read_jsonl(path, findings), path, contract)
    else:
        frame = read_csv(path, findings) if path.suffix == ".csv" else renamed_columns(read_table(path), path)
    if path.suffix == ".csv":
        columns = {name: _from_text(frame[name], contract.get(name), path) for name in frame.columns}
        if table == "cases":
            columns |= {name: plain_numbers(columns[name]) for name in columns if name not in contract}
        return pd.DataFrame(columns)
    for name, column in contract.items():
        if column.type == "names" and name in frame.columns:
            lists = [[] if value is None else value for value in frame[name].tolist()]
            frame[name] = pd.Series(lists, index=frame.index, dtype=object)
    return frame


def _from_text(values: pd.Series, column: Column | None, path: Path) -> pd.Series:
    """The values of a CSV column, in the type that its contract requires."""
    if column is not None and column.type == "names":
        cells = [_names(cell, path, row) for row, cell in enumerate(values, start=1)]
        return pd.Series(cells, index=values.index, dtype=object)
    if column is None or column.nullable or column.type != "str":
        values = values.mask(values == "")
    if column is None or column.type in ("str", "rubric"):
        return values
    try:
        # float() reads what repr() wrote to the last digit; pandas' own parser may not.
        return pd.Series(
            [float("nan") if pd.isna(v) else _number(v) for v in values], index=values.index, dtype="float64"
        )
    except ValueError:
        return values


def plain_numbers(texts: pd.Series) -> pd.Series:
    """Return a column as numbers if every text in it is one in plain form, else as it is.

    Whole numbers become `int64`, or `Int64` if some are missing. "007", "1,000", "1e3" and "nan" are not plain: they
    may be identifiers or words.
    """
    given = texts.dropna()
    if given.empty or not all(map(_PLAIN_NUMBER.fullmatch, given)):
        return texts
    if not given.str.contains("[.e]").any():
        return texts.astype("Int64") if len(given) < len(texts) else texts.astype("int64")
    return pd.Series([np.nan if pd.isna(text) else float(text) for text in texts], index=texts.index, dtype="float64")


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


def _from_records(records: list[SourceRow], path: Path, contract: dict[str, Column]) -> pd.DataFrame:
    if not records:
        raise InputError(f"{path}: is empty; write one object a line, or remove the file.")
    names = list(dict.fromkeys(name for record in records for name in record.values))
    columns = {}
    for name in names:
        values = [record.values.get(name) for record in records]
        column = pd.Series(values, dtype=object)
        if name not in contract:
            try:
                pa.array(values, from_pandas=True)
            except (pa.ArrowException, OverflowError) as error:
                problem = f"mixes types or holds a number that is too large ({error})"
                raise InputError(f"{path}, column {name}: {problem}; make its values alike, or text.") from error
            column = column.infer_objects()
        columns[name] = column
    return pd.DataFrame(columns)


@writes("table", about="cases, annotations and verdicts as CSV or parquet, with the images beside them")
def write(
    benchmark: Benchmark, verdicts: pd.DataFrame, out: Path, *, file_format: Annotated[str, "csv or parquet"] = "csv"
) -> list[Finding]:
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
    if file_format not in WRITTEN:
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
            chunk = frame.iloc[start : start + _CHUNK]
            rows.writerows(zip(*(_cells(chunk[name]) for name in frame.columns), strict=True))


def _cells(values: pd.Series) -> Iterator[object]:
    """Text as it is, numbers so that they read back to the last digit, lists as JSON, missing as nothing."""
    for value in values.tolist():
        if isinstance(value, (list, dict, np.ndarray)):
            yield json.dumps(value, ensure_ascii=False, default=np.ndarray.tolist)
        else:
            yield "" if pd.isna(value) else value


def _count_losses(frame: pd.DataFrame, table: TableName, path: Path, findings: list[Finding]) -> None:
    contract = {column.name: column for column in COLUMNS[table]}
    for name in frame.columns:
        column, values = contract.get(name), frame[name]
        if (column is None or column.nullable) and isinstance(values.dtype, pd.StringDtype):
            empty = int((values == "").sum())
            findings += counted(
                empty, "info", path.name, "texts are empty", "they read back as missing; use parquet", name
            )
        if column is not None:
            continue
        is_text = isinstance(values.dtype, pd.StringDtype)
        written = pd.Series([str(cell) if cell != "" else None for cell in _cells(values)], dtype="str")
        reads_back = plain_numbers(written) if table == "cases" else written
        if is_text and pd.api.types.is_numeric_dtype(reads_back):
            problem, cure = "holds texts that are all numbers", "they read back as numbers; use parquet"
        elif not is_text and reads_back.dtype != values.dtype:
            problem = f"holds {values.dtype}, which CSV does not tell"
            cure = f"it reads back as {'text' if isinstance(reads_back.dtype, pd.StringDtype) else reads_back.dtype}"
            cure += "; use parquet"
        else:
            continue
        findings.append(Finding("info", path.name, None, name, problem, cure))
