"""Presets: named sets of options of commands, as data; what the user sets takes precedence, and both are printed."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Literal

import typer

from mrb_lib.stats.options import check_choice

Command = Literal["report", "judge"]
Value = str | float | list[str]


@dataclass(frozen=True)
class Preset:
    """What one name stands for.

    Attributes
    ----------
    about : in a line
    report, judge : options of these commands and their values
    construct : options of the steps of `mrb construct` and of `mrb annotate`, as a shell takes them
    """

    name: str
    about: str
    report: Mapping[str, Value] = field(default_factory=dict)
    judge: Mapping[str, Value] = field(default_factory=dict)
    construct: Mapping[str, str] = field(default_factory=dict)

    def options(self, command: Command, stated: Collection[str]) -> tuple[dict[str, Value], str]:
        """The options that it sets, and a line that says so.

        Parameters
        ----------
        stated : options of the command that the user set, which stay

        Returns
        -------
        The values by option, those stated left out; and what to tell the user.
        """
        own: Mapping[str, Value] = getattr(self, command)
        words = {
            name: f"{name} {', '.join(value) if isinstance(value, list) else value}" for name, value in own.items()
        }
        kept = {name: value for name, value in own.items() if name not in stated}
        said = [f"preset {self.name}: {', '.join(words[name] for name in kept) or 'nothing is left to it'}"]
        said += [f"you set {name}, which goes before its {words[name]}" for name in own if name in stated]
        return kept, "; ".join(said)


def presets() -> dict[str, Preset]:
    """The presets by name."""
    text = resources.files("mrb_lib.cli").joinpath("presets.toml").read_text(encoding="utf-8")
    return {name: Preset(name, **own) for name, own in tomllib.loads(text).items()}


def preset(name: str) -> Preset:
    """The preset of a name.

    Raises
    ------
    InputError
        There is none of that name.
    """
    every = presets()
    check_choice("preset", name, [*every])
    return every[name]


def chosen(name: str, command: Command, given: Collection[str]) -> dict[str, Any]:
    """Return the options that a preset sets and the user has not; both are printed on stderr.

    Parameters
    ----------
    given : options that the user set
    """
    options, said = preset(name).options(command, given)
    typer.echo(said, err=True)
    return options
