"""The audit of a benchmark folder: everything that is wrong with it, at once, each with its cure."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.benchmarks.audit.identities import identity_findings
from mrb_lib.benchmarks.audit.images import ProgressCallback, image_findings
from mrb_lib.benchmarks.audit.labels import (
    annotation_findings,
    cluster_findings,
    majority_findings,
    spelling_findings,
    subfield_findings,
)
from mrb_lib.benchmarks.audit.leaks import leak_findings
from mrb_lib.benchmarks.audit.report import ANNOTATIONS_FILE, CASES_FILE
from mrb_lib.benchmarks.audit.splits import split_findings
from mrb_lib.benchmarks.audit.text import text_findings
from mrb_lib.benchmarks.benchmark import Benchmark, FolderImages, empty_annotations
from mrb_lib.benchmarks.meta import BenchmarkMeta, read_meta
from mrb_lib.benchmarks.table_digests import SUMS, changed_tables
from mrb_lib.benchmarks.votes import gold
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import is_safe_name
from mrb_lib.tables.schema import COLUMNS, TableName
from mrb_lib.tables.validation import Finding, Rules, Severity, conform, inspect

_META_FILE = "benchmark.toml"
_SEVERITY = {"error": 0, "warning": 1, "info": 2}


def audit(folder: Path, *, progress: ProgressCallback | None = None) -> list[Finding]:
    """Look for everything that is wrong, or worth knowing, in a benchmark folder.

    Nothing is written. Structural errors do not stop the audit: what can still be
    read is audited.

    Parameters
    ----------
    folder : the folder that holds `benchmark.toml`
    progress : called with "images", how many are done, and of how many

    Returns
    -------
    list of Finding
        Errors (the benchmark cannot be loaded or judged as it is), warnings (it can,
        but numbers from it may mislead), then infos (worth knowing); within each in
        the order of files and rows. Clean data gives no error and no warning.

    Raises
    ------
    InputError
        There is no such folder.

    Notes
    -----
    Tested by tests/benchmarks/audit/test_audit.py.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; make one with `mrb demo` or `mrb import`.")
    findings: list[Finding] = []
    meta = _meta(folder, findings)
    cases = _table(folder, "cases", meta, findings)
    annotations = _table(folder, "annotations", meta, findings)
    if cases is not None and cases.empty:
        cure = "import the benchmark again"
        findings.append(Finding("error", CASES_FILE, None, None, "the table holds no case", cure))
        cases = None
    if cases is not None:
        findings += _contents(
            folder, meta, cases, annotations, progress, sound=all(one.severity != "error" for one in findings)
        )
    return sorted(findings, key=lambda one: (_SEVERITY[one.severity], one.file, one.row or 0))


def _meta(folder: Path, findings: list[Finding]) -> BenchmarkMeta | None:
    try:
        return read_meta(folder / _META_FILE)
    except InputError as error:
        findings.append(_as_finding(error, folder, _META_FILE))
        return None


def _as_finding(error: InputError, folder: Path, file: str) -> Finding:
    """A message `where: problem; cure.` taken apart again."""
    text = str(error).removesuffix(".")
    for prefix in (str(folder / file), str(folder)):
        text = text.removeprefix(prefix)
    key = re.match(r", key (\w+)", text)
    text = re.sub(r"^(?:, key \w+)?: ", "", text)
    problem, _, cure = text.rpartition("; ")
    return Finding("error", file, None, key.group(1) if key else None, problem, cure)


def _table(folder: Path, table: TableName, meta: BenchmarkMeta | None, findings: list[Finding]) -> pd.DataFrame | None:
    """A table as far as it can be read and compared; what breaks its contract goes to `findings`."""
    file = f"{table}.parquet"
    path = folder / file
    try:
        arrow = pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        problem = f"the file is truncated or not a parquet file ({str(error).strip()})"
        if not path.exists() or path.stat().st_size == 0:
            problem = "the file is empty" if path.exists() else "the file is missing"
        cure = "restore it from its source or import the benchmark again"
        findings.append(Finding("error", file, None, None, problem, cure))
        return None
    try:
        changes = [change for change in changed_tables(folder) if change.file == file]
    except InputError as error:
        changes, fault = [], _as_finding(error, folder, SUMS)
        findings += [fault] if fault not in findings else []
    for change in changes:
        severity: Severity = "warning" if change.is_edited else "error"
        findings.append(Finding(severity, file, None, None, change.problem, change.cure))
    frame = _decoded(arrow, file, findings).to_pandas()
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        findings += [
            Finding("error", file, None, name, "the column occurs twice", "remove one of the two") for name in repeated
        ]
        return None
    occurring = frame.get("choice", pd.Series(dtype="str")).dropna().astype("str").unique()
    rules = meta.rules if meta is not None else Rules(categories=occurring.tolist())
    findings += inspect(frame, table, file, **rules)
    findings += identity_findings(frame.columns, table)
    required = [column.name for column in COLUMNS[table] if column.required]
    return _comparable(frame, table) if set(required) <= set(frame.columns) else None


