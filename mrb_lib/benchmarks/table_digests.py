"""The digests of a benchmark's tables, by which a changed file is noticed: `SHA256SUMS` beside them.

A table that this program wrote and whose bytes changed since is damaged. One that another program wrote over it was
edited: that is said at every opening until `mrb check --accept` records the new digest.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import read_text, sha256_of, write_atomic

SUMS: Final = "SHA256SUMS"
TABLES: Final = ("cases.parquet", "annotations.parquet")
MARK: Final = {b"mrb_table": b"1"}
"""The metadata of the parquet files of tables that this program writes."""


class ChangedTable(NamedTuple):
    """A table whose bytes are not those recorded; `is_edited` if another program wrote it."""

    file: str
    is_edited: bool

    @property
    def problem(self) -> str:
        """Return what happened to the file."""
        if self.is_edited:
            return f"was rewritten by another program since its digest was recorded in {SUMS}"
        return f"is damaged or was changed: its bytes are not those recorded in {SUMS}"

    @property
    def cure(self) -> str:
        """Return what to do about it."""
        return "restore it from a copy, or run `mrb check BENCH --accept` if you changed it on purpose"


def record_digests(folder: Path, tables: Iterable[str] = TABLES) -> None:
    """Record the digests of tables as they are now; those of the others stay."""
    write_atomic(folder / SUMS, digests_with(folder, {name: sha256_of(folder / name) for name in tables}))


def digests_with(folder: Path, digests: Mapping[str, str]) -> bytes:
    """Return the text of `SHA256SUMS` with the digests of some tables exchanged."""
    lines = sorted((_recorded(folder) | digests).items())
    return "".join(f"{digest}  {name}\n" for name, digest in lines).encode("utf-8")


def changed_tables(folder: Path) -> list[ChangedTable]:
    """Return the tables whose digests are not the recorded ones; those without a record are left out."""
    return [
        ChangedTable(name, _is_edited(folder / name))
        for name, digest in _recorded(folder).items()
        if name in TABLES and (folder / name).is_file() and sha256_of(folder / name) != digest
    ]


def check_digests(folder: Path) -> None:
    """Log a warning for each table that was edited.

    Raises
    ------
    InputError
        A table is damaged.
    """
    for table in changed_tables(folder):
        message = f"{folder / table.file}: {table.problem}; {table.cure.replace('BENCH', str(folder))}."
        if not table.is_edited:
            raise InputError(message)
        logging.getLogger("mrb_lib").warning("warning: %s", message)


def _recorded(folder: Path) -> dict[str, str]:
    if not (folder / SUMS).is_file():
        return {}
    rows = [line.split(maxsplit=1) for line in read_text(folder / SUMS).splitlines() if line.strip()]
    if any(len(row) != 2 for row in rows):
        raise InputError(f"{folder / SUMS}: is damaged; run `mrb check {folder} --accept` if the tables are sound.")
    return {name.strip(): digest for digest, name in rows}


def _is_edited(path: Path) -> bool:
    try:
        return not MARK.items() <= (pq.read_metadata(path).metadata or {}).items()
    except (pa.ArrowException, OSError):
        return False
