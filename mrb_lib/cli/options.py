"""Options that several commands have, and commands whose options are stated elsewhere, as fields of a dataclass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from inspect import Parameter, Signature
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from mrb_lib.tables.errors import InputError

if TYPE_CHECKING:
    from typer._click import Parameter as CommandParameter  # the copy of click that Typer's classes use
    from typer._click.core import Context
    from typer._click.formatting import HelpFormatter

    from mrb_lib.tables.options import DeclaredOption

T = TypeVar("T")
_WHOLE = 1000
"""Letters of a summary in a list of commands: all of them."""

Rosters = Annotated[
    list[Path] | None,
    typer.Option("--roster", metavar="FILE", envvar="MRB_ROSTER", help="Add judges from a TOML file; repeatable."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
Seed = Annotated[int, typer.Option(min=0, help="Set the seed of everything drawn at random.")]


class Group(TyperGroup):
    """A group of commands that lists its commands with their whole summaries."""

    def get_short_help_str(self, limit: int = _WHOLE) -> str:
        """Return the whole summary."""
        return super().get_short_help_str(_WHOLE)


class Command(TyperCommand):
    """A command with `--help-all` for rare options, and one line about a value that cannot be read."""

    def get_short_help_str(self, limit: int = _WHOLE) -> str:
        """Return the whole summary."""
        return super().get_short_help_str(_WHOLE)

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Read the command line; a wrong value is an `InputError`."""
        if "--help-all" in args:
            for option in self._rare(ctx):
                option.hidden = False
            args = ["--help"]
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            text = error.format_message().rstrip(".")
            raise InputError(f"{text}; see `{ctx.command_path} --help`.") from error

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write what comes after the options: how many of them are hidden."""
        if rare := self._rare(ctx):
            formatter.write_paragraph()
            formatter.write_text(f"--help-all lists {len(rare)} more options, which few need.")
        super().format_epilog(ctx, formatter)

    def _rare(self, ctx: Context) -> list[TyperOption]:
        return [param for param in self.get_params(ctx) if isinstance(param, TyperOption) and param.hidden]


class DeclaredCommand(Command, ABC):
    """A command with options that are declared elsewhere, gathered when it runs or shows its help.

    Typer does not know these options: `ctx.obj` has the values that the user gave, by name.
    """

    @property
    @abstractmethod
    def declared(self) -> Iterable[Parameter]:
        """The options, as parameters of a function that Typer reads."""

    @cached_property
    def declared_params(self) -> list[CommandParameter]:
        """The options, as Typer makes them."""

        def options() -> None:
            """Hold a signature for Typer to read."""

        signature = Signature(list(self.declared))
        options.__signature__ = signature  # type: ignore[attr-defined]  # what `inspect.signature` looks at first
        options.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
        app = typer.Typer(add_completion=False)
        app.command()(options)
        return list(get_command(app).params)

    def get_params(self, ctx: Context) -> list[CommandParameter]:
        """Return all options, the declared ones last but for `--help`."""
        *params, help_option = super().get_params(ctx)
        return [*params, *self.declared_params, help_option]

    def invoke(self, ctx: Context) -> Any:
        """Run the command, with the values that the user gave in `ctx.obj`."""
        values = {str(param.name): ctx.params.pop(str(param.name)) for param in self.declared_params}
        ctx.obj = {name: value for name, value in values.items() if is_given(ctx, name)}
        return super().invoke(ctx)


def is_given(ctx: typer.Context | Context, option: str) -> bool:
    """Return whether the user set an option, on the command line or in the environment."""
    source = ctx.get_parameter_source(option)
    return source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT")


def parameters(options: Iterable[DeclaredOption]) -> list[Parameter]:
    """Return options as parameters of a function that Typer reads; a table has its place in files only."""
    return [
        Parameter(one.name, Parameter.KEYWORD_ONLY, default=_default(one), annotation=_read(one))
        for one in options
        if not isinstance(one.default, Mapping)
    ]


def _default(declared: DeclaredOption) -> object:
    return list(declared.default) if isinstance(declared.default, tuple) else declared.default


def _read(declared: DeclaredOption) -> object:
    """Return the annotation by which Typer reads an option; its field checks the value later."""
    option, kind = declared.option, declared.kind
    if NoneType in get_args(kind):
        kind = next(one for one in get_args(kind) if one is not NoneType)
        kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    flag, metavar = declared.flag, option.metavar or None
    if kind is bool and declared.default is True:
        flag += f"/--no-{flag.removeprefix('--')}"
    if get_origin(kind) is Literal:
        metavar = "|".join(map(str, get_args(kind)))
        kind = type(get_args(kind)[0])
    if get_origin(kind) is tuple:
        kind = list[str]
    details = typer.Option(
        flag, help=option.help, metavar=metavar, hidden=option.is_rare, show_default=kind is not bool
    )
    return Annotated[kind | None if declared.default is None else kind, details]


def changed_by_user(base: T, values: Mapping[str, object]) -> T:
    """Return a dataclass with the values that a user gave; a problem names the option by its flag."""
    from mrb_lib.tables.options import OptionError, changed, options_of

    known = options_of(base)
    try:
        return changed(base, values)
    except OptionError as error:
        raise InputError("\n".join(f"{known[name].flag} {text}" for name, text in error.problems.items())) from None
