"""The digests of a benchmark's tables, by which a changed file is noticed: `SHA256SUMS` beside them.

A table that this program wrote and whose bytes changed since is damaged. One that another program wrote over it was
edited: that is said at every opening until `mrb check --accept` records the new digest.
"""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import read_text, sha256_of, write_atomic
from mrb_lib.tables.validation import Finding, Severity

SUMS: Final = "SHA256SUMS"
TABLES: Final = ("cases.parquet", "annotations.parquet")
MARK: Final = {b"mrb_table": b"1"}
"""The metadata of the parquet files of tables that this program writes."""


def record_digests(folder: Path, tables: Iterable[str] = TABLES) -> None:
    """Record the digests of tables that are there as they are now; those of the others stay."""
    present = {name: sha256_of(folder / name) for name in tables if (folder / name).is_file()}
    if present.keys() >= set(TABLES):
        (folder / SUMS).unlink(missing_ok=True)  # a damaged record of all that is recorded anew is of no use
    write_atomic(folder / SUMS, digests_with(folder, present))


def digests_with(folder: Path, digests: Mapping[str, str]) -> bytes:
    """Return the text of `SHA256SUMS` with the digests of some tables exchanged."""
    lines = sorted({**_recorded(folder), **digests}.items())
    return "".join(f"{digest}  {name}\n" for name, digest in lines).encode("utf-8")


def changed_tables(folder: Path) -> list[Finding]:
    """Return the tables whose digests are not the recorded ones: a warning where one was edited, else an error."""
    findings = []
    for name, digest in _recorded(folder).items():
        if name not in TABLES or not (folder / name).is_file() or sha256_of(folder / name) == digest:
            continue
        severity: Severity = "error"
        problem = f"is damaged or was changed: its bytes are not those recorded in {SUMS}"
        if _is_edited(folder / name):
            severity, problem = "warning", f"was rewritten by another program since {SUMS} was written"
        cure = f"restore it from a copy, or run `mrb check {folder} --accept` if you changed it on purpose"
        findings.append(Finding(severity, name, None, None, problem, cure))
    return findings


def check_digests(folder: Path) -> None:
    """Log a warning for each table that was edited.

    Raises
    ------
    InputError
        A table is damaged.
    """
    for table in changed_tables(folder):
        message = f"{folder / table.file}: {table.problem}; {table.cure}."
        if table.severity == "error":
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
