"""`mrb judges`: the roster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mrb_lib.cli.options import AsJson, Command, Rosters

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from typer._click.core import Context  # the copy of click that Typer's own classes speak of
    from typer._click.formatting import HelpFormatter

_TEXT_COLUMNS = ("name", "access", "domain", "family", "size", "weights_gb", "engine", "needs")


class EnginesCommand(Command):
    """A command whose own help lists the engines, which are looked up only then."""

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        """The engines, each with what it does."""
        from mrb_lib.judges import ENGINES

        with formatter.section("Engines"):
            formatter.write_dl([(name, engine.about) for name, engine in ENGINES.items()])
        super().format_epilog(ctx, formatter)


COMMAND = EnginesCommand


def judges(
    access: Annotated[str | None, typer.Option(help='Only these: open, proprietary or "built in".')] = None,
    domain: Annotated[str | None, typer.Option(help="Only these: general, medical, critic or reward.")] = None,
    family: Annotated[str | None, typer.Option(help="List one family, such as Qwen3-VL.")] = None,
    engine: Annotated[str | None, typer.Option(help="List those with one of the engines below.")] = None,
    fits: Annotated[
        bool, typer.Option("--fits", help="List those whose weights fit this machine; see `mrb doctor`.")
    ] = False,
    rosters: Rosters = None,
    as_json: AsJson = False,
) -> None:
    """List the judges: name, access, family, size, engine, needs.

    With --fits, say how this machine runs each, with an estimate of memory and minutes, and print a command.
    """
    from mrb_lib.cli.listing import listing, terminal_width
    from mrb_lib.cli.render import as_json as to_json
    from mrb_lib.judges.roster.roster import roster

    extra = tuple(rosters or ())
    table = roster(extra)
    for column, value in (("access", access), ("domain", domain), ("family", family), ("engine", engine)):
        table = _only(table, column, value)
    columns, hint = list(_TEXT_COLUMNS), ""
    if fits:
        table, hint = _fitting(table, extra)
        columns = ["name", "size", "engine", "device", "stored", "memory_gb", "minutes", "needs"]
    if as_json:
        typer.echo(to_json(table, table="judges", policy="", simulated=False))
    elif table.empty:
        typer.echo("no judge matches; leave a filter out", err=True)
    else:
        typer.echo(listing(table[columns], width=terminal_width(None)))
    if hint:
        typer.echo(hint, err=True)


def _only(table: pd.DataFrame, column: str, value: str | None) -> pd.DataFrame:
    """Return the rows with a value, upper and lower case alike; a value that no judge has is refused."""
    from mrb_lib.tables.errors import InputError

    if value is None:
        return table
    matches = table[column].str.casefold() == value.casefold()
    if not matches.any() and column != "family":
        values = sorted(table[column].dropna().unique())
        raise InputError(f"--{column} {value!r}: no judge left has it; there are {', '.join(values) or 'none'}.")
    return table[matches.fillna(False)]


def _fitting(table: pd.DataFrame, extra: Sequence[Path]) -> tuple[pd.DataFrame, str]:
    """Return the judges that this machine can run, with how, and a text: who was left out, and the command to run."""
    from mrb_lib.judges.roster.machine import BASIS, inspect_machine, next_step, survey
    from mrb_lib.judges.roster.roster import entries

    machine = inspect_machine()
    named = [entry for entry in entries(extra) if entry.name in set(table["name"])]
    ways = survey(named, machine).set_index("name")
    known = table.join(ways[["device", "stored", "memory_gb", "minutes", "options"]], on="name")
    unknown = known[known["device"] == "unknown"]
    lines = []
    if n := unknown["weights_gb"].isna().sum():
        lines.append(f"left out: {n} judges of unknown size")
    if n := unknown["weights_gb"].notna().sum():
        lines.append(f"left out: {n} judges, as the memory of a GPU is not known without torch")
    fitting = known[~known["device"].isin(["no", "unknown"])]
    if fitting["device"].notna().any():
        lines += [f"run: {next_step(named, machine)}", BASIS]
    return fitting, "\n".join(lines)
