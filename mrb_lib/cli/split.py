"""`mrb split`: train, validation and test."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.benchmarks.splits import FOLD, SPLIT, is_split, write_split
from mrb_lib.benchmarks.splits import split as draw
from mrb_lib.cli.listing import aligned, line
from mrb_lib.cli.options import Seed
from mrb_lib.cli.progress import bars
from mrb_lib.tables.errors import InputError


def split(
    bench: Annotated[Path, typer.Argument(metavar="BENCH", help="The benchmark folder; its cases get the split.")],
    by: Annotated[
        str | None,
        typer.Option(metavar="UNIT", help="Keep together by this column; default: cluster, else patient, else item."),
    ] = None,
    join_texts: Annotated[
        bool, typer.Option("--join-texts", help="Keep cases of nearly the same texts together though images differ.")
    ] = False,
    test: Annotated[float, typer.Option(metavar="SHARE", help="Share of the cases to test on.")] = 0.2,
    validation: Annotated[float, typer.Option(metavar="SHARE", help="Share of the cases to stop training by.")] = 0.1,
    seed: Seed = 0,
    folds: Annotated[str | None, typer.Option(metavar="COLUMN", help="Name folds by this column.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the split that the cases have.")] = False,
) -> None:
    """Split the cases into train, validation and test: stratified, with units and near-duplicates on one side."""
    benchmark = load(bench)
    if not overwrite and (is_split(benchmark) or FOLD in benchmark.cases):
        counts = benchmark.cases[SPLIT].value_counts().items() if SPLIT in benchmark.cases else ()
        there = ", ".join(f"{n:,} {name}" for name, n in counts) or "folds only"
        raise InputError(f"{bench}: the cases are split already ({there}); pass --overwrite to replace that.")
    with bars() as step:
        made = draw(
            benchmark,
            by=by,
            test=test,
            validation=validation,
            seed=seed,
            folds=folds,
            join_texts=join_texts,
            progress=step,
        )
    write_split(made.benchmark)
    for statement in made.statements:
        typer.echo(statement)
    typer.echo(_balance(made.balance()))


def _balance(balance: pd.DataFrame) -> str:
    """Return the parts as columns."""
    names = [str(name) for name in balance["split"]]
    rows = [["", *names], *([title, *(f"{n:,}" for n in balance[column])] for column, title in _COUNTS.items())]
    shares = balance.drop(columns=["split", *_COUNTS])
    rows += [[line(str(column)), *(f"{share:.1%}" for share in shares[column])] for column in shares]
    return "\n".join(aligned(rows, [False, *(True for _ in names)]))


_COUNTS = {"n_cases": "cases", "n_units": "units"}
