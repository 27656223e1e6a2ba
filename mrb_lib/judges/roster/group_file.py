"""A file in which a user states the groups of judges."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from mrb_lib.tables.errors import InputError

LONGEST_GROUP: Final = 40


class GroupFile(NamedTuple):
    """Groups that a user states: the file, the group of each judge it names, and the base of those that were tuned."""

    path: str
    groups: Mapping[str, str]
    bases: Mapping[str, str] = {}


def read_group_file(path: Path) -> GroupFile:
    """Read a file that states groups: CSV with the columns `judge` and `group`, or TOML lines `"judge" = "group"`.

    In a CSV a column `base` names the judge that a judge was tuned from.

    Raises
    ------
    InputError
        The file cannot be read, is neither, names a judge twice, or a group is empty or long.
    """
    if path.suffix not in (".csv", ".toml"):
        raise InputError(f"{path}: is not a file of groups; name a *.csv or *.toml file.")
    try:
        text = path.read_text(encoding="utf-8-sig")
        rows: list[tuple[str, object, str]] = (
            [(*item, "") for item in tomllib.loads(text).items()] if path.suffix == ".toml" else _csv_rows(path, text)
        )
    except (OSError, ValueError, csv.Error) as error:
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise InputError(f"{path}: cannot be read as a file of groups ({reason}); correct it.") from error
    groups: dict[str, str] = {}
    for judge, group, _ in rows:
        if not isinstance(group, str) or not 0 < len(group.strip()) <= LONGEST_GROUP or not group.isprintable():
            raise InputError(
                f"{path}, judge {judge!r}: its group must be text of at most {LONGEST_GROUP} characters; correct it."
            )
        if judge in groups:
            raise InputError(f"{path}: names {judge!r} twice; remove one of the two.")
        groups[judge] = group.strip()
    return GroupFile(str(path), groups, {judge: base for judge, _, base in rows if base})


def _csv_rows(path: Path, text: str) -> list[tuple[str, object, str]]:
    reader = csv.DictReader(text.splitlines())
    for column in ("judge", "group"):
        if column not in (reader.fieldnames or ()):
            raise InputError(f"{path}: has no column {column!r}; the first line is judge,group.")
    return [(row["judge"].strip(), row["group"], (row.get("base") or "").strip()) for row in reader]
