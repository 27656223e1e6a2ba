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
from mrb_lib.cli.options import AppCommand, Command, Group

app = typer.Typer(
    name="mrb",
    cls=Group,
    help="Can this model be trusted to judge medical multimodal answers the way clinicians do?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo", cls=Command)(demo.demo)
app.command("import", cls=ImportCommand)(import_.import_)
app.command("pull", cls=Command)(pull.pull)
app.command("check", cls=Command)(check.check)
app.command("merge", cls=Command)(merge.merge)
app.command("split", cls=Command)(split.split)
app.command("judges", cls=judges.EnginesCommand)(judges.judges)
app.add_typer(probes.app, name="probes")
app.command("judge", cls=judge.JudgeCommand)(judge.judge)
app.add_typer(construct.app, name="construct")
app.command("train", cls=train.TrainCommand)(train.train)
app.command("doctor", cls=Command)(doctor.doctor)
app.command("analyze", cls=analyze.AnalyzeCommand)(analyze.analyze)
app.command("report", cls=Command)(report.report)
app.command("lab", cls=lab.LabCommand)(lab.lab)
app.command("review", cls=AppCommand)(review.review)
app.command("export", cls=ExportCommand)(export.export)
app.command("annotate", cls=AppCommand)(annotate.annotate)
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
