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
_KEYS = {
    "figures": ("id", "title", "caption", "reading", "notebook", "n", "policy", "simulated", "files"),
    "tables": ("id", "title", "caption", "notebook", "n", "policy", "simulated", "files"),
    "not_applicable": ("id", "title", "reason", "notebook"),
}


def index(records: Sequence[PageRecord], made_from: Provenance, *, is_mirror: bool = False) -> str:
    """Return the text of `index.json`, of the report itself or of its mirror, which has no PDF and other folders.

    It holds `figures, tables, not_applicable, failed` in the order of the notebooks and of their cells, and
    `provenance`. Files are relative to the index.
    """
    content: Json = {
        kind: [_entry(kind, item, record, is_mirror) for record in records for item in getattr(record, kind)]
        for kind in _KEYS
    }
    content["failed"] = [
        {name: getattr(record.failure, name) for name in ("notebook", "cell", "error", "value")}
        for record in records if record.failure
    ]  # fmt: skip
    return json.dumps(content | {"provenance": made_from.stable()}, indent=2, ensure_ascii=False) + "\n"


def _entry(kind: str, sidecar: Json, record: PageRecord, is_mirror: bool) -> Json:
    entry = {key: sidecar.get(key) for key in _KEYS[kind]} | {"notebook": record.notebook}
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


def mirror(out: Path, folder: Path, records: Sequence[PageRecord], made_from: Provenance) -> None:
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
