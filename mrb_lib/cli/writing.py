"""Writing what was imported: the benchmark, and its verdicts as runs beside it."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
from pandas.api.types import is_numeric_dtype

from mrb_lib.benchmarks.audit.images import image_findings
from mrb_lib.benchmarks.benchmark import FolderImages, save
from mrb_lib.benchmarks.formats.base import Imported
from mrb_lib.cli.listing import count
from mrb_lib.tables.schema import CASES
from mrb_lib.tables.validation import Finding, raise_on_error
from mrb_lib.verdicts.store import save_imported

_SHOWN = 8


def write_imported(imported: Imported, folder: Path, source: str) -> list[Finding]:
    """Write a benchmark into a staged folder, its verdicts into `runs` there; return what was removed from images.

    Parameters
    ----------
    source : where the data came from, for messages and the runs' manifests

    Raises
    ------
    InputError
        An image cannot be read. One that is missing was counted by the reader, and stays `mrb check`'s to report.
    """
    meta = imported.benchmark.meta
    removed = save(imported.benchmark, folder)
    written = set(FolderImages(folder / "images"))
    present = imported.benchmark.cases["images"].map(lambda names: [name for name in names if name in written])
    findings, _ = image_findings(folder / "images", imported.benchmark.cases.assign(images=present))
    raise_on_error(replace(finding, file=source) for finding in findings)
    if len(imported.verdicts):
        ratings = meta.categories if meta.is_rating else ()
        save_imported(
            imported.verdicts,
            folder / "runs",
            benchmark=meta.name,
            kind=meta.kind,
            source=source,
            ratings=ratings,
            labels=meta.labels,
        )
    return removed


def preview(imported: Imported) -> list[str]:
    """Return how the source was understood, a line each: files, cases, labels and verdicts."""
    benchmark, verdicts = imported.benchmark, imported.verdicts
    known = {column.name for column in CASES}
    more = [f"{name} (numbers)" if is_numeric_dtype(benchmark.cases[name]) else str(name)
            for name in benchmark.cases.columns if name not in known]  # fmt: skip
    lines = [*imported.understood, f"cases: {len(benchmark.cases):,}" + (f", with {', '.join(more)}" if more else "")]
    for name, rows, by in (("annotations", benchmark.annotations, "annotator"), ("verdicts", verdicts, "judge")):
        if len(rows):
            lines.append(f"{name}: {len(rows):,} by " + "; on ".join(_counts(rows[c]) for c in (by, "dimension")))
            lines.append(f"  choices: {_counts(rows['choice'])}")
    return lines


def _counts(values: pd.Series) -> str:
    """Return the most frequent values with their numbers of rows."""
    counts = values.value_counts()
    shown = ", ".join(f"{value} ({n:,})" for value, n in counts.head(_SHOWN).items())
    return shown + (f" and {len(counts) - _SHOWN} more" if len(counts) > _SHOWN else "")


def import_summary(imported: Imported, out: Path) -> str:
    """Return what was written, in one line."""
    benchmark, verdicts = imported.benchmark, imported.verdicts
    mark = " (SIMULATED)" if benchmark.meta.kind == "simulated" else ""
    line = f"{out}{mark}: {len(benchmark.cases)} cases, {len(benchmark.annotations)} annotations"
    if not len(verdicts):
        return f"{line}, no verdicts"
    return f"{line}, {len(verdicts)} verdicts of {count(verdicts['judge'].nunique(), 'judge')} in {out / 'runs'}"
