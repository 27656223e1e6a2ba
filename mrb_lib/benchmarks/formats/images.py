"""The images of a table: the files that names stand for, and those inside parquet files as Hugging Face stores them."""

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import pyarrow as pa

from mrb_lib.benchmarks.benchmark import LazyImages, open_parquet
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import inside, is_safe_name
from mrb_lib.tables.validation import Finding, counted

_BATCH = 4
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"GIF8", ".gif"),
    (b"BM", ".bmp"),
    (b"II*\0", ".tif"),
    (b"MM\0*", ".tif"),
    (b"RIFF", ".webp"),
)


class ImagePosition(NamedTuple):
    """Where an image is in a parquet file: `place` counts the images of a row."""

    path: Path
    column: str
    group: int
    row: int
    place: int


class ParquetImages(LazyImages):
    """Images by name, read from parquet files when asked for; the last row group that was read is in memory."""

    def __init__(self, positions: Mapping[str, ImagePosition]) -> None:
        super().__init__(positions, self._read)
        self._positions = dict(positions)
        self._rows = lru_cache(maxsize=1)(lambda *group: list(_rows_of(*group)))

    def _read(self, name: str) -> bytes:
        path, column, group, row, place = self._positions[name]
        rows = self._rows(path, column, group)
        images = rows[row] if row < len(rows) else []
        content = images[place].get("bytes") if place < len(images) else None
        if not isinstance(content, bytes):
            raise InputError(f"{path}: the image {name} is gone; the file changed while it was read, so start again.")
        return content


def _rows_of(path: Path, column: str, group: int) -> Iterator[list[Mapping[str, object]]]:
    """Yield the images of each row of a row group, each with its `bytes` and `path`."""
    try:
        for batch in open_parquet(path).iter_batches(_BATCH, row_groups=[group], columns=[column]):
            for value in batch.column(0).to_pylist():
                images = value if isinstance(value, list) else [value]
                yield [image if isinstance(image, dict) else {"bytes": image} for image in images]
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}, column {column}: cannot be read ({error}); restore the file.") from error


def holds_bytes(kind: pa.DataType) -> bool:
    """Return True if a column of this type holds bytes, perhaps within lists or structs."""
    if pa.types.is_nested(kind):
        return any(holds_bytes(kind.field(i).type) for i in range(kind.num_fields))
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


class ImageIndex:
    """Names every image of the parquet files, in reading order, without keeping any.

    An image keeps the name the file gives it where that is a plain relative name that
    no other image has; else it is named after its case. Equal images of equal name are one image.
    """

    def __init__(self) -> None:
        self.positions: dict[str, ImagePosition] = {}
        self._digests: dict[str, bytes] = {}
        self._folders: set[str] = set()

    def add(self, path: Path, column: str, case_names: Sequence[str], findings: list[Finding]) -> list[list[str]]:
        """Return the image names of each row of a file; an empty list where a row has no image.

        Parameters
        ----------
        case_names : safe names of the cases in the order of the rows

        Raises
        ------
        InputError
            The column is damaged or holds something else than images.
        """
        file = open_parquet(path)
        kind = file.schema_arrow.field(column).type
        if not holds_bytes(kind):
            raise InputError(
                f"{path}, column {column}: is {kind}, not image bytes; save it as a struct of bytes and path."
            )
        names: list[list[str]] = []
        absent = renamed = 0
        for group in range(file.num_row_groups):
            for row, images in enumerate(_rows_of(path, column, group)):
                of_row: list[str] = []
                for place, image in enumerate(images):
                    content, file_name = image.get("bytes"), image.get("path")
                    if not isinstance(content, bytes):
                        absent += 1
                        continue
                    name = self._name(content, str(file_name) if file_name else None, case_names[len(names)])
                    renamed += file_name is not None and name != file_name
                    self.positions.setdefault(name, ImagePosition(path, column, group, row, place))
                    of_row.append(name)
                names.append(of_row)
        findings += counted(absent, "warning", path, "images are null", "those cases have no image", column)
        problem = "image paths lead out of the folder or repeat"
        findings += counted(renamed, "info", path, problem, "those images are named after their case", column)
        return names

    def _name(self, content: bytes, file_name: str | None, case_name: str) -> str:
        digest = hashlib.blake2b(content, digest_size=16).digest()
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
        raise InputError(f"image of case {case_name}: no free name is left; rename the images {case_name}*.")


def _is_plain(name: str) -> bool:
    parts = name.split("/")
    is_odd = any(not part or part.startswith(".") or len(part.encode("utf-8")) > 150 for part in parts)
    return is_safe_name(name) and name.isprintable() and not is_odd


def _suffix(content: bytes) -> str:
    return next((suffix for magic, suffix in _MAGIC if content.startswith(magic)), ".img")


class ImageFiles:
    """The files that image names of a table stand for.

    Names match files however their characters are composed (NFC or NFD) and whatever their case; a name without its
    folder or without its suffix is enough where one file has it.
    """

    def __init__(self, folder: Path, *, recursive: bool) -> None:
        self._folder, self._files = folder, dict[str, str]()
        pattern = folder.rglob("*") if recursive else folder.glob("*")
        files = [path.relative_to(folder) for path in sorted(pattern) if path.is_file() or path.is_symlink()]
        shorter = [[f.as_posix() for f in files], [f.name for f in files], [f.stem for f in files]]
        for names in shorter:  # a full name goes before a shorter one that another file has as well
            keys = [_file_key(name) for name in names]
            counts = Counter(keys)
            for key, file in zip(keys, files, strict=True):
                if counts[key] == 1:
                    self._files.setdefault(key, file.as_posix())

    def find(self, name: str) -> Path | None:
        """Return the file that a name stands for; None where there is none or several.

        Raises
        ------
        InputError
            The file is a link that leads out of the folder.
        """
        plain = name.replace("\\", "/")
        if ".." in plain.split("/"):
            return None
        if is_safe_name(plain) and (self._folder / plain).is_file():
            return inside(self._folder, plain)
        file = self._files.get(_file_key(plain)) or self._files.get(_file_key(plain.rpartition("/")[2]))
        return None if file is None else inside(self._folder, file)


def _file_key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
