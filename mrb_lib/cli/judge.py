"""`mrb judge`: run judges over a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def judge(
    bench: Annotated[Path, typer.Argument(metavar="BENCH", help="The benchmark folder.")],
    runs: Annotated[Path, typer.Argument(metavar="RUNS", help="The folder of runs; created if needed.")],
    names: Annotated[
        list[str],
        typer.Option("--judge", metavar="NAME...", help="Judges of the roster, after one --judge or several."),
    ],
    more: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    orders: Annotated[str, typer.Option(help="Which response is shown first: AB, BA or AB,BA.")] = "AB,BA",
    repeats: Annotated[int, typer.Option(min=1, help="Verdicts for each case, dimension and order.")] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="Judge only the first so many cases.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of judges that draw at random.")] = 0,
) -> None:
    """Run judges over a benchmark. Verdicts already in RUNS are kept and not made again."""
    from mrb_lib.cli.progress import verdict_bars
    from mrb_lib.data.benchmark import load
    from mrb_lib.judges.settings import Settings
    from mrb_lib.runs.execute import judge as run

    benchmark = load(bench)
    mark = " SIMULATED" if benchmark.meta.kind == "simulated" else ""
    with verdict_bars() as step:
        summaries = run(
            benchmark,
            runs,
            [*names, *(more or [])],
            orders=orders.split(","),
            repeats=repeats,
            limit=limit,
            settings=Settings(seed=seed),
            progress=step,
        )
    for done in summaries:
        typer.echo(
            f"{done.judge}: {done.made}{mark} verdicts made in {done.seconds:.1f} s, "
            f"{done.before} were there, in {done.folder}"
        )
        if done.waiting:
            typer.echo(f"{done.judge}: {done.waiting} verdicts wait for members that have not judged them", err=True)
        for other in done.other_runs:
            typer.echo(f"{done.judge}: settings or cases differ from run {other}, which is kept beside it", err=True)
