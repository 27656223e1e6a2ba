"""Presets on the command line: which options the user has set, and what the preset sets besides."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from mrb_lib.report.presets import Command


def chosen(name: str, command: Command, context: typer.Context, also: Collection[str] = ()) -> dict[str, Any]:
    """The options that a preset sets and the user has not; says both on stderr.

    Parameters
    ----------
    also : options that the user set in another way, as by `-p policy=balanced`
    """
    from mrb_lib.report.presets import preset

    own = preset(name)
    given = {option for option in context.params if _is_given(context, option)}
    options, said = own.options(command, {*given, *also})
    typer.echo(said, err=True)
    return options


def _is_given(context: typer.Context, option: str) -> bool:
    source = context.get_parameter_source(option)
    return source is not None and source.name in ("COMMANDLINE", "ENVIRONMENT")
