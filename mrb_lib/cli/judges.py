"""`mrb judges`: the roster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from typer._click.core import Context  # the copy of click that Typer's own classes speak of
    from typer._click.formatting import HelpFormatter

_TEXT_COLUMNS = ("name", "access", "domain", "family", "size", "weights_gb", "engine", "needs")
_SEARCHED = ("name", "model", "family", "needs", "about")


class EnginesCommand(TyperCommand):
    """A command whose own help lists the engines, which are looked up only then."""

    def format_epilog(self, ctx: Context, formatter: HelpFormatter) -> None:
        """The engines, each with what it does."""
        from mrb_lib.judges import ENGINES

        with formatter.section("Engines"):
            formatter.write_dl([(name, engine.about) for name, engine in ENGINES.items()])


def judges(
    access: Annotated[str | None, typer.Option(help='Only these: open, proprietary or "built in".')] = None,
    domain: Annotated[str | None, typer.Option(help="Only these: general, medical, critic or reward.")] = None,
    family: Annotated[str | None, typer.Option(help="Only those of a family, as Qwen3-VL.")] = None,
    engine: Annotated[str | None, typer.Option(help="Only those with one of the engines below.")] = None,
    fits: Annotated[
        bool, typer.Option("--fits", help="Only those whose weights fit this machine; see `mrb doctor`.")
    ] = False,
    search: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only those with this in name, model, family, needs or about.")
    ] = None,
    rosters: Annotated[
        list[Path] | None,
        typer.Option("--roster", metavar="FILE", envvar="MRB_ROSTER", help="More judges, in a TOML file; repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout, with every column.")] = False,
) -> None:
    """List the judges: name, access, family, size, engine, needs."""
    from mrb_lib.cli.listing import listing, terminal_width
    from mrb_lib.cli.render import as_json as to_json
    from mrb_lib.judges.roster.roster import roster

    extra = tuple(rosters or ())
    table = roster(extra)
    for column, value in (("access", access), ("domain", domain), ("family", family), ("engine", engine)):
        table = _only(table, column, value)
    if search is not None:
        texts = table[list(_SEARCHED)].fillna("").agg("\n".join, axis="columns").str.casefold()
        table = table[texts.str.contains(search.casefold(), regex=False)]
    if fits:
        table = _fitting(table, extra)
    if as_json:
        typer.echo(to_json(table, table="judges", policy="", simulated=False))
        return
    if table.empty:
        typer.echo("no judge matches; leave a filter out", err=True)
        return
    typer.echo(listing(table[list(_TEXT_COLUMNS)], width=terminal_width(None)))


def _only(table: pd.DataFrame, column: str, value: str | None) -> pd.DataFrame:
    """The rows with a value, upper and lower case alike; a value that no judge has is refused."""
    from mrb_lib.errors import InputError

    if value is None:
        return table
    matches = table[column].str.casefold() == value.casefold()
    if not matches.any() and column != "family":
        values = sorted(table[column].dropna().unique())
        raise InputError(f"--{column} {value!r}: no judge left has it; there are {', '.join(values) or 'none'}.")
    return table[matches.fillna(False)]


def _fitting(table: pd.DataFrame, extra: Sequence[Path]) -> pd.DataFrame:
    """The judges that this machine can run; how many of unknown size were left out is said."""
    from mrb_lib.judges.roster.machine import inspect_machine
    from mrb_lib.judges.roster.roster import entries

    machine = inspect_machine()
    fits = {entry.name: {machine.fits_gpu(entry), machine.fits_cpu(entry)} for entry in entries(extra)}
    # None: no weights to fit.
    is_fitting = table["name"].map(lambda name: bool(fits[name] & {"yes", None}))
    is_unknown = table["name"].map(lambda name: "yes" not in fits[name] and "unknown" in fits[name])
    if is_unknown.any():
        typer.echo(f"left out: {is_unknown.sum()} judges of unknown size", err=True)
    return table[is_fitting.astype(bool)]
