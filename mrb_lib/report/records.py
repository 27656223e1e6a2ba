"""What each notebook published, kept beside it: so that an unchanged one is not run again.

One JSON file a notebook under `out/.cache/`, written after the files it lists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import cast

from mrb_lib.report.clean import FolderNames, Json, clean_notebook
from mrb_lib.report.execute import ARTEFACTS, EXECUTED, NotebookFailure
from mrb_lib.report.tabular import TableText
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.files import inside, sha256_of, slug, write_atomic

CACHE = ".cache"
SCHEMA = 2
"""The layout of records and sidecars; it rises when a report cannot be shown any more without making it again."""
FILES_OF = {"figures": ("png", "svg", "pdf", "csv"), "tables": ("csv", "tex")}
_PICTURES = (".png", ".pdf")


@dataclass(frozen=True)
class PageRecord:
    """What one notebook published, or why it did not.

    Attributes
    ----------
    notebook : its name, without the suffix
    key : hash of everything it was made from
    made, commit : when, and from which commit of the library
    seconds : how long it ran
    files : the files it published, relative to the report's folder, with their SHA-256
    figures, tables : the sidecar of each, in the order they were published
    not_applicable : `id, title, reason` of what could not be shown with these data
    """

    notebook: str
    key: str
    title: str = ""
    made: str = ""
    commit: str = ""
    seconds: float = 0.0
    files: Mapping[str, str] = field(default_factory=dict)
    figures: list[Json] = field(default_factory=list)
    tables: list[Json] = field(default_factory=list)
    not_applicable: list[Json] = field(default_factory=list)
    failure: NotebookFailure | None = None

    @property
    def page(self) -> str:
        """The file name of its page."""
        return f"{file_name(self.notebook)}.html"

    def is_current(self, key: str, out: Path) -> bool:
        """Whether it was made from the same, succeeded, and all its files are as they were."""
        return self.failure is None and self.key == key and self.is_whole(out)

    def is_whole(self, out: Path) -> bool:
        """Whether all its files are as they were."""
        return all((out / name).is_file() and sha256_of(out / name) == sha for name, sha in self.files.items())


def file_name(notebook: str) -> str:
    """The name of what belongs to a notebook: its own where that is plain, underscores allowed."""
    return notebook if re.fullmatch(r"[A-Za-z0-9][\w.-]*", notebook, re.ASCII) else slug(notebook)


def read_record(out: Path, notebook: str) -> PageRecord | None:
    """The record of a notebook; None where there is none that can be used, so that it runs again."""
    try:
        raw = json.loads(_path(out, notebook).read_text(encoding="utf-8"))
        if raw.pop("schema", 0) != SCHEMA:  # another version of the library wrote it
            return None
        failure = raw.pop("failure")
        return PageRecord(**raw, failure=None if failure is None else NotebookFailure(**failure))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def write_record(out: Path, record: PageRecord) -> None:
    """Keep a record; the files it lists have to be in place."""
    content = {"schema": SCHEMA, **asdict(record)}
    write_atomic(_path(out, record.notebook), json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _path(out: Path, notebook: str) -> Path:
    return out / CACHE / f"{file_name(notebook)}.json"


def install(out: Path, folder: Path, record: PageRecord, names: FolderNames, taken: Mapping[str, str]) -> PageRecord:
    """Move what a notebook left in its working folder into the report.

    Parameters
    ----------
    folder : the working folder, on the same file system as `out`
    record : what is known so far: notebook, key, failure and so on
    taken : the notebook that published each file already there

    Returns
    -------
    PageRecord
        Complete, and kept. A failed notebook publishes its executed copy only.
    """
    executed = _read_executed(folder, names)
    record = replace(record, title=_title(executed) or record.notebook)
    files: dict[str, Path] = {}
    if record.failure is None:
        try:
            record, files = _gather(folder, record, executed, names)
            _refuse_taken(files, taken)
        except RunError as error:
            failure = NotebookFailure(record.notebook, None, "", "RunError", str(error))
            record, files = replace(record, figures=[], tables=[], not_applicable=[], failure=failure), {}
    hashes: dict[str, str] = {}
    for name, path in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        hashes[name] = sha256_of(path)
        path.replace(out / name)
    if executed:
        name = f"executed/{file_name(record.notebook)}.ipynb"
        write_atomic(out / name, json.dumps(executed, indent=1, ensure_ascii=False) + "\n")
        hashes[name] = sha256_of(out / name)
    record = replace(record, files=hashes)
    write_record(out, record)
    return record


def _gather(folder: Path, record: PageRecord, executed: Json, names: FolderNames) -> tuple[PageRecord, dict[str, Path]]:
    """The record with everything the notebook published, and where each file lies."""
    sidecars: dict[str, list[Json]] = {"figures": [], "tables": [], "not_applicable": []}
    files: dict[str, Path] = {}
    for kind, sidecar in _sidecars(folder, executed, names):
        if "files" in sidecar:
            files.update(_artefacts(folder, kind, sidecar, names))
            sidecars[kind].append(sidecar)
        else:
            sidecars["not_applicable"].append(sidecar)
    for place, cell in enumerate(cast(list[Json], executed.get("cells", []))):
        reason = cast(Json, cast(Json, cell["metadata"]).get("mrb", {})).get("not_applicable")
        if reason:
            absent = {"id": f"{record.notebook}-{place}", "title": record.title, "reason": reason}
            sidecars["not_applicable"].append(absent)
    record = replace(
        record, figures=sidecars["figures"], tables=sidecars["tables"], not_applicable=sidecars["not_applicable"]
    )
    return record, files


def _read_executed(folder: Path, names: FolderNames) -> Json:
    try:
        return clean_notebook(json.loads((folder / EXECUTED).read_text(encoding="utf-8")), names)
    except FileNotFoundError:  # it failed before its first cell
        return {}


def _title(executed: Json) -> str:
    """The first heading of the first text cell."""
    for cell in cast(list[Json], executed.get("cells", [])):
        if cell["cell_type"] == "markdown":
            first = "".join(cast(list[str], cell["source"])).lstrip().split("\n", 1)[0]
            return first.removeprefix("# ").strip() if first.startswith("# ") else ""
    return ""


def published(executed: Json) -> Iterator[str]:
    """The artefacts of an executed notebook (`figures/<id>` or `tables/<id>`), in the order they appeared."""
    for cell in cast(list[Json], executed.get("cells", [])):
        note = cast(Json, cast(Json, cell["metadata"]).get("mrb", {}))
        yield from cast(list[str], note.get("published", []))


def _sidecars(folder: Path, executed: Json, names: FolderNames) -> Iterator[tuple[str, Json]]:
    for name in published(executed):
        kind, _, identity = name.partition("/")
        try:
            sidecar = names.value(json.loads((folder / f"{name}.json").read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise RunError(f"{name}.json: cannot be read ({error}); publish it with mrb_lib.report.publish.") from error
        if not isinstance(sidecar, dict) or sidecar.get("id") != identity or kind not in ARTEFACTS:
            raise RunError(f"{name}.json: does not describe {identity}; publish it with mrb_lib.report.publish.")
        yield kind, sidecar


def _artefacts(folder: Path, kind: str, sidecar: Json, names: FolderNames) -> Iterator[tuple[str, Path]]:
    """The files of one figure or table: all of them there, and none naming a folder of this machine."""
    listed = cast(Json, sidecar["files"])
    if kind == "tables" and not _is_displayable(sidecar.get("shown")):
        raise RunError(f"tables/{sidecar['id']}: has no cells to show; publish it with mrb_lib.report.publish.")
    missing = [suffix for suffix in FILES_OF[kind] if suffix not in listed]
    if missing:
        raise RunError(f"{kind}/{sidecar['id']}: has no {', '.join(missing)} file; publish it again.")
    for name in map(str, listed.values()):
        try:
            path = inside(folder / kind, Path(name).name)
        except InputError as error:
            raise RunError(str(error)) from error
        if not path.is_file():
            raise RunError(f"{kind}/{path.name}: was announced but not written; publish it again.")
        try:
            text = "" if path.suffix in _PICTURES else path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise RunError(f"{kind}/{path.name}: is not UTF-8 ({error.reason}); publish it again.") from error
        if names.contains_private_path(text):
            raise RunError(f"{kind}/{path.name}: names a folder of this machine; leave the path out.")
        yield f"{kind}/{path.name}", path


def _is_displayable(shown: object) -> bool:
    """Whether a table's sidecar holds its cells as text, every row as long as the head."""
    try:
        TableText.from_json(cast(Json, shown)).grid()
    except (TypeError, KeyError, ValueError, AttributeError):
        return False
    return True


def _refuse_taken(files: Iterable[str], taken: Mapping[str, str]) -> None:
    for name in files:
        if name in taken:
            raise RunError(f"{name}: {taken[name]} publishes it too; give one of the two another id.")
