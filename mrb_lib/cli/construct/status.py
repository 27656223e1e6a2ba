"""`mrb construct status`: where a work folder stands, and what to run next."""

import json
from typing import Annotated

import typer

from mrb_lib.build.construct.status import counts_by, dead_end, next_commands, step_table
from mrb_lib.build.construct.work import KEPT, open_work
from mrb_lib.cli.listing import line, listing, terminal_width
from mrb_lib.cli.options import AsJson, WorkFolder
from mrb_lib.tables.errors import InputError


def command(
    work: WorkFolder,
    by: Annotated[str, typer.Option(metavar="COLUMN", help="Count the items by this column.")] = "organ",
    as_json: AsJson = False,
) -> None:
    """Say where a work folder stands: items by step, reason and organ, what is stale, and what to run next."""
    from mrb_lib.cli.construct.showing import mark

    opened = open_work(work)
    columns = opened.items().columns
    if by not in columns:
        raise InputError(f"--by {by}: the items have no such column; use one of {', '.join(columns)}.")
    steps, counts, funnel, commands = step_table(opened), counts_by(opened, by), opened.funnel(), next_commands(opened)
    stuck = dead_end(opened)
    if as_json:
        tables = {"steps": steps, "funnel": funnel, "counts": counts}
        rows = {name: json.loads(table.to_json(orient="records")) for name, table in tables.items()}
        head = {"name": opened.meta.name, "kind": opened.meta.kind, "by": by}
        typer.echo(json.dumps({**head, **rows, "next": commands, "stuck": stuck}))
        return
    width = terminal_width(None)
    typer.echo(line(f"{opened.meta.name}{mark(opened)}: {len(opened.items()):,} items"))
    typer.echo(listing(steps, width=width))
    for row in funnel[funnel["reason"] != KEPT].itertuples():
        typer.echo(line(f"{row.step}: {row.n:,} left out: {row.reason}"))
    typer.echo("")
    typer.echo(listing(counts, width=width))
    typer.echo("")
    if stuck is not None:
        typer.echo(line(stuck))
    for number, command_ in enumerate(commands):
        typer.echo(f"{'next' if number == 0 else 'or'}: {command_}")
