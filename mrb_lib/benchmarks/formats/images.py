"""The images of a table: the files that names stand for, and those inside parquet files as Hugging Face stores them."""

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import pandas as pd
import pyarrow as pa

from mrb_lib.benchmarks.benchmark import LazyImages, open_parquet, read_table
from mrb_lib.benchmarks.formats.mapping import column_map
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import inside, is_safe_name
from mrb_lib.tables.validation import Finding, counted

_BATCH = 4
_MAGIC = {b"\x89PNG\r\n\x1a\n": ".png", b"\xff\xd8\xff": ".jpg", b"GIF8": ".gif", b"BM": ".bmp", b"II*\0": ".tif",
          b"MM\0*": ".tif", b"RIFF": ".webp"}  # fmt: skip


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


def read_without_bytes(
    path: Path, image_names: Sequence[str], findings: list[Finding]
) -> tuple[pd.DataFrame, str | None]:
    """Return a parquet file under the names of `--map`, and what it calls its column of pictures, if it has one.

    Parameters
    ----------
    image_names : what we call that column; other columns that hold bytes are left out and said
    """
    schema = open_parquet(path).schema_arrow
    renames = column_map().of(schema.names, path)
    binary = [name for name in schema.names if holds_bytes(schema.field(name).type)]
    pictures = next((name for name in binary if renames.get(name, name) in image_names), None)
    for name in binary:
        if name != pictures:
            problem, cure = "holds bytes and is left out", f"read it as the images with --map {name}={image_names[0]}"
            findings.append(Finding("warning", str(path), None, name, problem, cure))
    frame = read_table(path, [name for name in schema.names if name not in binary]).rename(columns=renames)
    column_map().reads([*frame.columns, *image_names[: pictures is not None]])
    return frame, pictures


class ParquetImages(LazyImages):
    """The images within parquet files by name, read when asked for; the last row group that was read is in memory.

    An image keeps the name the file gives it where that is a plain relative name that no other image has; else it is
    named after its case. Equal images of equal name are one image.
    """

    def __init__(self) -> None:
        self._places: dict[str, tuple[Path, str, int, int, int]] = {}
        super().__init__(self._places, self._read)
        self._rows = lru_cache(maxsize=1)(lambda *group: list(_rows_of(*group)))
        self._digests: dict[str, str] = {}

    def _read(self, name: str) -> bytes:
        path, column, group, row, place = self._places[name]
        content: bytes = self._rows(path, column, group)[row][place]["bytes"]
        return content

    def add(self, path: Path, column: str, case_names: Iterable[str], findings: list[Finding]) -> pd.Series:
        """Take in the images of a file, none of which stays in memory; return the list of their names for each row.

        Parameters
        ----------
        column : holds bytes, see `holds_bytes`
        case_names : safe names of the cases in the order of the rows

        Raises
        ------
        InputError
            The column is damaged.
        """
        names: list[list[str]] = []
        absent = renamed = 0
        left = iter(case_names)
        for group in range(open_parquet(path).num_row_groups):
            for row, images in enumerate(_rows_of(path, column, group)):
                names.append([])
                case_name = next(left)
                for place, image in enumerate(images):
                    content, file_name = image.get("bytes"), image.get("path")
                    if not isinstance(content, bytes):
                        absent += 1
                        continue
                    name = self._name(content, str(file_name) if file_name else None, case_name)
                    renamed += file_name is not None and name != file_name
                    self._places.setdefault(name, (path, column, group, row, place))
                    names[-1].append(name)
        findings += counted(absent, "warning", path, "images are null", "those cases have no image", column)
        problem = "image paths lead out of the folder or repeat"
        findings += counted(renamed, "info", path, problem, "those images are named after their case", column)
        return pd.Series(names, dtype=object)

    def _name(self, content: bytes, file_name: str | None, case_name: str) -> str:
        digest = hashlib.blake2b(content, digest_size=16).hexdigest()
        names = [file_name] if file_name is not None and _is_plain(file_name) else []
        names += [case_name + _suffix(content), f"{case_name}-{digest}{_suffix(content)}"]
        return next(name for name in names if self._digests.setdefault(name, digest) == digest)


def _is_plain(name: str) -> bool:
    """Return True for a relative name of a file with a suffix in folders without a dot, so that none is both."""
    *folders, file = name.split("/")
    is_short = all(len(part.encode("utf-8")) <= 150 for part in (*folders, file))
    is_plain = is_safe_name(name) and name.isprintable() and is_short
    return is_plain and Path(file).suffix != "" and not any("." in folder for folder in folders)


def _suffix(content: bytes) -> str:
    return next((suffix for magic, suffix in _MAGIC.items() if content.startswith(magic)), ".img")


def with_images(
    cases: pd.DataFrame, src: Path, folder: Path | None, understood: list[str], findings: list[Finding]
) -> tuple[pd.DataFrame, Mapping[str, bytes]]:
    """Return the cases with the names that their images have in the benchmark, and the images.

    Names match files however their characters are composed (NFC or NFD) and whatever their case; a name without its
    folder or without its suffix is enough where one file has it.

    Parameters
    ----------
    folder : where the images are; by default `images` in, or beside, `src`, else beside it
    understood, findings : how many were found is added here

    Raises
    ------
    InputError
        There is no such folder, or a file is a link that leads out of it.
    """
    beside = src if src.is_dir() else src.parent
    if folder is not None and not folder.is_dir():
        raise InputError(f"--images {folder}: there is no such folder; name the one that holds the images.")
    own = beside / "images"
    used = folder or (own if own.is_dir() else beside)
    wanted = {name: name for names in cases["images"] for name in names if isinstance(name, str)}
    files = _files_by_name(used, recursive=folder is not None or used == own) if wanted else {}
    found: dict[str, Path] = {}
    for name in wanted:
        plain = name.replace("\\", "/")
        file = plain if is_safe_name(plain) and (used / plain).is_file() else files.get(_file_key(plain))
        file = file or files.get(_file_key(plain.rpartition("/")[2]))
        if file is not None and ".." not in plain.split("/"):
            path = inside(used, file)
            wanted[name] = name if is_safe_name(name) and Path(name).suffix == path.suffix else file
            found[wanted[name]] = path
    stored = cases["images"].map(lambda names: [wanted.get(str(name), name) for name in names])
    different = {*wanted.values()}
    if wanted:
        understood.append(f"images: {len(found):,} of {len(different):,} found in {used}")
    cure = "name their folder with --images" if folder is None else "add the files"
    findings += counted(len(different - found.keys()), "warning", used, "images are not there", cure, "images")
    return cases.assign(images=stored), LazyImages(found, lambda name: found[name].read_bytes())


def _files_by_name(folder: Path, *, recursive: bool) -> dict[str, str]:
    """Return the files of a folder by the keys of their paths, else of their names, else of their stems."""
    pattern = folder.rglob("*") if recursive else folder.glob("*")
    paths = [path.relative_to(folder) for path in sorted(pattern) if path.is_file() or path.is_symlink()]
    files: dict[str, str] = {}
    for names in ([f.as_posix() for f in paths], [f.name for f in paths], [f.stem for f in paths]):
        keys = [_file_key(name) for name in names]
        counts = Counter(keys)
        files = {key: f.as_posix() for key, f in zip(keys, paths, strict=True) if counts[key] == 1} | files
    return files


def _file_key(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
