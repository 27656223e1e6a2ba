"""The parquet files of the official layout, `pair_gt_all/parquet/<organ>.parquet`, as a cases table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa

from mrb_lib.benchmarks.benchmark import open_parquet, read_table
from mrb_lib.benchmarks.formats.mapping import clash, column_map
from mrb_lib.benchmarks.formats.parquet_images import ImageIndex, ParquetImages, holds_bytes
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


class OrganFile(NamedTuple):
    """One organ's rows before they are put together; `ids` and the name of the column of images are as in the file."""

    path: Path
    organ: str
    ids: list[str]
    frame: pd.DataFrame
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
    schema = open_parquet(path).schema_arrow
    renames = column_map().of(schema.names, path)
    for theirs, ours in renames.items():
        if ours in _TAKEN:
            raise clash(str(path), theirs, ours)
    column_map().reads(renames.values())
    theirs_of = {renames.get(name, name): name for name in schema.names}
    for name in RENAMED:
        if name not in theirs_of:
            raise InputError(f"{path}, column {name}: the column is missing; restore the file from its source.")
    binary = [name for name, theirs in theirs_of.items() if name != IMAGE and holds_bytes(schema.field(theirs).type)]
    cure = "only `image` is read"
    findings += [Finding("warning", str(path), None, name, "binary values are left out", cure) for name in binary]
    kept = {theirs: name for name, theirs in theirs_of.items() if name != IMAGE and name not in binary}
    frame = read_table(path, list(kept)).rename(columns=kept)[list(kept.values())]
    if frame.empty:
        raise InputError(f"{path}: has no rows; restore the file from its source.")
    ids = _text(frame["question_id"], path, "question_id", required=True)
    again = ids.duplicated()
    if again.any():
        row = int(again.to_numpy().argmax())
        first = int((ids == ids[row]).to_numpy().argmax()) + 1
        where = f"{path}, row {row + 1}, column question_id"
        raise InputError(f"{where}: {ids[row]!r} occurs again (first in row {first}); keep one of the two.")
    columns = _columns(frame, path, findings)
    return OrganFile(path, path.stem, ids.tolist(), columns, _note(schema, path), theirs_of.get(IMAGE))


def _columns(frame: pd.DataFrame, path: Path, findings: list[Finding]) -> pd.DataFrame:
    """Return the columns under our names, in the order: required, optional, extra."""
    columns = {
        ours: _text(frame[name], path, name, required=True) for name, ours in RENAMED.items() if ours != "case_id"
    }
    extras: dict[str, pd.Series] = {}
    for name in frame.columns.difference(list(RENAMED), sort=False):
        if name == ORGAN:
            stated = _text(frame[name], path, name)
            other = int((stated.notna() & (stated != path.stem)).sum())
            cure = (
                f"the file's name decides; what they say is kept as source_{ORGAN} (the published script fails on them)"
            )
            findings += counted(other, "warning", path, f"rows do not say {path.stem}", cure, ORGAN)
            extras |= {f"source_{ORGAN}": stated} if other else {}
        elif name in _TEXT:
            columns[name] = _text(frame[name], path, name)
        elif name in _TAKEN:
            cure = "the name has another meaning here"
            findings.append(Finding("info", str(path), None, name, f"is kept as source_{name}", cure))
            extras[f"source_{name}"] = frame[name]
        else:
            extras[name] = frame[name]
    if twice := columns.keys() & extras.keys():
        raise InputError(f"{path}, column {min(twice)}: occurs twice under our names; rename one of the two.")
    return pd.DataFrame(columns | extras)


def _text(values: pd.Series, path: Path, name: str, *, required: bool = False) -> pd.Series:
    """Return a column as text; whole numbers are text where the column is an id or may be missing."""
    numbers = not required or name == "question_id"
    texts = values.astype(object).map(
        lambda value: value if isinstance(value, str) else id_text(value) if numbers else None, na_action="ignore"
    )
    wrong = texts.isna() if required else texts.isna() & values.notna()
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        stated = repr(str(values.iloc[row])[:60]) if values.notna().iloc[row] else "missing"
        what = f"is {stated} where text belongs; write plain text, or remove the row"
        raise InputError(f"{path}, row {row + 1}, column {name}: {what}.")
    return texts.astype("str")


def _note(schema: pa.Schema, path: Path) -> Mapping[str, object]:
    """What our own export noted in the file; empty for files of others."""
    try:
        note = json.loads((schema.metadata or {}).get(NOTE, b"{}"))
    except ValueError as error:
        raise InputError(f"{path}: the note of the export is damaged ({error}); export again.") from error
    return note if isinstance(note, dict) else {}


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
        names: list[list[str]] = [[] for _ in ids]
        if file.image_column is None:
            problem = "the column is missing, so no case has an image"
            findings.append(Finding("warning", str(file.path), None, IMAGE, problem, "judges see the text only"))
        else:
            case_names = [f"{file.organ}/{slug(case_id)}" for case_id in ids]
            names = index.add(file.path, file.image_column, case_names, findings)
        images = pd.Series(names, dtype=object)
        parts.append(file.frame.assign(images=images, case_id=pd.Series(ids, dtype="str"), organ=file.organ))
        if file.organ not in ORGANS:
            problem = f"{file.organ} is not one of the 13 organs, so its department is unknown"
            findings.append(Finding("warning", str(file.path), None, None, problem, f"use one of {', '.join(ORGANS)}"))
    frame = pd.concat(parts, ignore_index=True).infer_objects()
    frame["organ"] = frame["organ"].astype("str")
    default = frame["organ"].map(ORGAN_DEPARTMENT).astype("str")
    frame["department"] = frame["department"].fillna(default) if "department" in frame else default
    return _arranged(frame, files), ParquetImages(index.positions), case_ids


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
