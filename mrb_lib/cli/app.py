"""The command line: collects the commands."""

import typer

from mrb_lib.cli.options import Commands


class _Mrb(Commands):
    package = "mrb_lib.cli"
    names = (
        "demo", "import", "pull", "check", "merge", "split", "judges", "probes", "judge", "construct", "train",
        "doctor", "analyze", "report", "lab", "review", "export", "annotate", "adjudications",
    )  # fmt: skip


app = typer.Typer(
    name="mrb",
    cls=_Mrb,
    help="Can this model be trusted to judge medical multimodal answers the way clinicians do?",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show: bool) -> None:
    if show:
        from mrb_lib import __version__

        typer.echo(f"mrb {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    pass
