"""The images inside the official layout's parquet files, named safely and read one at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.benchmarks.formats.base import counted
from mrb_lib.benchmarks.formats.mapping import column_map
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import is_safe_name, slug
from mrb_lib.tables.validation import Finding

COLUMN = "image"
_BATCH = 4
_BUFFER = 1 << 20
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"GIF8", ".gif"),
    (b"BM", ".bmp"),
    (b"II*\0", ".tif"),
    (b"MM\0*", ".tif"),
    (b"RIFF", ".webp"),
)


@dataclass(frozen=True)
class ImagePosition:
    """Where an image is: a row of a row group of a column of a parquet file; `last` of its group or not."""

    path: Path
    column: str
    group: int
    row: int
    last: bool


@dataclass
class _Cursor:
    """How far a row group has been read."""

    group: int
    rows: Iterator[tuple[int, bytes | None, str | None]]
    next_row: int = 0


class ParquetImages(Mapping[str, bytes]):
    """Images by name, read from parquet files when asked for.

    A row group of each file that is being read is in memory, no more. Reading the
    images of a file in their order goes through it once, whatever other files are read
    in between; going back starts the row group again.
    """

    def __init__(self, positions: Mapping[str, ImagePosition]) -> None:
        self._positions = dict(positions)
        self._cursors: dict[Path, _Cursor] = {}

    def __getitem__(self, name: str) -> bytes:
        position = self._positions[name]
        cursor = self._cursors.get(position.path)
        if cursor is None or cursor.group != position.group or position.row < cursor.next_row:
            cursor = _Cursor(position.group, _rows_of(position.path, position.column, position.group))
            self._cursors[position.path] = cursor
        for row, content, _ in cursor.rows:
            cursor.next_row = row + 1
            if row == position.row and content is not None:
                if position.last:
                    del self._cursors[position.path]
                return content
        raise InputError(
            f"{position.path}: the image {name} is gone; the file changed while it was read, so start again."
        )

    def __contains__(self, name: object) -> bool:
        return name in self._positions

    def __iter__(self) -> Iterator[str]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)


def open_parquet(path: Path) -> pq.ParquetFile:
    """Open a parquet file.

    Raises
    ------
    InputError
        The file is empty, truncated or not parquet.
    """
    try:
        return pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        what = "is empty" if path.is_file() and path.stat().st_size == 0 else f"is truncated or not parquet ({error})"
        raise InputError(f"{path}: {what}; restore it from its source.") from error


def _rows_of(path: Path, column: str, group: int) -> Iterator[tuple[int, bytes | None, str | None]]:
    """The row, the bytes and the path of each image of a row group."""
    row = 0
    try:
        for batch in open_parquet(path).iter_batches(_BATCH, row_groups=[group], columns=[column]):
            for value in batch.column(0).to_pylist():
                image = value if isinstance(value, dict) else {"bytes": value}
                yield row, image.get("bytes"), image.get("path")
                row += 1
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}, column {column}: cannot be read ({error}); restore the file.") from error


def _check_type(path: Path, column: str, kind: pa.DataType) -> None:
    inner = kind.field("bytes").type if pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0 else kind
    if not (pa.types.is_binary(inner) or pa.types.is_large_binary(inner)):
        raise InputError(f"{path}, column {column}: is {kind}, not image bytes; save it as a struct of bytes and path.")


class ImageIndex:
    """Names every image of the parquet files, in reading order, without keeping any.

    An image keeps the name the file gives it where that is a plain relative name that
    no other image has; else it is named after its organ and case. Equal images of
    equal name are one image.
    """

    def __init__(self) -> None:
        self.positions: dict[str, ImagePosition] = {}
        self._digests: dict[str, bytes] = {}
        self._folders: set[str] = set()

    def add(self, path: Path, organ: str, case_ids: Sequence[str], findings: list[Finding]) -> list[list[str]]:
        """The image names of each row of a file: one name, or none where there is no image.

        Raises
        ------
        InputError
            The column is damaged or holds something else than images.
        """
        file = open_parquet(path)
        renames = column_map().of(file.schema_arrow.names, path)
        column = next((theirs for theirs, ours in renames.items() if ours == COLUMN), COLUMN)
        if column not in file.schema_arrow.names:
            problem = "the column is missing, so no case has an image"
            findings.append(Finding("warning", str(path), None, COLUMN, problem, "judges see the text only"))
            return [[] for _ in case_ids]
        _check_type(path, column, file.schema_arrow.field(column).type)
        names: list[list[str]] = []
        absent = renamed = 0
        for group in range(file.num_row_groups):
            last = file.metadata.row_group(group).num_rows - 1
            for row, content, file_name in _rows_of(path, column, group):
                if content is None:
                    absent += 1
                    names.append([])
                    continue
                name = self._name(content, file_name, organ, case_ids[len(names)])
                renamed += file_name is not None and name != file_name
                self.positions.setdefault(name, ImagePosition(path, column, group, row, row == last))
                names.append([name])
        findings += counted(absent, "warning", path, "images are null", "those cases have no image", COLUMN)
        problem = "image paths lead out of the folder or repeat"
        findings += counted(renamed, "info", path, problem, "those images are named after their case", COLUMN)
        return names

    def _name(self, content: bytes, file_name: str | None, organ: str, case_id: str) -> str:
        digest = hashlib.blake2b(content, digest_size=16).digest()
        case_name = f"{organ}/{slug(case_id)}"
        candidates = [file_name] if file_name is not None and _is_plain(file_name) else []
        candidates += [case_name + _suffix(content), f"{case_name}-{digest.hex()}{_suffix(content)}"]
        for name in candidates:
            folders = {parent.as_posix() for parent in PurePosixPath(name).parents} - {"."}
            earlier_digest = self._digests.get(name)
            if earlier_digest == digest:
                return name
            if earlier_digest is None and name not in self._folders and not folders & self._digests.keys():
                self._digests[name] = digest
                self._folders |= folders
                return name
        raise InputError(f"image of case {case_id}: no free name is left; rename the images {case_name}*.")


def _is_plain(name: str) -> bool:
    parts = name.split("/")
    return (
        is_safe_name(name)
        and name.isprintable()
        and all(folder and not folder.startswith(".") and len(folder.encode("utf-8")) <= 150 for folder in parts)
    )


def _suffix(content: bytes) -> str:
    return next((suffix for magic, suffix in _MAGIC if content.startswith(magic)), ".img")
