"""What every importer returns, and how its rows become tables that keep the contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from mrb_lib.data.benchmark import Benchmark, BenchmarkMeta, empty_annotations
from mrb_lib.errors import InputError
from mrb_lib.validation import Finding, Severity, check_references, conform

ANNOTATION_COLUMNS = ("case_id", "annotator", "dimension", "choice")
VERDICT_COLUMNS = ("judge", "case_id", "dimension", "order", "choice", "status", "reply")
PREFERENCE = ("A", "tie", "B")


class Imported(NamedTuple):
    """What an importer made of its source.

    Attributes
    ----------
    benchmark : lives in memory; its images are read from the source when asked for
    verdicts : the verdicts table, without rows where the source has none
    findings : what was counted on the way and is no error
    """

    benchmark: Benchmark
    verdicts: pd.DataFrame
    findings: list[Finding]


def empty_verdicts() -> pd.DataFrame:
    """A verdicts table without rows."""
    return verdict_table([], "verdicts")


def annotation_table(
    rows: Iterable[tuple[str, str, str, str]], source: str, categories: Sequence[str], dimensions: Sequence[str]
) -> pd.DataFrame:
    """Annotations from `(case_id, annotator, dimension, choice)` tuples.

    Raises
    ------
    InputError
        An annotator labels the same case and dimension twice, or a label is unknown.
    """
    listed = list(rows)
    frame = pd.DataFrame(listed, columns=list(ANNOTATION_COLUMNS), dtype="str") if listed else empty_annotations()
    return conform(frame, "annotations", source, dimensions=dimensions, categories=categories)


def verdict_table(rows: Iterable[Sequence[object]], source: str) -> pd.DataFrame:
    """Verdicts from tuples in the order of `VERDICT_COLUMNS`; repeat 0, probe none.

    Raises
    ------
    InputError
        A judge speaks twice about the same case, dimension and order.
    """
    listed = list(rows)
    columns = zip(*listed, strict=True) if listed else ([] for _ in VERDICT_COLUMNS)
    frame = pd.DataFrame(
        {name: pd.Series(list(values), dtype="str") for name, values in zip(VERDICT_COLUMNS, columns, strict=True)}
    )
    return conform(frame, "verdicts", source)


def assemble(
    meta: BenchmarkMeta,
    cases: pd.DataFrame,
    annotations: pd.DataFrame,
    verdicts: pd.DataFrame,
    findings: Iterable[Finding],
    *,
    source: Path,
    images: Mapping[str, bytes] | None = None,
) -> Imported:
    """Validate the tables and put them together.

    Raises
    ------
    InputError
        A table breaks its contract, or speaks of a case that does not exist.
    """
    if cases.empty:
        raise InputError(f"{source}: holds no cases; check that it is the folder you mean.")
    cases = conform(cases, "cases", str(source))
    check_references(annotations, cases, str(source))
    check_references(verdicts, cases, str(source))
    return Imported(Benchmark(meta, cases, annotations, images or {}), verdicts, list(findings))


def absent(path: Path, judge: str) -> Finding:
    """The finding that a judge's file, which the source publishes, is not there."""
    return Finding("info", str(path), None, None, f"there are no verdicts of {judge}", "add the file if you want them")


def counted(
    count: int,
    severity: Severity,
    file: str | Path,
    problem: str,
    cure: str,
    column: str | None = None,
    row: int | None = None,
) -> list[Finding]:
    """One finding that says how often something occurred; none where it never did."""
    if not count:
        return []
    return [Finding(severity, str(file), row, column, f"{count:,} {problem}", cure)]
