"""Writing what was imported: the benchmark, and its verdicts as runs beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mrb_lib.benchmarks.audit.images import image_findings
from mrb_lib.benchmarks.benchmark import FolderImages, save
from mrb_lib.benchmarks.formats.base import Imported
from mrb_lib.tables.validation import raise_on_error
from mrb_lib.verdicts.store import save_imported


def write_imported(imported: Imported, folder: Path, source: str) -> None:
    """Write a benchmark into a staged folder, and its verdicts into `runs` there.

    Parameters
    ----------
    source : where the data came from, for messages and the runs' manifests

    Raises
    ------
    InputError
        An image cannot be read. One that is missing was counted by the reader, and stays `mrb check`'s to report.
    """
    meta = imported.benchmark.meta
    save(imported.benchmark, folder)
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


def import_summary(imported: Imported, out: Path) -> str:
    """What was written, in one line."""
    benchmark, verdicts = imported.benchmark, imported.verdicts
    mark = " (SIMULATED)" if benchmark.meta.kind == "simulated" else ""
    line = f"{out}{mark}: {len(benchmark.cases)} cases, {len(benchmark.annotations)} annotations"
    if not len(verdicts):
        return f"{line}, no verdicts"
    return f"{line}, {len(verdicts)} verdicts of {verdicts['judge'].nunique()} judges in {out / 'runs'}"
