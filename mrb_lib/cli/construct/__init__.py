"""`mrb construct`: the steps that make a benchmark of images with questions, one file a step.

The file of a step defines a function `command`, which is the command of the file's name, and may define its class
`Command`; like the other commands it imports what it needs when it runs.
"""

from __future__ import annotations

from importlib import import_module

import typer

from mrb_lib.cli.options import Command, Group

app = typer.Typer(
    cls=Group,
    help="From images with questions to an annotated benchmark: one step after another, all in one work folder.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for _step in ("start", "filter", "screen", "respond", "pair", "release", "status"):
    _module = import_module(f"{__name__}.{_step}")
    app.command(_step, cls=getattr(_module, "Command", Command))(_module.command)
