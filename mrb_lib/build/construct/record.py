"""The record of a work folder, `construction.toml`: choices and seed of each step, digests of what it read and made."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pandas as pd
import tomli_w

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import write_atomic
from mrb_lib.tables.schema import KINDS, WORK_RECORD

STEPS: Final = ("start", "filter", "screen", "respond", "pair", "release")
RECORD: Final = WORK_RECORD
BEGUN: Final = "begun"
FINISHED: Final = "finished"
_OWN: Final[Mapping[str, type]] = {"state": str, "seed": int, "input": dict, "output": dict}


def read_record(folder: Path) -> dict[str, Any]:
    """Return what the file holds: `name`, `kind`, perhaps `plan`, and a table for each step that was begun.

    The table of a step has its choices and, beside them, `state`, `seed`, `input` (the digest of the output of each
    step before it) and `output` (the digest of its decisions and of each table that it wrote).

    Raises
    ------
    InputError
        The folder is not a work folder, or the file is damaged.
    """
    path = folder / RECORD
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(
            f"{folder}: is not a work folder ({RECORD} is missing); make one with `mrb construct start SRC {folder}`."
        ) from error
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); restore it from a copy.") from error
    if not isinstance(record.get("name"), str) or record.get("kind") not in KINDS:
        raise InputError(f"{path}: does not name the work and its kind ({', '.join(KINDS)}); restore it from a copy.")
    for step in STEPS:
        table = record.get(step)
        is_whole = isinstance(table, dict) and all(isinstance(table.get(own), kind) for own, kind in _OWN.items())
        if table is not None and not (is_whole and table["state"] in (BEGUN, FINISHED)):
            raise InputError(f"{path}, table {step}: lacks one of {', '.join(_OWN)}; restore it from a copy.")
    return record


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Replace the record, atomically; the steps stand in their order."""
    names = [*(name for name in record if name not in STEPS), *(name for name in STEPS if name in record)]
    write_atomic(folder / RECORD, tomli_w.dumps({name: record[name] for name in names}))


def plain_choices(choices: Mapping[str, object]) -> dict[str, Any]:
    """Choices as they will be read back from the record; those that are None are left out."""
    return tomllib.loads(tomli_w.dumps({name: value for name, value in choices.items() if value is not None}))


def choices_of(table: Mapping[str, Any]) -> dict[str, Any]:
    """The choices in the table of a step."""
    return {name: value for name, value in table.items() if name not in _OWN}


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """The first choice, or the seed, in which two tables of a step differ, in words; None where they agree."""
    one, other = ({"seed": table["seed"], **choices_of(table)} for table in (old, new))
    for name in sorted(one | other):
        if one.get(name) != other.get(name):
            was, now = (repr(table[name])[:80] if name in table else "nothing" for table in (one, other))
            return f"{name} was {was}, now {now}"
    return None


def digest_of_output(output: Mapping[str, str]) -> str:
    """One digest for all that a step made."""
    lines = "\n".join(f"{name} {output[name]}" for name in sorted(output))
    return hashlib.sha256(lines.encode("utf-8")).hexdigest()


def digest_of_decisions(decisions: pd.DataFrame) -> str:
    """The digest of which items a step kept, and why it left out the others."""
    rows = decisions[["item_id", "kept", "reason"]].astype(object).where(decisions.notna(), None)
    return hashlib.sha256(rows.to_json(orient="values").encode("utf-8")).hexdigest()
