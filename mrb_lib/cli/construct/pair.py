"""`mrb construct pair`: which two responses are compared, and the design, before anybody annotates."""

from typing import Annotated

import typer

from mrb_lib.build.construct.pair import meetings
from mrb_lib.build.construct.pairing.candidates import RULES
from mrb_lib.build.construct.work import open_work
from mrb_lib.cli import render
from mrb_lib.cli.listing import count, line
from mrb_lib.cli.options import AsJson, Seed, WorkFolder


def command(
    work: WorkFolder,
    pairs: Annotated[int, typer.Option(min=1, metavar="K", help="Pairs of responses per item.")] = 1,
    cases: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Choose N pairs in all; default: K per item.")
    ] = None,
    balance: Annotated[
        str,
        typer.Option(
            metavar="LIST", help="Even out meetings of responders (model, always), within organs, and by length."
        ),
    ] = "model,organ,length",
    exclude: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Never pair refused, truncated, near-identical (or none); default: all."),
    ] = None,
    seed: Seed = 0,
    again: Annotated[bool, typer.Option("--again", help="Replace pairs that were chosen otherwise.")] = False,
    as_json: AsJson = False,
) -> None:
    """Pair responses, and print the design: meetings of responders, connectedness, lengths."""
    from mrb_lib.build.construct.pair import Plan, pair

    opened = open_work(work)
    rules = RULES if exclude is None else _listed(exclude)
    made = pair(opened, Plan(pairs, _listed(balance), rules, cases), seed=seed, again=again)
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
    typer.echo(render.as_text(made.design))
    met = meetings(made.pairs)
    fewest = met.iloc[int(met["n"].argmin())]
    typer.echo(f"rarest meeting: {line(fewest['model_1'])} and {line(fewest['model_2'])}, {count(fewest['n'], 'time')}")
    if cases is not None and len(made.pairs) < cases:
        typer.echo(f"{cases:,} were asked for, but no more can be paired; raise --pairs, which is {pairs}", err=True)
    typer.echo(f"Next: mrb annotate {work} --annotators NAME,NAME,NAME", err=True)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip() not in ("", "none"))
