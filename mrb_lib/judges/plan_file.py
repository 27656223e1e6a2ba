"""Plans: TOML files of tables with a name each, whose keys are the options of a dataclass."""

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from mrb_lib.tables.errors import InputError, nearest
from mrb_lib.tables.options import OptionError, changed, options_of

T = TypeVar("T")
Table = dict[str, Any]


def read_plan(file: Path, kind: str, what: str = "plan") -> tuple[Table, list[Table]]:
    """Return the table `[common]` of a TOML file, empty where there is none, and its tables `[[kind]]`, at least one.

    Parameters
    ----------
    what : such a file in a word, for messages

    Raises
    ------
    InputError
        The file cannot be read, or contains something else.
    """
    try:
        tables: Table = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: cannot be read as a {what} ({error}); name a TOML file.") from error
    shared, listed = tables.pop("common", {}), tables.pop(kind, None)
    is_list = isinstance(listed, list) and listed and all(isinstance(table, dict) for table in listed)
    if tables or not isinstance(shared, dict) or not is_list:
        wrong = f"the key {next(iter(tables))!r} is unknown" if tables else f"it has no [[{kind}]]"
        raise InputError(
            f"{file}: {wrong}; a {what} is a list of tables [[{kind}]], after one [common] for all or none."
        )
    return shared, listed


def changed_by_table(
    base: T, table: Mapping[str, object], where: str, folder: Path, without: Collection[str] = ()
) -> tuple[T, list[str]]:
    """Return a dataclass with the values of a table, and the problems, one line each; with problems it is `base`.

    Parameters
    ----------
    where : begins each line
    folder : of the plan, from which the paths of files may start
    without : options that no table may set
    """
    known = options_of(base, without)
    wrong = [
        f"{where}, key {key!r}: is unknown.{nearest(key, known) or ' A key is an option, see --help-all.'}"
        for key in table
        if key not in known
    ]
    values = {
        key: _in_folder(value, folder) if known[key].option.is_file else value
        for key, value in table.items()
        if key in known
    }
    try:
        return changed(base, values), wrong
    except OptionError as error:
        return base, wrong + [f"{where}, {key} {text}" for key, text in error.problems.items()]
    except InputError as error:
        return base, [*wrong, f"{where}: {error}"]


def _in_folder(value: object, folder: Path) -> object:
    """Return a path, or each of several, as one of a file in the folder where there is such a file."""
    if isinstance(value, list):
        return [_in_folder(one, folder) for one in value]
    return str(folder / value) if isinstance(value, str) and (folder / value).is_file() else value
