"""The options of the steps in which models answer, and the lines about their runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from mrb_lib.build.construct.answers.answering import ModelRun
from mrb_lib.build.construct.answers.pool import FOR_JUDGES
from mrb_lib.cli.listing import line
from mrb_lib.runs.plan import RETRIABLE
from mrb_lib.verdicts.store import totals

PoolFile = Annotated[
    Path | None,
    typer.Option(
        "--plan",
        metavar="FILE",
        help="Add models with different options: a TOML file of tables [[model]], each with a name and any of the "
        "options below as keys.",
    ),
]
Samples = Annotated[int, typer.Option(help="Answers of each model to each item.")]
Retry = Annotated[str, typer.Option(metavar="STATUSES", help="Ask again for answers that are unparsed,refused,error.")]
Again = Annotated[bool, typer.Option("--again", help="Replace the result of other choices; answers are kept.")]


NOT_HERE = ("name", *FOR_JUDGES)


def statuses(retry: str) -> tuple[str, ...]:
    """Return the statuses that `--retry` names."""
    return tuple(status.strip() for status in retry.split(",") if status.strip())


def say_runs(runs: Sequence[ModelRun], mark: str) -> None:
    """Print what became of each model's run, on stderr: stdout is for the tables."""
    for run in runs:
        done, held = run.summary, totals(run.summary.folder)
        again = f" ({done.retried} of them again)" if done.retried else ""
        texts = [
            f"{done.made}{mark} answers made{again} in {done.seconds:.1f} s, {done.before} were there: {held}",
            *done.notices,
        ]
        failed = [status for status in RETRIABLE if held.statuses.get(status)]
        if failed:
            texts.append(f"--retry {','.join(failed)} makes those without an answer again")
        for text in texts:
            typer.echo(line(f"{run.model}: {text}"), err=True)
