"""What `mrb annotate` says once annotators have answered: do they agree well enough, and who settles the rest."""

from __future__ import annotations

from dataclasses import replace

import typer

from mrb_lib.benchmarks.benchmark import Benchmark
from mrb_lib.benchmarks.votes import gold
from mrb_lib.cli import render
from mrb_lib.cli.listing import count
from mrb_lib.review.records.assignment import assign
from mrb_lib.review.records.exchange import annotations_of
from mrb_lib.review.records.store import REVIEW, Store
from mrb_lib.stats.analyze import analyze
from mrb_lib.stats.methods.until import Target, until
from mrb_lib.tables.errors import InputError


def show_until(benchmark: Benchmark, store: Store, target: Target, *, as_json: bool = False) -> None:
    """Print what is wanted of the agreement on each dimension of one choice, what it is, and what would help."""
    annotations, _ = annotations_of(benchmark, store)
    several = list(benchmark.meta.labels)
    benchmark = replace(benchmark, annotations=annotations).of_one_choice
    meta = benchmark.meta
    table = until(analyze(benchmark, None, "agreement", pairwise=0), target)
    simulated = meta.kind == "simulated"
    if as_json:
        typer.echo(render.as_json(table, table="until", policy=None, simulated=simulated))
        return
    typer.echo(f"{meta.name}{f' ({render.MARK} data)' if simulated else ''}: {target.measure} >= {target.value:g}")
    shown = table[["dimension", "n_cases", "annotators_per_case", "value", "low", "high", "state", "reliability"]]
    typer.echo(render.as_text(shown))
    if several:
        typer.echo(f"left out, as several labels may apply: {', '.join(several)}")
    for row in table.itertuples():
        typer.echo(f"{row.dimension}: {row.advice}")


def deal_disputed(benchmark: Benchmark, store: Store, reviewers: list[str], *, seed: int) -> None:
    """Deal the cases whose annotators leave some dimension without a majority to reviewers, one each."""
    name = benchmark.meta.name
    annotations, _ = annotations_of(benchmark, store)
    votes = gold(replace(benchmark, annotations=annotations))
    disputed = votes[votes["choice"].isna() & (votes["n_annotators"] > 1)]
    ids = disputed["case_id"].drop_duplicates().tolist()
    if not ids:
        raise InputError(f"{name}: annotators leave no case without a majority; there is nothing to adjudicate.")
    before = store.assignments(name, task=REVIEW)
    store.assign(name, assign(ids, reviewers, overlap=1, seed=seed, assigned=before), task=REVIEW)
    after = store.assignments(name, task=REVIEW)
    each = ", ".join(f"{dimension} {n}" for dimension, n in disputed["dimension"].value_counts().items())
    typer.echo(f"{count(len(ids), 'case')} without a majority ({each})")
    for reviewer in reviewers:
        typer.echo(f"{reviewer}: {count(int((after['annotator'] == reviewer).sum()), 'case')} to review", err=True)
    typer.echo("Next: mrb annotate BENCH --export BENCH/annotations.parquet, then mrb review BENCH", err=True)
