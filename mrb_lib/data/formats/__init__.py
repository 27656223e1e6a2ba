"""One file a format: `read(src)` gives tables, `write(benchmark, verdicts, out)` writes them.

A format is added by one module with a `read` (and, where it can be written, a
`write`) and one line in the tables below. Modules are imported when first used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

from mrb_lib.errors import InputError

if TYPE_CHECKING:
    from mrb_lib.data.formats.base import Imported
    from mrb_lib.validation import Finding

READERS: dict[str, str] = {
    name: f"mrb_lib.data.formats.{name}"
    for name in ("official", "table", "pandalm", "judgebench", "llmbar", "llmfao", "kqa")
}
WRITERS: dict[str, str] = {name: f"mrb_lib.data.formats.{name}" for name in ("official", "table")}


def reader(name: str) -> Callable[..., Imported]:
    """The `read(src, **options)` of a format.

    Raises
    ------
    InputError
        No format of this name can be read; names those that can.
    """
    return cast("Callable[..., Imported]", _function(name, READERS, "read"))


def writer(name: str) -> Callable[..., list[Finding]]:
    """The `write(benchmark, verdicts, out, **options)` of a format; it returns what the format could not hold.

    Raises
    ------
    InputError
        No format of this name can be written; names those that can.
    """
    return cast("Callable[..., list[Finding]]", _function(name, WRITERS, "write"))


def _function(name: str, table: Mapping[str, str], function: str) -> object:
    if name not in table:
        raise InputError(f"format {name!r}: is unknown here; use one of {', '.join(table)}.")
    return getattr(import_module(table[name]), function)
