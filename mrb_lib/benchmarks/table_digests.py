"""The digests of a benchmark's tables, by which a changed file is noticed: `SHA256SUMS` beside them.

A table that this program wrote and whose bytes changed since is damaged. One that another program wrote over it was
edited: that is said at every opening until `mrb check --accept` records the new digest.
"""

import logging
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


def record_digests(folder: Path) -> None:
    """Record the digests of the tables as they are now."""
    present = [name for name in TABLES if (folder / name).is_file()]
    write_atomic(folder / SUMS, "".join(f"{sha256_of(folder / name)}  {name}\n" for name in present))


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
