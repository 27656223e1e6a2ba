"""What each notebook published, kept beside it: so that an unchanged one is not run again.

One JSON file a notebook under `out/.cache/`, written after the files it lists.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import cast

from mrb_lib.report.clean import FolderNames, Json
from mrb_lib.tables.errors import InputError, RunError
from mrb_lib.tables.files import inside, sha256_of, slug, write_atomic

FILES_OF = {"figures": ("png", "svg", "pdf", "csv"), "tables": ("csv", "tex")}
CACHE = ".cache"
EXECUTED = "executed.ipynb"
PRINTED = "report.pdf"
ARTEFACTS = ("figures", "tables")
SCHEMA = 3
"""The layout of records and sidecars; it rises when a report cannot be shown any more without making it again."""
_PICTURES = (".png", ".pdf")


@dataclass(frozen=True)
class NotebookFailure:
    """Why a notebook did not run to its end.

    Attributes
    ----------
    notebook : its name, without the suffix
    cell : the cell that failed, counted from 1 over all cells; None where no cell is to blame
    source : that cell's source
    error : the name of the error
    value : its message
    """

    notebook: str
    cell: int | None
    source: str
    error: str
    value: str

    def __str__(self) -> str:
        where = self.notebook if self.cell is None else f"{self.notebook}, cell {self.cell}"
        return f"{where}: {self.error}: {self.value}"


@dataclass(frozen=True)
class PageRecord:
    """The files of one notebook, or why it failed; of the site, the pages that were written.

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


def file_name(notebook: str) -> str:
    """The name of what belongs to a notebook: its own where that is plain, underscores allowed."""
    return notebook if re.fullmatch(r"[A-Za-z0-9][\w.-]*", notebook, re.ASCII) else slug(notebook)


def read_record(out: Path, notebook: str) -> PageRecord | None:
    """The record of a notebook; None where there is none that can be used, or a file of it is missing or altered."""
    try:
        raw = json.loads(_path(out, notebook).read_text(encoding="utf-8"))
        if raw.pop("schema", 0) != SCHEMA:  # another version of the library wrote it
            return None
        failure = raw.pop("failure")
        record = PageRecord(**raw, failure=None if failure is None else NotebookFailure(**failure))
        return record if all(sha256_of(out / name) == sha for name, sha in record.files.items()) else None
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
    path, executed = folder / EXECUTED, Json()
    if path.is_file():  # a notebook that failed before its first cell leaves none
        executed = cast(Json, names.value(json.loads(path.read_text(encoding="utf-8"))))
    cells = cast(list[Json], executed.get("cells", []))
    record = replace(record, title=_title(cells) or record.notebook)
    files: dict[str, Path] = {}
    if record.failure is None:
        try:
            shown: dict[str, list[Json]] = {kind: [] for kind in ARTEFACTS}
            for name in _noted(cells, "published"):
                sidecar, own = _artefact(folder, name, names)
                shown[name.partition("/")[0]].append(sidecar)
                files |= own
            if twice := sorted({*files} & {*taken}):
                raise RunError(f"{twice[0]}: {taken[twice[0]]} publishes it too; give one of the two another id.")
            absent: list[Json] = [
                {"id": f"{record.notebook}-{i}", "title": record.title, "reason": why}
                for i, why in enumerate(_noted(cells, "not_applicable"))
            ]
            record = replace(record, figures=shown["figures"], tables=shown["tables"], not_applicable=absent)
        except RunError as error:
            files = {}
            record = replace(record, failure=NotebookFailure(record.notebook, None, "", "RunError", str(error)))
    hashes: dict[str, str] = {}
    for name, made in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        hashes[name] = sha256_of(made)
        made.replace(out / name)
    if executed:
        name = f"executed/{file_name(record.notebook)}.ipynb"
        write_atomic(out / name, json.dumps(executed, indent=1, ensure_ascii=False) + "\n")
        hashes[name] = sha256_of(out / name)
    record = replace(record, files=hashes)
    write_record(out, record)
    return record


def _title(cells: Sequence[Json]) -> str:
    """The first heading of the first text cell."""
    text = next(("".join(cast(list[str], cell["source"])) for cell in cells if cell["cell_type"] == "markdown"), "")
    first = text.lstrip().split("\n", 1)[0]
    return first.removeprefix("# ").strip() if first.startswith("# ") else ""


def _noted(cells: Sequence[Json], what: str) -> Iterator[str]:
    """What the cells of an executed notebook say of themselves, in their order; see `WatchingEngine`."""
    for cell in cells:
        note = cast(dict[str, str | list[str]], cast(Json, cell["metadata"]).get("mrb", {})).get(what, [])
        yield from [note] if isinstance(note, str) else note


def _artefact(folder: Path, name: str, names: FolderNames) -> tuple[Json, dict[str, Path]]:
    """The sidecar of a figure or table and its files: all of them there, and none naming a folder of this machine."""
    kind, again = name.partition("/")[0], "publish it again with mrb_lib.report.publish."
    files: dict[str, Path] = {}
    try:
        sidecar = cast(Json, names.value(json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))))
        listed = cast(dict[str, str], sidecar["files"])
        listed = {suffix: listed[suffix] for suffix in FILES_OF[kind]}
        for file in listed.values():
            path = inside(folder / kind, Path(file).name)
            content = path.read_bytes()
            if path.suffix not in _PICTURES and names.contains_private_path(content.decode()):
                raise RunError(f"{kind}/{path.name}: names a folder of this machine; leave the path out.")
            files[f"{kind}/{path.name}"] = path
    except FileNotFoundError as error:
        raise RunError(f"{kind}/{Path(error.filename).name}: was announced but not written; {again}") from error
    except (OSError, ValueError, TypeError, KeyError, AttributeError, InputError) as error:
        raise RunError(f"{name}.json: cannot be shown ({error}); {again}") from error
    return sidecar, files
