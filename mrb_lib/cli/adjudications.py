"""Export, import and summarise reviewers' adjudications and tags."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from mrb_lib.benchmarks.benchmark import Benchmark, load
from mrb_lib.cli import render
from mrb_lib.cli.judge_groups import training_of
from mrb_lib.cli.listing import count
from mrb_lib.cli.options import AsJson, Bench, Command, Runs, Store, where
from mrb_lib.review.records.exchange import read_reviews, reviews_from, write_reviews
from mrb_lib.review.records.marks import case_fingerprint
from mrb_lib.review.records.store import open_store
from mrb_lib.stats import analyze as tables
from mrb_lib.stats.clusters import resampling_unit
from mrb_lib.tables.errors import InputError
from mrb_lib.tables.schema import ADJUDICATION_VERDICTS
from mrb_lib.verdicts.store import empty_verdicts, iter_verdicts

app = typer.Typer(
    help="Reviewers' adjudications and tags: export, import, summary.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command("export", cls=Command)
def export(
    bench: Bench,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file: .csv or .parquet.")],
    store: Store = None,
    current: Annotated[bool, typer.Option("--current", help="Only those that count now, without history.")] = False,
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


@app.command("summary", cls=Command)
def summary(
    bench: Bench,
    runs: Runs = None,
    store: Store = None,
    policy: Annotated[str, typer.Option(help="official, balanced, strict, net or answered.")] = "balanced",
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples.")] = 2000,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV on stdout.")] = False,
) -> None:
    """Show how far reviewers agree, why judges fail, and other answers; gold_rules is the corrected leaderboard."""
    if as_json and as_csv:
        raise InputError("--json and --csv: choose one.")
    benchmark = _load(bench)
    adjudications, _ = reviews_from(str(where(bench, store)), benchmark.meta.name)
    if runs is None and (bench / "runs").is_dir():
        runs = bench / "runs"
    unit = resampling_unit(benchmark.cases_by_image)
    frame = _table(benchmark, runs, adjudications, policy, resamples).assign(cluster=unit.name)
    simulated = benchmark.meta.kind == "simulated"
    if as_json:
        text = render.as_json(frame, table="adjudication", policy=policy, cluster=unit.name, simulated=simulated)
        typer.echo(text)
    elif as_csv:
        typer.echo(render.as_csv(frame, simulated=simulated), nl=False)
    else:
        head = f"{_head(benchmark, adjudications)}; {unit.statement}"
        typer.echo(head + (f" ({render.MARK} data)" if simulated else ""))
        for _, section in frame.groupby("part", sort=False):
            typer.echo(f"\n{render.as_text(section)}")


def _load(bench: Path) -> Benchmark:
    benchmark = load(bench)
    if not benchmark.meta.is_judged:
        raise InputError(f"{bench}: its labels are neither preferences nor ratings; there is nothing to adjudicate.")
    return benchmark


def _table(
    benchmark: Benchmark, runs: Path | None, adjudications: pd.DataFrame, policy: str, resamples: int
) -> pd.DataFrame:

    verdicts: tables.GivenVerdicts = empty_verdicts()
    training = None
    if runs is not None:
        columns = tables.verdict_columns("adjudication")
        _, training = training_of(runs, benchmark)
        verdicts = tables.read_panels(benchmark, iter_verdicts(runs, benchmark.cases, columns), training)
    return tables.analyze(
        benchmark, verdicts, "adjudication", policy=policy, resamples=resamples, adjudications=adjudications
    )


def _head(benchmark: Benchmark, adjudications: pd.DataFrame) -> str:
    """How much was reviewed, and what of it speaks of a case that is gone or has changed since."""
    cases = benchmark.cases.set_index("case_id", drop=False)
    of_benchmark = adjudications[adjudications["case_id"].isin(cases.index)]
    marked = of_benchmark[(of_benchmark["case_fingerprint"] != "") & of_benchmark["case_fingerprint"].notna()]
    seen = {case: case_fingerprint(cases.loc[case].to_dict()) for case in set(marked["case_id"])}
    changed = sum(seen[case] != mark for case, mark in zip(marked["case_id"], marked["case_fingerprint"], strict=True))
    counts = adjudications["verdict"].value_counts()
    parts = [f"{counts[verdict]} {verdict}" for verdict in ADJUDICATION_VERDICTS if verdict in counts.index]
    line = (
        f"{benchmark.meta.name}: {len(adjudications)} adjudications of {adjudications['case_id'].nunique()} cases by "
    )
    line += f"{adjudications['reviewer'].nunique()} reviewers" + (f" ({', '.join(parts)})" if parts else "")
    notes = [f"{len(adjudications) - len(of_benchmark)} of cases that are not in the benchmark"] * (
        len(adjudications) > len(of_benchmark)
    )
    notes += [f"{changed} of cases that have changed since"] * bool(changed)
    return "; ".join([line, *notes])
