"""The tables of a work folder: what their columns are called and hold, and how one is read and written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa

from mrb_lib.tables.errors import InputError
from mrb_lib.verdicts.parts import DamagedPartError, read_part, write_part

_TEXT, _TEXTS, _COUNT, _REAL = pa.string(), pa.list_(pa.string()), pa.int64(), pa.float64()

ABOUT: Final = (
    "organ", "department", "modality", "question_type", "dataset", "licence", "source", "cluster",
)  # fmt: skip
"""The columns of an item that say what it is about and where it came from: text, null where unknown."""

_ANSWERED: Final = {
    **dict.fromkeys(("item_id", "model"), _TEXT),
    "sample": _COUNT,
    **dict.fromkeys(("answer", "status"), _TEXT),
    **dict.fromkeys(("prompt_tokens", "completion_tokens", "latency_s"), _REAL),
}
_ASKED: Final = {"item_id": _TEXT, "images": _TEXTS, "question": _TEXT, "reference": _TEXT, "choices": _TEXTS}
SCHEMAS: Final[Mapping[str, pa.Schema]] = {
    "items": pa.schema({**_ASKED, **dict.fromkeys(ABOUT, _TEXT)}),
    "decisions": pa.schema({"item_id": _TEXT, "step": _TEXT, "kept": pa.bool_(), "reason": _TEXT}),
    "funnel": pa.schema({"step": _TEXT, "n_in": _COUNT, "n_out": _COUNT, "reason": _TEXT, "n": _COUNT}),
    "answers": pa.schema({**_ANSWERED, "correct": _REAL, "marked_by": _TEXT}),
    "difficulty": pa.schema({"item_id": _TEXT}),
    "responses": pa.schema({**_ANSWERED, "flag": _TEXT, "alike": _REAL}),
    "pairs": pa.schema(
        {
            **dict.fromkeys(("case_id", "item_id", "model_a", "model_b"), _TEXT),
            **dict.fromkeys(("sample_a", "sample_b", "order"), _COUNT),
        }
    ),
}
"""The columns that every table has, by its name; a step may add others, which are carried along."""


def read_work_table(folder: Path, name: str) -> pd.DataFrame:
    """Return one table of a work folder; typed and without rows where it is not there yet.

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
    schema = SCHEMAS.get(name, pa.schema([]))
    kinds = dict.fromkeys(map(str, frame)) | dict(zip(schema.names, schema.types, strict=True))
    names = [*schema.names, *(name for name in kinds if name not in schema.names)]
    columns = {name: frame.get(name, [None] * len(frame)) for name in names}
    try:
        table = pa.table({name: pa.array(cells, kinds[name], from_pandas=True) for name, cells in columns.items()})
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: a column cannot be stored ({error}); make its values plain and alike.") from error
    write_part(path, table)
