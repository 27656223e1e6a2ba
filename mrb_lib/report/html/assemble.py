"""Everything that is made of the records: the index of figures, the PDF, the site, the copy of the figures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.report.html import figures, pdf, site
from mrb_lib.report.html.case_pages import case_pages, listed_cases, named_cases
from mrb_lib.report.places import DataFolders
from mrb_lib.report.provenance import Provenance, template_hash
from mrb_lib.report.records import CACHE, PageRecord, file_name, read_record, write_record
from mrb_lib.tables.errors import RunError
from mrb_lib.tables.files import sha256_of

_SITE = ".site"  # in place of the name of a notebook, which does not begin with a dot
_FOLDERS = ("figures", "tables", "executed", "pages", "cases", "behind")


def assemble(
    out: Path,
    records: Sequence[PageRecord],
    made_from: Provenance,
    folders: DataFolders,
    *,
    cases: int,
    mirror: Path | None,
    program: str,
) -> None:
    """Bring the index, the PDF, the site and the mirror in line with the records; what no record lists goes away.

    Parameters
    ----------
    out : the report's folder, held for writing, everything that the records list in place
    records : in the order to show them
    cases : how many cases have a page of their own, at most
    mirror : a folder that holds the same figures and tables, or None
    program : the browser that prints the PDF; empty for none

    Raises
    ------
    RunError
        The PDF could not be printed; all else is complete, and has no link to it.

    Notes
    -----
    Validated by tests/report/test_rebuild.py, tests/report/test_mirror.py, tests/report/test_site.py and
    tests/report/test_pdf.py.
    """
    figures.write_if_changed(out / "figures" / figures.INDEX, figures.index(records, made_from))
    key = _key(records, made_from, cases, bool(program))
    shown, problem = read_record(out, _SITE), None
    if shown is None or shown.key != key:
        pages = case_pages(
            folders, out, dimension=made_from.dimension, policy=made_from.policy, most=cases,
            listed=listed_cases(out, records),
        )  # fmt: skip
        named = named_cases(load(folders.benchmark).cases, records, pages)
        content = site.Content(out, records, made_from, pages, named)
        files: dict[str, bytes | str] = {}
        try:
            files |= {pdf.NAME: pdf.printed(content, program)} if program else {}
        except RunError as error:
            problem = error
        files |= site.render(content, pdf=next(iter(files), ""))
        for name, data in files.items():
            figures.write_if_changed(out / name, data)
        if shown and pdf.NAME in shown.files and pdf.NAME not in files:
            (out / pdf.NAME).unlink()
        shown = PageRecord(_SITE, "" if problem else key, files={name: sha256_of(out / name) for name in files})
        write_record(out, shown)
    _clear(out, [*records, shown])
    if mirror is not None and mirror.resolve() != (out / "figures").resolve():
        figures.mirror(out, mirror, records, made_from)
    if problem:
        raise problem


def _key(records: Sequence[PageRecord], made_from: Provenance, cases: int, is_printed: bool) -> str:
    everything = [[*records], made_from.key(), template_hash(), cases, is_printed]
    return hashlib.sha256(json.dumps(everything, sort_keys=True, default=vars).encode()).hexdigest()


def _clear(out: Path, records: Sequence[PageRecord]) -> None:
    listed = {f"figures/{figures.INDEX}", *(name for record in records for name in record.files)}
    listed |= {f"{CACHE}/{file_name(record.notebook)}.json" for record in records}
    found = [path for folder in _FOLDERS for path in (out / folder).glob("*")]
    for path in [*found, *(out / CACHE).glob("*.json")]:
        if path.relative_to(out).as_posix() not in listed:
            path.unlink()
