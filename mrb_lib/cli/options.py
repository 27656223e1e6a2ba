"""Options that several commands have, and commands whose options are stated elsewhere, as fields of a dataclass."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from inspect import Parameter, Signature
from keyword import iskeyword
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import REVIEWS

if TYPE_CHECKING:
    from typer._click import Parameter as CommandParameter  # the copy of click that Typer's classes use
    from typer._click.core import Command as AnyCommand
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


def embedded(bench: Path) -> Path:
    """Return the folder of an embedded benchmark where that is named and no folder has its name."""
    if str(bench) not in ("demo", "demo-ratings") or bench.is_dir():
        return bench
    from mrb_lib.report.places import locate

    return locate(str(bench)).benchmark


_BENCH: dict[str, Any] = {"metavar": "BENCH", "help": "The benchmark folder, or demo for the embedded benchmark."}
Bench = Annotated[Path, typer.Argument(callback=embedded, **_BENCH)]
LateBench = Annotated[Path, typer.Argument(**_BENCH)]
"""For a command that checks its options before it makes the embedded benchmark, by `embedded`."""
Runs = Annotated[Path | None, typer.Argument(metavar="[RUNS]", help="The runs; default: BENCH/runs.")]
WorkFolder = Annotated[Path, typer.Argument(metavar="WORK", help="The work folder.")]
Store = Annotated[
    str | None,
    typer.Option(
        metavar="PATH|URL",
        envvar="MRB_STORE",
        help=f"Keep reviews and annotations here, such as postgresql://user@host/name; default: BENCH/{REVIEWS}.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
Seed = Annotated[int, typer.Option(min=0, help="Set the seed of everything drawn at random.")]


def where(bench: Path, store: str | None) -> str | Path:
    """Return the store to use: the one named, or the benchmark's own file."""
    return store or bench / REVIEWS


class Commands(TyperGroup):
    """Commands in files of their own, of which only the one that runs is imported.

    The file of a command defines a function with its name, or `command`, and may name its class as `COMMAND`; that of
    a group of commands defines `app`.

    Attributes
    ----------
    package : of the files
    names : of the commands, in order
    """

    package: ClassVar[str]
    names: ClassVar[tuple[str, ...]]

    def list_commands(self, ctx: Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.names)

    def get_command(self, ctx: Context, cmd_name: str) -> AnyCommand | None:
        """Return a command by its name; None where there is none."""
        if cmd_name in self.names and cmd_name not in self.commands:
            module = import_module(self._module(cmd_name))
            app = getattr(module, "app", None) or typer.Typer(add_completion=False, rich_markup_mode=None)
            if not hasattr(module, "app"):
                function = getattr(module, "command", None) or getattr(module, _file(cmd_name))
                app.command(cmd_name, cls=getattr(module, "COMMAND", Command))(function)
            self.commands[cmd_name] = get_command(app)
            self.commands[cmd_name].name = cmd_name
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the names and the whole summaries of the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._summary(name)) for name in self.names])

    def _module(self, name: str) -> str:
        return f"{self.package}.{_file(name)}"

    def _summary(self, name: str) -> str:
        """Return the first sentence of the docstring of a command, or of its file, which is not imported for that."""
        spec = find_spec(self._module(name))
        tree = ast.parse(Path(str(spec and spec.origin)).read_text(encoding="utf-8"))
        functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
        command = next((one for one in functions if one.name in ("command", _file(name))), tree)
        first, _, _ = (ast.get_docstring(command) or "").partition("\n\n")
        return " ".join(first.split()).partition(". ")[0].rstrip(".") + "."


def _file(name: str) -> str:
    return f"{name}_" if iskeyword(name) else name


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
            from mrb_lib.tables.options import in_plain_words

            text = in_plain_words(error.format_message()).rstrip(".")
            raise InputError(f"{text}; see `{ctx.command_path} --help`.") from error

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write what comes after the options: how many of them are hidden."""
        if rare := self._rare(ctx):
            formatter.write_paragraph()
            formatter.write_text(f"--help-all lists {len(rare)} more options, which few need.")
        super().format_epilog(ctx, formatter)

    def _rare(self, ctx: Context) -> list[TyperOption]:
        return [param for param in self.get_params(ctx) if isinstance(param, TyperOption) and param.hidden]


class DeclaredCommand(Command):
    """A command with options that are declared elsewhere, gathered when it runs or shows its help.

    Typer does not know these options: `ctx.obj` has the values that the user gave, by name, for `options_from`.
    """

    @property
    def declared(self) -> Iterable[Parameter]:
        """The options, as parameters of a function that Typer reads."""
        raise NotImplementedError(f"{type(self).__name__} states no options; define `declared`")

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


def declares(*bases: object, only: Collection[str] = (), without: Collection[str] = ()) -> type[DeclaredCommand]:
    """Return the class of a command whose options are the fields of dataclasses, with their values as defaults.

    Parameters
    ----------
    only : of the last dataclass, the options that the command has; none named means all
    without : options that the command does not have
    """
    from mrb_lib.tables.options import options_of

    class Declaring(DeclaredCommand):
        @property
        def declared(self) -> Iterable[Parameter]:
            for base in bases:
                known = options_of(base, without)
                chosen = only if only and base is bases[-1] else known
                yield from parameters(known[name] for name in chosen)

    return Declaring


def check_at_most_one(context: typer.Context, *names: str) -> None:
    """Raise `InputError` if a user gave more than one of these options of a `DeclaredCommand`."""
    flags = [f"--{name.replace('_', '-')}" for name in names if context.obj.get(name)]
    if len(flags) > 1:
        raise InputError(f"{' and '.join(flags)}: choose one.")


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
    if kind is bool and declared.default is not False:
        flag += f"/--no-{flag.removeprefix('--')}"
    if get_origin(kind) is Literal:
        metavar = "|".join(map(str, get_args(kind)))
        kind = type(get_args(kind)[0])
    if get_origin(kind) is tuple:
        kind = list[get_args(kind)[0]]  # type: ignore[misc]  # Typer reads it
    details = typer.Option(
        flag,
        help=option.help,
        metavar=metavar,
        hidden=option.is_rare,
        envvar=option.variable or None,
        show_default=kind is not bool and declared.default != "",
    )
    return Annotated[kind | None if declared.default is None else kind, details]


def options_from(base: T, context: typer.Context, only: Collection[str] = ()) -> T:
    """Return a dataclass with the values that the user gave to a `DeclaredCommand`; a problem names its flag.

    Parameters
    ----------
    only : the options to set; none named means all
    """
    from mrb_lib.tables.options import OptionError, changed, options_of

    known = options_of(base)
    values = {name: value for name, value in context.obj.items() if not only or name in only}
    try:
        return changed(base, values)
    except OptionError as error:
        raise InputError("\n".join(f"{known[name].flag} {text}" for name, text in error.problems.items())) from None
