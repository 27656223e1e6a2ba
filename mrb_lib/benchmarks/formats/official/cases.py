"""The parquet files of the official layout, `pair_gt_all/parquet/<organ>.parquet`, as a cases table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pyarrow as pa

from mrb_lib.benchmarks.formats.mapping import clash, column_map
from mrb_lib.benchmarks.formats.parquet_images import ImageIndex, ParquetImages, holds_bytes, open_parquet
from mrb_lib.benchmarks.formats.sources import id_text
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import slug
from mrb_lib.tables.schema import CASES, ORGAN_DEPARTMENT, ORGANS
from mrb_lib.tables.validation import Finding, counted

RENAMED = {
    "question_id": "case_id",
    "question": "question",
    "answer1_text": "response_a",
    "answer2_text": "response_b",
}
IMAGE = "image"
ORGAN = "modality_type"
ORDER = "mrb_order"
NOTE = b"mrb"
_TEXT = {column.name for column in CASES if column.type == "str"} - set(RENAMED.values())
_TAKEN = {"case_id", "response_a", "response_b", "images", "organ"}


@dataclass(frozen=True)
class OrganFile:
    """One organ's rows before they are put together; `ids` and the name of the column of images are as in the file."""

    path: Path
    organ: str
    ids: list[str]
    table: pa.Table
    note: Mapping[str, object]
    image_column: str | None


def read_organ(path: Path, findings: list[Finding]) -> OrganFile:
    """Read one organ's rows without the images.

    Raises
    ------
    InputError
        The file is damaged, or a column is missing, has a wrong type or a missing
        value, or a question id occurs twice.
    """
    file = open_parquet(path)
    schema = file.schema_arrow
    repeated = [name for name, count in Counter(schema.names).items() if count > 1]
    if repeated:
        raise InputError(f"{path}, column {repeated[0]}: occurs twice; remove one of the two.")
    theirs = _names_in_file(schema.names, path)
    for name in RENAMED:
        if name not in theirs:
            raise InputError(f"{path}, column {name}: the column is missing; restore the file from its source.")
    binary = [name for name, own in theirs.items() if name != IMAGE and holds_bytes(schema.field(own).type)]
    names = [name for name in theirs if name != IMAGE and name not in binary]
    columns_in_file = [theirs[name] for name in names]
    findings += [
        Finding("warning", str(path), None, name, "binary values are left out", "only `image` is read")
        for name in binary
    ]
    try:
        table = file.read(columns=columns_in_file).select(columns_in_file).rename_columns(names)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: is truncated or damaged ({error}); restore it from its source.") from error
    ids = _ids(table, path)
    columns = _columns(table, path, findings)
    return OrganFile(path, path.stem, ids, pa.table(columns), _note(schema, path), theirs.get(IMAGE))


def _names_in_file(names: list[str], path: Path) -> dict[str, str]:
    """What the file calls each column, by the name that `--map` gives it."""
    columns = column_map()
    renames = columns.of(names, path)
    for theirs, ours in renames.items():
        if ours in _TAKEN:
            raise clash(str(path), theirs, ours)
    columns.reads(renames.values())
    return {renames.get(name, name): name for name in names}


def _ids(table: pa.Table, path: Path) -> list[str]:
    if not table.num_rows:
        raise InputError(f"{path}: has no rows; restore the file from its source.")
    ids: list[str] = []
    first: dict[str, int] = {}
    for row, value in enumerate(table["question_id"].to_pylist(), start=1):
        case_id = id_text(value)
        if case_id is None:
            raise InputError(f"{path}, row {row}, column question_id: {value!r} is not an id; give text or a number.")
        if first.setdefault(case_id, row) != row:
            raise InputError(
                f"{path}, row {row}, column question_id: {case_id!r} occurs again (first in row {first[case_id]}); "
                "keep one of the two."
            )
        ids.append(case_id)
    return ids


def _columns(table: pa.Table, path: Path, findings: list[Finding]) -> dict[str, pa.ChunkedArray]:
    """The columns under our names, in the order: required, optional, extra."""
    columns = {RENAMED[name]: _text(table[name], path, name, True) for name in RENAMED if name != "question_id"}
    extras: dict[str, pa.ChunkedArray] = {}
    for name in table.column_names:
        if name in RENAMED:
            continue
        if name == ORGAN:
            other = _other_organ(table, path, findings)
            if other is not None:
                extras[f"source_{ORGAN}"] = other
        elif name in _TEXT:
            columns[name] = _text(table[name], path, name, False)
        elif name in _TAKEN:
            cure = "the name has another meaning here"
            findings.append(Finding("info", str(path), None, name, f"is kept as source_{name}", cure))
            extras[f"source_{name}"] = table[name]
        else:
            extras[name] = table[name]
    clash = columns.keys() & extras.keys()
    if clash:
        raise InputError(f"{path}, column {min(clash)}: occurs twice under our names; rename one of the two.")
    return {name: _concrete(column) for name, column in (columns | extras).items()}


