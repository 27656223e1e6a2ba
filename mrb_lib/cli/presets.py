"""Presets: named sets of options of commands; what the user sets takes precedence, and both are printed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, Literal

import typer

from mrb_lib.stats.options import check_choice

Command = Literal["report", "judge"]
PRESETS: Final[Mapping[str, Mapping[Command, Mapping[str, object]]]] = {
    "paper": {
        "report": {"policy": "official", "only": ["paper"]},
        "judge": {"orders": "AB", "prompt": "official-form", "temperature": 0.1},
    },
}
"""Options of each command by the name of the preset: "paper" is what a benchmark paper prints."""


def chosen(name: str, command: Command, given: Collection[str]) -> dict[str, object]:
    """Return the options that a preset sets and the user has not; both are printed on stderr.

    Parameters
    ----------
    given : options that the user set

    Raises
    ------
    InputError
        There is no preset of that name.
    """
    check_choice("preset", name, [*PRESETS])
    words = {
        option: f"{option} {', '.join(value) if isinstance(value, list) else value}"
        for option, value in PRESETS[name][command].items()
    }
    told = [f"preset {name}: {', '.join(words[one] for one in words if one not in given) or 'nothing is left to it'}"]
    told += [f"you set {one}, which goes before its {words[one]}" for one in words if one in given]
    typer.echo("; ".join(told), err=True)
    return {option: value for option, value in PRESETS[name][command].items() if option not in given}
