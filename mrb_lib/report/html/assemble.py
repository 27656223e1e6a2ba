"""Everything that is made of the records: the index of figures, the PDF, the site, the copy of the figures."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.report.clean import Json
from mrb_lib.report.places import DataFolders
from mrb_lib.report.provenance import Provenance, template_hash
from mrb_lib.report.records import CACHE, PRINTED, PageRecord, file_name, read_record, write_record
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.files import is_safe_name, sha256_of, write_atomic

INDEX = "index.json"
_KINDS = ("figures", "tables", "not_applicable")
_LEFT_OUT = ("behind", "shown")  # of a sidecar: only pages of the site need them
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
    Validated by tests/report/test_pipeline.py, tests/report/test_site.py and
    tests/report/test_pdf.py.
    """
    write_if_changed(out / "figures" / INDEX, index(records, made_from))
    key = _key(records, made_from, cases, bool(program))
    shown, problem = read_record(out, _SITE), None
    if shown is None or shown.key != key:
        from mrb_lib.report.html import case_pages, pdf, site  # slow to import, and only used here

        pages = case_pages.case_pages(
            folders, out, dimension=made_from.dimension, policy=made_from.policy, most=cases,
            listed=case_pages.listed_cases(records),
        )  # fmt: skip
        named = case_pages.named_cases(load(folders.benchmark).cases, records, pages)
        content = site.Content(out, records, made_from, pages, named)
        files: dict[str, bytes | str] = {}
        try:
            files |= {PRINTED: pdf.printed(content, program)} if program else {}
        except RunError as error:
            problem = error
        files |= site.render(content, pdf=next(iter(files), ""))
        for name, data in files.items():
            write_if_changed(out / name, data)
        if shown and PRINTED in shown.files and PRINTED not in files:
            (out / PRINTED).unlink()
        shown = PageRecord(_SITE, "" if problem else key, files={name: sha256_of(out / name) for name in files})
        write_record(out, shown)
    _clear(out, [*records, shown])
    if mirror is not None and mirror.resolve() != (out / "figures").resolve():
        copy_figures(out, mirror, records, made_from)
    if problem:
        raise problem


def _key(records: Sequence[PageRecord], made_from: Provenance, cases: int, is_printed: bool) -> str:
    everything = [[*records], made_from.key(), template_hash(), cases, is_printed]
    return hashlib.sha256(json.dumps(everything, sort_keys=True, default=vars).encode()).hexdigest()


def _clear(out: Path, records: Sequence[PageRecord]) -> None:
    listed = {f"figures/{INDEX}", *(name for record in records for name in record.files)}
    listed |= {f"{CACHE}/{file_name(record.notebook)}.json" for record in records}
    found = [path for folder in _FOLDERS for path in (out / folder).glob("*")]
    for path in [*found, *(out / CACHE).glob("*.json")]:
        if path.relative_to(out).as_posix() not in listed:
            path.unlink()


def index(records: Sequence[PageRecord], made_from: Provenance, *, is_mirror: bool = False) -> str:
    """Return the text of `index.json`, of the report itself or of its mirror, which has no PDF and other folders.

    It holds `figures, tables, not_applicable, failed` in the order of the notebooks and of their cells, and
    `provenance`. Files are relative to the index.
    """
    content: Json = {
        kind: [_entry(kind, item, record, is_mirror) for record in records for item in getattr(record, kind)]
        for kind in _KINDS
    }
    content["failed"] = [
        {name: getattr(record.failure, name) for name in ("notebook", "cell", "error", "value")}
        for record in records if record.failure
    ]  # fmt: skip
    return json.dumps(content | {"provenance": made_from.stable()}, indent=2, ensure_ascii=False) + "\n"


def _entry(kind: str, sidecar: Json, record: PageRecord, is_mirror: bool) -> Json:
    entry = {key: value for key, value in sidecar.items() if key not in _LEFT_OUT} | {"notebook": record.notebook}
    if "files" in entry:
        folder = "" if kind == "figures" else "tables/" if is_mirror else "../tables/"
        names = {suffix: Path(name).name for suffix, name in cast(dict[str, str], sidecar["files"]).items()}
        entry["files"] = {suffix: folder + name for suffix, name in names.items() if not is_mirror or suffix != "pdf"}
    return entry


def write_if_changed(path: Path, content: bytes | str) -> None:
    """Write a file unless it already has this content."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    if not path.is_file() or path.read_bytes() != data:
        write_atomic(path, data)


def copy_figures(out: Path, folder: Path, records: Sequence[PageRecord], made_from: Provenance) -> None:
    """Make `folder` hold the report's figures (but not their PDF), its tables (under `tables/`) and an index.

    Raises
    ------
    InputError
        A file is in the way that no report put there; nothing was changed.
    """
    wanted = {_place(name): (out / name).read_bytes() for record in records for name in record.files if _place(name)}
    wanted[INDEX] = index(records, made_from, is_mirror=True).encode("utf-8")
    ours = _written_before(folder)
    for name, content in wanted.items():
        path = folder / name
        if path.exists() and name not in ours and (not path.is_file() or path.read_bytes() != content):
            raise InputError(f"{path}: was not written by a report and is in the way; move it or name another folder.")
    for name, content in wanted.items():
        write_if_changed(folder / name, content)
    for name in ours - wanted.keys():
        (folder / name).unlink(missing_ok=True)


def _place(name: str) -> str:
    """Where the mirror keeps a file of the report; empty for those it does not keep."""
    is_kept = name.startswith(("figures/", "tables/")) and not name.endswith(".pdf")
    return name.removeprefix("figures/") if is_kept else ""


def _written_before(folder: Path) -> set[str]:
    """The files that the folder's index lists. Without a readable index, none is ours."""
    try:
        content = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        listed = {name for kind in ("figures", "tables") for item in content[kind] for name in item["files"].values()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()
    return {INDEX, *(name for name in listed if isinstance(name, str) and is_safe_name(name))}
