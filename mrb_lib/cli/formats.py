"""Commands whose options come from the registered formats: those a format declares, gathered when they are needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any

import typer

from mrb_lib.benchmarks.formats.base import READERS, WRITERS, Format, Read, Write
from mrb_lib.cli.options import DeclaredCommand
from mrb_lib.tables.errors import InputError

if TYPE_CHECKING:
    from typer._click.core import Context  # the copy of click that Typer's classes use
    from typer._click.formatting import HelpFormatter


def declared_options(function: Read | Write) -> dict[str, Parameter]:
    """The options that a reader or writer declares: its keyword-only parameters, by name."""
    parameters = signature(function, eval_str=True).parameters
    return {name: one for name, one in parameters.items() if one.kind is Parameter.KEYWORD_ONLY}


class _FormatCommand(DeclaredCommand, ABC):
    """A command with the options of its formats."""

    @property
    @abstractmethod
    def formats(self) -> Mapping[str, Format[Any]]:
        """The formats that the command offers, by name."""

    @property
    def declared(self) -> Iterable[Parameter]:
        """See `DeclaredCommand`."""

        found: dict[str, Parameter] = {}
        helps: dict[str, list[str]] = {}
        for format_, entry in self.formats.items():
            for name, option in declared_options(entry.convert).items():
                found.setdefault(name, option)
                about = next(iter(getattr(option.annotation, "__metadata__", ())), name.replace("_", " "))
                helps.setdefault(name, []).append(f"{format_}: {about}.")
        return [_as_option(one, " ".join(helps[name])) for name, one in found.items()]

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the formats."""
        with formatter.section("Formats"):
            formatter.write_dl([(name, entry.about) for name, entry in self.formats.items()])


class ImportCommand(_FormatCommand):
    """`mrb import`, with the options of all readers."""

    @property
    def formats(self) -> Mapping[str, Format[Any]]:
        return READERS


class ExportCommand(_FormatCommand):
    """`mrb export`, with the options of all writers."""

    @property
    def formats(self) -> Mapping[str, Format[Any]]:
        return WRITERS


def chosen_options(command: str, format_: str, function: Read | Write, values: Mapping[str, Any]) -> dict[str, Any]:
    """The options that the user gave, as keywords of a format's function.

    Parameters
    ----------
    values : that the user gave, as `DeclaredCommand` leaves them in `ctx.obj`

    Raises
    ------
    InputError
        An option was given that only other formats have.
    """
    for name in values.keys() - declared_options(function).keys():
        raise InputError(f"{_flag(name)}: {command} {format_} has no such option; leave it out.")
    return dict(values)


def _flag(name: str) -> str:
    return f"--{name.rstrip('_').replace('_', '-')}"


def _as_option(option: Parameter, text: str) -> Parameter:
    """A format's option as Typer reads it; absent unless given, so that the function's own default holds."""
    plain = getattr(option.annotation, "__origin__", option.annotation)
    if plain is bool:
        return option.replace(annotation=bool, default=typer.Option(False, _flag(option.name), help=text))
    return option.replace(annotation=plain | None, default=typer.Option(None, _flag(option.name), help=text))
