"""Make a benchmark of images with questions: one step after another, all in one work folder.

The file of a step defines a function `command`, and may name the command's class as `COMMAND`.
"""

import typer

from mrb_lib.cli.options import Commands


class _Steps(Commands):
    package = "mrb_lib.cli.construct"
    names = ("start", "filter", "screen", "respond", "pair", "release", "status")


app = typer.Typer(
    cls=_Steps,
    help=__doc__.partition("\n")[0],
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback()
def _steps() -> None:
    pass
