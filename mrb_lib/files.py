"""Writing files so that nobody ever sees half of one, and names that stay in their folder."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from mrb_lib.errors import InputError


@contextmanager
def staged_folder(out: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield an empty folder beside `out` that becomes `out` when the block succeeds.

    Parameters
    ----------
    out : Path
        The folder to create. Its parents are created as needed.
    overwrite : bool
        Replace a folder that is already there. Only a folder that this program
        wrote (it holds `benchmark.toml` or `index.html`) is ever replaced.

    Raises
    ------
    InputError
        `out` exists, and is not an empty folder or may not be replaced.
    """
    out = out.absolute()
    if out.exists():
        _refuse_unless_replaceable(out, overwrite)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise InputError(f"{out}: cannot be created ({error.strerror}); choose a folder you may write to.") from error
    try:
        yield stage
        stage.chmod(0o777 & ~_umask())
        if out.exists():
            shutil.rmtree(out)
        stage.replace(out)
    finally:
        if stage.exists():
            shutil.rmtree(stage)


def _refuse_unless_replaceable(out: Path, overwrite: bool) -> None:
    if not out.is_dir():
        raise InputError(f"{out}: is a file; name a folder that does not exist yet.")
    if not any(out.iterdir()):
        return
    if not overwrite:
        raise InputError(f"{out}: already exists; name another folder, or pass --overwrite to replace it.")
    if not any((out / mark).is_file() for mark in ("benchmark.toml", "index.html")):
        raise InputError(f"{out}: --overwrite replaces only folders this program wrote; remove it yourself.")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_atomic(path: Path, content: bytes | str) -> None:
    """Write `content` to `path` so that a reader sees the old file or the new one, never a part."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def slug(text: str) -> str:
    """Turn any text into a file name: letters, digits, dot, dash; a hash keeps it unique if letters were lost."""
    plain = re.sub(r"[^A-Za-z0-9.-]+", "-", text).strip("-.")[:80]
    if plain and plain == text:
        return plain
    return f"{plain or 'x'}-{hashlib.sha256(text.encode('utf-8')).hexdigest()[:8]}"


def is_safe_name(name: str) -> bool:
    """Whether `name` is a relative file name that cannot leave the folder it is joined to."""
    if not name or "\\" in name or "\0" in name or ":" in name:
        return False
    path = PurePosixPath(name)
    return not path.is_absolute() and all(part not in ("..", ".") for part in name.split("/")) and "//" not in name


def inside(folder: Path, name: str) -> Path:
    """Join `name` to `folder`, refusing names and links that lead out of it.

    Raises
    ------
    InputError
        The name climbs out of the folder, directly or through a symbolic link.
    """
    path = folder / name
    if not is_safe_name(name) or not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{folder}: the name {name!r} leads out of the folder; use a plain relative file name.")
    return path


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
