"""The audit of a benchmark folder: everything that is wrong with it, at once, each with its cure."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pandas as pd

from mrb_lib.benchmarks.audit import labels
from mrb_lib.benchmarks.audit.images import image_findings
from mrb_lib.benchmarks.audit.splits import split_findings
from mrb_lib.benchmarks.audit.text import text_findings
from mrb_lib.benchmarks.benchmark import Benchmark, FolderImages, read_table
from mrb_lib.benchmarks.images.pictures import Progress
from mrb_lib.benchmarks.meta import BenchmarkMeta, read_meta
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import TableName
from mrb_lib.tables.validation import ANNOTATIONS_FILE, CASES_FILE, Finding, inspect, unknown_cases

T = TypeVar("T")

_SEVERITY = {"error": 0, "warning": 1, "info": 2}


def audit(folder: Path, *, progress: Progress | None = None) -> list[Finding]:
    """Look for everything that is wrong, or worth knowing, in a benchmark folder; nothing is written.

    Parameters
    ----------
    folder : the folder that holds `benchmark.toml`
    progress : called with "images", how many are done, and of how many

    Returns
    -------
    list of Finding
        Errors (the benchmark cannot be loaded or judged as it is), warnings (it can,
        but numbers from it may mislead), then infos (worth knowing); within each in
        the order of files and rows. Clean data gives no error and no warning. Where a
        file is damaged or breaks its contract, only that is listed: images, texts and
        labels are audited once it is mended.

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
    meta = _read(read_meta, folder, "benchmark.toml", findings)
    cases, annotations = _table(folder, "cases", meta, findings), _table(folder, "annotations", meta, findings)
    if cases is not None and cases.empty:
        findings.append(Finding("error", CASES_FILE, None, None, "the table has no case", "import the benchmark again"))
    is_sound = all(one.severity != "error" for one in findings)
    if is_sound and meta is not None and cases is not None and annotations is not None:
        tables = meta.conform(cases, "cases", CASES_FILE), meta.conform(annotations, "annotations", ANNOTATIONS_FILE)
        benchmark = Benchmark(meta, *tables, FolderImages(folder / "images"), folder)
        findings += unknown_cases(annotations, cases, ANNOTATIONS_FILE) or _contents(benchmark, progress)
    return sorted(findings, key=lambda one: (_SEVERITY[one.severity], one.file, one.row or 0))


def _read(read: Callable[[Path], T], folder: Path, file: str, findings: list[Finding]) -> T | None:
    """Read a file of the folder; an error, `where: problem; cure.`, becomes a finding."""
    try:
        return read(folder / file)
    except InputError as error:
        text = str(error).removesuffix(".").removeprefix(str(folder / file)).removeprefix(str(folder))
        stated = re.fullmatch(r"(?:, (?:(?:key|column) )?(.+?))?: (.*)", text, re.DOTALL)
        column, text = stated.groups() if stated else (None, text)
        problem, _, cure = text.rpartition("; ")
        findings.append(Finding("error", file, None, column, problem, cure))
        return None


def _table(folder: Path, table: TableName, meta: BenchmarkMeta | None, findings: list[Finding]) -> pd.DataFrame | None:
    """Read a table; everything that breaks its contract goes to `findings`."""
    file = f"{table}.parquet"
    frame = _read(read_table, folder, file, findings)
    if frame is not None and meta is not None:
        findings += inspect(frame, table, file, **meta.rules)
        findings += labels.identity_findings(frame.columns, table)
    return frame


def _contents(benchmark: Benchmark, progress: Progress | None) -> list[Finding]:
    """Audit the images, texts, labels and splits of a benchmark whose tables keep their contracts."""
    meta, cases, annotations = benchmark.meta, benchmark.cases, benchmark.annotations
    findings, digests = image_findings(benchmark.folder / "images", cases, progress)
    findings += text_findings(cases, digests, preference=meta.is_preference)
    findings += [*labels.spelling_findings(cases, annotations), *labels.subfield_findings(cases)]
    findings += [*labels.cluster_findings(cases), *labels.annotation_findings(cases, annotations, meta.dimensions)]
    readable = cases["images"].map(lambda names: [name for name in names if name in digests])
    return findings + split_findings(replace(benchmark, cases=cases.assign(images=readable)), progress)
