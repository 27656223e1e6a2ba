"""The tidy tables of this library as CSV, parquet or JSON lines: the format to bring one's own data in.

A folder holds `cases`, and may hold `annotations`, `verdicts`, `images/` and
`benchmark.toml`; each table as `.csv`, `.parquet` or `.jsonl`, with the columns of
`mrb_lib.schema`. Other columns are kept.

In CSV every cell is text. An empty cell is missing where the column may be missing
(and in columns the contract does not know), else it is the empty text; "None" and
"NA" are texts like any other. `images` holds file names separated by semicolons, or
a JSON list of them, which it is taken for if it starts with `[`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pandas as pd

from mrb_lib.data.benchmark import BenchmarkMeta, FolderImages, empty_annotations, read_meta
from mrb_lib.data.formats.base import Imported, assemble, counted, empty_verdicts
from mrb_lib.data.formats.sources import only_folder
from mrb_lib.data.formats.table_export import write as write
from mrb_lib.data.formats.table_files import find_table, read_frame
from mrb_lib.errors import InputError
from mrb_lib.schema import CHOICES, DIMENSIONS, KINDS, Kind
from mrb_lib.validation import Finding, check_references, conform

__all__ = ["read", "write"]


def read(src: Path, *, kind: str | None = None, name: str | None = None) -> Imported:
    """Read tables somebody wrote by hand or with another program.

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
        these, the labels that occur, in alphabetical order.

    Raises
    ------
    InputError
        A file is damaged or there twice, a value breaks the contract of its table, or
        a row speaks of a case that does not exist; names file, row and column.

    Notes
    -----
    Validated by tests/data/formats/test_table.py (round trips of arbitrary text).
    """
    folder = only_folder(Path(src))
    findings: list[Finding] = []
    cases_path = find_table(folder, "cases")
    if cases_path is None:
        raise InputError(f"{folder}: there is no cases.csv, cases.parquet or cases.jsonl; add one of them.")
    cases = conform(read_frame(cases_path, "cases", findings), "cases", str(cases_path))
    annotations_path, verdicts_path = find_table(folder, "annotations"), find_table(folder, "verdicts")
    annotations = empty_annotations()
    if annotations_path is not None:
        annotations = read_frame(annotations_path, "annotations", findings)
    verdicts = empty_verdicts()
    if verdicts_path is not None:
        verdicts = read_frame(verdicts_path, "verdicts", findings)
    meta = _meta(folder, kind, name, annotations, verdicts, findings)
    given = {"dimensions": meta.dimensions, "categories": meta.categories}
    annotations = conform(annotations, "annotations", str(annotations_path), **given)
    verdicts = conform(verdicts, "verdicts", str(verdicts_path), dimensions=meta.dimensions)
    for frame, path in ((annotations, annotations_path), (verdicts, verdicts_path)):
        check_references(frame, cases, str(path))
    images = FolderImages(folder / "images")
    absent = sum(name not in images for names in cases["images"] for name in names)
    findings += counted(absent, "warning", folder / "images", "images are not there", "add the files", "images")
    return assemble(meta, cases, annotations, verdicts, findings, source=cases_path, images=images)


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
        categories = tuple(labels)
        problem = f"the labels are not A, B, tie but {', '.join(labels)}"
        cure = "state the categories and their order in benchmark.toml if this is not what you mean"
        findings.append(Finding("info", "annotations", None, "choice", problem, cure))
    found = set(_values(annotations, "dimension")) | set(_values(verdicts, "dimension"))
    dimensions = [d for d in DIMENSIONS if d in found] + sorted(found - set(DIMENSIONS))
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
