"""Options of commands, each stated once: the field of a dataclass with its type, range, default and help.

The command line (`mrb_lib.cli.options`), plan files (`mrb_lib.judges.plan_file`) and the checks follow from the fields.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, TypeVar, cast, dataclass_transform, get_args, get_type_hints

import pydantic.dataclasses
from pydantic import BeforeValidator, ConfigDict, Strict, ValidationError

from mrb_lib.tables.errors import InputError

T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """Marks a field that users may set: `limit: Annotated[int, Option("Judge only the first N cases.")]`.

    Attributes
    ----------
    help : an imperative sentence
    metavar : stands for the value in the help; empty for the type's own
    flag : name on the command line, without dashes; empty for the field's name
    is_rare : listed by `--help-all` only
    is_file : in a plan file, a path may start from the folder of the plan
    variable : of the environment, from which the command line takes the value otherwise; empty for none
    """

    help: str
    metavar: str = ""
    flag: str = ""
    is_rare: bool = False
    is_file: bool = False
    variable: str = ""


class DeclaredOption(NamedTuple):
    """An option as its class declares it; `kind` is the type of its field without `Annotated`."""

    name: str
    kind: Any
    default: object
    option: Option

    @property
    def flag(self) -> str:
        """Return its name on the command line."""
        return f"--{self.option.flag or self.name.replace('_', '-')}"


class OptionError(InputError):
    """Values of options are wrong: `problems` by the name of the option, each beginning with the value."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name} {text}" for name, text in problems.items()))
        self.problems = problems


def _split_names(value: object) -> object:
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list) and all(isinstance(text, str) for text in value):
        return tuple(name.strip() for text in value for name in text.split(",") if name.strip())
    return value


def _as_several(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _as_paths(value: object) -> object:
    several = _as_several(value)
    if isinstance(several, list | tuple):
        return [Path(one) if isinstance(one, str) else one for one in several]
    return value


Names = Annotated[tuple[str, ...], BeforeValidator(_split_names)]
"""Several names: a list, or text with commas."""
Texts = Annotated[tuple[str, ...], Strict(False), BeforeValidator(_as_several)]
"""Several texts, which may contain commas: a list, or one text."""
Paths = Annotated[tuple[Path, ...], Strict(False), BeforeValidator(_as_paths)]
"""Several paths, which may contain commas: a list, or one path."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def checked_dataclass(cls: type[T]) -> type[T]:
    """Make a class a frozen dataclass that raises `OptionError` where a field is of another type or out of range."""
    made = cast("type[T]", pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(strict=True))(cls))
    validate = made.__init__

    @wraps(validate)
    def checked_init(self: T, *args: object, **values: object) -> None:
        try:
            validate(self, *args, **values)
        except ValidationError as error:
            problems: dict[str, str] = {}
            for one in error.errors():
                problems.setdefault(str(one["loc"][0]), f"{one['input']!r}: {in_plain_words(one['msg'])}.")
            raise OptionError(problems) from None

    made.__init__ = checked_init  # type: ignore[assignment, method-assign]
    return made


_WORDS: Final = {
    "Input should be": "must be",
    "Field required": "is missing",
    "String should match pattern '\\S'": "must not be blank",
    "String should": "must",
    "List should": "List must",
    " after validation": "",
    "an object": "a table",
    "a valid array": "a list",
    ", unable to parse string as an integer": "",
    ", unable to parse string as a number": "",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
    "greater than": "more than",
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "a valid string": "text",
    "a valid boolean": "true or false",
    "a valid tuple": "a list",
    "a valid dictionary": "a table",
    "a valid mapping": "a table",
}
"""Words of pydantic, and what users read in their place."""


def in_plain_words(text: str) -> str:
    """Return a message of pydantic in words for users."""
    for theirs, ours in _WORDS.items():
        text = text.replace(theirs, ours)
    return text


def options_of(base: object, without: Collection[str] = ()) -> dict[str, DeclaredOption]:
    """Return the options of a dataclass by name, its own before those of the dataclasses that its fields hold.

    Parameters
    ----------
    base : its values are the defaults
    without : names to leave out
    """
    own: dict[str, DeclaredOption] = {}
    held: dict[str, DeclaredOption] = {}
    hints = get_type_hints(type(base), include_extras=True)
    for one in fields(cast("Any", base)):
        hint, value = hints[one.name], getattr(base, one.name)
        if is_dataclass(value):
            held |= options_of(value, without)
        for mark in getattr(hint, "__metadata__", ()):
            if isinstance(mark, Option) and one.name not in without:
                own[one.name] = DeclaredOption(one.name, get_args(hint)[0], value, mark)
    return own | {name: option for name, option in held.items() if name not in own}


def changed(base: T, values: Mapping[str, object]) -> T:
    """Return a dataclass with other values of its options, or of those of the dataclasses that its fields hold.

    Raises
    ------
    OptionError
        Values of one of these dataclasses are of the wrong type or out of range; all of its own are named.
    """
    own: dict[str, object] = {}
    for one in fields(cast("Any", base)):
        part = getattr(base, one.name)
        if one.name in values:
            own[one.name] = values[one.name]
        elif is_dataclass(part):
            own[one.name] = changed(part, values)
    return cast("T", replace(cast("Any", base), **own))
