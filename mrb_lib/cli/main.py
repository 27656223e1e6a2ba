"""The entry point: collects the commands, and turns errors into one plain message and an exit code."""

from __future__ import annotations

import sys

import typer

from mrb_lib.cli import (
    adjudications,
    analyze,
    annotate,
    check,
    construct,
    demo,
    doctor,
    export,
    import_,
    judge,
    judges,
    lab,
    merge,
    pull,
    report,
    review,
    split,
    train,
)
from mrb_lib.cli.formats import ExportCommand, ImportCommand
from mrb_lib.cli.listing import line
from mrb_lib.errors import MrbError

_INTERRUPTED = 130  # what Typer makes of Ctrl-C

app = typer.Typer(
    name="mrb",
    help="Can this model be trusted to judge medical multimodal answers the way clinicians do?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("demo")(demo.demo)
app.command("import", cls=ImportCommand)(import_.import_)
app.command("pull")(pull.pull)
app.command("check")(check.check)
app.command("merge")(merge.merge)
app.command("split")(split.split)
app.command("judges", cls=judges.EnginesCommand)(judges.judges)
app.command("judge", cls=judges.EnginesCommand)(judge.judge)
app.add_typer(construct.app, name="construct")
app.command("train")(train.train)
app.command("doctor")(doctor.doctor)
app.command("analyze", cls=analyze.AnalyzeCommand)(analyze.analyze)
app.command("report")(report.report)
app.command("lab")(lab.lab)
app.command("review")(review.review)
app.command("export", cls=ExportCommand)(export.export)
app.command("annotate")(annotate.annotate)
app.add_typer(adjudications.app, name="adjudications")


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


def main() -> None:
    """Run the command line; exits with 0 done, 1 failed, 2 bad input or usage."""
    try:
        app()
    except SystemExit as stop:
        if stop.code != _INTERRUPTED:
            raise
        print("mrb: interrupted; nothing is half-written, so run the same command again.", file=sys.stderr)
        sys.exit(1)
    except MrbError as error:
        print(*map(line, f"mrb: {error}".split("\n")), sep="\n", file=sys.stderr)
        sys.exit(error.exit_code)
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        print(
            f"mrb: {where}cannot be read or written ({error.strerror}); check the disk and its permissions.",
            file=sys.stderr,
        )
        sys.exit(1)


if __name__ == "__main__":
    main()
