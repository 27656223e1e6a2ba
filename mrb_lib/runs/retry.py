"""Setting verdicts aside, so that they are made again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.errors import InputError
from mrb_lib.schema import ANSWERED_STATUSES, STATUSES
from mrb_lib.verdicts.store import part_paths, sync_folder, write_part

RETRIABLE = tuple(status for status in STATUSES if status not in ANSWERED_STATUSES)


def check_retry(statuses: Sequence[str]) -> None:
    """Raise `InputError` unless every status is one that a failed verdict has."""
    for status in statuses:
        if status in ANSWERED_STATUSES:
            raise InputError(f"retry {status}: such verdicts were answered; retry {', '.join(RETRIABLE)}.")
        if status not in RETRIABLE:
            raise InputError(f"retry {status!r}: is no status; use {', '.join(RETRIABLE)}.")


def set_aside(folder: Path, chosen: np.ndarray) -> int:
    """Move verdicts out of a run's parts, so that they count as not yet made.

    First all of them are copied to the next `retried-00000.parquet`; then each part
    that held some is replaced by what is left of it. Killed in between, a verdict is
    still in its part, or already pending: never lost, never there twice.

    Parameters
    ----------
    folder : the run, held by this process
    chosen : array of bool with shape (rows of `read_run(folder)`,), which rows to move

    Returns
    -------
    int
        How many were moved.
    """
    if not chosen.any():
        return 0
    moved, changed, start = [], [], 0
    for path in part_paths(folder):
        table = pq.ParquetFile(path).read()
        mask = chosen[start : start + table.num_rows]
        start += table.num_rows
        if mask.any():
            moved.append(table.filter(pa.array(mask)))
            changed.append((path, table.filter(pa.array(~mask))))
    write_part(_next_path(folder), pa.concat_tables(moved, promote_options="permissive"))
    for path, rest in changed:
        if rest.num_rows:
            write_part(path, rest)
        else:
            path.unlink()
    sync_folder(folder)
    return int(chosen.sum())


def _next_path(folder: Path) -> Path:
    taken = [int(path.stem[8:]) for path in folder.glob("retried-*.parquet") if path.stem[8:].isdecimal()]
    return folder / f"retried-{max(taken, default=-1) + 1:05d}.parquet"
