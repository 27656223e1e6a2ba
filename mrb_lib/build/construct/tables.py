"""The tables of a work folder: what their columns are called and hold, and how one is read and written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.parts import DamagedPartError, read_part, write_part

_TEXT, _TEXTS, _COUNT, _REAL = pa.string(), pa.list_(pa.string()), pa.int64(), pa.float64()

ABOUT: Final = (
    "organ", "department", "modality", "question_type", "dataset", "licence", "source", "cluster",
)  # fmt: skip
"""The columns of an item that say what it is about and where it came from: text, null where unknown."""

_ANSWERED: Final = {
    "item_id": _TEXT,
    "model": _TEXT,
    "sample": _COUNT,
    "answer": _TEXT,
    "status": _TEXT,
    "prompt_tokens": _REAL,
    "completion_tokens": _REAL,
    "latency_s": _REAL,
}
SCHEMAS: Final[Mapping[str, pa.Schema]] = {
    "items": pa.schema(
        [
            ("item_id", _TEXT),
            ("images", _TEXTS),
            ("question", _TEXT),
            ("reference", _TEXT),
            ("choices", _TEXTS),
            *((name, _TEXT) for name in ABOUT),
        ]
    ),
    "decisions": pa.schema([("item_id", _TEXT), ("step", _TEXT), ("kept", pa.bool_()), ("reason", _TEXT)]),
    "funnel": pa.schema([("step", _TEXT), ("n_in", _COUNT), ("n_out", _COUNT), ("reason", _TEXT), ("n", _COUNT)]),
    "answers": pa.schema([*_ANSWERED.items(), ("correct", _REAL), ("marked_by", _TEXT)]),
    "difficulty": pa.schema(
        [
            ("item_id", _TEXT),
            ("n_models", _COUNT),
            ("n_answers", _COUNT),
            *((name, _REAL) for name in ("correct", "share_correct", "chance", "p_chance")),
            *((name, _REAL) for name in ("difficulty", "discrimination")),
        ]
    ),
    "marking": pa.schema(
        [
            ("marked_by", _TEXT),
            ("n", _COUNT),
            ("n_excluded", _COUNT),
            *((name, _REAL) for name in ("agreement", "low", "high", "cohen_kappa")),
            ("too_lenient", _COUNT),
            ("too_strict", _COUNT),
        ]
    ),
    "responses": pa.schema([*_ANSWERED.items(), ("flag", _TEXT), ("alike", _REAL)]),
    "pairs": pa.schema(
        [
            ("case_id", _TEXT),
            ("item_id", _TEXT),
            ("model_a", _TEXT),
            ("model_b", _TEXT),
            ("sample_a", _COUNT),
            ("sample_b", _COUNT),
            ("order", _COUNT),
        ]
    ),
}
"""The columns that every table has, by its name; a step may add others, which are carried along."""


def read_work_table(folder: Path, name: str) -> pd.DataFrame:
    """One table of a work folder; typed and without rows where it is not there yet.

    Parameters
    ----------
    name : one of `SCHEMAS`

    Returns
    -------
    DataFrame
        Columns of names are Python lists, null where there are none (`choices` of an open question).

    Raises
    ------
    InputError
        The file is damaged.
    """
    path = folder / f"{name}.parquet"
    try:
        table = read_part(path) if path.is_file() else SCHEMAS[name].empty_table()
    except DamagedPartError as error:
        raise InputError(
            f"{path}: is truncated or damaged ({error.reason}); run the step of `mrb construct` that wrote it again."
        ) from error
    frame: pd.DataFrame = table.to_pandas()
    for field in SCHEMAS[name]:
        if field.type == _TEXTS:
            lists = [None if value is None else list(value) for value in frame[field.name]]
            frame[field.name] = pd.Series(lists, index=frame.index, dtype=object)
    return frame


def read_work_chunks(path: Path, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Columns of a table as `write_work_chunks` wrote it, a chunk at a time; none where the file is not there."""
    if path.is_file():
        with pq.ParquetFile(path) as file:
            for number in range(file.num_row_groups):
                frame: pd.DataFrame = file.read_row_group(number, columns=list(columns)).to_pandas()
                yield frame


def write_work_table(path: Path, name: str, frame: pd.DataFrame) -> None:
    """Write a table with the columns of its schema first, all of them there.

    Parameters
    ----------
    name : one of `SCHEMAS`, or any other, whose columns are stored as they are
    frame : columns that it lacks are written null

    Raises
    ------
    InputError
        A column holds what its type cannot.
    """
    write_part(path, _arrow(name, frame))


def write_work_chunks(path: Path, name: str, chunks: Iterable[pd.DataFrame]) -> None:
    """Write a table of `SCHEMAS` a chunk at a time, so that only one need be in memory; other columns are left out.

    `path` is there when this returns, whole or not at all if it raises; see `write_work_table` for what is raised.
    """
    temporary = path.with_name(f".{path.name}.partial")
    with pq.ParquetWriter(temporary, SCHEMAS[name], compression="zstd") as writer:
        for chunk in chunks:
            writer.write_table(_arrow(name, chunk).select(SCHEMAS[name].names))
    temporary.replace(path)


def _arrow(name: str, frame: pd.DataFrame) -> pa.Table:
    schema = SCHEMAS.get(name, pa.schema([]))
    others = [column for column in frame.columns if column not in schema.names]
    try:
        known = {
            field.name: pa.array(
                frame[field.name] if field.name in frame else [None] * len(frame), type=field.type, from_pandas=True
            )
            for field in schema
        }
        return pa.table({**known, **{name: pa.array(frame[name], from_pandas=True) for name in others}})
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: a column cannot be stored ({error}); make its values plain and alike.") from error
