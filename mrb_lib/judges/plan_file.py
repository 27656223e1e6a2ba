"""A plan: a TOML file of tables with a name each, whose keys are the fields of a dataclass."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from mrb_lib.tables.errors import InputError


def read_plan(file: Path, kind: str) -> tuple[dict[str, object], list[dict[str, object]]]:
    """The table `[common]` of a plan, empty where there is none, and its tables `[[kind]]`, one at least.

    Raises
    ------
    InputError
        The file cannot be read, or holds something else.
    """
    try:
        tables: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read as a plan ({error}); name a TOML file.") from error
    common, listed = tables.pop("common", {}), tables.pop(kind, None)
    is_list = isinstance(listed, list) and listed and all(isinstance(table, dict) for table in listed)
    if tables or not isinstance(common, dict) or not is_list:
        what = f"the key {next(iter(tables))!r} is unknown" if tables else f"it has no [[{kind}]]"
        raise InputError(f"{file}: {what}; a plan is a list of tables [[{kind}]], after one [common] for all or none.")
    return common, listed


def checked(
    values: Mapping[str, object], types: Mapping[str, object], where: str
) -> tuple[dict[str, object], list[str]]:
    """The values of a table that fit their types, and what is wrong with the others, a line each.

    Parameters
    ----------
    types : of each key that may be there, as `typing.get_type_hints` gives them. Whole numbers are taken for floats;
        a list, or text with commas, for a tuple of texts
    where : the table is, for the lines
    """
    fitting: dict[str, object] = {}
    wrong: list[str] = []
    for key, value in values.items():
        if key not in types:
            wrong.append(f"{where}, key {key!r}: is unknown; the keys are {', '.join(types)}.")
            continue
        known = _as_tuple(value) if get_origin(types[key]) is tuple else value
        if fits(known, types[key]):
            fitting[key] = known
        else:
            wrong.append(f"{where}, key {key!r}: {value!r} is not of its type ({_in_words(types[key])}); correct it.")
    return fitting, wrong


def fits(value: object, kind: object) -> bool:
    """Whether a value is of a type, as `typing.get_type_hints` gives it."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in arguments)
    if origin is Literal:
        return value in arguments
    if origin is tuple or (isinstance(origin, type) and issubclass(origin, Sequence)):
        return isinstance(value, list | tuple) and all(fits(item, arguments[0]) for item in value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, dict) and all(fits(item, arguments[1]) for item in value.values())
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    # In Python true is also a whole number; here it is not.
    return kind is object or (
        isinstance(kind, type) and isinstance(value, kind) and (kind is bool) == isinstance(value, bool)
    )


def _as_tuple(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return tuple(value) if isinstance(value, list) else value


def _in_words(kind: object) -> str:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(_in_words(one) for one in arguments if one is not NoneType)
    if origin is Literal:
        return " or ".join(f'"{one}"' for one in arguments)
    if origin is not None:
        return "a list" if issubclass(origin, Sequence) else "a table"
    names: Mapping[object, str] = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
    return names.get(kind, str(kind))
