"""The options of the steps in which models answer, and what is said of their runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mrb_lib.build.construct.answers.answering import Answerer, ModelRun
    from mrb_lib.judges.settings import Settings

WorkFolder = Annotated[Path, typer.Argument(metavar="WORK", help="The work folder.")]
PoolFile = Annotated[
    Path | None,
    typer.Option(
        "--plan",
        metavar="FILE",
        help="More models, each with its own prompt, device, engine, server...: a TOML file of tables [[model]].",
    ),
]
Rosters = Annotated[
    list[Path] | None,
    typer.Option("--roster", metavar="FILE", envvar="MRB_ROSTER", help="More models, in a TOML file; repeatable."),
]
Samples = Annotated[int, typer.Option(help="Answers of each model to each item.")]
Retry = Annotated[str, typer.Option(metavar="STATUSES", help="Make answers of these again: unparsed,refused,error.")]
Temperature = Annotated[
    float | None, typer.Option(help="Of sampling; 0 is greedy, the default unless there are several samples.")
]
MaxNewTokens = Annotated[int | None, typer.Option(help="Cut an answer off after so many tokens.")]
MaxPixels = Annotated[int | None, typer.Option(help="Make images with more pixels smaller.")]
WithoutImages = Annotated[
    bool, typer.Option("--without-images", help="Show no image: models that read text only answer from the question.")
]
BatchSize = Annotated[int | None, typer.Option(help="Items at once; changes the speed only.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")]
DTypeName = Annotated[str, typer.Option(help="auto, float32 or bfloat16.")]
Revision = Annotated[
    str | None, typer.Option(help="Of a model on the Hub; default: that of earlier runs, else the newest.")
]
Download = Annotated[bool, typer.Option("--download", help="Fetch weights that are not on this machine.")]
Trust = Annotated[bool, typer.Option("--trust-remote-code", help="Run code that a model's repository brings.")]
Url = Annotated[str | None, typer.Option(help="An OpenAI-compatible server: http://127.0.0.1:8000/v1.")]
AllowRemote = Annotated[
    bool, typer.Option("--allow-remote", help="Items may be sent to a server that is not this machine.")
]
Concurrency = Annotated[int, typer.Option(help="Requests to a server at a time.")]
Timeout = Annotated[float, typer.Option(help="Seconds that a request to a server may take.")]
Engine = Annotated[str, typer.Option(help="local, or ray for many GPUs and machines.")]
Workers = Annotated[int | None, typer.Option(help="Of --engine ray: models loaded at once.")]
GpusPerWorker = Annotated[float | None, typer.Option(help="Of --engine ray: GPUs each of them takes.")]
Seed = Annotated[int, typer.Option(min=0, help="The seed of everything drawn at random.")]
Again = Annotated[bool, typer.Option("--again", help="Replace the result of other choices; answers are kept.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def pool(
    names: Sequence[str],
    plan: Path | None,
    settings: Settings,
    *,
    engine: str,
    workers: int | None,
    gpus_per_worker: float | None,
) -> list[Answerer]:
    """The models that are named, and those of the plan."""
    from typing import cast

    from mrb_lib.build.construct.answers.answering import Answerer, Spread
    from mrb_lib.build.construct.answers.pool import pool_of
    from mrb_lib.cli.judge import check_engine

    check_engine(engine, workers, gpus_per_worker)
    spread = Answerer("", settings, cast("Spread", engine), workers, gpus_per_worker)
    return pool_of(names, plan, spread)


def statuses(retry: str) -> tuple[str, ...]:
    """What `--retry` names."""
    return tuple(status.strip() for status in retry.split(",") if status.strip())


def say_runs(runs: Sequence[ModelRun], mark: str) -> None:
    """What became of each model's run, on stderr: stdout is for the tables."""
    from mrb_lib.cli.listing import line
    from mrb_lib.runs.plan import RETRIABLE
    from mrb_lib.verdicts.run_totals import totals

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
