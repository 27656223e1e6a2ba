"""Everything that is made of the records: the index of figures, the PDF, the site, the copy of the figures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from mrb_lib.report.html import figures, pdf, site
from mrb_lib.report.html.case_pages import CasePage, CaseSource, case_pages, listed_cases
from mrb_lib.report.provenance import Provenance
from mrb_lib.report.records import CACHE, PageRecord, file_name
from mrb_lib.tables.errors import RunError

_FOLDERS = ("figures", "tables", "executed", "pages", "cases", "behind")


def assemble(
    out: Path,
    records: Sequence[PageRecord],
    made_from: Provenance,
    source: CaseSource,
    *,
    mirror: Path | None,
    program: str,
) -> None:
    """Bring the index, the PDF, the site and the mirror in line with the records; what no record lists goes away.

    Parameters
    ----------
    out : the report's folder, held for writing, everything that the records list in place
    records : in the order to show them
    source : where the cases to show come from
    mirror : a folder that holds the same figures and tables, or None
    program : the browser that prints the PDF; empty for none

    Raises
    ------
    RunError
        The PDF could not be printed; all else is complete, and has no link to it.

    Notes
    -----
    Validated by tests/report/test_rebuild.py, tests/report/test_mirror.py and tests/report/test_pdf.py.
    """

    @cache
    def cases() -> list[CasePage]:
        return case_pages(source, out, listed_cases(out, records))

    figures.write_index(out, records, made_from)
    problem = None
    if program:
        try:
            pdf.write_pdf(out, records, made_from, program, most=source.most, cases=cases)
        except RunError as error:
            problem = error
    if problem or not program:
        pdf.remove_pdf(out)
    name = pdf.NAME if program and not problem else ""
    pages = site.write(out, records, made_from, most=source.most, cases=cases, pdf=name)
    _clear(out, records, pages)
    if mirror is not None and mirror.resolve() != (out / "figures").resolve():
        figures.mirror(out, mirror, records, made_from)
    if problem:
        raise problem


def _clear(out: Path, records: Sequence[PageRecord], pages: set[str]) -> None:
    listed = {name for record in records for name in record.files} | {f"figures/{figures.INDEX}"} | pages
    for folder in _FOLDERS:
        for path in (out / folder).glob("*"):
            if f"{folder}/{path.name}" not in listed:
                path.unlink()
    current = {f"{file_name(record.notebook)}.json" for record in records} | {site.STATE, pdf.STATE}
    for path in (out / CACHE).glob("*.json"):
        if path.name not in current:
            path.unlink()