def _decoded(table: pa.Table, file: str, findings: list[Finding]) -> pa.Table:
    """The table with its texts checked: bytes that are not UTF-8 are reported and left out."""
    for i, field in enumerate(table.schema):
        if not (pa.types.is_string(field.type) or pa.types.is_large_string(field.type)):
            continue
        raw = table.column(i).cast(pa.large_binary()).to_pylist()
        texts = [None if value is None else value.decode("utf-8", errors="ignore") for value in raw]
        for row, (value, text) in enumerate(zip(raw, texts, strict=True), start=1):
            if text is not None and text.encode() != value:
                cure = "write the source's text as UTF-8 and import again"
                findings.append(Finding("error", file, row, field.name, "the text is not valid UTF-8", cure))
        table = table.set_column(i, field.name, pa.array(texts, pa.large_string()))
    return table


def _comparable(frame: pd.DataFrame, table: TableName) -> pd.DataFrame:
    """Text columns as text and image names as lists of safe names, whatever `inspect` found in them."""
    out = frame.reset_index(drop=True)
    for column in COLUMNS[table]:
        if column.type == "str" and column.name in out.columns:
            out[column.name] = out[column.name].astype("str")
    if table == "cases":
        names = out["images"] if "images" in out.columns else pd.Series([()] * len(out))
        out["images"] = pd.Series([_safe_names(value) for value in names], index=out.index, dtype=object)
    return out


def _safe_names(value: object) -> list[str]:
    if not isinstance(value, (list, tuple, np.ndarray)):
        return []
    return [name for name in value if isinstance(name, str) and is_safe_name(name)]


def _contents(
    folder: Path,
    meta: BenchmarkMeta | None,
    cases: pd.DataFrame,
    annotations: pd.DataFrame | None,
    progress: ProgressCallback | None,
    *,
    sound: bool,
) -> list[Finding]:
    # What a broken benchmark.toml does not say the cases do: ratings have no second responses.
    preference = meta.is_preference if meta is not None else bool(cases["response_b"].fillna("").ne("").any())
    findings, digests = image_findings(folder / "images", cases, progress)
    findings += text_findings(cases, digests, preference=preference)
    findings += spelling_findings(cases, annotations)
    findings += subfield_findings(cases)
    findings += cluster_findings(cases)
    labels = None
    if annotations is not None:
        has_case = annotations["case_id"].isin(cases["case_id"])
        for i in np.flatnonzero(~has_case & annotations["case_id"].notna()).tolist():
            case, cure = str(annotations["case_id"].iloc[i]), "correct the id or remove the row"
            problem = f"the case {case!r} does not exist"
            findings.append(Finding("error", ANNOTATIONS_FILE, i + 1, "case_id", problem, cure, case))
        dimensions = meta.dimensions if meta is not None else tuple(annotations["dimension"].dropna().unique())
        findings += annotation_findings(cases, annotations, dimensions)
        if sound and meta is not None and has_case.all():
            benchmark = Benchmark(meta, conform(cases, "cases", CASES_FILE, task=meta.task), annotations)
            labels = gold(benchmark)
            findings += majority_findings(labels)
    if sound and meta is not None:
        readable = cases["images"].map(lambda names: [name for name in names if name in digests])
        there = conform(cases.assign(images=readable), "cases", CASES_FILE, task=meta.task)
        stored = Benchmark(meta, there, empty_annotations(), FolderImages(folder / "images"), folder)
        findings += split_findings(stored, progress)
    return findings + (leak_findings(cases, labels) if preference and labels is not None else [])