def _text(column: pa.ChunkedArray, path: Path, name: str, required: bool) -> pa.ChunkedArray:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    textual = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if required and not textual and not pa.types.is_null(kind):
        raise InputError(f"{path}, column {name}: holds {kind} where text belongs; write plain text.")
    if not (textual or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise InputError(f"{path}, column {name}: holds {kind} where text belongs; write plain text.")
    if required and column.null_count:
        row = column.is_null().to_pylist().index(True) + 1
        raise InputError(f"{path}, row {row}, column {name}: the value is missing; fill it in or remove the row.")
    return column.cast(pa.string())


def _concrete(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_null(kind) or pa.types.is_large_string(kind) or pa.types.is_dictionary(kind):
        return column.cast(pa.string() if not pa.types.is_dictionary(kind) else kind.value_type)
    return column


def _other_organ(table: pa.Table, path: Path, findings: list[Finding]) -> pa.ChunkedArray | None:
    """`modality_type` where it says anything else than the file's name, which decides."""
    column = _text(table[ORGAN], path, ORGAN, False)
    other = sum(value is not None and value != path.stem for value in column.to_pylist())
    findings += counted(
        other,
        "warning",
        path,
        f"rows do not say {path.stem}",
        f"the file's name decides; what they say is kept as source_{ORGAN} (the published script fails on them)",
        ORGAN,
    )
    return column if other else None


def _note(schema: pa.Schema, path: Path) -> Mapping[str, object]:
    """What our own export noted in the file; empty for files of others."""
    raw = (schema.metadata or {}).get(NOTE)
    if raw is None:
        return {}
    try:
        note = json.loads(raw)
    except ValueError as error:
        raise InputError(f"{path}: the note of the export is damaged ({error}); export again.") from error
    if not isinstance(note, dict):
        raise InputError(f"{path}: the note of the export is damaged; export again.")
    return note


def combine(
    files: list[OrganFile], findings: list[Finding]
) -> tuple[pd.DataFrame, ParquetImages, dict[tuple[str, str], str]]:
    """Put the organs together.

    Where a question id occurs in two organs, every case id becomes
    `<organ>/<question id>`, so that none hides another.

    Returns
    -------
    cases : the cases table, organs in alphabetical order (or as our own export noted)
    images : the images of the cases
    case_ids : the case id by organ and question id

    Raises
    ------
    InputError
        A column has different types in two files.
    """
    owners = Counter(question for file in files for question in file.ids)
    shared = sum(count > 1 for count in owners.values())
    case_ids = {(file.organ, q): f"{file.organ}/{q}" if shared else q for file in files for q in file.ids}
    folder = files[0].path.parent
    problem = "question ids occur in several organs, so each case id is <organ>/<question_id>"
    findings += counted(shared, "info", folder, problem, "use those ids in your own tables", "question_id")
    index = ImageIndex()
    parts = []
    for file in files:
        ids = [case_ids[file.organ, question] for question in file.ids]
        if file.image_column is None:
            problem = "the column is missing, so no case has an image"
            findings.append(Finding("warning", str(file.path), None, IMAGE, problem, "judges see the text only"))
            names: list[list[str]] = [[] for _ in ids]
        else:
            case_names = [f"{file.organ}/{slug(case_id)}" for case_id in ids]
            names = index.add(file.path, file.image_column, case_names, findings)
        parts.append(file.table.append_column("images", pa.array(names, pa.list_(pa.string()))))
    try:
        table = pa.concat_tables(parts, promote_options="permissive")
    except pa.ArrowException as error:
        raise InputError(f"{folder}: a column has different types in two files ({error}); make them equal.") from error
    frame = table.to_pandas()
    frame["images"] = frame["images"].map(list)
    frame.insert(0, "case_id", pd.Series(list(case_ids.values()), dtype="str"))
    frame["organ"] = pd.Series([file.organ for file in files for _ in file.ids], dtype="str")
    _add_department(frame, files, findings)
    return _arranged(frame, files), ParquetImages(index.positions), case_ids


def _add_department(frame: pd.DataFrame, files: list[OrganFile], findings: list[Finding]) -> None:
    default = frame["organ"].map(ORGAN_DEPARTMENT).astype("str")
    frame["department"] = frame["department"].fillna(default) if "department" in frame.columns else default
    for file in files:
        if file.organ not in ORGANS:
            problem = f"{file.organ} is not one of the 13 organs, so its department is unknown"
            findings.append(Finding("warning", str(file.path), None, None, problem, f"use one of {', '.join(ORGANS)}"))


def _arranged(frame: pd.DataFrame, files: list[OrganFile]) -> pd.DataFrame:
    """Columns in the order of the plan, extras behind; rows and columns as our own export noted them."""
    if ORDER in frame.columns:
        frame = frame.sort_values(ORDER, kind="stable", ignore_index=True).drop(columns=ORDER)
    planned = [column.name for column in CASES if column.name in frame.columns]
    order = [*planned, *(name for name in frame.columns if name not in planned)]
    noted = files[0].note.get("columns")
    if isinstance(noted, list) and {"case_id", *RENAMED.values()} <= set(noted):
        order = [name for name in noted if name in frame.columns]
    return frame[order]
