"""Parquet files of verdicts that are written whole or not at all, and whose bits are checked whenever they are read."""

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.benchmarks.digested import has_digest, with_digest
from mrb_lib.tables.errors import InputError, RunError


class DamagedPartError(InputError):
    """A part is not what was written; `reason` is what was noticed."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path}: is truncated or damaged ({reason}); run the `mrb judge` or `mrb construct` command that made it "
            "again, which makes its verdicts again and then moves it aside; import an imported run again."
        )
        self.reason = reason


def part_paths(folder: Path, kind: str = "part") -> list[Path]:
    """Return the finished parts of a run, or its files of another kind, in the order they were written."""
    named = (path for path in folder.glob(f"{kind}-*.parquet") if path.stem.removeprefix(f"{kind}-").isdecimal())
    return sorted(named, key=_number)


def _number(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])


def next_path(folder: Path, kind: str) -> Path:
    """Return the path of the next file of a kind ("part", "retried", "damaged"): `KIND-00000.parquet` is the first."""
    number = max(map(_number, part_paths(folder, kind)), default=-1) + 1
    return folder / f"{kind}-{number:05d}.parquet"


def write_part(path: Path, table: pa.Table) -> None:
    """Write a parquet file with its digest so that, whatever happens, it is there whole or not at all.

    Raises
    ------
    RunError
        The disk is full, or cannot be written to.
    """
    content = with_digest(table.replace_schema_metadata(None))
    temporary = path.with_name(f".{path.name}.partial")
    try:
        with temporary.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise RunError(
            f"{path}: cannot be written ({error.strerror or error}); the verdicts kept before are safe: make room on "
            "the disk or fix its permissions, and run the same command again to go on."
        ) from error


def read_part(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a part, all of whose bits are checked first, whichever columns are wanted.

    Parameters
    ----------
    columns : those to read; one that the part lacks is left out. None reads all.

    Raises
    ------
    DamagedPartError
        The file is truncated, not parquet, or not what was written.
    InputError
        The file cannot be read at all.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}); make it readable.") from error
    try:
        if not has_digest(content):
            raise ValueError("it contains no checksum, so this library did not write it or it is cut off")
        file = pq.ParquetFile(pa.BufferReader(content))
        names = None if columns is None else [name for name in columns if name in file.schema_arrow.names]
        # Parts are small: the threads that read columns side by side cost more than they save.
        table: pa.Table = file.read(columns=names, use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamagedPartError(path, " ".join(str(error).split())) from error
    return table.replace_schema_metadata(None)


def damaged_parts(folder: Path) -> dict[Path, str]:
    """Return the damaged parts of a run, and what was noticed of each."""
    damaged = {}
    for path in part_paths(folder):
        try:
            read_part(path)
        except DamagedPartError as error:
            damaged[path] = error.reason
    return damaged


def move_aside(damaged: Mapping[Path, str]) -> list[str]:
    """Rename damaged parts to `damaged-00000.parquet`, ..., once their verdicts are made again: no reader stops there.

    Parameters
    ----------
    damaged : as `damaged_parts` gives them, of a run that this process holds

    Returns
    -------
    list of str
        What to tell the user, a line a part.
    """
    notices = []
    for path, reason in damaged.items():
        aside = next_path(path.parent, "damaged")
        path.rename(aside)
        sync_folder(path.parent)
        notices.append(
            f"{path.name} is damaged ({reason}): its verdicts were made again, and it is kept as {aside.name}"
        )
    return notices


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut, as fsync does for a file's content.

    A file system that cannot do this for folders says so with EINVAL, and keeps its names in its own way.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(handle)
