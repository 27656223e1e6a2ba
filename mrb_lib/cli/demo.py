"""`mrb demo`: write the embedded benchmark."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.cli.listing import next_after
from mrb_lib.cli.options import Seed
from mrb_lib.cli.progress import bars
from mrb_lib.demo import write_demo
from mrb_lib.demo.ratings import write_rating_demo
from mrb_lib.demo.roster import ROSTER
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.files import staged_folder, write_atomic
from mrb_lib.tables.schema import Task


def demo(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write.")],
    cases: Annotated[
        int | None, typer.Option(min=1, help="Number of cases, 1026; of --task rating 300; of --construct 240.")
    ] = None,
    seed: Seed = 0,
    judges: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write a small judge with RANDOM WEIGHTS.")
    ] = None,
    verdicts: Annotated[
        bool, typer.Option("--verdicts", help="Also write OUT/runs: the verdicts of SIMULATED judges, with faults.")
    ] = False,
    roster: Annotated[
        int, typer.Option(min=0, max=32, metavar="N", help="Also verdicts of N SIMULATED judges, and OUT/groups.csv.")
    ] = 0,
    task: Annotated[str, typer.Option(help="preference between two responses, or rating of one.")] = "preference",
    construct: Annotated[
        bool, typer.Option("--construct", help="Instead, a SIMULATED work folder of `mrb construct`.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT if this program wrote it.")] = False,
) -> None:
    """Write the embedded benchmark: SIMULATED cases, images, answers and annotators."""
    if task not in get_args(Task):
        raise InputError(f"--task {task}: is unknown; use one of {', '.join(get_args(Task))}.")
    if task == "rating" and (construct or roster or judges is not None):
        raise InputError(
            "--task rating: has judges of its own, see --verdicts; leave out --construct, --roster and --judges."
        )
    if construct:
        if judges is not None or verdicts or roster:
            raise InputError("--construct: makes no judges and no verdicts; leave out the other options.")
        _write_work(out, cases or 240, seed, overwrite)
        return
    from mrb_lib.report.places import write_simulated_runs

    n = cases or (300 if task == "rating" else 1026)
    with staged_folder(out, overwrite=overwrite) as folder, bars() as step:
        write = write_rating_demo if task == "rating" else write_demo
        write(folder, cases=n, seed=seed, progress=lambda done: step("cases", done, n))
        runs = write_simulated_runs(folder, folder / "runs", seed=seed) if verdicts else []
        if roster:
            runs += write_simulated_runs(folder, folder / "runs", seed=seed, roster=roster)
            groups = ["judge,group,base", *(f"{one.name},{one.group},{one.base}" for one in ROSTER[:roster])]
            write_atomic(folder / "groups.csv", "\n".join(groups) + "\n")
    typer.echo(f"{out}: {n} SIMULATED cases, seed {seed}")
    if runs:
        typer.echo(f"{out / 'runs'}: verdicts of {len(runs)} SIMULATED judges")
    typer.echo(f"next: {next_after(out, bool(runs))}")
    if judges is not None:
        _write_judges(judges, out, seed)


def _write_work(out: Path, items: int, seed: int, overwrite: bool) -> None:
    from mrb_lib.build.construct.simulated import write_simulated_work
    from mrb_lib.build.construct.status import next_commands
    from mrb_lib.build.construct.work import Work

    with staged_folder(out, overwrite=overwrite) as folder, bars() as step:
        write_simulated_work(folder, items=items, seed=seed, progress=lambda done: step("items", done, items))
    work = Work(out)
    funnel = work.funnel().drop_duplicates("step")
    steps = ", ".join(f"{row.step} {row.n_out:,}" for row in funnel.itertuples())
    typer.echo(f"{out}: {items:,} SIMULATED items, seed {seed}; left after {steps}")
    typer.echo(f"next: {next_commands(work)[-1]}")


def _write_judges(folder: Path, bench: Path, seed: int) -> None:
    try:
        from mrb_lib.judges.local.tiny import write_tiny
    except ImportError as error:
        raise InputError(
            f"{folder}: small judges need {error.name}; install it with pip install 'mrb-workbench[judges]'."
        ) from error
    cases = load(bench).cases.head(300)
    texts = [*cases["question"], *cases["response_a"]]
    with staged_folder(folder) as stage:
        where = folder / write_tiny(stage / "random-llava", vocabulary=4000, texts=texts, seed=seed).name
    typer.echo(f"{where}: a judge with RANDOM WEIGHTS; judge with it as path:{where}")
