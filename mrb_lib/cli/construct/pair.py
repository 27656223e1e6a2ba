"""`mrb construct pair`: which two responses are compared, and what that will show, before anybody annotates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from mrb_lib.benchmarks.benchmark import load
from mrb_lib.benchmarks.votes import gold
from mrb_lib.build.construct.pairing.candidates import RULES
from mrb_lib.build.construct.pairing.design import Assumptions, meetings
from mrb_lib.build.construct.work import Work, open_work
from mrb_lib.cli import render
from mrb_lib.cli.listing import count, line
from mrb_lib.cli.options import AsJson, Seed, Store, WorkFolder, declares, options_from

COMMAND = declares(Assumptions())


def command(
    context: typer.Context,
    work: WorkFolder,
    pairs: Annotated[int, typer.Option(min=1, metavar="K", help="Pairs of responses an item.")] = 1,
    cases: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="So many pairs in all; default: all items get theirs.")
    ] = None,
    strategy: Annotated[
        str,
        typer.Option(
            help="balanced: every two responders meet as often; random; or adaptive: as --cases is raised, adds pairs "
            "whose outcome the annotations so far leave most open."
        ),
    ] = "balanced",
    balance: Annotated[str, typer.Option(metavar="LIST", help="Even these out.")] = "model,organ,length",
    exclude: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Never pair refused, truncated, identical, near-identical; default: all."),
    ] = None,
    store: Store = None,
    seed: Seed = 0,
    again: Annotated[bool, typer.Option("--again", help="Replace pairs that were chosen otherwise.")] = False,
    as_json: AsJson = False,
) -> None:
    """Pair responses, and say what the pairs will show: meetings, expected widths of intervals, annotation hours."""
    from mrb_lib.build.construct.pair import ADAPTIVE, Plan, pair

    opened = open_work(work)
    assumed = options_from(Assumptions(), context)
    rules = RULES if exclude is None else _listed(exclude)
    plan = Plan(pairs, strategy, _listed(balance), rules, cases)
    labels = _labels(opened, store) if strategy == ADAPTIVE else None
    made = pair(opened, plan, labels=labels, assumed=assumed, seed=seed, again=again)
    simulated = opened.meta.kind == "simulated"
    mark = f" ({render.MARK} data)" if simulated else ""
    if made.is_done:
        typer.echo("pairs: chosen before, nothing to do", err=True)
    for row in made.excluded[made.excluded["n"] > 0].itertuples():
        typer.echo(f"left out, {row.reason}: {row.n:,}", err=True)
    if as_json:
        typer.echo(render.as_json(made.design, table="design", policy=None, simulated=simulated))
        return
    typer.echo(f"{line(opened.meta.name)}: {count(len(made.pairs), 'pair')} of responses{mark}")
    typer.echo(render.as_text(_written(made.design)))
    met = meetings(made.pairs)
    fewest = met.iloc[int(met["n"].argmin())]
    typer.echo(f"rarest meeting: {line(fewest['model_1'])} and {line(fewest['model_2'])}, {count(fewest['n'], 'time')}")
    typer.echo(
        f"Widths are expected ones, for log strengths of standard deviation {assumed.spread:g} and {assumed.ties:.0%} "
        f"ties between equals.\nNext: mrb annotate {work} --annotators NAME,NAME,NAME --overlap {assumed.annotators}",
        err=True,
    )


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip() not in ("", "none"))


def _labels(work: Work, store: str | None) -> pd.DataFrame | None:
    """The gold so far of the annotations in the store; None before there are any."""
    from mrb_lib.cli.options import where
    from mrb_lib.review.records.exchange import annotations_of
    from mrb_lib.review.records.store import open_store

    chosen = where(work.path, store)
    nowhere = "://" not in str(chosen) and not Path(chosen).is_file()
    if nowhere or not (work.path / "benchmark.toml").is_file():
        return None
    benchmark = load(work.path)
    with open_store(chosen, create=False) as opened:
        annotations, _ = annotations_of(benchmark, opened)
    return gold(replace(benchmark, annotations=annotations))


def _written(design: pd.DataFrame) -> pd.DataFrame:
    """The design for a reader: whole numbers whole, and why a value is missing in its place."""
    values = [
        str(reason) if value != value else f"{value:,.0f}" if value >= 20 or value % 1 == 0 else f"{value:.3f}"
        for value, reason in zip(design["value"].tolist(), design["reason"], strict=True)
    ]
    return design[["quantity", "meaning"]].assign(value=values)[["quantity", "value", "meaning"]]
