"""Commands whose options come from the registered formats: those a format declares, gathered when they are needed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from mrb_lib.tables.errors import InputError

if TYPE_CHECKING:
    from typer._click import Parameter as CommandParameter  # the copy of click that Typer's classes use
    from typer._click.core import Context
    from typer._click.formatting import HelpFormatter

    from mrb_lib.benchmarks.formats.base import Format, Read, Write


class _FormatCommand(TyperCommand, ABC):
    """A command with the options of its formats; loads them when it runs or shows its own help, not for `mrb --help`.

    Typer knows nothing of these options: their values are handed to the command in `ctx.obj`.
    """

    @property
    @abstractmethod
    def formats(self) -> Mapping[str, Format[Any]]:
        """The formats that the command offers, by name."""

    def get_params(self, ctx: Context) -> list[CommandParameter]:
        *params, help_option = super().get_params(ctx)
        return [*params, *self._format_params(), help_option]

    def invoke(self, ctx: Context) -> Any:
        ctx.obj = {param.name: ctx.params.pop(param.name) for param in self._format_params()}
        return super().invoke(ctx)

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        with formatter.section("Formats"):
            formatter.write_dl([(name, entry.about) for name, entry in self.formats.items()])

    def _format_params(self) -> list[CommandParameter]:
        from mrb_lib.benchmarks.formats.base import declared_options

        parameters: dict[str, Parameter] = {}
        helps: dict[str, list[str]] = {}
        for format_, entry in self.formats.items():
            for name, option in declared_options(entry.convert).items():
                parameters.setdefault(name, option)
                about = next(iter(getattr(option.annotation, "__metadata__", ())), name.replace("_", " "))
                helps.setdefault(name, []).append(f"{format_}: {about}.")
        options = Signature([_as_option(one, " ".join(helps[name])) for name, one in parameters.items()])
        app = typer.Typer(add_completion=False)
        app.command()(_with_signature(options))
        return list(get_command(app).params)


class ImportCommand(_FormatCommand):
    """`mrb import`, with the options of all readers."""

    @property
    def formats(self) -> Mapping[str, Format[Any]]:
        from mrb_lib.benchmarks.formats.base import READERS

        return READERS


class ExportCommand(_FormatCommand):
    """`mrb export`, with the options of all writers."""

    @property
    def formats(self) -> Mapping[str, Format[Any]]:
        from mrb_lib.benchmarks.formats.base import WRITERS

        return WRITERS


def chosen_options(command: str, format_: str, function: Read | Write, values: Mapping[str, Any]) -> dict[str, Any]:
    """The options that the user gave, as keywords of a format's function.

    Parameters
    ----------
    values : of the options of all formats, as `_FormatCommand` leaves them in `ctx.obj`

    Raises
    ------
    InputError
        An option was given that only other formats have.
    """
    from mrb_lib.benchmarks.formats.base import declared_options

    own = declared_options(function)
    chosen = {name: value for name, value in values.items() if value not in (None, False, [], ())}
    for name in chosen.keys() - own.keys():
        raise InputError(f"{_flag(name)}: {command} {format_} has no such option; leave it out.")
    return chosen


def _flag(name: str) -> str:
    return f"--{name.rstrip('_').replace('_', '-')}"


def _as_option(option: Parameter, text: str) -> Parameter:
    """A format's option as Typer reads it; absent unless given, so that the function's own default holds."""
    plain = getattr(option.annotation, "__origin__", option.annotation)
    if plain is bool:
        return option.replace(annotation=bool, default=typer.Option(False, _flag(option.name), help=text))
    return option.replace(annotation=plain | None, default=typer.Option(None, _flag(option.name), help=text))


def _with_signature(signature: Signature) -> Any:
    def options() -> None:
        """Holds a signature for Typer to read."""

    options.__signature__ = signature  # type: ignore[attr-defined]  # what `inspect.signature` looks at first
    options.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
    return options
