"""`mrb adjudications`: reviewers' adjudications and tags, from the store to a file and back."""

from pathlib import Path
from typing import Annotated

import typer

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.cli.listing import count
from mrb_lib.cli.options import Bench, Command, Store, where
from mrb_lib.review.records.exchange import read_reviews, write_reviews
from mrb_lib.review.records.store import open_store
from mrb_lib.tables.errors import InputError

app = typer.Typer(
    help="Export and import reviewers' adjudications and tags.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command("export", cls=Command)
def export(
    bench: Bench,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file: .csv or .parquet.")],
    store: Store = None,
    current: Annotated[bool, typer.Option("--current", help="Leave out withdrawn and corrected reviews.")] = False,
) -> None:
    """Write the adjudications and the tags of a benchmark, with their history, to a file; a tag is a row of its own."""
    benchmark = _load(bench)
    with open_store(where(bench, store), create=False) as opened:
        frame = opened.adjudications(benchmark.meta.name, history=not current)
        tags = opened.tags(benchmark.meta.name, history=not current)
    write_reviews(frame, tags, out)
    typer.echo(f"{out}: {count(len(frame), 'adjudication')}, {count(len(tags), 'row')} of tags")


@app.command("import", cls=Command)
def import_(
    bench: Bench,
    source: Annotated[Path, typer.Argument(metavar="FILE", help="The file: .csv or .parquet.")],
    store: Store = None,
) -> None:
    """Add the adjudications and tags of a file to the store, all or none; what is there already is not added again."""
    benchmark = _load(bench)
    name, choices = benchmark.meta.name, benchmark.meta.choices
    entries = read_reviews(source, name)
    for entry, _ in entries:
        choice = getattr(entry, "choice", None)
        if choice is not None and choice not in choices:
            raise InputError(f"{source}: choice {choice!r} is unknown; use one of {', '.join(choices)}.")
    unknown = {entry.case_id for entry, _ in entries} - set(benchmark.cases["case_id"])
    with open_store(where(bench, store)) as opened:
        added = opened.restore(entries)
    if unknown:
        typer.echo(f"warning: {len(unknown)} cases are not in {name}, such as {min(unknown)!r}", err=True)
    told = f"{count(added['adjudication'], 'new adjudication')}, {count(added['tag'], 'new row')} of tags of {name}"
    typer.echo(f"{source}: {told}")


def _load(bench: Path) -> Benchmark:
    benchmark = load(bench)
    if not benchmark.meta.is_judged:
        raise InputError(f"{bench}: its labels are neither preferences nor ratings; there is nothing to adjudicate.")
    return benchmark
