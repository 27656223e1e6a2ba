"""A probe that a file holds: other texts of some cases, such as translations or paraphrases, by hand or by a model."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from mrb_lib.benchmarks.formats import read_rows
from mrb_lib.benchmarks.formats.sources import id_text
from mrb_lib.probes.probe import PROBES, Case, Others, Probe
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import readable, sha256_of
from mrb_lib.tables.validation import Finding, raise_on_error

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
    """Return whether verdicts with this probe come from a file, even from one that is gone."""
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
    path : a table (.csv, .xlsx, .jsonl, .parquet) with the column `case_id`, one row a case, and one or more of
        `question`, `response_a`, `response_b`

    Raises
    ------
    InputError
        The file cannot be read as such a table.
    """
    if not _STEM.fullmatch(path.stem):
        raise InputError(f"{str(path)!r}: name it by letters, digits, - and _ only; the probe is called after it.")
    with readable(path):
        digest = sha256_of(path)
    findings: list[Finding] = []
    rows = [row.values for row in read_rows(path, findings)]
    raise_on_error(replace(finding, severity="error") for finding in findings if finding.severity == "warning")
    texts, columns = _texts(path, rows)

    def replaced(case: Case, severity: int, rng: np.random.Generator, others: Others) -> Case | str:
        if case.case_id not in texts:
            return "the file has no row for it"
        changes: dict[str, Any] = dict(texts[case.case_id])
        changed = replace(case, **changes)
        return changed if changed != case else "the file changes nothing of it"

    kind: Literal["question", "response"] = "question" if columns == ["question"] else "response"
    does = f"Put in the {' and '.join(columns)} that the file {path.name} has"
    probe = Probe(f"{kind}/file-{path.stem}", kind, does, "same", source=f"a file, SHA-256 {digest}", edit=replaced)
    return FileProbe(probe, digest, tuple(texts))


def _texts(path: Path, rows: Sequence[Mapping[Any, object]]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """The texts by case id and column, and the columns."""
    columns = [name for name in _TEXTS if any(name in row for row in rows)]
    if rows and not columns:
        raise InputError(f"{path}: needs a column {', '.join(_TEXTS[:-1])} or {_TEXTS[-1]}.")
    texts: dict[str, dict[str, str]] = {}
    for row in rows or [{}]:
        case_id = id_text(row.get("case_id"))
        if case_id is None:
            raise InputError(f"{path}: needs one column case_id, with an id in every row.")
        if case_id in texts:
            raise InputError(f"{path}: case {case_id!r} has more than one row; keep one.")
        texts[case_id] = {}
        for name in columns:
            value = row.get(name)
            if isinstance(value, str):
                texts[case_id] |= {name: value} if value.strip() else {}
            elif value is not None and value == value:  # NaN is a missing text
                raise InputError(f"{path}, case {case_id!r}: {name} is no text.")
    return texts, columns
