"""`mrb construct release`: the annotated pairs of a work folder as a benchmark with a split and a card."""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from mrb_lib.benchmarks.benchmark import Benchmark, empty_annotations, load
from mrb_lib.build.construct.release import Terms, release
from mrb_lib.build.construct.work import open_work
from mrb_lib.cli.listing import count
from mrb_lib.cli.options import Seed, Store, WorkFolder, declares, options_from, where

COMMAND = declares(Terms())


def command(
    context: typer.Context,
    work: WorkFolder,
    bench: Annotated[Path, typer.Argument(metavar="BENCH", help="The benchmark folder to write.")],
    store: Store = None,
    seed: Seed = 0,
    again: Annotated[bool, typer.Option("--again", help="Release again, with other choices or annotations.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace BENCH if this program wrote it.")] = False,
) -> None:
    """Write the annotated cases as a benchmark: annotations folded in, split without leaks, with a data card.

    BENCH can be judged, reported and exported, and is ready to be uploaded to the Hub as it is: README.md is its card
    and datasheet. `mrb merge` joins it with another release.
    """
    from mrb_lib.review.records.exchange import PEOPLE, read_people

    opened = open_work(work)
    paired = load(work) if (work / "cases.parquet").is_file() else None
    terms = options_from(Terms(), context)
    annotations, left_out = _annotations(paired, where(work, store))
    made = release(
        opened, bench, terms, annotations, people=read_people(work / PEOPLE),
        seed=seed, again=again, overwrite=overwrite,
    )  # fmt: skip
    cases = made.benchmark.cases
    mark = " SIMULATED" if made.benchmark.meta.kind == "simulated" else ""
    typer.echo(
        f"{bench}: version {terms.version}, {len(cases):,}{mark} cases of {count(cases['item'].nunique(), 'item')}, "
        f"{count(len(made.benchmark.annotations), 'annotation')}; {made.facts.n_cases_left_out:,} pairs left out, "
        f"annotated by fewer than {terms.min_annotators}"
    )
    for statement in made.statements:
        typer.echo(statement)
    if left_out:
        typer.echo(f"{left_out:,} answers in the store are about cases that are no longer paired", err=True)


def _annotations(paired: Benchmark | None, store: str | Path) -> tuple[pd.DataFrame, int]:
    """The annotations of the pairs, from their file and from the store, and how many answers are of other cases."""
    from mrb_lib.review.records.exchange import annotations_of
    from mrb_lib.review.records.store import open_store

    if paired is None:
        return empty_annotations(), 0
    if "://" not in str(store) and not Path(store).is_file():
        return paired.annotations, 0
    with open_store(store, create=False) as opened:
        own, left_out = annotations_of(paired, opened)
    keys = ["case_id", "annotator", "dimension"]
    both = pd.concat([paired.annotations, own], ignore_index=True).drop_duplicates(keys, keep="last")
    return both.reset_index(drop=True), left_out
