"""`mrb construct`: the steps that make a benchmark of images with questions, one file a step.

The file of a step defines a function `command`, which is the command of the file's name; like the other commands it
imports what it needs when it runs.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import typer

app = typer.Typer(
    help="From images with questions to an annotated benchmark: one step after another, all in one work folder.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for _step in ("start", "filter", "screen", "respond", "pair", "release", "status"):
    if find_spec(f"{__name__}.{_step}") is not None:
        app.command(_step)(import_module(f"{__name__}.{_step}").command)
