"""The registry of layouts, the items that they make of a source, and readers of the fields of a row."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any, Final

import numpy as np

from mrb_lib.benchmarks.formats import SourceRow
from mrb_lib.benchmarks.formats.sources import listed
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import inside
from mrb_lib.tables.registry import Registry


@dataclass(frozen=True)
class SourceImage:
    """An image of a source: a file, or bytes that a table holds.

    Attributes
    ----------
    name : what the source calls it; it names the image in messages and in `source`, and never builds a path
    path : None where `content` holds the bytes, or where the name leads out of the source's folder
    """

    name: str
    path: Path | None = None
    content: bytes | None = None

    def read(self) -> bytes:
        """The bytes; `FileNotFoundError` where there are none."""
        if self.content is not None:
            return self.content
        if self.path is None or not self.path.is_file():
            raise FileNotFoundError(self.name)
        return self.path.read_bytes()


@dataclass(frozen=True)
class SourceItem:
    """A question of a source with its images, before anything of it is checked.

    Attributes
    ----------
    location : the file and row it was read from, relative to the source
    item_id : what the source calls it; None where it has no id
    choices : the options of a multiple-choice question, in order; None for an open one
    about : columns of the items that the source states (`mrb_lib.build.construct.tables.ABOUT`), and `body_part`
    """

    location: str
    images: tuple[SourceImage, ...]
    question: str | None
    reference: str | None = None
    choices: tuple[str, ...] | None = None
    item_id: str | None = None
    about: Mapping[str, str | None] = field(default_factory=dict)


Read = Callable[[Path], Iterator[SourceItem]]


@dataclass(frozen=True)
class Layout:
    """A way in which a source lies on disk.

    Attributes
    ----------
    read : yields the items of a source, one after another
    recognises : whether a source looks like it, from the names of its files
    dataset, licence : of all its items, as the public card of the set states them; None where the source says itself
    """

    name: str
    about: str
    read: Read
    recognises: Callable[[Path], bool]
    dataset: str | None = None
    licence: str | None = None


LAYOUTS: Final[Registry[Layout]] = Registry("layout", "mrb_lib.build.construct.layouts")
FALLBACK: Final = "table"
_MISSING: Final = ("nan", "none", "null")


def layout(name: str, **facts: object) -> Callable[[Read], Read]:
    """Register the decorated function as the reader of a layout; `facts` are the other fields of `Layout`."""

    def register(read: Read) -> Read:
        made: dict[str, Any] = {"read": read, **facts}
        LAYOUTS.add(name, Layout(name, **made))
        return read

    return register


def find_layout(src: Path) -> Layout:
    """The layout that a source is in, by the names of its files; `table` where it is no other's.

    Raises
    ------
    InputError
        There is no such source, or two layouts claim it.
    """
    if not src.exists():
        raise InputError(f"{src}: there is no such file or folder; check the path.")
    claims = [each for each in LAYOUTS.values() if each.name != FALLBACK and each.recognises(src)]
    if len(claims) > 1:
        raise InputError(f"{src}: could be {' or '.join(one.name for one in claims)}; say which with --layout.")
    return claims[0] if claims else LAYOUTS[FALLBACK]


def text_of(row: SourceRow, *names: str, literal: bool = False) -> str | None:
    """Return the first of some fields that holds something, as text; None where none does.

    Parameters
    ----------
    literal : "None", "nan" and "null" are texts, as in an option or an answer; otherwise they are nothing
    """
    texts = (_plain(row.find(name)) for name in names)
    return next((text for text in texts if text and (literal or text.lower() not in _MISSING)), None)


def _plain(value: object) -> str:
    """Return a cell as text, a whole number without its point; "" where it is empty or no cell."""
    if isinstance(value, float):
        value = int(value) if value.is_integer() else "" if isnan(value) else value
    return str(value).strip() if isinstance(value, str | int | float | np.integer) else ""


def texts_of(row: SourceRow, *names: str) -> tuple[str, ...] | None:
    """The first of some fields that holds a list: one, one in JSON, texts by letter, or texts between semicolons."""
    for name in names:
        value = row.find(name)
        if isinstance(value, dict) and all(len(letter) == 1 for letter in value):
            value = [value[letter] for letter in sorted(value)]
        try:
            parts = listed(value)
        except ValueError as error:
            raise row.error(name, f"is not a JSON list ({error})", "write texts between semicolons") from error
        if texts := tuple(text for part in parts if (text := _plain(part))):
            return texts
    return None


def location(row: SourceRow, src: Path) -> str:
    """Where a row was read from, relative to the source, so that no path of this machine is kept."""
    path = Path(row.file)
    return f"{path.relative_to(src).as_posix() if path.is_relative_to(src) else path.name}, {row.location}"


def image_in(folders: Sequence[Path], name: str) -> SourceImage:
    """The image that a source calls so, in the first of some folders that has it.

    A name that leads out of them, by itself or through a link, is the name of no file.
    """
    return SourceImage(name, next(filter(Path.is_file, places(folders, name)), None))


def places(folders: Sequence[Path], name: str) -> Iterator[Path]:
    """Yield where a name is in each folder; none where it leads out of that."""
    for folder in folders:
        with suppress(InputError):
            yield inside(folder, name.replace("\\", "/").removeprefix("./"))
