"""The command line: collects the commands."""

from __future__ import annotations

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
    probes,
    pull,
    report,
    review,
    split,
    train,
)
from mrb_lib.cli.formats import ExportCommand, ImportCommand

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
app.add_typer(probes.app, name="probes")
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
