"""Writing files so that nobody ever sees half of one, and names that stay in their folder."""

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mrb_lib.tables.errors import InputError

REVIEWS = "reviews.sqlite"


@contextmanager
def staged_folder(out: Path, *, overwrite: bool = False, source: Path | None = None) -> Iterator[Path]:
    """Yield an empty folder beside `out` that becomes `out` when the block succeeds.

    Parameters
    ----------
    out : Path
        The folder to create. Its parents are created as needed.
    overwrite : bool
        Replace a folder that is already there, except for its store of reviews. Only a folder
        that this program wrote (it holds `benchmark.toml` or `index.html`) is ever replaced.
    source : Path or None
        What is read in the block; `out` is not replaced where it is, or holds, that.

    Raises
    ------
    InputError
        `out` exists, and is not an empty folder or may not be replaced.
    """
    try:
        # A link is followed: the folder it points to is the one written.
        out = out.resolve()
        if out.exists():
            _refuse_unless_replaceable(out, overwrite, source)
        out.parent.mkdir(parents=True, exist_ok=True)
        stage = _unused_name(out)
        stage.mkdir()
    except (OSError, RuntimeError) as error:
        raise InputError(f"{out}: cannot be created ({_reason(error)}); choose a folder you may write to.") from error
    try:
        yield stage
        if out.exists():
            for kept in out.glob(f"{REVIEWS}*"):  # people's work; SQLite's journals lie beside it
                kept.replace(stage / kept.name)
            shutil.rmtree(out)
        stage.replace(out)
    finally:
        if stage.exists():
            shutil.rmtree(stage)


def _refuse_unless_replaceable(out: Path, overwrite: bool, source: Path | None) -> None:
    if not out.is_dir():
        raise InputError(f"{out}: is a file; name a folder that does not exist yet.")
    if not any(out.iterdir()):
        return
    if not overwrite:
        raise InputError(f"{out}: already exists; name another folder, or pass --overwrite to replace it.")
    if not any((out / mark).is_file() for mark in ("benchmark.toml", "index.html")):
        raise InputError(f"{out}: --overwrite replaces only folders this program wrote; remove it yourself.")
    if source is not None and source.resolve().is_relative_to(out):
        raise InputError(f"{out}: --overwrite would delete {source}, which is being read; name another folder.")


def _reason(error: OSError | RuntimeError) -> str:
    """Why a path cannot be used; `Path.resolve` reports links in a circle as a RuntimeError."""
    return str(error.strerror) if isinstance(error, OSError) else "its links go round in a circle"


def _unused_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}")


def write_atomic(path: Path, content: bytes | str) -> None:
    """Write `content` to `path` so that a reader sees the old file or the new one, never a part."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = _unused_name(path)
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn the faults of opening a file into messages."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path}: the file is missing; check the folder or restore it from its source.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not {error.encoding} text ({error.reason}); save it as UTF-8.") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path and its permissions.") from error


def slug(text: str) -> str:
    """Turn any text into a file name: letters, digits, dot, dash; a hash keeps it unique if letters were lost."""
    plain = re.sub(r"[^A-Za-z0-9.-]+", "-", text).strip("-.")[:80]
    if plain and plain == text:
        return plain
    return f"{plain or 'x'}-{hashlib.sha256(text.encode('utf-8')).hexdigest()[:8]}"


def is_safe_name(name: str) -> bool:
    """Whether `name` is a relative file name that can exist and cannot leave the folder it is joined to."""
    parts = name.split("/")
    is_short = all(len(part.encode("utf-8", "surrogatepass")) <= 255 for part in parts)  # bytes, on all file systems
    return is_short and not {"", ".", ".."}.intersection(parts) and not set("\\\0:").intersection(name)


def inside(folder: Path, name: str) -> Path:
    """Join `name` to `folder`, refusing names and links that lead out of it.

    Raises
    ------
    InputError
        The name climbs out of the folder, directly or through a symbolic link.
    """
    path = folder / name
    try:
        stays = is_safe_name(name) and path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError) as error:
        raise InputError(f"{path}: cannot be opened ({_reason(error)}); put the file itself there.") from error
    if not stays:
        raise InputError(f"{folder}: the name {name!r} leads out of the folder; use a plain relative file name.")
    return path


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
