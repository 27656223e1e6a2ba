"""Everything that is made of the records: the index of figures, the PDF, the site, the copy of the figures."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from mrb_lib.report.html import figures, pdf, site
from mrb_lib.report.html.case_pages import case_pages, listed_cases
from mrb_lib.report.places import DataFolders
from mrb_lib.report.provenance import Provenance, template_hash
from mrb_lib.report.records import CACHE, PageRecord, file_name
from mrb_lib.tables.errors import RunError
from mrb_lib.tables.files import sha256_of, write_atomic

_STATE = ".site.json"
_FOLDERS = ("figures", "tables", "executed", "pages", "cases", "behind")


def assemble(
    out: Path, records: Sequence[PageRecord], made_from: Provenance, folders: DataFolders, *, cases: int,
    mirror: Path | None, program: str,
) -> None:  # fmt: skip
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
    last_key, written = _read_state(out)
    problem = None
    if last_key != key or any(not (out / name).is_file() or sha256_of(out / name) != written[name] for name in written):
        pages = case_pages(
            folders, out, dimension=made_from.dimension, policy=made_from.policy, most=cases,
            listed=listed_cases(out, records),
        )  # fmt: skip
        content = site.Content(out, records, made_from, pages)
        files: dict[str, bytes | str] = {}
        try:
            files |= {pdf.NAME: pdf.printed(content, program)} if program else {}
        except RunError as error:
            problem = error
        files |= site.render(content, pdf=next(iter(files), ""))
        for name, data in files.items():
            figures.write_if_changed(out / name, data)
        if pdf.NAME not in files and (out / pdf.NAME).is_file() and sha256_of(out / pdf.NAME) == written.get(pdf.NAME):
            (out / pdf.NAME).unlink()
        written = {name: sha256_of(out / name) for name in files}
        state = {"key": "" if problem else key, "files": written}
        write_atomic(out / CACHE / _STATE, json.dumps(state, indent=1) + "\n")
    _clear(out, records, written)
    if mirror is not None and mirror.resolve() != (out / "figures").resolve():
        figures.mirror(out, mirror, records, made_from)
    if problem:
        raise problem


def _key(records: Sequence[PageRecord], made_from: Provenance, cases: int, is_printed: bool) -> str:
    everything = [[asdict(record) for record in records], made_from.key(), template_hash(), cases, is_printed]
    return hashlib.sha256(json.dumps(everything, sort_keys=True).encode()).hexdigest()


def _read_state(out: Path) -> tuple[str, dict[str, str]]:
    """The key of what was written last, and its files; empty where nobody knows, so that all is written again."""
    try:
        state = json.loads((out / CACHE / _STATE).read_text(encoding="utf-8"))
        return str(state["key"]), dict(state["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return "", {}


def _clear(out: Path, records: Sequence[PageRecord], pages: Iterable[str]) -> None:
    listed = {name for record in records for name in record.files} | {f"figures/{figures.INDEX}", *pages}
    listed |= {f"{CACHE}/{name}" for name in (_STATE, *(f"{file_name(record.notebook)}.json" for record in records))}
    found = [path for folder in _FOLDERS for path in (out / folder).glob("*")]
    for path in [*found, *(out / CACHE).glob("*.json")]:
        if path.relative_to(out).as_posix() not in listed:
            path.unlink()
