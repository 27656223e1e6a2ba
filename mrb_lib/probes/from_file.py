"""A probe that a file holds: other texts of some cases, such as translations or paraphrases, by hand or by a model."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

import numpy as np
import pandas as pd
import pyarrow as pa

from mrb_lib.probes.probe import PROBES, Case, Others, Probe
from mrb_lib.tables.errors import InputError

_TEXTS: Final = ("question", "response_a", "response_b")
_STEM: Final = re.compile(r"[A-Za-z0-9_-]+")
_NAME: Final = re.compile(rf"(question|response)/file-{_STEM.pattern}")


@dataclass(frozen=True)
class FileProbe:
    """The probe of a file; it is not among `mrb_lib.probes.PROBES`.

    Attributes
    ----------
    sha256 : of the file's bytes, in hexadecimal
    case_ids : of the file's rows
    """

    probe: Probe
    sha256: str
    case_ids: tuple[str, ...]


def is_file_probe(name: str) -> bool:
    """Whether verdicts with this probe come from a file, which need not be at hand."""
    return _NAME.fullmatch(name) is not None


def file_probes(paths: Sequence[Path]) -> dict[str, FileProbe]:
    """The probes of files by name; raises `InputError` as `probe_from_file`, or where two have one name."""
    out: dict[str, FileProbe] = {}
    for path in paths:
        made = probe_from_file(path)
        name = made.probe.name
        if name in PROBES or out.setdefault(name, made).sha256 != made.sha256:
            raise InputError(f"{path}: another probe is called {name}; give the file another name.")
    return out


def probe_from_file(path: Path) -> FileProbe:
    """Read a probe from a table of changed texts, such as translations or paraphrases.

    The probe is `question/file-NAME` where the file changes questions only, else `response/file-NAME`. A sound judge
    gives the same verdicts. An empty cell leaves the text of that case as it is.

    Parameters
    ----------
    path : a .csv, .jsonl or .parquet with the column `case_id`, one row a case, and one or more of `question`,
        `response_a`, `response_b`

    Raises
    ------
    InputError
        The file cannot be read as such a table.
    """
    if not _STEM.fullmatch(path.stem):
        raise InputError(f"{str(path)!r}: name it by letters, digits, - and _ only; the probe is called after it.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    return _made(path, content)


@lru_cache(maxsize=8)
def _made(path: Path, content: bytes) -> FileProbe:
    """The probe of a content; every judge of a command asks for it again."""
    frame = _read(path, content)
    columns = [name for name in _TEXTS if name in frame]
    kind: Literal["question", "response"] = "question" if columns == ["question"] else "response"
    does = f"Put in the {' and '.join(columns)} that the file {path.name} has"
    texts, digest = _texts(path, frame, columns), hashlib.sha256(content).hexdigest()
    probe = Probe(
        f"{kind}/file-{path.stem}", kind, does, "same", source=f"a file, SHA-256 {digest}", edit=_Replaced(texts)
    )
    return FileProbe(probe, digest, tuple(texts))


class _Replaced:
    """Puts in the texts of a file, by case id and column."""

    def __init__(self, texts: Mapping[str, Mapping[str, str]]) -> None:
        self._texts = texts

    def __call__(self, case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
        """The case with the file's texts, or why there are none."""
        texts = self._texts.get(case.case_id)
        if texts is None:
            return "the file has no row for it"
        changed = replace(
            case,
            question=texts.get("question", case.question),
            response_a=texts.get("response_a", case.response_a),
            response_b=texts.get("response_b", case.response_b),
        )
        return changed if changed != case else "the file changes nothing of it"


def _read(path: Path, content: bytes) -> pd.DataFrame:
    """The table of a file, once it is known to have the columns and one row a case."""
    try:
        frame = _parsed(path.suffix.lower(), content)
    except (ValueError, OSError, OverflowError, RecursionError, pa.ArrowException) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise InputError(f"{path}: cannot be read as {path.suffix} ({why}).") from error
    if frame is None:
        raise InputError(f"{path}: is no .csv, .jsonl or .parquet; save it as one of them.")
    if "case_id" not in frame or not frame.columns.is_unique:
        raise InputError(f"{path}: needs one column case_id, and no column twice.")
    if not any(name in frame for name in _TEXTS):
        raise InputError(f"{path}: needs a column {', '.join(_TEXTS[:-1])} or {_TEXTS[-1]}.")
    ids = list(frame["case_id"])
    if not ids or not all(isinstance(value, str | int | np.integer) and str(value) for value in ids):
        raise InputError(f"{path}, column case_id: must hold an id in every row.")
    frame = frame.assign(case_id=[str(value) for value in ids])
    if (again := frame["case_id"].duplicated()).any():
        raise InputError(f"{path}: case {frame['case_id'][again].iloc[0]!r} has more than one row; keep one.")
    return frame


def _parsed(suffix: str, content: bytes) -> pd.DataFrame | None:
    if suffix == ".csv":
        # Only an empty cell is missing: "NA" and "None" may be what a response says.
        return pd.read_csv(
            io.BytesIO(content), dtype=str, keep_default_na=False, na_values=[""], encoding="utf-8-sig", index_col=False
        )
    if suffix == ".jsonl":
        text = content.decode("utf-8-sig")
        return pd.read_json(io.StringIO(text), lines=True, dtype=False)
    return pd.read_parquet(io.BytesIO(content)) if suffix == ".parquet" else None


def _texts(path: Path, frame: pd.DataFrame, columns: list[str]) -> dict[str, dict[str, str]]:
    texts: dict[str, dict[str, str]] = {case_id: {} for case_id in frame["case_id"]}
    for name in columns:
        for case_id, value in zip(frame["case_id"], frame[name], strict=True):
            if isinstance(value, str):
                texts[case_id] |= {name: value} if value else {}
            elif not (pd.api.types.is_scalar(value) and pd.isna(value)):
                raise InputError(f"{path}, case {case_id!r}: {name} is no text.")
    return texts
