"""The index of figures and tables, and the copy of them kept under version control.

Neither holds a date, a path or a commit, so that making the same report again changes no file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from mrb_lib.report.clean import Json
from mrb_lib.report.provenance import Provenance
from mrb_lib.report.records import PageRecord
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import is_safe_name, write_atomic

INDEX = "index.json"
EVERY = ("png", "svg", "pdf", "csv", "tex")
MIRRORED = ("png", "svg", "csv", "tex")
_KEYS = {
    "figures": ("id", "title", "caption", "reading", "notebook", "n", "policy", "simulated", "files"),
    "tables": ("id", "title", "caption", "notebook", "n", "policy", "simulated", "files"),
    "not_applicable": ("id", "title", "reason", "notebook"),
}


def index(records: Sequence[PageRecord], made_from: Provenance, *, tables: str, kept: Sequence[str] = EVERY) -> Json:
    """What `figures/index.json` says.

    Parameters
    ----------
    tables : where the tables lie, seen from the index
    kept : the kinds of file to list

    Returns
    -------
    dict
        `figures, tables, not_applicable, failed` in the order of the notebooks and of
        their cells, and `provenance`. Files are relative to the index.
    """
    folders = {"figures": "", "tables": tables, "not_applicable": ""}
    content: Json = {
        kind: [_entry(kind, item, record, folders[kind], kept) for record in records for item in getattr(record, kind)]
        for kind in _KEYS
    }
    failures = [record.failure for record in records if record.failure is not None]
    said = [{name: getattr(each, name) for name in ("notebook", "cell", "error", "value")} for each in failures]
    return {**content, "failed": said, "provenance": made_from.stable()}


def _entry(kind: str, sidecar: Json, record: PageRecord, folder: str, kept: Sequence[str]) -> Json:
    entry = {key: sidecar.get(key) for key in _KEYS[kind]} | {"notebook": record.notebook}
    if "files" in entry:
        files = cast(dict[str, str], sidecar["files"])
        entry["files"] = {suffix: folder + Path(name).name for suffix, name in files.items() if suffix in kept}
    return entry


def _text(content: Json) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def write_if_changed(path: Path, content: bytes | str) -> None:
    """Write a file unless it already has this content."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    if not path.is_file() or path.read_bytes() != data:
        write_atomic(path, data)


def write_index(out: Path, records: Sequence[PageRecord], made_from: Provenance) -> None:
    """Write the report's own index, `out/figures/index.json`."""
    write_if_changed(out / "figures" / INDEX, _text(index(records, made_from, tables="../tables/")))


def mirror(out: Path, folder: Path, records: Sequence[PageRecord], made_from: Provenance) -> None:
    """Make `folder` hold the report's figures (but not their PDF), its tables (under `tables/`) and an index.

    Raises
    ------
    InputError
        A file is in the way that no report put there; nothing was changed.
    """
    wanted = {_place(name): (out / name).read_bytes() for record in records for name in record.files if _place(name)}
    wanted[INDEX] = _text(index(records, made_from, tables="tables/", kept=MIRRORED)).encode("utf-8")
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
    is_kept = name.endswith(MIRRORED) and name.startswith(("figures/", "tables/"))
    return name.removeprefix("figures/") if is_kept else ""


def _written_before(folder: Path) -> set[str]:
    """The files that the folder's index lists. Without a readable index, none is ours."""
    try:
        content = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        listed = {name for kind in ("figures", "tables") for item in content[kind] for name in item["files"].values()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()
    return {INDEX, *(name for name in listed if isinstance(name, str) and is_safe_name(name))}
